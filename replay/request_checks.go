package replay

import "fmt"

// requestChecks are the invariants of the requests of a timeline, checked as each is added.
type requestChecks struct {
	n, main int
	rows    int // so far
	events  int // how many there have to be: one more than the last one named
	by      int // n of the request that names it
	err     error
}

// add checks the request that is added. Of one that fits a row it is known that its
// split and the parts of its cost add up.
func (c *requestChecks) add(r *Request, fits bool) {
	c.rows++
	if c.err != nil {
		return
	}
	main := r.Kind == "main"
	if main {
		c.main++
	}
	switch s := &r.Cache.Split; {
	case r.N < max(c.n, 1):
		c.err = fmt.Errorf("request row %d has n %d after %d", c.rows-1, r.N, max(c.n, 1))
	case min(s.Read, s.Write5m, s.Write1h, s.Uncached) < 0 || !fits && s.Input() != r.Payload:
		c.err = fmt.Errorf("request %d sends %d tokens, of which the cache simulation splits %+v", r.N, r.Payload, *s)
	case r.CostUSD.Known != (r.CostParts != nil) || !fits && r.CostParts != nil && r.CostParts.Sum() != r.CostUSD:
		c.err = fmt.Errorf("the parts of the cost of request %d do not add up to %s: %+v", r.N, r.CostUSD, r.CostParts)
	case min(r.Raw, r.Tokens, r.Payload, r.Overhead, r.Used, r.Output) < 0:
		c.err = fmt.Errorf("request %d has a figure below zero: %+v", r.N, r)
	case main && r.N != c.main:
		c.err = fmt.Errorf("main request %d has n %d", c.main, r.N)
	}
	c.n = r.N
	for _, ev := range r.Events {
		if ev >= c.events {
			c.events, c.by = ev+1, r.N
		}
		if ev < 0 && c.err == nil {
			c.err = fmt.Errorf("request %d names event %d", r.N, ev)
		}
	}
}

// check is the first invariant that a request breaks, of a timeline with so many events, and the number of main requests.
func (l *RequestList) check(events int) (main int, err error) {
	c := &l.checks
	if c.err == nil && c.events > events {
		return c.main, fmt.Errorf("request %d names event %d of %d", c.by, c.events-1, events)
	}
	return c.main, c.err
}
