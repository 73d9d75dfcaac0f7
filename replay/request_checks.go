package replay

import "fmt"

// checkRequests checks the invariants of the requests, and counts the main ones. It returns the first that is broken.
func (t *Timeline) checkRequests() (main int, err error) {
	n := 1 // of the request before
	for i := range t.Requests {
		r := &t.Requests[i]
		if r.Kind == "main" {
			main++
		}
		switch s := &r.Cache.Split; {
		case r.N < n:
			return 0, fmt.Errorf("request row %d has n %d after %d", i, r.N, n)
		case min(s.Read, s.Write5m, s.Write1h, s.Uncached) < 0 || s.Input() != r.Payload:
			return 0, fmt.Errorf("request %d sends %d tokens, of which the cache simulation splits %+v", r.N, r.Payload, *s)
		case r.CostUSD.Known != (r.CostParts != nil) || r.CostParts != nil && r.CostParts.Sum() != r.CostUSD:
			return 0, fmt.Errorf("the parts of the cost of request %d do not add up to %s: %+v", r.N, r.CostUSD, r.CostParts)
		case min(r.Raw, r.Tokens, r.Payload, r.Overhead, r.Used, r.Output) < 0:
			return 0, fmt.Errorf("request %d has a figure below zero: %+v", r.N, r)
		case r.Kind == "main" && r.N != main:
			return 0, fmt.Errorf("main request %d has n %d", main, r.N)
		}
		n = r.N
		for _, ev := range r.Events {
			if ev < 0 || ev >= len(t.Events) {
				return 0, fmt.Errorf("request %d names event %d of %d", r.N, ev, len(t.Events))
			}
		}
	}
	return main, nil
}
