package regret_test

import (
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/regret"
)

func policies(t *testing.T, names ...string) (list []*policy.Policy) {
	reg := must.Get(stage.Registry())(t)
	for _, name := range names {
		pol := must.Get(preset.Load(name, reg))(t)
		list = append(list, pol)
	}
	return list
}

// several remove in different ways: results, messages, all, parts of results, on the server.
var several = []string{"recorded", "claude-code-2.1.19", "opencode", "openhands", "langchain-clear-tool-uses", "sliding-window", "swe-agent", "anthropic-context-editing", "openclaw"}

// TestEvidenceIsNotInView searches for the evidence of every miss in the texts of the view that was sent, with
// strings.Contains: of every fourth real session, with CTXKIT_LONG=1 of all.
func TestEvidenceIsNotInView(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/sessions/*.jsonl")
	if dir := os.Getenv("CTXKIT_CORPUS"); dir != "" && !testing.Short() {
		more, _ := filepath.Glob(filepath.Join(dir, "*.jsonl*"))
		for i, path := range more {
			if i%4 == 1 || os.Getenv("CTXKIT_LONG") != "" {
				files = append(files, path)
			}
		}
	}
	found := map[regret.Evidence]int{}
	for _, path := range files {
		f := must.Get(session.Load(path, session.LoadOptions{}))(t)
		for _, conv := range f.Conversations() {
			rec := must.Get(replay.NewRecord(conv))(t)
			for _, pol := range policies(t, several...) {
				windows := []int{0}
				if strings.Contains(path, "testdata") && !pol.Recorded {
					windows = []int{30_000} // small sessions: policies act in them all the same
					if must.CI() {
						windows = []int{24_000, 30_000, 40_000}
					}
				}
				for _, window := range windows {
					checkEvidence(t, rec, pol, replay.Options{Regret: true, Window: window}, found)
				}
			}
		}
		f.Close()
	}
	t.Logf("evidence of %v", found)
	if found[regret.Edited] == 0 || found[regret.Quoted] == 0 || found[regret.Reread] == 0 {
		t.Errorf("evidence of %v: a kind was not tested", found)
	}
}

func checkEvidence(t *testing.T, rec *replay.Record, pol *policy.Policy, opt replay.Options, found map[regret.Evidence]int) {
	tl := must.Get(rec.Replay(pol, opt))(t)
	at := map[int][]*regret.Miss{}
	for i := range tl.Regret.Misses {
		m := &tl.Regret.Misses[i]
		found[m.Evidence]++
		at[m.Needed] = append(at[m.Needed], m)
		if pol.Recorded && m.Evidence != regret.Reread {
			t.Errorf("%s: a %s on the record: %+v", rec.Conv.Path, m.Evidence, m)
		}
	}
	if len(at) == 0 {
		return
	}
	opt.Regret = false
	must.Do(t, rec.EachView(pol, opt, func(n int, v *view.View) bool {
		if len(at[n]) == 0 {
			return true
		}
		all := strings.Join(slices.Collect(texts(t, v)), "\n")
		for _, m := range at[n] {
			if inView(all, evidence(t, rec.Conv, m)) {
				t.Errorf("%s under %s: %q is in view at request %d, removed before %d", rec.Conv.Path, pol.Name, m.Quote, n, m.Removed)
			}
		}
		return true
	}))
}

// texts yields the texts of a view that are sent, without white space and line numbers.
func texts(t *testing.T, v *view.View) iter.Seq[string] {
	return func(yield func(string) bool) {
		for id := range v.Items {
			for b := range v.Blocks(id) {
				at := policy.Target{Item: id, Block: b}
				text := must.Get(v.Text(at))(t)
				if c, ok := v.PayloadReplacement(at); ok {
					if text = ""; c != nil {
						text = c.Text
					}
				}
				var js any
				if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &js) == nil {
					text = strings.Join(stringsIn(js), "\n")
				}
				if !yield(normal(text)) {
					return
				}
			}
		}
	}
}

func stringsIn(v any) (list []string) {
	switch v := v.(type) {
	case string:
		list = append(list, v)
	case []any:
		for _, e := range v {
			list = append(list, stringsIn(e)...)
		}
	case map[string]any:
		for _, e := range v {
			list = append(list, stringsIn(e)...)
		}
	}
	return list
}

var lineNumber = regexp.MustCompile(`(?m)^ *\d+(→|\t)`)

func normal(text string) string {
	return strings.Join(strings.Fields(lineNumber.ReplaceAllString(text, "")), "")
}

// inView reports whether a text contains every line.
func inView(all string, lines []string) bool {
	return !slices.ContainsFunc(lines, func(l string) bool { return !strings.Contains(all, l) })
}

var mark = regexp.MustCompile(`[\x00-/:-@[-\x60{-\x7f]`)

// evidence is what has to be in view for a miss to be false, line by line: of a Read, the lines that it shows again
// with 12 letters and digits or more, or all where they are shorter.
func evidence(t *testing.T, conv *session.Conversation, m *regret.Miss) []string {
	if m.Evidence != regret.Reread {
		return []string{normal(m.Quote)}
	}
	for i := range conv.Messages {
		for b := range conv.Messages[i].Blocks {
			use := &conv.Messages[i].Blocks[b]
			if use.Line != m.UsedLine || use.Name == "" {
				continue
			}
			again := result(t, conv, use.ID)
			text := must.Get(conv.WholeText(int(again.Item), again.Block))(t)
			text, _, _ = strings.Cut(text, "<system-reminder>")
			var lines []string
			for line := range strings.Lines(text) {
				if line = normal(line); len(mark.ReplaceAllString(line, "")) >= 12 {
					lines = append(lines, line)
				}
			}
			if lines == nil {
				lines = []string{normal(text)}
			}
			return lines
		}
	}
	return []string{normal(m.Quote)} // a sentence of a person's
}

// TestSame: the same replay finds the same, on a record of its own and on a shared one.
func TestSame(t *testing.T) {
	f := must.Get(session.Load("../../testdata/sessions/big.jsonl", session.LoadOptions{}))(t)
	defer f.Close()
	want := ""
	for range 2 {
		rec := must.Get(replay.NewRecord(f.Main))(t)
		for _, pol := range policies(t, "openhands", "sliding-window", "openhands") {
			tl := must.Get(rec.Replay(pol, replay.Options{Regret: true, Window: 60_000}))(t)
			js, _ := json.Marshal(tl.Regret)
			if strings.HasPrefix(pol.Name, "openhands") && want != "" && want != string(js) {
				t.Errorf("another replay finds\n%s\nthan the first\n%s", js, want)
			} else if want == "" {
				want = string(js)
			}
		}
	}
}
