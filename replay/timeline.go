// Package replay runs a recorded conversation through a policy, one request after another, and counts what the model
// would have seen.
//
// A replay is off-policy: user, assistant and tool messages are given, and only what the model would have seen
// changes. It cannot know what the model would have answered.
package replay

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/regret"
	"github.com/ctxkit/ctxkit/replay/trace"
)

// Schema is the version of the JSON form of a Timeline.
const Schema = "ctxkit.replay/v1"

// Timeline is the result of one replay: pure data. Everything printed is a function of it. Token figures are by
// Counter.
type Timeline struct {
	Schema     string            `json:"schema"`
	Session    string            `json:"session"`
	Agent      string            `json:"agent,omitempty"`
	File       string            `json:"file"`
	Title      string            `json:"title,omitempty"`
	Policy     string            `json:"policy"`
	Chosen     string            `json:"policy_chosen,omitempty"` // why a product's bare name means it for this session
	Newer      string            `json:"policy_newer,omitempty"`  // that there is a newer release, or that the session's was not read
	Truth      policy.Truth      `json:"policy_truth,omitempty"`  // what stands behind the policy
	Score      *policy.Score     `json:"policy_score,omitempty"`  // against recorded sessions of its product
	Counter    string            `json:"counter"`
	Cache      CacheMode         `json:"prompt_cache,omitempty"` // whose is simulated
	Caches     []ModelCache      `json:"caches,omitempty"`       // of models whose provider caches without being asked
	Model      string            `json:"model"`
	Converted  *Conversion       `json:"converted,omitempty"` // with Options.Model, where it has another tokenizer
	Version    string            `json:"client_version,omitempty"`
	Earlier    *EarlierHistory   `json:"earlier_history,omitempty"` // of a file that begins in the middle of the conversation
	Window     int               `json:"window"`
	Fit        *Fit              `json:"window_fit,omitempty"`          // the window is fitted to the recorded compactions
	Shown      int               `json:"window_shown_by,omitempty"`     // the largest recorded context, where the window follows from it
	AutoOff    *AutoOff          `json:"auto_compaction_off,omitempty"` // when recorded
	Limits     []policy.Limit    `json:"limits"`                        // at which the policy's stages act, in Window
	Notes      []string          `json:"policy_notes,omitempty"`        // what is no number of tokens but decides when its stages act
	LimitsOf   string            `json:"limits_of,omitempty"`           // of the recorded track: the release that recorded it, whose limits these are
	Stages     []string          `json:"stages"`                        // of the policy, in order
	Conditions []ConditionUse    `json:"conditions,omitempty"`          // of the policy's stages, in order
	Lines      Lines             `json:"lines"`
	Requests   []Request         `json:"requests"`
	Events     []Event           `json:"events"`
	Totals     Totals            `json:"totals"`
	Bill       *bill.Bill        `json:"-"`                   // what was billed for the recorded session; nil of a timeline that was read from JSON
	CacheFit   *CacheFit         `json:"cache_fit,omitempty"` // of the recorded session's own replay to that; nil: it was not replayed
	Regret     *regret.Regret    `json:"regret,omitempty"`    // with Options.Regret
	Findings   []RequestFinding  `json:"findings"`            // broken rules
	Warnings   []session.Warning `json:"warnings"`
	Trace      *trace.Trace      `json:"-"` // with Options.Trace: what each request sends, block by block

	unpriced []string
}

// Main returns the main requests: those of the client.
func (t *Timeline) Main() []*Request {
	list := make([]*Request, 0, len(t.Requests))
	for i := range t.Requests {
		if r := &t.Requests[i]; r.Kind == "main" {
			list = append(list, r)
		}
	}
	return list
}

// Unpriced returns the models of calls without a known price, sorted; none of a timeline that was read from JSON.
func (t *Timeline) Unpriced() []string { return t.unpriced }

// Estimated reports whether the output of a request is estimated.
func (t *Timeline) Estimated() bool {
	return slices.ContainsFunc(t.Requests, func(r Request) bool { return r.Estimated })
}

// Lines accounts for every line of the file: Read = Used + sum(SetAside).
type Lines struct {
	Read     int            `json:"read"`
	Used     int            `json:"used"`
	Fused    int            `json:"fused"`     // of Read: further objects and rejected bytes on a line that held one already
	SetAside map[string]int `json:"set_aside"` // by reason; printed sorted

	Recorded session.RequestTally `json:"-"` // requests on lines that are set aside
}

// Totals sums a timeline up. Peaks and means are over main requests, in tokens.
type Totals struct {
	Requests          int         `json:"requests"` // main requests
	Calls             int         `json:"calls"`    // main requests and the policy's own requests
	RawPeak           int         `json:"raw_peak"`
	ModelPeak         int         `json:"model_peak"`
	ModelMean         int         `json:"model_mean"`
	RawInput          int         `json:"raw_input"`     // sum of raw_tokens
	ModelInput        int         `json:"model_input"`   // sum of model_tokens, the policy's own requests included
	Payload           int         `json:"payload_input"` // sum of payload_tokens, the policy's own requests included: what was sent
	PayloadPeak       int         `json:"payload_peak"`
	PayloadMean       int         `json:"payload_mean"`
	OwnInput          int         `json:"own_input"`                    // of Payload: what the policy's own requests sent
	NotReadBack       int         `json:"not_read_back,omitempty"`      // of RawInput: what a restarted client did not read back, at each main request until the next compaction
	Placeholders      int         `json:"placeholders,omitempty"`       // in the body of the last main request: for words of the client that are on no line
	PlaceholderTokens int         `json:"placeholder_tokens,omitempty"` // what they stand for, about; part of the overhead
	Saved             int         `json:"tokens_saved"`                 // by the policy: RawInput - NotReadBack - (Payload - OwnInput)
	Output            int         `json:"output_tokens"`                // of all calls
	OwnOutput         int         `json:"own_output"`                   // of Output: what the policy's own requests wrote
	Refused           int         `json:"refused"`                      // main requests that would have had no answer: over the window, or blocked
	Blocked           int         `json:"blocked"`                      // of Refused: those that the client would not have sent
	Compactions       int         `json:"compactions"`
	Failed            int         `json:"failed_compactions"` // those that came to nothing; not in Compactions
	Thrash            int         `json:"thrash"`             // of Compactions: those that freed less than a tenth of what they read
	ThrashRun         int         `json:"thrash_run"`         // the longest run of them
	Cleared           int         `json:"cleared_results"`    // tool_results that stay cleared, each once
	ClearedTokens     int         `json:"cleared_tokens"`     // removed from the payload by edits of single blocks, less what they gave back
	Events            int         `json:"events"`
	Cache             cache.Split `json:"cache"` // of all calls
	bill.Brief
	CostUSD    price.USD  `json:"cost_usd,omitzero"`            // of the calls whose model has a price
	CostParts  *CostParts `json:"cost_parts,omitempty"`         // of cost_usd
	Unpriced   int        `json:"unpriced_requests,omitempty"`  // calls whose model has none
	Misses     *int       `json:"misses,omitempty"`             // with Regret
	Violations int        `json:"violations"`                   // findings of the policy
	Transcript int        `json:"transcript_violations"`        // findings of the transcript
	Preserved  int        `json:"preserved_thinking,omitempty"` // findings of edits that cost thinking
}
