package price

import (
	"time"

	"github.com/ctxkit/ctxkit/replay/cache"
)

// Call is what is known of a call that was billed. The zero value of Speed, Geo and Tier is the usual one.
type Call struct {
	Model    string    // as recorded, with what its provider writes around it
	Provider string    // as the client names it; "": not recorded
	Time     time.Time // prices are those of its day; zero: today's
	Input    cache.Split
	Output   int
	Speed    string // "fast"
	Geo      string // where it was to run: inference_geo
	Tier     string // service_tier
	Searches int    // of the web, by the provider
}

// Bill is what a call costs. Unpriced names what the table has no price for; "" where all is priced. Of such a call
// nothing is in usd, except that without the price of its searches its tokens are.
func (t *Table) Bill(c Call) (usd USD, unpriced string) {
	m, ok := t.Find(c.Model)
	if !ok {
		return USD{}, "model " + c.Model
	}
	return m.On(c.Time).Cost(c.Input, c.Output), ""
}
