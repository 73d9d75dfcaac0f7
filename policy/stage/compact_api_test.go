package stage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

func compacting(change func(*CompactAPI)) *CompactAPI {
	p := *defineCompactAPI().Params.(*CompactAPI)
	p.Summary = policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: 3500}}
	if change != nil {
		change(&p)
	}
	return &p
}

func TestCompactAPITrigger(t *testing.T) {
	tests := []struct {
		name   string
		prompt int // tokens of the second request's
		change func(*CompactAPI)
		want   []string
	}{
		{"150,000 is not over", 150000, nil, nil},
		{"150,001", 150001, nil, []string{"summarize@2"}},
		{"the least trigger, at it", 50000, func(p *CompactAPI) { p.Trigger = 50000 }, nil},
		{"the least trigger, over it", 50001, func(p *CompactAPI) { p.Trigger = 50000 }, []string{"summarize@2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newConvo()
			c.prompt("go") // 1 token
			c.call("a", "Read", 4*(tt.prompt-10005))
			c.assistant(say("done"))
			r := newRun(t, c, start(t, defineCompactAPI(), compacting(tt.change)))
			r.overhead = 10000
			var at []int
			r.each = func(int) { at = append(at, r.overhead+r.view.Tokens()) }
			r.all()
			if diff := cmp.Diff(tt.want, r.edits()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if len(tt.want) == 0 {
				if at[1] != tt.prompt {
					t.Errorf("a prompt of %d, want %d", at[1], tt.prompt)
				}
				return
			}
			e := r.view.Edits()[0]
			want := &policy.Call{Kind: "compaction", Prompt: 110, Input: tt.prompt + 110, Prefix: "session"}
			if diff := cmp.Diff(want, e.Call); diff != "" {
				t.Errorf("call: -want +got\n%s", diff)
			}
			if e.Detail["pre_tokens"] != tt.prompt || at[1] != 10000+3500 {
				t.Errorf("pre_tokens %d, then a message iteration of %d", e.Detail["pre_tokens"], at[1])
			}
		})
	}
}

// Instructions of one's own replace the default's.
func TestCompactAPIInstructions(t *testing.T) {
	for text, want := range map[string]int{"": 110, "Keep every file name.": 5, "整理 😀": 1, "x": 0, "xx": 1} {
		c := uses(3)
		r := newRun(t, c, start(t, defineCompactAPI(), compacting(func(p *CompactAPI) { p.Instructions = text })))
		r.overhead = 200000
		r.view.Join(0)
		size := r.overhead + r.view.Tokens()
		r.fire(policy.Project, 0, policy.Context{})
		if call := r.view.Edits()[0].Call; call.Prompt != want || call.Input != size+want {
			t.Errorf("%q: a prompt of %d in an input of %d, want %d in %d", text, call.Prompt, call.Input, want, size+want)
		}
	}
}

// The API's own notation and the plain number are the same.
func TestCompactAPINotation(t *testing.T) {
	for _, tt := range []struct{ value, want string }{
		{"150001", "150001"}, {"{input_tokens: 150002}", "150002"}, {"{type: input_tokens, value: 150003}", "150003"},
		{"49999", ""}, {"{input_tokens: 49999}", ""}, {"{tool_uses: 60000}", ""}, {"none", ""},
	} {
		p, err := policy.Decode("p.yaml", []byte("name: p\nabout: a\nsource: s\ndate: 2026-01-25\nstages:\n  - compact_api:\n      trigger: "+tt.value+"\n"), registry(t), nil)
		if tt.want == "" {
			if err == nil {
				t.Errorf("%s: no error", tt.value)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.value, err)
			continue
		}
		if got, _ := p.Get("compact_api.trigger"); got != tt.want {
			t.Errorf("%s: %s", tt.value, got)
		}
	}
}

func TestCompactAPITriggerTooLow(t *testing.T) {
	d := defineCompactAPI()
	if _, err := d.New(compacting(func(p *CompactAPI) { p.Trigger = 49999 })); err == nil {
		t.Error("no error for a trigger of 49,999")
	}
}

// A summary alone is not summarised again, however large the rest of the
// prompt is.
func TestCompactAPIOnce(t *testing.T) {
	c := uses(3)
	r := newRun(t, c, start(t, defineCompactAPI(), compacting(func(p *CompactAPI) { p.PauseAfter = true })))
	r.overhead = 200000
	r.view.Join(0)
	r.fire(policy.Project, 0, policy.Context{})
	r.fire(policy.Project, 0, policy.Context{})
	if diff := cmp.Diff([]string{"summarize@1"}, r.edits()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if reason := r.view.Edits()[0].Reason; !strings.Contains(reason, "paused after the summary") {
		t.Errorf("reason %q", reason)
	}
}

// The recorded summary is used, and nothing is re-injected beside it: that is
// the client's doing, not the API's.
func TestCompactAPIRecorded(t *testing.T) {
	c := uses(3)
	p := compacting(func(p *CompactAPI) {
		p.Summary = policy.SummaryChoices{{Kind: policy.SummaryRecorded}, {Kind: policy.SummaryFixed, Tokens: 9}}
	})
	c.Boundaries = append(c.Boundaries, boundaryAt(7))
	r := newRun(t, c, start(t, defineCompactAPI(), p))
	sum := policy.NewContent(jsonl.KindText, "what was done")
	r.record = record{summary: &sum, tail: []policy.Synthetic{{Role: "user", Contents: []policy.Content{sum}}}}
	r.manual = map[int]bool{2: true}
	r.all()
	if diff := cmp.Diff([]string{"summarize@3"}, r.edits()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	e := r.view.Edits()[0]
	if e.Trigger != "manual" || len(e.Insert) != 1 || e.Insert[0].Contents[0].Text != "what was done" || len(e.Tail) != 0 {
		t.Errorf("%+v", e)
	}
	r = newRun(t, uses(3), start(t, defineCompactAPI(), compacting(func(p *CompactAPI) { p.Manual = "ignore" })))
	r.manual = map[int]bool{2: true}
	if edits := r.all().edits(); edits != nil {
		t.Errorf("ignored, and yet %v", edits)
	}
}

// What tool-use clearing takes off is not in the prompt the trigger reads.
func TestCompactAPIAfterClearing(t *testing.T) {
	c := uses(4)
	api := compacting(nil)
	for _, over := range []struct {
		overhead int
		want     bool
	}{{150000, false}, {150400, true}} {
		r := newRun(t, c,
			start(t, defineClearToolUses(), clearing(func(p *ClearToolUses) { p.Trigger.Value, p.Keep = 1, 0 })),
			start(t, defineCompactAPI(), api))
		r.overhead = over.overhead - 100
		r.all()
		if got := r.view.Epoch() > 0; got != over.want {
			t.Errorf("overhead %d: compacted %t, want %t (payloads %v)", r.overhead, got, over.want, r.payload)
		}
	}
}
