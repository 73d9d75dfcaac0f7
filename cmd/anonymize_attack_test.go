package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/anonymize"
	"github.com/ctxkit/ctxkit/jsonl/must"
)

// texts calls yield with each string of a session's lines.
func texts(t *testing.T, path string, yield func(text string, said bool)) {
	t.Helper()
	src := must.Get(jsonl.Open(path))(t)
	defer src.Close()
	var content bytes.Buffer
	must.Get(src.WriteTo(&content))(t)
	var walk func(v any, said bool)
	walk = func(v any, said bool) {
		switch v := v.(type) {
		case string:
			yield(v, said)
		case []any:
			for _, x := range v {
				walk(x, said)
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				_, prompt := v[k].(string)
				walk(v[k], k == "text" || k == "content" && prompt && v["role"] == "user")
			}
		}
	}
	for line := range bytes.Lines(content.Bytes()) {
		var v any
		if json.Unmarshal(line, &v) == nil {
			walk(v, false)
		}
	}
}

var (
	asciiWord = regexp.MustCompile(`[A-Za-z]+`)
	shapeable = regexp.MustCompile(`[A-Za-z]+|[0-9]`)
	hump      = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
)

// shape is what a stand-in word for word leaves of a line, and its longer words.
func shape(line string) (string, []string) {
	var words []string
	return shapeable.ReplaceAllStringFunc(line, func(w string) string {
		switch {
		case w[0] <= '9':
			return "0"
		case len(w) <= 2:
			return w
		}
		words = append(words, w)
		return strings.Map(func(r rune) rune { return r&0x20 | 'A' }, w)
	}), words
}

// recovered attacks an anonymised session with others in the clear: lines of one shape tell which words stand for which.
// It returns how many words of three letters and more of prompts and answers it finds by that, of how many.
func recovered(t *testing.T, original, anonymous string, known []string) (right, all int) {
	t.Helper()
	lines := map[string]map[string]int{}
	usable := func(line string, words []string) bool {
		return len(line) >= 12 && len(line) <= 600 && len(words) >= 3 && len(strings.Join(words, "")) >= 14
	}
	for _, path := range known {
		texts(t, path, func(text string, _ bool) {
			for line := range strings.SplitSeq(text, "\n") {
				if s, words := shape(line); usable(line, words) {
					if lines[s] == nil {
						lines[s] = map[string]int{}
					}
					lines[s][line]++
				}
			}
		})
	}
	votes := map[string]map[string]int{}
	texts(t, anonymous, func(text string, _ bool) {
		for line := range strings.SplitSeq(text, "\n") {
			s, words := shape(line)
			if !usable(line, words) || len(lines[s]) == 0 {
				continue
			}
			best := slices.SortedFunc(maps.Keys(lines[s]), func(a, b string) int { return cmp.Or(lines[s][b]-lines[s][a], strings.Compare(a, b)) })
			if len(best) > 1 && lines[s][best[0]] < 2*lines[s][best[1]] {
				continue
			}
			_, were := shape(best[0])
			for i, w := range words {
				a, b := hump.FindAllString(w, -1), hump.FindAllString(were[i], -1)
				for k := range min(len(a), len(b)) {
					if len(a[k]) == len(b[k]) && len(a[k]) > 2 {
						from := strings.ToLower(a[k])
						if votes[from] == nil {
							votes[from] = map[string]int{}
						}
						votes[from][strings.ToLower(b[k])] += len(s)
					}
				}
			}
		}
	})
	guess := map[string]string{}
	for from, to := range votes {
		sum, best := 0, ""
		for _, w := range slices.Sorted(maps.Keys(to)) {
			if sum += to[w]; best == "" || to[w] > to[best] {
				best = w
			}
		}
		if 10*to[best] >= 6*sum {
			guess[from] = best
		}
	}
	safe := anonymize.SafeWords(nil) // of phrases of the client, which stay
	var said []string
	texts(t, original, func(text string, of bool) {
		if of {
			said = append(said, text)
		}
	})
	texts(t, anonymous, func(text string, of bool) {
		if !of || len(said) == 0 {
			return
		}
		was := said[0]
		if said = said[1:]; len(was) != len(text) {
			t.Fatalf("a text of %d bytes became one of %d", len(was), len(text))
		}
		for _, run := range asciiWord.FindAllStringIndex(text, -1) {
			for _, at := range hump.FindAllStringIndex(text[run[0]:run[1]], -1) {
				if w := text[run[0]+at[0] : run[0]+at[1]]; len(w) > 2 && !anonymize.IsSafe(safe, w) {
					if all++; guess[strings.ToLower(w)] == strings.ToLower(was[run[0]+at[0]:run[0]+at[1]]) {
						right++
					}
				}
			}
		}
	})
	return right, all
}

// attack anonymises a session and holds what other sessions tell of it. It returns how many words were tried.
func attack(t *testing.T, path string, known []string) (all int) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.jsonl")
	mustRun(t, "anonymize", path, "-q", "-o", out)
	right, all := recovered(t, path, out, known)
	t.Logf("%s: %d of %d words recovered from %d sessions", filepath.Base(path), right, all, len(known))
	if all < 200 {
		return all // too few to tell
	}
	if 50*right > all {
		t.Errorf("%s: %d of %d words can be recovered, want 2 %% at most", filepath.Base(path), right, all)
	}
	// The attack itself works: of the session in the clear it finds what is in the others.
	if right, _ := recovered(t, path, path, append(known, path)); 4*right < all {
		t.Errorf("%s: %d of %d words of the original are found: the attack is none", filepath.Base(path), right, all)
	}
	return all
}

func TestAnonymizeAttack(t *testing.T) {
	samples := "../testdata/sessions"
	if n := attack(t, filepath.Join(samples, "compaction.jsonl"), []string{filepath.Join(samples, "parallel-tools.jsonl"), filepath.Join(samples, "big.jsonl")}); n < 200 {
		t.Errorf("%d words were tried", n)
	}
}

func TestAnonymizeAttackCorpus(t *testing.T) {
	corpus := folderOf(t, "CTXKIT_CORPUS")
	sources := must.Get(os.ReadFile(filepath.Join(corpus, "SOURCES.tsv")))(t)
	same := map[string][]string{}
	for line := range strings.Lines(string(sources)) {
		if f := strings.Split(line, "\t"); len(f) > 1 && strings.HasPrefix(f[0], "claude-") {
			same[f[1]] = append(same[f[1]], filepath.Join(corpus, f[0]))
		}
	}
	for _, repository := range slices.Sorted(maps.Keys(same)) {
		if list := same[repository]; len(list) > 4 {
			attack(t, list[0], every(4, list[1:]))
		}
	}
}
