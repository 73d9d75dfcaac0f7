package account

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Request is one API call as the policy would have made it. No figure is below 0: a figure from which an edit removes
// more than there is, because the recorded usage is too small for the content, is 0.
type Request struct {
	N         int        `json:"n"` // of the main request; any other call carries the n of the request it comes before
	UUID      string     `json:"uuid,omitzero"`
	Time      time.Time  `json:"time,omitzero"`
	Kind      string     `json:"kind"` // main, or the kind of the policy's own request: compaction, collapse, session_memory, tool_pair
	Model     string     `json:"model,omitempty"`
	Raw       int        `json:"raw_tokens"`                 // raw history, overhead included
	Tokens    int        `json:"model_tokens"`               // model view, overhead included
	Payload   int        `json:"payload_tokens"`             // payload, overhead included
	Overhead  int        `json:"overhead_tokens"`            // system prompt, tools, and what is on no line
	Used      int        `json:"used_tokens"`                // the client's own estimate before this request's edits
	Messages  int        `json:"messages"`                   // items in the model view
	Output    int        `json:"output_tokens"`              // of the response
	Estimated bool       `json:"output_estimated,omitempty"` // Output is the weight of the response: no reliable count is recorded
	Cache     CacheUse   `json:"cache"`                      // simulated; adds up to payload_tokens
	CostUSD   price.USD  `json:"cost_usd,omitzero"`          // left out where no price is known for the model
	CostParts *CostParts `json:"cost_parts,omitempty"`       // they add up to cost_usd
	Recorded  *Usage     `json:"recorded,omitempty"`
	Repeated  int        `json:"-"`      // of Payload: what the main request before it had sent, too
	Events    []int      `json:"events"` // indexes into Timeline.Events
}

// Usage is what the API reported of a request, in tokens. Of several iterations within the request the input is that
// of the last one.
type Usage struct {
	Input      int        `json:"input"`
	CacheWrite int        `json:"cache_write"`
	CacheRead  int        `json:"cache_read"`
	Output     int        `json:"output"`
	Billed     *Samplings `json:"billed,omitempty"` // nil: the same
}

// Samplings is the sum of several iterations within one request, in tokens.
type Samplings struct {
	Iterations int `json:"iterations"`
	Input      int `json:"input"`
	CacheWrite int `json:"cache_write"`
	CacheRead  int `json:"cache_read"`
	Output     int `json:"output"`
}

// UsageOf is a usage as a row shows it.
func UsageOf(u *jsonl.Usage) *Usage {
	r := &Usage{Input: u.Input, CacheWrite: u.CacheWrite, CacheRead: u.CacheRead, Output: u.Output}
	if u.Iterated() {
		b := u.Billed()
		r.Billed = &Samplings{Iterations: b.Calls, Input: b.Input, CacheWrite: b.CacheWrite, CacheRead: b.CacheRead, Output: b.Output}
	}
	return r
}

// CacheUse is a request's input by how it is billed, simulated, and why it read less than the request before left.
type CacheUse struct {
	cache.Split
	Miss *cache.Cause `json:"miss,omitempty"`
}
