package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// longRun is a session of one prompt whose recorded context grows by 4,000 tokens a request, up to most.
func longRun(t *testing.T, most int) *session.Conversation {
	s := newScript()
	s.user(400)
	for k := range 60 {
		s.answer(context(min(20000+4000*k, most)), read(fmt.Sprint("t", k)))
		s.result(fmt.Sprint("t", k), 14000)
	}
	s.answer(context(min(260000, most)), text(40))
	return s.load(t)
}

// compactedRun is the same with a compaction at 150,000: no recorded context exceeds 200,000.
func compactedRun(t *testing.T) *session.Conversation {
	s := newScript()
	s.user(400)
	for k := range 33 {
		s.answer(context(20000+4000*k), read(fmt.Sprint("t", k)))
		s.result(fmt.Sprint("t", k), 14000)
	}
	s.boundary("auto", 152000, 4000)
	for k := range 33 {
		s.answer(context(24000+4000*k), read(fmt.Sprint("u", k)))
		s.result(fmt.Sprint("u", k), 14000)
	}
	s.answer(context(156000), text(40))
	return s.load(t)
}

// TestRecordedRefused: what was recorded is judged in the window of another model.
func TestRecordedRefused(t *testing.T) {
	long := longRun(t, 300000)
	pol := named(t, "recorded")
	for _, c := range []struct {
		model string
		want  bool
	}{{"", false}, {long.Model, false}, {"claude-haiku-4-5", true}} {
		tl := replayed(t, long, pol, replay.Options{Model: c.model})
		over := 0
		for _, r := range tl.Requests {
			if r.Payload > 200000 {
				over++
			}
		}
		if over == 0 || c.want && tl.Totals.Refused != over || !c.want && tl.Totals.Refused > 0 {
			t.Errorf("under %q: %d refused of %d over 200,000", c.model, tl.Totals.Refused, over)
		}
	}
}

func stagesOf(list string) string {
	if list == "" {
		return "stages: []\n"
	}
	return "stages:\n  - " + strings.ReplaceAll(list, "; ", "\n  - ") + "\n"
}

// TestRefused: a request that exceeds the window is refused, each with its event, but not in an assumed window that
// the record itself exceeds, and not on the recorded track under its own model.
func TestRefused(t *testing.T) {
	compacted := compactedRun(t)
	must.Rows(t, `
# name | session: compacted, or the most that a long one has | window of the policy | stages | window as an option | refused
nothing to collapse          | 0      | {blocking: auto_off} | context_collapse: {}    | 0      | true
no stage at all              | 0      | {}                   | ""                      | 0      | true
it compacts                  | 0      | {}                   | autocompact: {}         | 0      | false
it clears                    | 0      | {}                   | microcompact_cached: {} | 0      | false
all of it fits               | 199000 | {}                   | ""                      | 0      | false
the record shows a larger window | 300000 | {}               | ""                      | 0      | false
the policy gives the window  | 300000 | {context: 200000}    | ""                      | 0      | true
the user gives the window    | 300000 | {}                   | ""                      | 200000 | true
the user gives a larger one  | 300000 | {context: 200000}    | ""                      | 400000 | false
`, func(name string, most int, window, stages string, given int, want bool) {
		conv := compacted
		if most > 0 {
			conv = longRun(t, most)
		}
		tl := replayed(t, conv, written(t, "name: mine\nwindow: "+window+"\n"+stagesOf(stages)), replay.Options{Window: given})
		over := 0
		for _, q := range mains(tl) {
			excess := q.Payload - tl.Window
			var event *replay.Event
			for _, n := range q.Events {
				if tl.Events[n].Kind == policy.KindRefuse {
					event = new(tl.Events[n])
				}
			}
			switch {
			case !want || excess <= 0:
				if event != nil {
					t.Errorf("%s: request %d of %d tokens: %s", name, q.N, q.Payload, event.Reason)
				}
				continue
			case event == nil:
				t.Fatalf("%s: request %d is %d over the window, and no event says so", name, q.N, excess)
			}
			over++
			if event.Detail["over"] != excess || !strings.Contains(event.Reason, policy.Thousands(excess)+" too many") || *event.Request != q.N ||
				event.Before != q.Payload || event.After != q.Payload || event.Saved != 0 {
				t.Errorf("%s: request %d is %d over: %+v", name, q.N, excess, event)
			}
		}
		if want == (over == 0) || tl.Totals.Refused != over || tl.Totals.Blocked != 0 {
			t.Errorf("%s: %d refused, %d blocked, want %d", name, tl.Totals.Refused, tl.Totals.Blocked, over)
		}
	})
	for _, options := range []replay.Options{{}, {Window: 50000}} {
		tl := replayed(t, compacted, named(t, "recorded"), options)
		if tl.Totals.Refused > 0 || (options.Window == 0) != (len(tl.Warnings) == 0) {
			t.Errorf("the record in %d: %d refused, %v", options.Window, tl.Totals.Refused, tl.Warnings)
		}
	}
}

// TestBlocked: the client holds back a request at its blocking limit, unless it has just compacted. Such a request
// is not also counted as one that the API refuses.
func TestBlocked(t *testing.T) {
	conv := longRun(t, 300000)
	must.Rows(t, `
# name | window | stages | from
automatic compaction is off | auto_compact: false | autocompact: {enabled: false} | 197000
with a limit of its own     | auto_compact: false, blocking_limit: 120000 | autocompact: {enabled: false} | 120000
a client that holds nothing back while it compacts | blocking: auto_off  | autocompact: {enabled: false} | 0
it compacts in time         | auto_compact: true  | autocompact: {}    | 0
it compacts at the limit    | auto_compact: true, blocking_limit: 50000, pct_override: '1' | autocompact: {summary: [fixed: 100]} | 0
no such client              | ""                  | opencode_prune: {} | 0
`, func(name, theWindow, stages string, from int) {
		window := theWindow
		if window != "" {
			window = ", " + window
		}
		tl := replayed(t, conv, written(t, "name: mine\nwindow: {context: 200000"+window+"}\n"+stagesOf(stages)), replay.Options{})
		blocked := 0
		for _, q := range mains(tl) {
			is := false
			for _, n := range q.Events {
				ev := tl.Events[n]
				is = is || ev.Kind == policy.KindBlock
				if from > 0 && (ev.Kind == policy.KindRefuse || ev.Kind == policy.KindBlock && (ev.Detail["over"] != q.Used-from || ev.Before != q.Payload || ev.After != q.Payload)) {
					t.Errorf("%s: request %d, used %d: %s %+v", name, q.N, q.Used, ev.Reason, ev.Detail)
				}
			}
			must.Equal(t, is, from > 0 && q.Used >= from, name, q.N, q.Used)
			if is {
				blocked++
			}
		}
		if tl.Totals.Blocked != blocked || tl.Totals.Refused < blocked || from > 0 == (blocked == 0) {
			t.Errorf("%s: %d blocked of %d refused, want %d", name, tl.Totals.Blocked, tl.Totals.Refused, blocked)
		}
	})
}

// failing is a stage of its own: at its requests a summary of a size, or a failure.
type failing struct{ after []int } // tokens of the view after the compaction at each request; -1: it fails, 0: nothing is done

func (s failing) Run(c *policy.Context) ([]policy.Edit, error) {
	if c.Request > len(s.after) || s.after[c.Request-1] == 0 {
		return nil, nil
	}
	if s.after[c.Request-1] < 0 {
		return []policy.Edit{{Kind: policy.KindFail, Reason: "it is refused"}, {
			Kind: policy.KindFail, Reason: "it is thrown away", Items: c.View.IDs()[:1],
			Call: &policy.Call{Kind: "compaction", Input: 70, Output: 7, Prefix: "own"},
		}}, nil
	}
	return []policy.Edit{{Kind: policy.KindSummarize, Reason: "it is summarised", Insert: []policy.Synthetic{{
		Role: "user", Label: "summary", Summary: true, Contents: []policy.Content{{Tokens: s.after[c.Request-1]}},
	}}, Keep: c.View.IDs()[c.View.Len()-1:]}}, nil
}

// TestThrashAndFailures: a failure leaves the view, and of its calls only those it names are billed. Compactions that
// free less than a tenth are counted, and how many there are in a row, whatever fails between them.
func TestThrashAndFailures(t *testing.T) {
	s := newScript()
	for k := range 9 {
		s.user(4000)
		s.answer(context(20000+2000*k), text(4000))
	}
	conv := s.load(t)
	must.Rows(t, `
# name | after | compactions | failed | thrash | run
none                  | null                         | 0 | 0 | 0 | 0
failures              | [0, -1, -1]                  | 0 | 4 | 0 | 0
good ones             | [0, 10, 10]                  | 2 | 0 | 0 | 0
larger than before    | [0, 90000, 90000, 10, 90000] | 4 | 0 | 3 | 2
with failures between | [0, 90000, -1, 90000, 90000] | 3 | 2 | 3 | 3
`, func(name string, after []int, compactions, failed, thrash, run int) {
		def := policy.Definition{
			Name: "failing", Moments: policy.Prepare, Params: &struct{}{}, Summary: "It fails.", Source: "this test", Truth: policy.TruthDescribed,
			New: func(any) (policy.Stage, error) { return failing{after}, nil },
		}
		pol := &policy.Policy{Name: "mine", Stages: []policy.StageConfig{{Definition: def, Params: def.Params}}}
		tl := replayed(t, conv, pol, replay.Options{})
		if got := tl.Totals; got.Compactions != compactions || got.Failed != failed || got.Thrash != thrash || got.ThrashRun != run {
			t.Errorf("%s: %d compactions, %d failed, thrash %d, in a row %d", name, got.Compactions, got.Failed, got.Thrash, got.ThrashRun)
		}
		if own := tl.Cost().Own; own.Calls != failed/2 || own.Output != 7*failed/2 || own.Input.Input() != 70*failed/2 {
			t.Errorf("%s: own calls %+v", name, own)
		}
		if compactions > 0 {
			return
		}
		for _, q := range mains(tl) {
			must.Equal(t, q.Payload, q.Raw, name, q.N)
		}
	})
}

// TestAlikeOnlyWithTheSameRefusals: policies whose stages do the same are not alike where one loses requests and the
// other does not.
func TestAlikeOnlyWithTheSameRefusals(t *testing.T) {
	rec := must.Get(replay.NewRecord(compactedRun(t)))(t)
	policies := []*policy.Policy{}
	for _, window := range []string{"context: 200000", "context: 201000", "context: 200000, blocking_limit: 150000", "context: 200000, warning_offset: 1"} {
		policies = append(policies, written(t, "name: mine\nwindow: {"+window+"}\nstages:\n  - autocompact: {enabled: false}\n"))
	}
	_, same, err := rec.ReplayAlike(policies[0], policies[1:], replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	must.Equal(t, fmt.Sprint(same), "[false false true]", same)
}
