package pi

import (
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// bench prepares a conversation of two turns: a prompt, three calls with results of 4,000 characters (requests 1 to
// 3), an answer (4), a prompt and an answer (5). The requests have the given totals, in tokens.
func bench(t *testing.T, set string, totals ...int) *stagetest.Bench {
	t.Helper()
	c := stagetest.Talk(`prompt p*400`)
	for _, id := range []string{"a", "b", "c"} {
		c.Play(`call %q Read 4000`, id)
	}
	c.Play(`assistant say done; prompt next; assistant say done`)
	def := definePiCompaction()
	def.Params = stagetest.Params(t, def, "reserve: 1000, keep_recent: 1000, summary: [{fixed: 10}]")
	r := stagetest.NewRun(t, c, stagetest.Start(t, def, set))
	r.Window = 10000
	r.Each = func(k int) {
		if k < len(totals) {
			r.Last.Usage = jsonl.Usage{Input: totals[k] - 100, Output: 100}
		}
	}
	return r
}

func TestPiMoments(t *testing.T) {
	must.Rows(t, `
# name | change | totals | want
at the limit                   | rules: '0.63' | [1000,2000,3000,9000,4000] | ""
above it, when the agent stops | rules: '0.63' | [1000,2000,3000,9001,4000] | summarize@5
in a run, not before 0.84      | rules: '0.63' | [1000,2000,8900,3000,4000] | ""
in a run, at the limit         | rules: '0.87' | [1000,2000,8000,3000,4000] | ""
in a run, above it             | rules: '0.87' | [1000,2000,8001,3000,4000] | summarize@4
in a run, above the window     | rules: '0.63' | [1000,2000,9001,3000,4000] | summarize@4
off                            | auto: false   | [1000,2000,9001,9500,4000] | ""
after the last answer          | rules: '0.87' | [1000,2000,3000,4000,9500] | summarize@6
`, func(_, change string, totals []int, want string) {
		must.Equal(t, bench(t, change, totals...).All().Edits(), want)
	})
}

// The newest call stays with its result, which alone has the 1,000 tokens that are kept; until 0.87 nothing is done.
func TestPiOrder(t *testing.T) {
	totals := []int{1000, 2000, 9000, 3000, 4000}
	r := bench(t, "", totals...).All()
	must.Equal(t, r.Order(), "summary m5-m9")
	e := r.View.Edits()[0]
	if want := "used 10000 > 9000; summary: a placeholder of 10 tokens"; e.Reason != want {
		t.Errorf("reason %q, want %q", e.Reason, want)
	}
	if e.Call.Then != nil || e.Call.Prompt != 252 || e.Call.Output != 0 {
		t.Errorf("call %+v: the turn's beginning alone is summarized", e.Call)
	}
	if r := bench(t, "rules: '0.84', keep_recent: 900", totals...).All(); len(r.View.Edits()) > 0 {
		t.Errorf("0.84: edits %v", r.Edits())
	}
	if r := bench(t, "keep_recent: 9000", totals...).All(); len(r.View.Edits()) > 0 {
		t.Errorf("a session shorter than what is kept: edits %v", r.Edits())
	}
}

func TestPiFiles(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	for i, call := range []struct{ tool, input string }{
		{"Read", `{"file_path":"/b"}`}, {"read", `{"path":"/a"}`}, {"Read", `{"file_path":"/c"}`}, {"Edit", `{"file_path":"/c"}`},
		{"Bash", `{"path":"/x"}`}, {"Write", `no object`}, {"MultiEdit", `{"file_path":"/d"}`},
	} {
		id := string(rune('a' + i))
		c.Play(`assistant calling %q %q %q; answers result %q ok`, id, call.tool, call.input, id)
	}
	c.Play(`assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, definePiCompaction(), "keep_recent: 1"))
	r.Manual = map[int]bool{7: true}
	r.All()
	want := "\n\n<read-files>\n/a\n/b\n</read-files>\n\n<modified-files>\n/c\n</modified-files>\n</summary>" // the newest call stays
	must.Equal(t, r.View.Edits()[0].Insert[0].Contents[2].Text, want)
}

// A request for a summary that does not fit fails, and is tried again when the agent stops the next time.
func TestPiFails(t *testing.T) {
	totals := []int{1000, 2000, 3000, 9500, 9500}
	r := bench(t, "rules: '0.63', prompt_tokens: 9300, prefix_prompt_tokens: 9300", totals...).All()
	must.Equal(t, r.Edits(), "fail@5 m0, fail@6 m0")
	must.Equal(t, r.View.Edits()[0].Detail["limit_tokens"], 9200, "a limit of")
}

// The API counts a request: one that exceeds the window is refused, however small Pi's own estimate of it is.
func TestPiOverflow(t *testing.T) {
	must.Rows(t, `
0    | ""
7500 | summarize@4
`, func(overhead int, theWant string) {
		r := bench(t, "", 1000, 2000, 3000, 4000, 4000)
		r.Overhead = overhead
		r.All()
		must.Equal(t, r.Edits(), theWant, overhead)
		for _, e := range r.View.Edits() {
			if want := "the request of 10612 tokens > 10000, the window"; !strings.HasPrefix(e.Reason, want) {
				t.Errorf("reason %q, want %q", e.Reason, want)
			}
		}
	})
}

// TestPiSmall compares what is said of a view from sums of what joined with what a compaction would cut, and the split
// with a walk from the front.
func TestPiSmall(t *testing.T) {
	small, large := 0, 0
	for seed := range uint64(200) {
		d := stagetest.NewDice(seed, nil)
		p := *definePiCompaction().Params.(*PiCompaction)
		p.Rules = d.Pick(rulesDrop, rulesTurnEnd, rulesRun, rulesProjection)
		p.Reserve, p.KeepRecent, p.Summary = 500, d.N(3000), policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: 10}}
		stage := stagetest.Start(t, definePiCompaction(), &p)
		s := stage.Stage.(*piCompaction)
		r := stagetest.NewRun(t, d.Conversation(), stage)
		r.Window = 1500 + d.N(4000)
		r.Each = func(k int) {
			for range d.N(2) {
				ids := r.View.IDs()
				e := policy.Edit{Kind: policy.KindRemove, Trigger: "auto", Stage: "test", Items: []policy.ItemID{ids[d.N(len(ids))]}}
				must.Get(r.View.Apply(e))(t)
			}
			history, pending := split(r.View)
			for _, ids := range [][]policy.ItemID{history, r.View.IDs()} {
				previous, items := s.since(r.View, ids)
				for _, overflow := range []bool{false, true} {
					cut, _ := s.cut(r.View, previous, items, overflow)
					switch {
					case !s.small(r.View):
						large++
					case cut != 0:
						t.Fatalf("seed %d, request %d: a small view is cut at %d of %d", seed, k, cut, len(items))
					default:
						small++
					}
				}
			}
			at := len(history) + len(pending)
			for i, id := range slices.Backward(r.View.IDs()) {
				m := r.View.Message(id)
				if m == nil || m.Role == session.Assistant || m.Class == session.ClassToolResult {
					break
				}
				if m.Class == session.ClassPrompt {
					at = i
				}
			}
			if at != len(history) {
				t.Fatalf("seed %d, request %d: split at %d, want %d", seed, k, len(history), at)
			}
		}
		r.All()
	}
	if small < 1000 || large < 1000 {
		t.Errorf("%d views are small, %d are not", small, large)
	}
}
