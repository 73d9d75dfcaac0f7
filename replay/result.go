package replay

import (
	"cmp"
	"fmt"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/internal/account"
)

// Cost returns what the session would have cost under the policy, and the tokens lost to each cause of a cache miss.
func (t *Timeline) Cost() *Cost { return account.CostOf(t.Requests) }

// total sums the requests and events up.
func (t *Timeline) total() {
	tot, models := &t.Totals, 0 // tokens of the model views of main requests
	for i := range t.Requests {
		r := &t.Requests[i]
		tot.Calls++
		tot.ModelInput += r.Tokens
		tot.Payload += r.Payload
		tot.Output += r.Output
		tot.Cache.Add(r.Cache.Split)
		tot.CostUSD.Add(r.CostUSD)
		if r.CostParts != nil {
			tot.CostParts = cmp.Or(tot.CostParts, &CostParts{})
			tot.CostParts.Add(r.CostParts)
		}
		if !r.CostUSD.Known {
			tot.Unpriced++
		}
		if r.Kind != "main" {
			tot.OwnInput += r.Payload
			tot.OwnOutput += r.Output
			continue
		}
		tot.Requests++
		tot.RawInput += r.Raw
		models += r.Tokens
		tot.RawPeak = max(tot.RawPeak, r.Raw)
		tot.ModelPeak = max(tot.ModelPeak, r.Tokens)
		tot.PayloadPeak = max(tot.PayloadPeak, r.Payload)
	}
	tot.Events = len(t.Events)
	if tot.Requests > 0 {
		tot.ModelMean = (models + tot.Requests/2) / tot.Requests
		tot.PayloadMean = (tot.Payload - tot.OwnInput + tot.Requests/2) / tot.Requests
	}
	tot.Saved = tot.RawInput - tot.NotReadBack - (tot.Payload - tot.OwnInput)
	run := 0 // compactions in a row that freed next to nothing
	for _, ev := range t.Events {
		switch ev.Kind {
		case policy.KindSummarize:
			tot.Compactions++
			if ev.Before <= leastFreed*ev.Saved {
				run = 0
				continue
			}
			run++
			tot.Thrash++
			tot.ThrashRun = max(tot.ThrashRun, run)
		case policy.KindFail:
			tot.Failed++
		case policy.KindRefuse:
			tot.Refused++
		case policy.KindBlock:
			tot.Refused++
			tot.Blocked++
		}
	}
}

// leastFreed: a compaction that frees less than this part of what it read, a tenth, counts as thrash.
const leastFreed = 10

// CheckValid returns an error that names the first invariant of a timeline that does not hold.
func (t *Timeline) CheckValid() error {
	if t.Schema != Schema {
		return fmt.Errorf("schema is %q, not %q", t.Schema, Schema)
	}
	sum := t.Lines.Used
	for _, n := range t.Lines.SetAside {
		sum += n
	}
	if sum != t.Lines.Read {
		return fmt.Errorf("%d lines read, %d used or set aside", t.Lines.Read, sum)
	}
	main, err := t.checkRequests()
	if err != nil {
		return err
	}
	for i, ev := range t.Events {
		if ev.N != i {
			return fmt.Errorf("event %d has n %d", i, ev.N)
		}
		if n := ev.Request; n != nil && (*n < 1 || *n > main+1) {
			return fmt.Errorf("event %d belongs to request %d of %d", i, *n, main)
		}
	}
	if t.Totals.Requests != main {
		return fmt.Errorf("totals count %d main requests, there are %d", t.Totals.Requests, main)
	}
	return nil
}

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
