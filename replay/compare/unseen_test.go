package compare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/exact"
)

func TestUnseen(t *testing.T) {
	var around struct{ Seen, Placebo, Deep replay.Around }
	must.JSON(t, `{"seen": {"times": 15, "grown": [300000, 390000], "explored": [100, 145], "edited": [100, 90]},
		"placebo": {"times": 10, "grown": [200000, 220000], "explored": [50, 55], "edited": [60, 60]}, "deep": {"times": 10, "grown": [100000, 300000], "explored": [5, 95]}}`, &around)
	must.Rows(t, `
# projects, with what is seen in them: compactions, placebos, and placebos that are deeper
""                                 | 58 of 0, shipped true: [1.356 4.622], [8844 8844]
p seen, q placebo                  | 58 of 0, shipped true: [1.356 4.622], [8844 8844]
p seen, r seen, q placebo          | 30 of 2, shipped false: [2.5 3], [4000 6000]
p seen, r seen, q placebo, d deep  | 30 of 2, shipped false: [2.5 3], [4000 6000] # less what is seen as deep
p seen, r seen, d deep             | 30 of 2, shipped false: [0 3], [0 6000] # none is as deep
p seen, p seen                     | 30 of 1, shipped false: [3 3], [6000 6000]
`, func(projects, want string) {
		var sessions []ComparedSession
		for one := range strings.SplitSeq(projects, ", ") {
			project, what, ok := strings.Cut(one, " ")
			if !ok {
				continue
			}
			s := ComparedSession{Project: project}
			switch what {
			case "seen":
				s.Aftermath.Compactions[1] = around.Seen
			case "placebo":
				s.Aftermath.Placebos[1] = around.Placebo
			default:
				s.Aftermath.Placebos[2] = around.Deep
			}
			sessions = append(sessions, s)
		}
		u := unseen(sessions)
		must.Equal(t, fmt.Sprintf("%d of %d, shipped %v: %v, %v", u.Times, u.Projects, u.Shipped, u.Requests, u.Tokens), want)
	})
}

func TestCorrection(t *testing.T) {
	usd := func(n int64) exact.Decimal { return exact.Of(n*1e9, 9) }
	// Of a session that costs 100 USD an extra compaction causes 1.36 USD and 2.65 USD at least, 4.62 and 5.31 at most.
	must.Rows(t, `
# costs under the first and the second policy, and compactions that the second has more, of each session; a cost below 0 is of another project
[[150, 100, 0]]  | none
[[150, 100, 5]]  | holds: 5, -29.954 to -0.358, each 4.0092 to 9.9284, break-even 10 or 10
[[150, 100, 10]] | cannot_tell: 10, -9.908 to 49.284, each 4.0092 to 9.9284, break-even 5 or 5
[[150, 100, 25]] | flips: 25, 50.23 to 198.21, each 4.0092 to 9.9284, break-even 2 or 2
[[100, 150, 5]]  | "holds: 5, 80.069 to 124.463, each 6.0138 to 14.8926, break-even  or "
[[90, 100, -5]]  | flips: -5, -8.0414 to -34.6778, each 3.6083 to 8.9356, break-even 2 or 2.2
# The same two the other way around, and one compaction more in another session.
[[100, 90, 5]]   | flips: 5, 8.0414 to 34.6778, each 3.6083 to 8.9356, break-even 2 or 2.2
[[90, 100, -5], [100, 90, 5]]  | "holds: 0, 0 to 0, each 3.6083 to 8.9356, break-even  or "
[[90, 100, -5], [100, 100, 1]] | flips: -4, -4.0322 to -24.7494, each 3.6751 to 9.101, break-even 2.5 or 2.6
[[200, 100, 1], [-99, 100, 0]] | cannot_tell: 1, -94.9908 to -89.0716, each 4.0092 to 9.9284, break-even 99 or 99
[[200, 100, 1], [-40, 100, 0]] | holds: 1, -35.9908 to -30.0716, each 4.0092 to 9.9284, break-even 40 or 40
`, func(list [][3]int64, want string) {
		var sessions []ComparedSession
		for _, one := range list {
			s := sessionOf("s", "m", "v", 100, 0, 0).in(map[bool]string{true: "q", false: "p"}[one[0] < 0])
			for p, cost := range []int64{max(one[0], -one[0]), one[1]} {
				s.Values[p][index("cost_usd")], s.Values[p][index("payload_input")] = usd(cost), exact.Whole(10_000_000)
				s.Values[p][index("compactions")] = exact.Whole(5 + int(one[2])*p)
			}
			sessions = append(sessions, s)
		}
		got := "none"
		if k := Compare([]string{"a", "b"}, sessions, ByNothing)[0].Pairs[1].Correction; k != nil {
			got = fmt.Sprintf("%s: %d, %v to %v, each %v to %v, break-even %v or %v", k.Stability, k.Extra, k.Corrected[0], k.Corrected[1], k.Each[0], k.Each[1], k.BreakEven, k.BreakEvenRequests)
		}
		must.Equal(t, got, want)
	})
}
