package report

import (
	"strings"

	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// Prefill is an assumed speed at which a provider reads the input of requests, in tokens a second. Its zero value
// estimates nothing.
type Prefill struct {
	Uncached int // input that is not read from the cache
	Cached   int // input read from the cache
}

// seconds is the time that a policy's input takes to be read; outputs and waiting are not in it.
func (f Prefill) seconds(p *compare.PolicyRow) exact.Decimal {
	uncached := figure(p, "uncached").Total.Add(figure(p, "cache_write").Total)
	return exact.Ratio(uncached, exact.Whole(f.Uncached), 3).Add(exact.Ratio(figure(p, "cache_read").Total, exact.Whole(f.Cached), 3)).Round(1)
}

// text says how long the input of each policy takes to be read; "" where that is not estimated.
func (f Prefill) text(c *compare.Comparison) string {
	if f.Uncached <= 0 || f.Cached <= 0 {
		return ""
	}
	var list []string
	for i := range c.Policies {
		list = append(list, phrase("%v %v s", c.Policies[i].Name, f.seconds(&c.Policies[i])))
	}
	return phrase("Time to read the input, assumed at %v tokens a second and %v from the cache, without outputs: %v.", f.Uncached, f.Cached, strings.Join(list, ", "))
}
