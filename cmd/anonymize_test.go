package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/anonymize"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
)

// record loads a session.
func record(t *testing.T, path string) *replay.Record {
	t.Helper()
	f, err := session.Load(path, session.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	rec, err := replay.NewRecord(f.Main)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// replayed is what must not change: events and figures, names left out.
func replayed(t *testing.T, rec *replay.Record, pol *policy.Policy) string {
	t.Helper()
	tl, err := rec.Replay(pol, replay.Options{Counter: "heuristic"})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, r := range tl.Requests {
		r.UUID = ""
		if r.Cache.Miss != nil {
			miss := *r.Cache.Miss
			miss.Message = ""
			r.Cache.Miss = &miss
		}
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", line)
	}
	for _, e := range tl.Events {
		if e.Kept != nil {
			e.Kept = &replay.Segment{}
		}
		for i := range e.Targets {
			e.Targets[i] = replay.EventTarget{}
		}
		if e.Recorded != nil {
			e.Recorded.File = ""
		}
		e.Reason = ""
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", line)
	}
	fmt.Fprintf(&b, "%+v\n", tl.Lines)
	return b.String()
}

// checkAnonymized anonymises a session, looks for words that survived, and replays both under every built-in policy.
func checkAnonymized(t *testing.T, path string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.jsonl")
	mustRun(t, "anonymize", path, "-q", "-o", out)
	survivors(t, path, out)
	reg, err := stage.Registry()
	if err != nil {
		t.Fatal(err)
	}
	original, written := record(t, path), record(t, out)
	for _, name := range preset.Names(reg) {
		pol, err := preset.Load(name, reg)
		if err != nil {
			t.Fatal(err)
		}
		before, after := replayed(t, original, pol), replayed(t, written, pol)
		if before != after {
			t.Errorf("%s: %s replays otherwise (-before +after)\n%s", filepath.Base(path), name, firstLines(cmp.Diff(before, after), 40))
		}
	}
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// survivors greps: no word of more than 6 letters of the original is in the output, but for the format's own.
func survivors(t *testing.T, before, after string) {
	t.Helper()
	original, written := longWords(t, before), longWords(t, after)
	safe := anonymize.SafeWords()
	n := 0
	for w := range written {
		if original[w] && !safe[w] {
			if n++; n <= 10 {
				t.Errorf("%s: %q is in the output", filepath.Base(before), w)
			}
		}
	}
	if len(original) > 50 && len(written) < 10 {
		t.Errorf("%s: %d long words became %d: nothing was compared", filepath.Base(before), len(original), len(written))
	}
}

// longWords are the runs of 7 to 64 ASCII letters in a session, as it stands in the file.
func longWords(t *testing.T, path string) map[string]bool {
	t.Helper()
	src, err := jsonl.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var text []byte
	if err := src.Each(1, jsonl.ReadOptions{}, func(rec *jsonl.Item) error {
		raw, err := src.ReadSpan(rec.Span)
		text = append(append(text, raw...), '\n')
		return err
	}); err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	from := -1
	for i := range len(text) + 1 {
		if i < len(text) && (text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z') {
			if from < 0 {
				from = i
			}
			continue
		}
		if from >= 0 {
			// A word behind a line end is written \nword.
			w := text[from:i]
			if from > 0 && text[from-1] == '\\' && !(from > 1 && text[from-2] == '\\') {
				w = w[1:]
			}
			if len(w) > 6 && len(w) <= 64 {
				words[strings.ToLower(string(w))] = true
			}
		}
		from = -1
	}
	return words
}

func TestAnonymize(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "testdata", "sessions", "*.jsonl"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d samples, %v", len(names), err)
	}
	for _, name := range names {
		if filepath.Base(name) == "big-2.1.139.jsonl" && !long() {
			continue // as big.jsonl, of another client
		}
		t.Run(filepath.Base(name), func(t *testing.T) { checkAnonymized(t, name) })
	}
}

// The files beside a session go with it, under names that fit.
func TestAnonymizeBeside(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "testdata", "sessions", "*", "*.jsonl"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d samples, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			checkAnonymized(t, name)
			if _, err := os.Stat(strings.TrimSuffix(name, ".jsonl")); err != nil {
				return
			}
			out := filepath.Join(t.TempDir(), "out.jsonl")
			mustRun(t, "anonymize", name, "-q", "-o", out)
			for _, path := range []string{name, out} {
				f, err := session.Load(path, session.LoadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				agents, _, err := session.Subagents(path)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: offloads %+v, %d subagents", filepath.Base(path), f.Main.Offloads, len(agents))
				if path == name {
					continue
				}
				before, err := session.Load(name, session.LoadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer before.Close()
				had, _, err := session.Subagents(name)
				if err != nil {
					t.Fatal(err)
				}
				if f.Main.Offloads != before.Main.Offloads || len(agents) != len(had) {
					t.Errorf("beside the output: %+v and %d subagents, beside the original %+v and %d", f.Main.Offloads, len(agents), before.Main.Offloads, len(had))
				}
			}
		})
	}
}

func TestAnonymizeCorpus(t *testing.T) {
	corpus := os.Getenv("CTXKIT_CORPUS")
	if corpus == "" {
		t.Skip("CTXKIT_CORPUS is not set")
	}
	for _, name := range sessionFiles(t, corpus) {
		if strings.HasPrefix(filepath.Base(name), "codex-") {
			continue // they are refused
		}
		t.Run(filepath.Base(name), func(t *testing.T) { checkAnonymized(t, name) })
	}
}
