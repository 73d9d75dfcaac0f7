package session_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// foreignSessions are sessions of other agents by format: those made by hand for its reader, and the small ones of
// CTXKIT_AGENTS.
func foreignSessions(tb testing.TB, name string) (texts [][]byte) {
	tb.Helper()
	kilo := name == "kilo" // OpenCode's, with versions of its own
	if kilo {
		name = "opencode"
	}
	if name == "roo-code" {
		name = "cline"
	}
	files := "*"
	if name == "goose" || name == "crush" {
		name, files = "tables", name+".jsonl"
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, "-cli"), "-code") // of the folders
	paths := must.Get(filepath.Glob(filepath.Join("..", "internal", name, "testdata", files)))(tb)
	if folder := os.Getenv("CTXKIT_AGENTS"); folder != "" {
		real := must.Get(filepath.Glob(filepath.Join(folder, name, "*")))(tb)
		paths = append(paths, real...)
	}
	const large = 200 << 10
	for _, path := range paths {
		if s, err := os.Stat(path); err != nil || s.IsDir() || filepath.Ext(path) == ".db" {
			continue
		}
		src := must.Get(jsonl.Open(path))(tb)
		text, _ := src.Head(large)
		if src.Close(); kilo {
			text = bytes.ReplaceAll(text, []byte(`"version": "1.4.3"`), []byte(`"version": "7.2.21"`))
		}
		if len(text) < large {
			texts = append(texts, text)
		}
	}
	return texts
}

// damage changes a text in a few places, as a cut, a glued, a reordered or a forged file is.
func damage(text []byte, r *rand.Rand) []byte {
	text = slices.Clone(text)
	for range 1 + r.IntN(4) {
		if len(text) < 2 {
			return text
		}
		at := r.IntN(len(text))
		end := min(len(text), at+1+r.IntN(200))
		lines := bytes.SplitAfter(text, []byte("\n"))
		i, j := r.IntN(len(lines)), r.IntN(len(lines))
		switch r.IntN(10) {
		case 0: // another byte
			text[at] ^= 1 << r.IntN(8)
		case 1: // a hole
			text = slices.Delete(text, at, end)
		case 2: // a piece twice
			text = slices.Insert(text, at, text[at:end]...)
		case 3: // the end is missing
			text = text[:at]
		case 4: // two lines change places
			lines[i], lines[j] = lines[j], lines[i]
			text = bytes.Join(lines, nil)
		case 5: // a line twice
			text = bytes.Join(slices.Insert(lines, i, lines[j]), nil)
		case 6: // a line is missing
			text = bytes.Join(slices.Delete(lines, i, i+1), nil)
		case 7: // two lines are glued
			lines[i] = bytes.TrimSuffix(lines[i], []byte("\n"))
			text = bytes.Join(lines, nil)
		case 8: // a number, a word or a bracket becomes something else
			values := []string{"null", "-1", "99999999999999999999", `""`, "[]", "{}", "true", "1e300"}
			if k := bytes.IndexByte(text[at:], ':'); k >= 0 {
				from := at + k + 1
				to := from
				for to < len(text) && !bytes.ContainsRune([]byte(",}]\n"), rune(text[to])) {
					to++
				}
				text = slices.Concat(text[:from], []byte(values[r.IntN(len(values))]), text[to:])
			}
		case 9: // one id becomes another
			if a, b := stringAt(text, at), stringAt(text, r.IntN(len(text))); len(a) > 2 && len(a) < 80 && len(b) > 2 && len(b) < 80 {
				text = bytes.Replace(text, a, slices.Clone(b), 1+r.IntN(3))
			}
		}
	}
	return text
}

// stringAt is the next quoted string at or after a place, with its quotes.
func stringAt(text []byte, at int) []byte {
	from := bytes.IndexByte(text[at:], '"')
	if from < 0 {
		return nil
	}
	from += at
	to := bytes.IndexByte(text[from+1:], '"')
	if to < 0 {
		return nil
	}
	return text[from : from+to+2]
}

// checkForeign loads a text, which may be no session at all.
func checkForeign(t *testing.T, text []byte) {
	t.Helper()
	f, err := session.LoadReader("s", bytes.NewReader(text), session.LoadOptions{})
	var refused *jsonl.FileError
	if err != nil {
		if !errors.As(err, &refused) {
			t.Errorf("error %v names no file", err)
		}
		return
	}
	defer f.Close()
	balanced(t, f)
	for _, conv := range f.Conversations() {
		checkConversation(t, conv)
	}
	for _, w := range f.Main.Warnings {
		if w.Line > bytes.Count(text, []byte("\n"))+1 {
			t.Errorf("a warning for line %d, the last one is %d: %s", w.Line, bytes.Count(text, []byte("\n"))+1, w.Message)
		}
	}
}

// TestForeignDamaged loads 150 damaged sessions of each format, in CI 2,000.
func TestForeignDamaged(t *testing.T) {
	for _, form := range session.Forms() {
		t.Run(form.Name, func(t *testing.T) {
			t.Parallel()
			texts := foreignSessions(t, form.Name)
			if len(texts) == 0 {
				t.Fatalf("no sessions in ../%s/testdata", form.Name)
			}
			count := 150
			if (os.Getenv("CTXKIT_CODEX") != "" || os.Getenv("CTXKIT_DAMAGED") != "") && !testing.Short() { // as in CI
				count = 2000
			}
			for seed := range count {
				text := damage(texts[seed%len(texts)], rand.New(rand.NewPCG(uint64(seed), 17)))
				checkForeign(t, text)
				if t.Failed() {
					name := filepath.Join(t.TempDir(), "damaged")
					_ = os.WriteFile(name, text, 0o600)
					t.Fatalf("seed %d: %.2000s", seed, text)
				}
			}
		})
	}
}

// TestForeignOnce converts each session twice: the lines are the same.
func TestForeignOnce(t *testing.T) {
	for _, form := range session.Forms() {
		for _, text := range foreignSessions(t, form.Name) {
			var out [2]strings.Builder
			for i := range out {
				must.Do(t, foreign.NewWriter().Run(&form, bytes.NewReader(text), &out[i]))
			}
			must.Equal(t, out[0].String(), out[1].String(), form.Name)
		}
	}
}

// FuzzForeign loads what is like a session of another agent.
func FuzzForeign(f *testing.F) {
	for _, form := range session.Forms() {
		for _, text := range foreignSessions(f, form.Name) {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkForeign(t, text) })
}
