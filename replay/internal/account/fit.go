package account

import (
	"cmp"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// CacheFit is how well the simulated prompt cache of recorded sessions fits what the API reported of them.
type CacheFit struct {
	Requests  int       `json:"requests"`                     // main requests
	Recorded  int       `json:"recorded_requests"`            // of these: with usage
	Near      int       `json:"near_requests"`                // of these: their simulated read is near the recorded one
	Uncached  int       `json:"uncached_requests,omitempty"`  // of these: their model has no cached input in the session
	Billed    price.USD `json:"recorded_input_usd,omitzero"`  // what the input of requests with usage costs as recorded
	Simulated price.USD `json:"simulated_input_usd,omitzero"` // and by the simulated cache

	// What cache misses that no line shows are expected to add to Simulated, with the bounds of an interval.
	Expected price.USD `json:"expected_loss_usd,omitzero"`
	Lower    price.USD `json:"expected_loss_lower_usd,omitzero"`
	Upper    price.USD `json:"expected_loss_upper_usd,omitzero"`
	Authors  int       `json:"authors,omitempty"` // whose recorded sessions these are from; of several clients and models the fewest

	// What calls whose usage is not in the file cost by the simulation: requests, and summaries of compactions.
	UnreportedUSD  price.USD `json:"requests_without_usage_usd,omitzero"`
	Compactions    int       `json:"compactions_without_usage,omitempty"`
	CompactionsUSD price.USD `json:"compactions_without_usage_usd,omitzero"`
}

// FitOf is the fit of the recorded track's requests, at the prices of a table.
func FitOf(conv *session.Conversation, rows []Request, table *price.Table, kinds *cache.KindTable) *CacheFit {
	f := &CacheFit{}
	prices := newPriceList(table, false)
	unbilled := map[int]bool{}
	for i := range conv.Boundaries {
		b := &conv.Boundaries[i]
		unbilled[b.Request] = b.Usage == nil && b.Summary >= 0
	}
	for i := range rows {
		r := &rows[i]
		if r.Kind != "main" {
			if unbilled[r.N] {
				f.Compactions++
				f.CompactionsUSD.Add(r.CostUSD)
			}
			continue
		}
		f.Requests++
		if r.Recorded == nil {
			f.UnreportedUSD.Add(r.CostUSD)
			continue
		}
		f.Recorded++
		if cache.Near(r.Recorded.CacheRead, r.Cache.Read) {
			f.Near++
		}
		if r.Cache.Miss != nil && r.Cache.Miss.Kind == cache.Uncached {
			f.Uncached++
		}
		msg := conv.Response(r.N - 1)
		f.Billed.Add(prices.cost(msg.Model, msg.Time, bill.RecordedSplit(&msg.Usage), 0))
		simulated := prices.cost(msg.Model, msg.Time, r.Cache.Split, 0)
		f.Simulated.Add(simulated)
		if r.Cache.Miss == nil && simulated.Known {
			lost := prices.cost(msg.Model, msg.Time, unread(r.Cache.Split), 0).Nano - simulated.Nano
			l := kinds.LossesOf(conv.Product, price.Normalize(msg.Model))
			f.Authors = fewest(f.Authors, l.Authors)
			n := lost * int64(l.After(Idle(conv, r.N))) / 1e6
			f.Expected.Add(price.USD{Nano: n, Known: true})
			f.Lower.Add(price.USD{Nano: n * int64(l.Lower) / 100, Known: true})
			f.Upper.Add(price.USD{Nano: n * int64(l.Upper) / 100, Known: true})
		}
	}
	return f
}

// mostOff is how far the cost of the input may be off, and the share of requests whose read may be, for a verdict in money: a
// twentieth.
const mostOff = 20

// Holds reports whether the simulated cache fits well enough for a verdict in money: with the expected cache misses the
// input costs what it did within 5 %, and 95 % of the requests read what they did within 5 %. Those without usage did not. nil
// and no request hold.
func (f *CacheFit) Holds() bool {
	if f == nil {
		return true
	}
	off := f.Simulated.Nano + f.Expected.Nano - f.Billed.Nano
	return max(off, -off)*mostOff <= f.Billed.Nano && (f.Requests-f.Near)*mostOff <= f.Requests
}

// Mark is written before an amount of money that the simulated cache does not fit well enough to judge.
func (f *CacheFit) Mark() string {
	if f.Holds() {
		return ""
	}
	return "~"
}

// unread is an input of which nothing was read: it was written as the rest was, where anything was.
func unread(s cache.Split) cache.Split {
	switch {
	case s.Write1h > 0:
		s.Write1h += s.Read
	case s.Write5m > 0:
		s.Write5m += s.Read
	default:
		s.Uncached += s.Read
	}
	s.Read = 0
	return s
}

// Idle is the time from the response before request n to its own; 0 where that is not known.
func Idle(conv *session.Conversation, n int) time.Duration {
	if n < 2 {
		return 0
	}
	before := conv.Response(n - 2).End
	now := conv.Response(n - 1).Time
	if before.IsZero() || now.IsZero() {
		return 0
	}
	return max(now.Sub(before), 0)
}

// Add adds another fit; nil adds nothing.
func (f *CacheFit) Add(o *CacheFit) {
	if o != nil {
		authors := fewest(f.Authors, o.Authors)
		price.AddUp(f, o)
		f.Authors = authors
	}
}

// fewest is the smaller number that is not 0.
func fewest(a, b int) int { return cmp.Or(min(a, b), max(a, b)) }
