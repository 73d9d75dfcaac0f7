package opencode

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

func overflow(change func(*OpencodeCompaction)) *OpencodeCompaction {
	p := *defineOpencodeCompaction().Params.(*OpencodeCompaction)
	p.Summary = policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: 5000}}
	if change != nil {
		change(&p)
	}
	return &p
}

func TestOpencodeOverflow(t *testing.T) {
	newest := func(p *OpencodeCompaction) { p.Count = "1.18" }
	tests := []struct {
		name   string
		change func(*OpencodeCompaction)
		usage  jsonl.Usage
		want   bool
	}{
		{"168,000 of 168,000", nil, jsonl.Usage{Input: 8000, CacheRead: 150000, Output: 10000}, false},
		{"168,001", nil, jsonl.Usage{Input: 8001, CacheRead: 150000, Output: 10000}, true},
		{"cache writes do not count", nil, jsonl.Usage{Input: 8000, CacheRead: 150000, CacheWrite: 30000, Output: 10000}, false},
		{"off", func(p *OpencodeCompaction) { p.Auto = false }, jsonl.Usage{Input: 199000}, false},
		{"1.18: 167,999", newest, jsonl.Usage{Input: 7999, CacheRead: 100000, CacheWrite: 50000, Output: 10000}, false},
		{"1.18: 168,000, writes included", newest, jsonl.Usage{Input: 8000, CacheRead: 100000, CacheWrite: 50000, Output: 10000}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := stagetest.Uses(1)
			r := stagetest.NewRun(t, c, stagetest.Start(t, defineOpencodeCompaction(), overflow(tt.change)))
			for m := range 3 {
				r.View.Join(m)
			}
			r.Last = policy.Response{Usage: tt.usage, Known: true, Message: 1}
			r.Fire(policy.Respond, 1, policy.Context{MaxOutput: 64000})
			if got := r.View.Epoch() > 0; got != tt.want {
				t.Errorf("compacted %t, want %t", got, tt.want)
			}
			// The same response is answered once.
			n := len(r.View.Edits())
			r.Fire(policy.Prepare, 1, policy.Context{MaxOutput: 64000})
			if len(r.View.Edits()) != n {
				t.Errorf("the same response was answered again: %v", r.Edits())
			}
		})
	}
}

func TestOpencodeCompactionView(t *testing.T) {
	texts := func(r *stagetest.Bench) (list []string) {
		for id := range r.View.Items {
			if s := r.View.Synthetic(id); s != nil {
				list = append(list, s.Role+": "+s.Contents[0].Text)
			}
		}
		return list
	}
	for _, tt := range []struct {
		name   string
		manual bool
		want   []string
	}{
		{"on overflow", false, []string{"user: What did we do so far?", "assistant: ", "user: Continue if you have next steps"}},
		{"by hand", true, []string{"user: What did we do so far?", "assistant: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := stagetest.NewRun(t, stagetest.Uses(1), stagetest.Start(t, defineOpencodeCompaction(), overflow(nil)))
			for m := range 3 {
				r.View.Join(m)
			}
			r.Last = policy.Response{Usage: jsonl.Usage{Input: 170000}, Known: true, Message: 1}
			if tt.manual {
				r.Fire(policy.Manual, 1, policy.Context{MaxOutput: 64000})
			} else {
				r.Fire(policy.Respond, 1, policy.Context{MaxOutput: 64000})
			}
			if diff := cmp.Diff(tt.want, texts(r)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if v := view.CheckAPI(r.View); v != nil {
				t.Errorf("%v", v)
			}
		})
	}
}

// The 1.18 summariser is shown 2,000 characters of an output, its share of the tokens rounded down, and all of any
// other text.
func TestOpencodeSummarisedOutput(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1999: 500, 2000: 500, 2001: 499, 2004: 500, 8000: 500, 80000: 500} {
		for count, prompt := range map[string]int{"1.18": 537, "1.18.3": 225} {
			c := stagetest.NewConvo()
			c.Prompt(strings.Repeat("x", 8004))
			c.Call("a", "Read", n)
			c.Assistant(stagetest.Say(strings.Repeat("x", 8000)))
			p := keeping(count, 0, -1)
			p.Prompt = prompt
			want := 2001 + 4 + want + 2000 + prompt
			if got := compacted(t, c, p).View.Edits()[0].Call.Input; got != want {
				t.Errorf("%s, an output of %d: input %d, want %d", count, n, got, want)
			}
		}
	}
}

func TestOpencodeSummaryCall(t *testing.T) {
	for _, tt := range []struct {
		count         string
		prompt, input int
	}{
		{"1.1.36", 225, 0}, // the engine counts the view and the prompt
		{"1.18", 537, 1 + 20*9 + 537},
	} {
		p := defineOpencodeCompaction().Params.(*OpencodeCompaction)
		p.Count, p.Prompt = tt.count, tt.prompt
		if call := compacted(t, stagetest.Small(20), p).View.Edits()[0].Call; call.Prompt != tt.prompt || call.Input != tt.input {
			t.Errorf("%+v, want %+v", call, tt)
		}
	}
}
