package replay

import (
	"fmt"
	"strconv"
	"strings"
)

// RequestAt finds the main request that a person names: a number, "last",
// "peak" (the largest payload; of several the first), "end" (after the last
// one: a number more than there are) or "event:K" (the request that event K
// belongs to). A session without a request has its end alone.
func (t *Timeline) RequestAt(at string) (int, error) {
	last := t.Totals.Requests
	end := last + 1
	switch at {
	case "end":
		return end, nil
	case "last":
		return max(last, 1), nil
	case "peak":
		best, n := -1, end
		for i := range t.Requests {
			if r := &t.Requests[i]; r.Kind == "main" && r.Payload > best {
				best, n = r.Payload, r.N
			}
		}
		return n, nil
	}
	if k, ok := strings.CutPrefix(at, "event:"); ok {
		i, err := strconv.Atoi(strings.TrimPrefix(k, "#"))
		switch {
		case err != nil:
			return 0, fmt.Errorf("%q is no event: write event:K, K as in the list of events", at)
		case i < 0 || i >= len(t.Events):
			return 0, fmt.Errorf("there is no event %d: policy %s has %d, counted from 0", i, t.Policy, len(t.Events))
		case t.Events[i].Request == nil:
			return end, nil
		}
		return min(*t.Events[i].Request, end), nil
	}
	n, err := strconv.Atoi(at)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no request: write a number, last, peak, end or event:K", at)
	case n < 1 || n > last:
		return 0, fmt.Errorf("there is no request %d: the session has %d", n, last)
	}
	return n, nil
}

// OverheadAt is the overhead of main request n, or of the last one for the end,
// in tokens.
func (t *Timeline) OverheadAt(n int) int {
	over := 0
	for i := range t.Requests {
		if r := &t.Requests[i]; r.Kind == "main" && r.N <= n {
			over = r.Overhead
		}
	}
	return over
}
