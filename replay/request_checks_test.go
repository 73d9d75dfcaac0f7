package replay

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
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
	usd := func(n int64) price.USD { return price.USD{Nano: n, Known: true} }
	good := func(n int) Request {
		return Request{
			N: n, Kind: "main", Payload: 10, Tokens: 10, Cache: CacheUse{Split: cache.Split{Read: 4, Uncached: 6}},
			CostUSD: usd(3), CostParts: &CostParts{Ideal: usd(2), Output: usd(1)},
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*Request) // of the second of three
		want   string
	}{
		{"as it should be", func(*Request) {}, ""},
		{"a call of the policy's own", func(r *Request) { r.Kind, r.N = "compaction", 2 }, "main request 2 has n 3"},
		{"a number below the last", func(r *Request) { r.N = 0 }, "request row 1 has n 0 after 1"},
		{"a number left out", func(r *Request) { r.N = 3 }, "main request 2 has n 3"},
		{"a split of another sum", func(r *Request) { r.Cache.Read++ }, "request 2 sends 10 tokens, of which the cache simulation splits"},
		{"a part below zero", func(r *Request) { r.Cache.Split = cache.Split{Read: -1, Uncached: 11} }, "request 2 sends 10 tokens"},
		{"a cost without parts", func(r *Request) { r.CostParts = nil }, "the parts of the cost of request 2 do not add up"},
		{"parts of another sum", func(r *Request) { r.CostParts.Output = usd(2) }, "the parts of the cost of request 2 do not add up"},
		{"a figure below zero", func(r *Request) { r.Output = -1 }, "request 2 has a figure below zero"},
		{"an event that is not there", func(r *Request) { r.Events = []int{0, 7} }, "request 2 names event 7 of 1"},
		{"no event", func(r *Request) { r.Events = []int{-1} }, "request 2 names event -1"},
	} {
		tl := Timeline{Schema: Schema, Events: make([]Event, 1)}
		for n := range 3 {
			r := good(n + 1)
			if n == 1 {
				tt.change(&r)
			}
			tl.Requests = append(tl.Requests, r)
		}
		tl.Totals.Requests = 3
		switch err := tl.CheckValid(); {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
