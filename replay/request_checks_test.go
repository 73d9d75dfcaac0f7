package replay

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestCheckFirstEvent: also the first event that is named has to be there.
func TestCheckFirstEvent(t *testing.T) {
	tl := Timeline{Schema: Schema, Requests: []Request{{N: 1, Kind: "main", Events: []int{0}}}}
	tl.Totals.Requests = 1
	if err := tl.CheckValid(); err == nil {
		t.Error("a request names event 0 of none, and nothing is said of it")
	}
}

// TestCheckRequests: a timeline says which of its requests breaks which invariant first.
func TestCheckRequests(t *testing.T) {
	must.Rows(t, `
# what is another in the second of three requests | what is said
{}                                  | ""
{"kind": "compaction"}              | main request 2 has n 3
{"n": 0}                            | request row 1 has n 0 after 1
{"n": 3}                            | main request 2 has n 3
{"cache": {"read": 5}}              | request 2 sends 10 tokens, of which the cache simulation splits
{"cache": {"read": -1, "uncached": 11}} | request 2 sends 10 tokens
{"cost_parts": null}                | the parts of the cost of request 2 do not add up
{"cost_parts": {"output": 0.2}}     | the parts of the cost of request 2 do not add up
{"output_tokens": -1}               | request 2 has a figure below zero
{"events": [0, 7]}                  | request 2 names event 7 of 1
{"events": [-1]}                    | request 2 names event -1
`, func(change, want string) {
		tl := Timeline{Schema: Schema, Events: make([]Event, 1), Requests: make([]Request, 3)}
		for n := range tl.Requests {
			r := &tl.Requests[n]
			must.JSON(t, `{"kind": "main", "payload_tokens": 10, "model_tokens": 10, "cache": {"read": 4, "uncached": 6}, "cost_usd": 0.3, "cost_parts": {"ideal": 0.2, "output": 0.1}}`, r)
			if r.N = n + 1; n == 1 {
				must.JSON(t, change, r)
			}
		}
		tl.Totals.Requests = 3
		if err := tl.CheckValid(); want == "" {
			must.Do(t, err)
		} else {
			must.Refuse(t, err, want)
		}
	})
}
