package account

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/price"
)

// CacheFit is how well the simulated prompt cache of recorded sessions fits what the API reported of them.
type CacheFit struct {
	Requests   int       `json:"requests"`                     // with usage
	Read       int       `json:"recorded_read_tokens"`         // from the cache, as recorded
	Reproduced int       `json:"reproduced_tokens"`            // of them: those that the simulation reads too
	Recorded   price.USD `json:"recorded_input_usd,omitzero"`  // what the input of the requests costs as recorded
	Simulated  price.USD `json:"simulated_input_usd,omitzero"` // and by the simulated cache
}

// FitOf is the fit of the recorded track's requests, at the prices of a table.
func FitOf(conv *session.Conversation, rows []Request, table *price.Table) *CacheFit {
	f, prices := &CacheFit{}, newPriceList(table, false)
	for i := range rows {
		r := &rows[i]
		if r.Recorded == nil || r.Kind != "main" {
			continue
		}
		f.Requests++
		f.Read += r.Recorded.CacheRead
		f.Reproduced += min(r.Cache.Read, r.Recorded.CacheRead)
		msg := conv.Response(r.N - 1)
		f.Recorded.Add(prices.cost(msg.Model, msg.Time, bill.RecordedSplit(&msg.Usage), 0))
		f.Simulated.Add(prices.cost(msg.Model, msg.Time, r.Cache.Split, 0))
	}
	return f
}

// Add adds another fit; nil adds nothing.
func (f *CacheFit) Add(o *CacheFit) {
	if o == nil {
		return
	}
	f.Requests += o.Requests
	f.Read += o.Read
	f.Reproduced += o.Reproduced
	f.Recorded.Add(o.Recorded)
	f.Simulated.Add(o.Simulated)
}
