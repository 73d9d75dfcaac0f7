package compare

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// differ finds the session in which a policy differs most from the first: by the tokens sent, else by the cost, else by
// the first figure that differs. Only where both are feasible nowhere do other sessions count.
func (c *Comparison) differ() {
	names, all := Names(), make([]int, len(c.Sessions))
	none := true
	for s := range all {
		all[s] = s
	}
	for p := range c.Pairs {
		none = none && len(c.Pairs[p].Sessions) == 0
	}
	for _, name := range append([]string{"payload_input", "cost_usd"}, names...) {
		f, most := slices.Index(names, name), exact.Whole(0)
		for p := 1; p < len(c.Policies); p++ {
			sessions := c.Pairs[p].Sessions
			if none {
				sessions = all
			}
			for _, s := range sessions {
				v := c.Sessions[s].Values
				if d := v[p][f].Sub(v[0][f]).Abs(); d.Cmp(most) > 0 { // never where one is not known
					most, c.Differ, c.DifferPolicy, c.DifferFigure = d, s, p, name
				}
			}
		}
		if c.Differ >= 0 {
			return
		}
	}
}

// Evidence is where to see the difference in the session in which the policies differ most: their views side by side
// at the request where these differ most, or where the views are the same a report for each policy. It is empty for a
// session read from standard input.
func (c *Comparison) Evidence() []Pointer {
	if c.Differ < 0 || c.Sessions[c.Differ].Input == "-" {
		return nil
	}
	s, most := &c.Sessions[c.Differ], exact.Whole(0)
	list, f := s.Conversations, place(c.DifferFigure)
	for i := range list {
		if d := list[i].Values[c.DifferPolicy][f].Sub(list[i].Values[0][f]).Abs(); d.Cmp(most) > 0 {
			s, most = &list[i], d
		}
	}
	one, first := Pointer{File: s.Input, Policy: c.Policies[c.DifferPolicy].Name, Selection: s.Selection}, c.Policies[0].Name
	at := 0
	if len(s.Apart) > 0 {
		at = s.Apart[c.DifferPolicy]
	}
	if at > 0 && c.DifferFigure == "payload_input" {
		one.Show, one.Against, one.At = ShowDiff, first, strconv.Itoa(at)
		return []Pointer{one}
	}
	one.Show = shownBy(c.DifferFigure)
	other := one
	other.Policy = first
	return []Pointer{other, one}
}

// shownBy is the report with a figure.
func shownBy(figure string) Show {
	switch figure {
	case "payload_input", "cost_usd", "cache_read", "cache_write_5m", "cache_write_1h", "uncached", "calls", "output_tokens":
		return ShowCost
	}
	if OfRegret(figure) {
		return ShowRegret
	}
	return ShowReplay
}

// Apart is the number of the main request at which two policies' payloads differ most in tokens, else their model
// views; 0 where none differs.
func Apart(a, b *replay.Timeline) int {
	others := b.Main() // they are given, there are as many of both
	var payload, view, mostPayload, mostView int
	for i, r := range a.Main() {
		if d := abs(others[i].Payload - r.Payload); d > mostPayload {
			payload, mostPayload = i+1, d
		}
		if d := abs(others[i].Tokens - r.Tokens); d > mostView {
			view, mostView = i+1, d
		}
	}
	return cmp.Or(payload, view)
}

func abs(n int) int { return max(n, -n) }
