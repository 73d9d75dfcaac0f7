package replay

import (
	"fmt"
	"strconv"
	"strings"
)

// RequestAt returns the main request that a person names: a number, "last", "peak" (the largest payload; of several
// the first), "end" (one more than the last) or "event:K" (the request of event K). A session without requests has
// only "end".
func (t *Timeline) RequestAt(at string) (int, error) {
	last := t.Totals.Requests
	end := last + 1
	k, isEvent := strings.CutPrefix(at, "event:")
	switch i, err := strconv.Atoi(strings.TrimPrefix(k, "#")); {
	case at == "end":
		return end, nil
	case at == "last":
		return max(last, 1), nil
	case at == "peak":
		best, n := -1, end
		for i := range t.Requests {
			if r := &t.Requests[i]; r.Kind == "main" && r.Payload > best {
				best, n = r.Payload, r.N
			}
		}
		return n, nil
	case isEvent && err != nil:
		return 0, fmt.Errorf("%q is no event: write event:K, K as in the list of events", at)
	case isEvent && (i < 0 || i >= len(t.Events)):
		return 0, fmt.Errorf("there is no event %d: policy %s has %d, counted from 0", i, t.Policy, len(t.Events))
	case isEvent && t.Events[i].Request == nil:
		return end, nil
	case isEvent:
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

// OverheadAt is the overhead of main request n, in tokens, or of the last one for the end.
func (t *Timeline) OverheadAt(n int) int {
	over := 0
	for i := range t.Requests {
		if r := &t.Requests[i]; r.Kind == "main" && r.N <= n {
			over = r.Overhead
		}
	}
	return over
}
