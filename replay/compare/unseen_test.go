package compare

import (
	"fmt"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/exact"
)

func TestUnseen(t *testing.T) {
	session := func(project string, seen, placebo replay.Around) ComparedSession {
		return ComparedSession{Project: project, Aftermath: replay.Aftermath{Compactions: [3]replay.Around{1: seen}, Placebos: [3]replay.Around{1: placebo}}}
	}
	seen := replay.Around{Times: 15, Grown: [2]int{300000, 390000}, Explored: [2]int{100, 145}, Edited: [2]int{100, 90}}
	placebo := replay.Around{Times: 10, Grown: [2]int{200000, 220000}, Explored: [2]int{50, 55}, Edited: [2]int{60, 60}}
	none := replay.Around{}
	deep := session("d", none, none)
	deep.Aftermath.Placebos[2] = replay.Around{Times: 10, Grown: [2]int{100000, 300000}, Explored: [2]int{5, 95}}
	for _, c := range []struct {
		sessions []ComparedSession
		want     string
	}{
		{nil, "58 of 0, shipped true: [1.356 4.622], [8844 8844]"},
		{[]ComparedSession{session("p", seen, none), session("q", none, placebo)}, "58 of 0, shipped true: [1.356 4.622], [8844 8844]"},
		{[]ComparedSession{session("p", seen, none), session("r", seen, none), session("q", none, placebo)}, "30 of 2, shipped false: [2.5 3], [4000 6000]"},
		{[]ComparedSession{session("p", seen, none), session("r", seen, none), session("q", none, placebo), deep}, "30 of 2, shipped false: [2.5 3], [4000 6000]"}, // less what is seen as deep
		{[]ComparedSession{session("p", seen, none), session("r", seen, none), deep}, "30 of 2, shipped false: [0 3], [0 6000]"},                                   // none is as deep
		{[]ComparedSession{session("p", seen, none), session("p", seen, none)}, "30 of 1, shipped false: [3 3], [6000 6000]"},
	} {
		u := unseen(c.sessions)
		must.Equal(t, fmt.Sprintf("%d of %d, shipped %v: %v, %v", u.Times, u.Projects, u.Shipped, u.Requests, u.Tokens), c.want)
	}
}

// TestCorrection holds the words for differences with what extra compactions cause.
func TestCorrection(t *testing.T) {
	usd := func(n int64) exact.Decimal { return exact.Of(n*1e9, 9) }
	session := func(project string, first, own int64, extra int) ComparedSession {
		s := sessionOf("s", "m", "v", 100, 0, 0).in(project)
		for p, cost := range []int64{first, own} {
			s.Values[p][index("cost_usd")], s.Values[p][index("payload_input")] = usd(cost), exact.Whole(10_000_000)
			s.Values[p][index("compactions")] = exact.Whole(5)
		}
		s.Values[1][index("compactions")] = exact.Whole(5 + extra)
		return s
	}
	// Of a session that costs 100 USD an extra compaction causes 1.36 USD and 2.65 USD at least, 4.62 and 5.31 at most.
	for _, c := range []struct {
		sessions []ComparedSession
		want     string
	}{
		{[]ComparedSession{session("p", 150, 100, 0)}, "none"},
		{[]ComparedSession{session("p", 150, 100, 5)}, "holds: 5, -29.954 to -0.358, each 4.0092 to 9.9284, break-even 10 or 10"},
		{[]ComparedSession{session("p", 150, 100, 10)}, "cannot_tell: 10, -9.908 to 49.284, each 4.0092 to 9.9284, break-even 5 or 5"},
		{[]ComparedSession{session("p", 150, 100, 25)}, "flips: 25, 50.23 to 198.21, each 4.0092 to 9.9284, break-even 2 or 2"},
		{[]ComparedSession{session("p", 100, 150, 5)}, "holds: 5, 80.069 to 124.463, each 6.0138 to 14.8926, break-even  or "},
		{[]ComparedSession{session("p", 90, 100, -5)}, "flips: -5, -8.0414 to -34.6778, each 3.6083 to 8.9356, break-even 2 or 2.2"},
		// The same two the other way around, and one compaction more in another session.
		{[]ComparedSession{session("p", 100, 90, 5)}, "flips: 5, 8.0414 to 34.6778, each 3.6083 to 8.9356, break-even 2 or 2.2"},
		{[]ComparedSession{session("p", 90, 100, -5), session("p", 100, 90, 5)}, "holds: 0, 0 to 0, each 3.6083 to 8.9356, break-even  or "},
		{[]ComparedSession{session("p", 90, 100, -5), session("p", 100, 100, 1)}, "flips: -4, -4.0322 to -24.7494, each 3.6751 to 9.101, break-even 2.5 or 2.6"},
		{[]ComparedSession{session("p", 200, 100, 1), session("q", 99, 100, 0)}, "cannot_tell: 1, -94.9908 to -89.0716, each 4.0092 to 9.9284, break-even 99 or 99"},
		{[]ComparedSession{session("p", 200, 100, 1), session("q", 40, 100, 0)}, "holds: 1, -35.9908 to -30.0716, each 4.0092 to 9.9284, break-even 40 or 40"},
	} {
		got := "none"
		if k := Compare([]string{"a", "b"}, c.sessions, ByNothing)[0].Pairs[1].Correction; k != nil {
			got = fmt.Sprintf("%s: %d, %v to %v, each %v to %v, break-even %v or %v", k.Stability, k.Extra, k.Corrected[0], k.Corrected[1], k.Each[0], k.Each[1], k.BreakEven, k.BreakEvenRequests)
		}
		must.Equal(t, got, c.want)
	}
}
