package policy

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// The limits of a policy are those of the shared parameters that its stages read, then those of each stage.
func TestLimits(t *testing.T) {
	p := mustDecode(t, "p.yaml", "window: {buffer: 30000, percent: 80}\nstages: [bare, sweep: {keep: 7}, trim, compress]\n", nil)
	by := func(key string) string { return key + " of the test" }
	got := p.Limits(Circumstances{Window: 100000, By: by})
	want := Limits{
		List: []Limit{
			{Name: "usable", Tokens: 70000, From: "window.buffer of the test"},
			{Stage: "sweep", Name: "sweeping", Operator: ">=", Tokens: 50000, Of: OfContext, Acts: true, Key: "sweep", Lower: "make sweep.offset larger", Raise: "make sweep.offset smaller"},
			{Stage: "trim", Name: "trimming", Operator: ">", Tokens: 90000, Of: OfMessages, Acts: true, Key: "trim.at"},
			{Stage: "trim", Name: "least", Operator: ">=", Tokens: 1, Of: OfResults, Acts: true, Key: "trim.at"},
			{Stage: "compress", Name: "compression", Label: "compress", Operator: ">=", Tokens: 70000, Of: OfContext, Acts: true, Key: "compress", Raise: "make window.buffer smaller"},
		},
		Notes: []string{"sweep: 7 results"},
	}
	must.Equal(t, got, want)
	for _, stages := range []string{"[]", "[bare, spare]"} {
		got := mustDecode(t, "p.yaml", "window: {buffer: 1}\nstages: "+stages+"\n", nil).Limits(Circumstances{Window: 100000})
		if got.List == nil || len(got.List)+len(got.Notes) > 0 {
			t.Errorf("%s: %+v", stages, got)
		}
	}
}

func TestCompactsAt(t *testing.T) {
	must.Rows(t, `
# stages | at | fitsFrom
[bare, sweep, trim]          | 0      | ""
[compress]                   | 150000 | 2.0
[compress: {enabled: false}] | 0      | 2.0
[recall, compress]           | 150000 | 2.0
[fold]                       | 120000 | ""
[fold, compress]             | 120000 | 2.0
[fold: {at: 170000}, compress] | 150000 | 2.0
`, func(stages string, theAt int, fitsFrom string) {
		p := mustDecode(t, "p.yaml", "stages: "+stages+"\n", nil)
		if at, from := p.CompactsAt(Circumstances{Window: 200000}), p.FitsFrom(); at != theAt || from != fitsFrom {
			t.Errorf("%s: compacts at %d, fits from %q, want %d, %q", stages, at, from, theAt, fitsFrom)
		}
	})
}

func TestThousands(t *testing.T) {
	must.Rows(t, `
0       | 0
999     | 999
1000    | 1,000
180000  | 180,000
1234567 | 1,234,567
-999    | -999
-1000   | -1,000
-123456 | -123,456
`, func(n int, want string) {
		same(t, want, Thousands(n), n)
	})
}
