package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/anonymize"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/lint"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
)

// record loads a session.
func record(t *testing.T, path string) *replay.Record {
	t.Helper()
	f := must.Get(session.Load(path, session.LoadOptions{}))(t)
	t.Cleanup(func() { f.Close() })
	rec := must.Get(replay.NewRecord(f.Main))(t)
	return rec
}

// replayed is what must not change: events and figures, names left out.
func replayed(t *testing.T, rec *replay.Record, pol *policy.Policy) string {
	t.Helper()
	tl := must.Get(rec.Replay(pol, replay.Options{Counter: "heuristic"}))(t)
	var b strings.Builder
	for _, r := range tl.Requests {
		r.UUID = ""
		if rec.Conv.Product == "copilot" {
			r.Used = 0 // no input is recorded: it is estimated in the tokens of the text
		}
		if r.Cache.Miss != nil {
			miss := *r.Cache.Miss
			miss.Message = ""
			r.Cache.Miss = &miss
		}
		line := must.Get(json.Marshal(r))(t)
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
		line := must.Get(json.Marshal(e))(t)
		fmt.Fprintf(&b, "%s\n", line)
	}
	aside := map[string]int{} // a type that the format does not know is replaced
	for reason, n := range tl.Lines.SetAside {
		what, _, _ := strings.Cut(reason, ": ")
		aside[what] += n
	}
	fmt.Fprintf(&b, "%d %d %d %v\n", tl.Lines.Read, tl.Lines.Used, tl.Lines.Fused, aside)
	return b.String()
}

// checkAnonymized anonymises a session, looks for words that survived, and replays both under every built-in policy.
func checkAnonymized(t *testing.T, path string) {
	checkReplays(t, path, func(before, after string) bool { return before == after })
}

// Equal as far as docs/anonymize.md says that sessions of every kind are: the figures to 16 tokens or 1 %.
func nearly(before, after string) bool {
	number := regexp.MustCompile(`\d+(\.\d+)?`)
	a, b := number.FindAllString(before, -1), number.FindAllString(after, -1)
	if len(a) != len(b) || number.ReplaceAllString(before, "0") != number.ReplaceAllString(after, "0") {
		return false
	}
	for i := range a {
		x, err := strconv.ParseFloat(a[i], 64)
		y, other := strconv.ParseFloat(b[i], 64)
		most := math.Max(16, x/100)
		if strings.Contains(a[i]+b[i], ".") { // USD
			most = 0.001
		}
		if err != nil || other != nil || math.Abs(x-y) > most {
			return false
		}
	}
	return true
}

func checkReplays(t *testing.T, path string, equal func(before, after string) bool) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.jsonl")
	mustRun(t, "anonymize", path, "-q", "-o", out)
	survivors(t, path, out)
	reg := must.Get(stage.Registry())(t)
	form := formOf(t, path)
	if got := formOf(t, out); (got == nil) != (form == nil) || got != nil && got.Name != form.Name {
		t.Fatalf("%s: it became a session of another agent", filepath.Base(path))
	}
	if diff := cmp.Diff(linted(t, path), linted(t, out)); diff != "" {
		t.Errorf("%s: other findings (-before +after)\n%s", filepath.Base(path), firstLines(diff, 20))
	}
	original, written := record(t, path), record(t, out)
	for _, name := range preset.Names(reg) {
		pol := must.Get(preset.Load(name, reg))(t)
		before, after := replayed(t, original, pol), replayed(t, written, pol)
		if !equal(before, after) {
			if filepath.Ext(path) == ".gz" && (name == "claude-code-collapse" || attachesOtherwise(path, name)) {
				t.Logf("%s: %s replays otherwise, as docs/anonymize.md says", filepath.Base(path), name)
				continue
			}
			t.Errorf("%s: %s replays otherwise (-before +after)\n%s", filepath.Base(path), name, firstLines(cmp.Diff(before, after), 40))
		}
	}
}

// attachesOtherwise reports a known difference: releases of Claude Code before 2.1.79 attach 314 tokens more after the
// compaction of this session. The cause is not known.
func attachesOtherwise(path, name string) bool {
	return strings.HasPrefix(filepath.Base(path), "claude-2.1.122-auto1-13f970") &&
		slices.Contains(strings.Fields("claude-code-2.1.12 claude-code-2.1.19 claude-code-2.1 claude-code-2.1.25 claude-code-2.1.30 claude-code-2.1.51 claude-code-2.1.69 claude-code-2.1.75"), name)
}

// linted are the findings in a session: where they are and of which kind.
func linted(t *testing.T, path string) (list []string) {
	t.Helper()
	r := must.Get(lint.File(path, session.LoadOptions{}))(t)
	for _, f := range r.Findings {
		for _, at := range f.Places {
			list = append(list, fmt.Sprint(at.Line, " ", f.Code))
		}
	}
	return append(list, fmt.Sprintf("%d lines, %d used", r.Lines.Read, r.Lines.Used))
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// survivors greps: no word of more than 6 letters of the original is in the output, but for the format's own.
func survivors(t *testing.T, before, after string) {
	t.Helper()
	original, written := longWords(t, before), longWords(t, after)
	safe := anonymize.SafeWords(formOf(t, before))
	n := 0
	low := map[string]bool{}
	for w := range original {
		low[strings.ToLower(w)] = true
	}
	for w := range written {
		if low[strings.ToLower(w)] && !anonymize.IsSafe(safe, w) {
			if n++; n <= 10 {
				t.Errorf("%s: %q is in the output", filepath.Base(before), w)
			}
		}
	}
	if len(original) > 50 && len(written) < 10 {
		t.Errorf("%s: %d long words became %d: nothing was compared", filepath.Base(before), len(original), len(written))
	}
}

// formOf is the form of a session, nil for Claude Code's.
func formOf(t *testing.T, path string) *foreign.Form {
	t.Helper()
	src := must.Get(jsonl.Open(path))(t)
	defer src.Close()
	form := must.Get(session.Recognise(src))(t)
	return form
}

// longWords are the runs of 7 to 64 ASCII letters in a session, as it stands in the file.
func longWords(t *testing.T, path string) map[string]bool {
	t.Helper()
	src := must.Get(jsonl.Open(path))(t)
	defer src.Close()
	var content bytes.Buffer
	must.Get(src.WriteTo(&content))(t)
	text := regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`).ReplaceAllFunc(content.Bytes(), func(escape []byte) []byte {
		if n, err := strconv.ParseUint(string(escape[min(2, len(escape)):]), 16, 8); err == nil && n > ' ' {
			return []byte{byte(n)}
		}
		return []byte(" ")
	})
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
			w := text[from:i]
			if len(w) > 6 && len(w) <= 64 {
				words[string(w)] = true
			}
		}
		from = -1
	}
	return words
}

func TestAnonymize(t *testing.T) {
	t.Parallel()
	names := must.Glob(t, 1, "..", "testdata", "sessions", "*.jsonl")
	for i, name := range names {
		if filepath.Base(name) == "big-2.1.139.jsonl" && !long() || !must.CI() && i%3 != 2 {
			continue // the first is as big.jsonl, of another client; of the others a third
		}
		t.Run(filepath.Base(name), func(t *testing.T) { checkAnonymized(t, name) })
	}
}

// The files beside a session go with it, under names that fit.
func TestAnonymizeBeside(t *testing.T) {
	t.Parallel()
	names := must.Glob(t, 1, "..", "testdata", "sessions", "*", "*.jsonl")
	for i, name := range names {
		if !must.CI() && i > 0 {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			checkAnonymized(t, name)
			if _, err := os.Stat(strings.TrimSuffix(name, ".jsonl")); err != nil {
				return
			}
			out := filepath.Join(t.TempDir(), "out.jsonl")
			mustRun(t, "anonymize", name, "-q", "-o", out)
			for _, path := range []string{name, out} {
				f := must.Get(session.Load(path, session.LoadOptions{}))(t)
				defer f.Close()
				agents, _, err := session.Subagents(path)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: offloads %+v, %d subagents", filepath.Base(path), f.Main.Offloads, len(agents))
				if path == name {
					continue
				}
				before := must.Get(session.Load(name, session.LoadOptions{}))(t)
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
	corpus := folderOf(t, "CTXKIT_CORPUS")
	for _, name := range every(12, withoutCodex(sessionFiles(t, corpus))) {
		t.Run(filepath.Base(name), func(t *testing.T) { checkReplays(t, name, nearly) })
	}
}

// withoutCodex leaves out sessions of Codex, whose content is counted: see checkSizes.
func withoutCodex(files []string) []string {
	return slices.DeleteFunc(files, func(path string) bool { return strings.HasPrefix(filepath.Base(path), "codex-") })
}

// Sessions of other agents become sessions of the same agents.
func TestAnonymizeAgents(t *testing.T) {
	t.Parallel()
	names := must.Get(filepath.Glob("../jsonl/internal/*/testdata/*.json*"))(t)
	known := map[string]bool{"kilo": true, "cline": true, "cline-cli": true, "roo-code": true} // OpenCode's form; trees of files: see TestAnonymizeTree
	for i, name := range names {
		reader := filepath.Base(filepath.Dir(filepath.Dir(name)))
		if reader == "cline" {
			continue // what its reader makes of a tree
		}
		known[formOf(t, name).Name] = true
		if !must.CI() && i%3 != 0 {
			continue
		}
		t.Run(reader+"/"+filepath.Base(name), func(t *testing.T) { checkReplays(t, name, nearly) })
	}
	for _, f := range session.Forms() {
		if !known[f.Name] {
			t.Errorf("no session of %s", f.Name)
		}
	}
}

// TestAnonymizeTree holds that a session of several files keeps its models, its recorded usage and what was recorded of it.
func TestAnonymizeTree(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"task/api_conversation_history.json", "cli/1795000000000_mill/1795000000000_mill.messages.json"} {
		type request struct {
			Model, Kind string
			Recorded    map[string]int
		}
		var before, after struct {
			Requests []request
			Events   []struct{ Kind string }
		}
		out := filepath.Join(t.TempDir(), "out")
		path := filepath.Join("..", "jsonl", "internal", "cline", "testdata", filepath.FromSlash(file))
		mustRun(t, "anonymize", path, "-q", "-o", out)
		ctxkitJSON(t, &before, "replay", path, "-p", "recorded")
		ctxkitJSON(t, &after, "replay", filepath.Join(out, filepath.Base(path)), "-p", "recorded")
		if diff := cmp.Diff(before, after); diff != "" || len(before.Requests) < 3 {
			t.Errorf("%s: replays otherwise (-before +after)\n%s", file, diff)
		}
	}
}

func TestAnonymizeAgentsCorpus(t *testing.T) {
	var names []string
	for variable, pattern := range map[string]string{"CTXKIT_CODEX": "*.gz", "CTXKIT_AGENTS": "*/*.gz"} {
		folder := os.Getenv(variable)
		if folder == "" {
			continue
		}
		list := must.Get(filepath.Glob(filepath.Join(folder, pattern)))(t)
		names = append(names, list...)
	}
	if len(names) == 0 {
		t.Skip("neither CTXKIT_CODEX nor CTXKIT_AGENTS names a folder of sessions")
	}
	slices.Sort(names)
	for _, name := range every(9, names) {
		t.Run(filepath.Base(name), func(t *testing.T) { checkSizes(t, name) })
	}
}

// checkSizes holds that a session of another agent keeps its findings, requests and recorded usage, and the tokens of its
// payloads within 0.1 %; within 2 % where no usage is recorded and they are counted from the texts.
func checkSizes(t *testing.T, path string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.jsonl")
	mustRun(t, "anonymize", path, "-q", "-o", out)
	survivors(t, path, out)
	if diff := cmp.Diff(linted(t, path), linted(t, out)); diff != "" {
		t.Errorf("other findings (-before +after)\n%s", firstLines(diff, 20))
	}
	reg := must.Get(stage.Registry())(t)
	original, written := record(t, path), record(t, out)
	for _, name := range []string{"none", "recorded"} {
		pol := must.Get(preset.Load(name, reg))(t)
		before := must.Get(original.Replay(pol, replay.Options{}))(t)
		after := must.Get(written.Replay(pol, replay.Options{}))(t)
		if len(before.Requests) != len(after.Requests) || len(before.Events) != len(after.Events) {
			t.Fatalf("%s: %d requests and %d events, before %d and %d", name, len(after.Requests), len(after.Events), len(before.Requests), len(before.Events))
		}
		for i, x := range before.Requests {
			y := after.Requests[i]
			off := math.Abs(float64(x.Payload-y.Payload)) / float64(max(x.Payload, 1))
			most := 0.001
			if x.Recorded == nil || x.Recorded.Input+x.Recorded.CacheRead+x.Recorded.CacheWrite == 0 || before.Counter != "usage" {
				most = 0.03 // the content is counted
			}
			if diff := cmp.Diff(x.Recorded, y.Recorded); diff != "" || off > most || x.Kind != y.Kind {
				t.Errorf("%s: request %d: %d tokens, before %d; usage %s", name, x.N, y.Payload, x.Payload, diff)
				break
			}
		}
	}
}
