package engine

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/internal/record"
)

func TestRoundest(t *testing.T) {
	must.Rows(t, `
# least | most | want
399578 | 401320  | 400000
599736 | 601196  | 600000
0      | 1200000 | 1000000
1      | 33000   | 30000
256789 | 256799  | 256790
256791 | 256799  | 256795
256791 | 256794  | 256794
0      | 33001   | 30000
500    | 400     | 400
0      | 3       | 3
399999 | 400000  | 400000
400001 | 412000  | 410000
`, func(least, most, want int) {
		must.Equal(t, roundest(least, most), want, least, most)
	})
}

// TestFitContradiction: where a request went on above what another compacted at, no window explains both; the
// recorded compactions decide.
func TestFitContradiction(t *testing.T) {
	decisions := make([]Decision, 4)
	for i, used := range []int{100000, 380000, 200000, 368000} {
		decisions[i] = Decision{Request: i + 1, Used: used, Window: 1000000, Limit: 967000}
	}
	conv := &session.Conversation{Requests: make([]session.APICall, 4)}
	conv.Boundaries = []session.Boundary{
		{Trigger: "manual", Request: 3, PreTokens: 100}, {Trigger: "auto", Request: 4, PreTokens: 368000},
	}
	if f := fit(conv, []int{1}, 1000000, decisions); f == nil || *f != (record.Fit{Window: 401000, Least: 413001, Most: 401000}) {
		t.Errorf("%+v", f)
	}
	decisions[1].Used = 366000
	if f := fit(conv, []int{1}, 1000000, decisions); f == nil || *f != (record.Fit{Window: 400000, Least: 399001, Most: 401000, Agrees: true}) {
		t.Errorf("%+v", f)
	}
	if f := fit(conv, []int{1}, 200000, decisions); f != nil {
		t.Errorf("in a model's window of 200,000: %+v", *f)
	}
}
