package compare

import (
	"math"
	"slices"
	"strconv"

	"github.com/ctxkit/ctxkit/replay"
)

// differ finds the session that best shows how the policies differ: by the
// tokens sent, else by the cost, else by the first figure that differs.
func (c *Comparison) differ() {
	names := Names()
	for _, name := range append([]string{"payload_input", "cost_usd"}, names...) {
		f, most := slices.Index(names, name), 0.0
		for s := range c.Sessions {
			v := c.Sessions[s].Values
			for p := 1; p < len(v); p++ {
				if d := math.Abs(v[p][f] - v[0][f]); d > most { // never where one is not known
					most, c.Differ, c.DifferPolicy, c.DifferFigure = d, s, p, name
				}
			}
		}
		if c.Differ >= 0 {
			return
		}
	}
}

// Evidence is where the difference shows in the session in which the policies
// differ most: their views side by side at the request where these are most
// apart, or a report a policy where the views are the same. It is empty for a
// session read from standard input.
func (c *Comparison) Evidence() []Evidence {
	if c.Differ < 0 || c.Sessions[c.Differ].Input == "-" {
		return nil
	}
	s := &c.Sessions[c.Differ]
	one, first := Evidence{File: s.Input, Policy: c.Policies[c.DifferPolicy].Name, Selection: s.Selection}, c.Policies[0].Name
	at := 0
	if len(s.Apart) > 0 {
		at = s.Apart[c.DifferPolicy]
	}
	if at > 0 && c.DifferFigure == "payload_input" {
		one.Show, one.Against, one.At = ShowDiff, first, strconv.Itoa(at)
		return []Evidence{one}
	}
	one.Show = shownBy(c.DifferFigure)
	other := one
	other.Policy = first
	return []Evidence{other, one}
}

// shownBy is the report that holds a figure.
func shownBy(figure string) Show {
	switch figure {
	case "payload_input", "cost_usd", "cache_read", "cache_write_5m", "cache_write_1h", "uncached", "calls", "output_tokens":
		return ShowCost
	case "misses", "refetch_tokens", "bound_misses", "bound_tokens", "median_distance":
		return ShowRegret
	}
	return ShowReplay
}

// Apart is the number of the main request at which two policies' payloads
// differ most in tokens, else their model views; 0 where none does.
func Apart(a, b *replay.Timeline) int {
	for _, size := range []func(r *replay.Request) int{
		func(r *replay.Request) int { return r.Payload },
		func(r *replay.Request) int { return r.Tokens },
	} {
		at, most := 0, 0
		before := mainSizes(a, size)
		for n, x := range mainSizes(b, size)[:len(before)] { // requests are given: there are as many
			if d := x - before[n]; max(d, -d) > most {
				at, most = n+1, max(d, -d)
			}
		}
		if at > 0 {
			return at
		}
	}
	return 0
}

func mainSizes(t *replay.Timeline, size func(r *replay.Request) int) []int {
	list := make([]int, 0, len(t.Requests))
	for i := range t.Requests {
		if t.Requests[i].Kind == "main" {
			list = append(list, size(&t.Requests[i]))
		}
	}
	return list
}
