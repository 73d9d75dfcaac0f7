package compare

import (
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// Unseen is what a compaction causes that no replay shows, because the recorded session had another policy: requests
// that look for what is gone, and what they add to the history. It is measured around recorded compactions. The first
// value of each is low: the difference from what is seen as deep in sessions without a compaction, or in all of these where
// none is as deep; the second is high: all that is seen.
type Unseen struct {
	Times    int              `json:"compactions"`        // that it was measured on
	Projects int              `json:"projects,omitempty"` // of them; 0 in the shipped measurement
	Placebos int              `json:"uncompacted"`        // points of sessions without a compaction
	Shipped  bool             `json:"shipped"`            // on sessions of other people, because these have too few compactions
	Requests [2]exact.Decimal `json:"requests"`           // three digits after the point
	Tokens   [2]exact.Decimal `json:"tokens"`             // each of the Carried requests after the compaction sends them; whole
	Carried  [2]int64         `json:"carried"`
}

// fewestMeasured is how many compactions are enough to measure on.
const fewestMeasured = 30

// shippedAftermath is that of the recorded compactions of three sets of sessions, as of docs/internals/testing.md.
func shippedAftermath() replay.Aftermath {
	return replay.Aftermath{
		Compactions: [3]replay.Around{
			{Times: 3, Grown: [2]int{93045, 124582}, Explored: [2]int{42, 52}, Edited: [2]int{13, 10}},
			{Times: 34, Grown: [2]int{1094297, 1502233}, Explored: [2]int{430, 513}, Edited: [2]int{222, 181}},
			{Times: 21, Grown: [2]int{1114118, 1134675}, Explored: [2]int{148, 175}, Edited: [2]int{96, 89}},
		},
		Placebos: [3]replay.Around{
			{Times: 23, Grown: [2]int{692914, 956062}, Explored: [2]int{212, 197}, Edited: [2]int{141, 165}},
			{Times: 45, Grown: [2]int{2237886, 2110676}, Explored: [2]int{369, 412}, Edited: [2]int{369, 324}},
			{Times: 31, Grown: [2]int{1423981, 1390701}, Explored: [2]int{233, 249}, Edited: [2]int{271, 274}},
		},
	}
}

// unseen is measured on the compactions that some sessions record, or else is the shipped measurement.
func unseen(sessions []ComparedSession) *Unseen {
	var all replay.Aftermath
	projects := map[string]bool{}
	for i := range sessions {
		all.Add(sessions[i].Aftermath)
		if sessions[i].Aftermath.Compactions != (replay.Aftermath{}).Compactions {
			projects[sessions[i].Project] = true
		}
	}
	u := &Unseen{Projects: len(projects), Carried: [2]int64{30, 60}}
	seen, placebo := all.Sums()
	if u.Shipped = seen.Times < fewestMeasured; u.Shipped {
		all, u.Projects = shippedAftermath(), 0
		seen, placebo = all.Sums()
	}
	u.Times, u.Placebos = seen.Times, placebo.Times
	each := func(n, times int) exact.Decimal { return exact.Ratio(exact.Whole(n), exact.Whole(max(times, 1)), 3) }
	atLeast := func(least, d exact.Decimal) exact.Decimal {
		if d.Cmp(least) > 0 { // never where it is not known
			return d
		}
		return least
	}
	zero := exact.Of(0, 3)
	explored := each(seen.Explored[1]-seen.Explored[0], seen.Times)
	lost := exact.Ratio(exact.Whole(30*(seen.Edited[0]-seen.Edited[1])), exact.Whole(seen.Edited[0]), 3) // as many requests make these edits
	usual, usualGrown := zero, exact.Whole(0)                                                            // as much would be seen without a compaction
	for i, at := range all.Compactions {
		other := all.Placebos[i]
		if other.Times == 0 {
			other = placebo
		}
		share := func(n, change, of int) exact.Decimal {
			return exact.Ratio(exact.Whole(n).Times(int64(change)), exact.Whole(max(of, 1)).Times(int64(max(seen.Times, 1))), 3)
		}
		usual = usual.Add(share(at.Times, other.Explored[1]-other.Explored[0], other.Times))
		usualGrown = usualGrown.Add(share(at.Grown[0], other.Grown[1]-other.Grown[0], other.Grown[0]).Round(0))
	}
	u.Requests[0] = atLeast(zero, explored.Sub(usual))
	u.Requests[1] = atLeast(atLeast(u.Requests[0], explored), lost)
	grown := exact.Ratio(exact.Whole(seen.Grown[1]-seen.Grown[0]), exact.Whole(max(seen.Times, 1)), 0)
	u.Tokens[0] = atLeast(exact.Whole(0), grown.Sub(usualGrown))
	u.Tokens[1] = atLeast(u.Tokens[0], grown)
	return u
}

// Correction is a difference in cost with what the compactions cause that one of both policies has more of.
type Correction struct {
	Extra     int64            // compactions more than the first policy's; below 0: fewer
	Spared    int64            // compactions fewer, in the sessions with fewer: Extra has Extra + Spared more in the others
	Corrected [2]exact.Decimal // the difference, low and high
	First     [2]exact.Decimal // cost of the first policy with what its own further compactions cause, low and high
	Each      [2]exact.Decimal // USD that Unseen comes to for each compaction that only one of both makes, on average
	// BreakEven is the USD that each may cause at which both policies cost the same, BreakEvenRequests as many
	// requests of the policy; not known where the policy with more compactions costs more without that.
	BreakEven, BreakEvenRequests exact.Decimal
	Stability                    Stability
}

// Stability says whether a difference stays what it is with its correction.
type Stability string

// The stabilities.
const (
	Holds      Stability = "holds"       // the sign is the same at low and high, also in every project with a fifth of the cost
	Flips      Stability = "flips"       // the sign is another one at low already
	CannotTell Stability = "cannot_tell" // else
)

// caused is what a number of compactions cause in a session, by what its requests and input cost: low or high.
func (u *Unseen) caused(i int, compactions int64, cost, requests, input exact.Decimal) exact.Decimal {
	if compactions == 0 {
		return exact.Of(0, cost.Places)
	}
	asked := exact.Ratio(cost.Times(compactions*u.Requests[i].N), requests.Times(1000), cost.Places)
	carried := exact.Ratio(cost.Times(compactions), input, exact.MaxPlaces).Times(u.Tokens[i].N * u.Carried[i])
	return asked.Add(carried.Round(cost.Places))
}

// LargeProject is the part of the cost, one in n, from which a project is large.
const LargeProject = 5

// correct is the correction of a pair; nil where a cost is not known or both compact as often.
func (c *Comparison) correct(p int) *Correction {
	cost, requests, input, compactions := place("cost_usd"), place("requests"), place("payload_input"), place("compactions")
	type sums struct { // over sessions
		first      exact.Decimal
		difference [3]exact.Decimal // as replayed, low and high
	}
	zero := exact.Whole(0)
	nothing := sums{zero, [3]exact.Decimal{zero, zero, zero}}
	var caused, spared [2]exact.Decimal   // by the compactions that one policy makes, and the first
	var spent, requested [2]exact.Decimal // by both
	for i := range 2 {
		caused[i], spared[i], spent[i], requested[i] = zero, zero, zero, zero
	}
	all, projects := nothing, map[string]*sums{}
	k := &Correction{Stability: CannotTell}
	for _, at := range c.Pairs[p].Sessions {
		s := &c.Sessions[at]
		first, own := s.Values[0], s.Values[p]
		d := own[cost].Sub(first[cost])
		if !d.Known {
			continue
		}
		if projects[s.Project] == nil {
			one := nothing
			projects[s.Project] = &one
		}
		causes := [2]exact.Decimal{zero, zero} // low and high
		parts := s.Conversations
		if parts == nil {
			parts = []ComparedSession{*s}
		}
		for j := range parts { // a subagent's compactions spare none of the main conversation
			more := parts[j].Values[p] // of the policy that compacts more often
			extra := more[compactions].N - parts[j].Values[0][compactions].N
			if extra < 0 {
				more = parts[j].Values[0]
			}
			k.Extra += extra
			k.Spared += max(-extra, 0)
			for i := range 2 {
				each := c.Unseen.caused(i, max(extra, -extra), more[cost], more[requests], more[input])
				caused[i] = caused[i].Add(each)
				if extra < 0 {
					spared[i] = spared[i].Add(each)
					each = each.Neg()
				}
				causes[i] = causes[i].Add(each)
			}
		}
		for i, v := range [2][]exact.Decimal{first, own} {
			spent[i], requested[i] = spent[i].Add(v[cost]), requested[i].Add(v[requests])
		}
		for _, t := range []*sums{&all, projects[s.Project]} {
			t.first = t.first.Add(first[cost])
			t.difference[0] = t.difference[0].Add(d)
			for i := range 2 {
				t.difference[1+i] = t.difference[1+i].Add(d).Add(causes[i])
			}
		}
	}
	differ := k.Extra + 2*k.Spared // compactions that only one of both makes
	if differ == 0 || !all.difference[2].Known {
		return nil
	}
	for i := range 2 {
		k.Corrected[i], k.First[i] = all.difference[1+i], all.first.Add(spared[i])
		k.Each[i] = exact.Ratio(caused[i], exact.Whole(differ), 4)
	}
	more := 1 // the policy that compacts more often
	if k.Extra < 0 {
		more = 0
	}
	if k.Extra != 0 {
		k.BreakEven = exact.Ratio(all.difference[0].Neg(), exact.Whole(k.Extra), 4)
	}
	if k.BreakEven.N < 0 {
		k.BreakEven = exact.Decimal{}
	}
	k.BreakEvenRequests = exact.Ratio(k.BreakEven, exact.Ratio(spent[more], requested[more], 6), 1)
	sign := func(d exact.Decimal) int { return d.Cmp(zero) }
	same := func(t *sums) bool {
		return sign(t.difference[1]) == sign(all.difference[0]) && sign(t.difference[2]) == sign(all.difference[0])
	}
	switch {
	case sign(k.Corrected[0]) != sign(all.difference[0]):
		k.Stability = Flips
	case same(&all):
		k.Stability = Holds
		for _, t := range projects {
			if t.first.Times(LargeProject).Cmp(all.first) >= 0 && !same(t) {
				k.Stability = CannotTell
			}
		}
	}
	return k
}
