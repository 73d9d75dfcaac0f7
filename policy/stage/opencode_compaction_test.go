package stage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
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
			c := uses(1)
			r := newRun(t, c, start(t, defineOpencodeCompaction(), overflow(tt.change)))
			for m := range 3 {
				r.view.Join(m)
			}
			r.last = policy.Response{Usage: tt.usage, Known: true, Message: 1}
			r.fire(policy.Respond, 1, policy.Context{MaxOutput: 64000})
			if got := r.view.Epoch() > 0; got != tt.want {
				t.Errorf("compacted %t, want %t", got, tt.want)
			}
			// The same response is answered once.
			n := len(r.view.Edits())
			r.fire(policy.Prepare, 1, policy.Context{MaxOutput: 64000})
			if len(r.view.Edits()) != n {
				t.Errorf("the same response was answered again: %v", r.edits())
			}
		})
	}
}

func TestOpencodeCompactionView(t *testing.T) {
	texts := func(r *run) (list []string) {
		for id := range r.view.Items {
			if s := r.view.Synthetic(id); s != nil {
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
			r := newRun(t, uses(1), start(t, defineOpencodeCompaction(), overflow(nil)))
			for m := range 3 {
				r.view.Join(m)
			}
			r.last = policy.Response{Usage: jsonl.Usage{Input: 170000}, Known: true, Message: 1}
			if tt.manual {
				r.fire(policy.Manual, 1, policy.Context{MaxOutput: 64000})
			} else {
				r.fire(policy.Respond, 1, policy.Context{MaxOutput: 64000})
			}
			if diff := cmp.Diff(tt.want, texts(r)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if v := view.CheckAPI(r.view); v != nil {
				t.Errorf("%v", v)
			}
		})
	}
}
