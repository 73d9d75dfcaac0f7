package stage

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

func auto(change func(*Autocompact)) *Autocompact {
	p := *defineAutocompact().Params.(*Autocompact)
	p.Summary = policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: 5000}}
	if change != nil {
		change(&p)
	}
	return &p
}

func TestAutocompactThreshold(t *testing.T) {
	first := policy.DefaultWindow()
	late := policy.DefaultWindow()
	late.ReserveCap = 20000
	off := policy.DefaultWindow()
	off.AutoCompact = false
	half := policy.DefaultWindow()
	half.PctOverride = "35"
	tests := []struct {
		name    string
		w       policy.Window
		context int
		used    int
		change  func(*Autocompact)
		want    bool
	}{
		{"154,999", first, 200000, 154999, nil, false},
		{"155,000", first, 200000, 155000, nil, true},
		{"155,001", first, 200000, 155001, nil, true},
		{"166,999", late, 200000, 166999, nil, false},
		{"167,000", late, 200000, 167000, nil, true},
		{"966,999 of 1M", late, 1000000, 966999, nil, false},
		{"967,000 of 1M", late, 1000000, 967000, nil, true},
		{"35 %: 58,798", half, 200000, 58798, nil, false},
		{"35 %: 58,799", half, 200000, 58799, nil, true},
		{"switched off", off, 200000, 199999, nil, false},
		{"not enabled", first, 200000, 199999, func(p *Autocompact) { p.Enabled = false }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := uses(3)
			r := usage(newRun(t, c, start(t, defineAutocompact(), auto(tt.change))), tt.used, 100)
			r.limits = tt.w.Resolve(tt.context, 0)
			r.all()
			if got := r.view.Epoch() > 0; got != tt.want {
				t.Fatalf("compacted: %t, want %t", got, tt.want)
			}
			if !tt.want {
				return
			}
			e := r.view.Edits()[0]
			if e.Trigger != "auto" || e.Detail["pre_tokens"] != tt.used || e.Call == nil || e.Call.Kind != "compaction" {
				t.Errorf("%+v", e)
			}
			if ids := r.view.IDs(); len(ids) != 2 { // the summary and what was answered to it
				t.Errorf("items %v", ids)
			}
		})
	}
}

func TestAutocompactManual(t *testing.T) {
	for _, tt := range []struct {
		manual string
		want   []string
	}{{"replay", []string{"summarize@3"}}, {"ignore", nil}} {
		r := newRun(t, uses(3), start(t, defineAutocompact(), auto(func(p *Autocompact) { p.Manual, p.Enabled = tt.manual, false })))
		r.manual = map[int]bool{2: true}
		if diff := cmp.Diff(tt.want, r.all().edits()); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.manual, diff)
		}
	}
	// There is nothing to compact before the first message.
	r := newRun(t, uses(1), start(t, defineAutocompact(), auto(nil)))
	r.fire(policy.Manual, 0, policy.Context{})
	if r.edits() != nil {
		t.Errorf("an empty view: %v", r.edits())
	}
}

// What the client sent after its own compaction comes with the recorded
// summary, and only with that.
func TestAutocompactRecorded(t *testing.T) {
	sum := policy.NewContent(jsonl.KindText, "what was done")
	file := policy.Synthetic{Role: "user", Label: "file", Contents: []policy.Content{sum}}
	for _, tt := range []struct {
		name    string
		summary *policy.Content
		want    int
	}{{"recorded", &sum, 3}, {"none recorded", nil, 2}} {
		t.Run(tt.name, func(t *testing.T) {
			c := uses(3)
			c.Boundaries = append(c.Boundaries, boundaryAt(7))
			c.Boundaries[0].Request = 4
			p := auto(func(p *Autocompact) {
				p.Summary = policy.SummaryChoices{{Kind: policy.SummaryRecorded}, {Kind: policy.SummaryFixed, Tokens: 77}}
			})
			r := usage(newRun(t, c, start(t, defineAutocompact(), p)), 155000, 0)
			r.record = record{summary: tt.summary, tail: []policy.Synthetic{file}}
			r.all()
			if r.view.Len() != tt.want {
				t.Errorf("%d items, want %d", r.view.Len(), tt.want)
			}
			if reason := r.view.Edits()[0].Reason; strings.Contains(reason, "line 7") != (tt.summary != nil) {
				t.Errorf("reason %q", reason)
			}
		})
	}
}

// A compaction never begins its own.
func TestAutocompactItself(t *testing.T) {
	for agent, want := range map[string]bool{"": true, "a1b2": true, "acompact-1": false, "asession_memory-1": false} {
		c := uses(3)
		c.Agent = agent
		r := usage(newRun(t, c, start(t, defineAutocompact(), auto(nil))), 155000, 0).all()
		if got := r.view.Epoch() > 0; got != want {
			t.Errorf("agent %q: compacted %t, want %t", agent, got, want)
		}
	}
}

// A request that is too long drops its oldest rounds until the gap is covered.
func TestAutocompactTooLong(t *testing.T) {
	tests := []struct {
		name    string
		excess  int
		retries int
		want    int
	}{
		{"it fits", 0, 3, 0},
		{"one over", 1, 3, 1},
		{"no retries", 1, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := uses(9)
			r := newRun(t, c, start(t, defineAutocompact(), auto(func(p *Autocompact) { p.Retries = tt.retries })))
			r.limits.Effective = 1257
			for m := range 19 {
				r.view.Join(m)
			}
			r.limits.Effective += r.view.Tokens() - tt.excess
			r.used = func(int) (int, int) { return 155000, 0 }
			r.fire(policy.Prepare, 9, policy.Context{})
			call := r.view.Edits()[0].Call
			if call.Retries != tt.want {
				t.Errorf("%d retries, want %d", call.Retries, tt.want)
			}
			if tt.want > 0 && call.Input > r.limits.Effective {
				t.Errorf("%d tokens are sent, %d fit", call.Input, r.limits.Effective)
			}
		})
	}
}

// A compaction's own request holds the messages as they were before this
// request's microcompaction, without images and what an earlier one
// re-injected.
func TestAutocompactRequest(t *testing.T) {
	picture := block(jsonl.KindImage, "image", strings.Repeat("i", 4000))
	for _, tt := range []struct {
		name   string
		prefix string
		want   int
	}{
		{"its own prefix", "own", 9000 + 1257},
		{"the session's", "session", 9000 + 1257 + 700},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newConvo()
			c.user(session.ClassPrompt, say(strings.Repeat("x", 4*9000)), picture)
			c.assistant(say("ok"))
			r := newRun(t, c, start(t, defineAutocompact(), auto(func(p *Autocompact) { p.Prefix = tt.prefix })))
			r.overhead = 700
			r.view.Join(0)
			if _, err := r.view.Apply(policy.Edit{Kind: policy.KindAttach, Insert: []policy.Synthetic{{
				Role: "user", Attached: true, Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 5000}},
			}}}); err != nil {
				t.Fatal(err)
			}
			r.used = func(int) (int, int) { return 155000, 0 }
			r.fire(policy.Prepare, 0, policy.Context{})
			edits := r.view.Edits()
			if call := edits[len(edits)-1].Call; call == nil || call.Input != tt.want {
				t.Errorf("the call: %+v, want input %d", call, tt.want)
			}
		})
	}
}

// What the request leaves out anyway does not count when rounds are dropped.
func TestAutocompactDropsWhatIsSent(t *testing.T) {
	c := newConvo()
	c.user(session.ClassPrompt, say(strings.Repeat("x", 400)), block(jsonl.KindImage, "image", strings.Repeat("i", 40000)))
	c.assistant(say(strings.Repeat("y", 400)))
	c.prompt(strings.Repeat("z", 400))
	c.assistant(say(strings.Repeat("w", 400)))
	r := newRun(t, c, start(t, defineAutocompact(), auto(func(p *Autocompact) { p.PromptTokens = 1000 })))
	for m := range 4 {
		r.view.Join(m)
	}
	r.limits.Effective = 1395 // 400 and the prompt are sent: 5 too many
	r.used = func(int) (int, int) { return 155000, 0 }
	r.fire(policy.Prepare, 2, policy.Context{})
	edits := r.view.Edits()
	// The first round, 300 without its image, goes; the marker's 13 come.
	if call := edits[len(edits)-1].Call; call.Retries != 1 || call.Input != 1400-300+13 {
		t.Errorf("the call: %+v, want input %d after one retry", call, 1400-300+13)
	}
}
