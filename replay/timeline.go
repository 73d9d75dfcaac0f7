// Package replay runs a recorded conversation through a policy, one request after another, and counts what would have
// been sent to the model. The messages of the user, the model and the tools stay as they were recorded; only what is
// sent of them differs. A replay cannot tell what the model would have answered.
//
// # Terms
//
// The terms of package session apply: chain, main request, raw history, recorded track, on no line. The view, or model
// view, is what a policy leaves of the raw history for the model at one request. The payload is the part of the view
// that the server processes, without content that it clears itself. The overhead is everything else in a request:
// system prompt, tool definitions and words on no line. An own request is a request that the policy itself makes, for
// example for a summary. A cache miss is a request that reads less from the prompt cache than the request before it
// left there. Regret is the content that a policy removed and the recorded session used later. A bridge is the list of
// steps from the billed cost of a session to the cost of a replay. The counter is the method that counts tokens
// (Timeline.Counter). Main requests are numbered from 1, with one more for the end of the file; indexes, such as those
// of events, are from 0.
//
// # Fields of aliases
//
// Many types here are aliases of types of packages that cannot be imported. Go doc shows their fields in those
// packages, for example: go doc github.com/ctxkit/ctxkit/replay/internal/engine Options. docs/api.txt lists all fields.
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

// Timeline is the result of one replay. It is data only, and reports are made from it alone. Token figures are by
// Counter.
type Timeline struct {
	Schema     string            `json:"schema"`
	Session    string            `json:"session"`
	Agent      string            `json:"agent,omitempty"`
	File       string            `json:"file"`
	Title      string            `json:"title,omitempty"`
	Policy     string            `json:"policy"`
	Chosen     string            `json:"policy_chosen,omitempty"` // why a bare product name stands for this policy; "": the policy was given by its own name
	Newer      string            `json:"policy_newer,omitempty"`  // a note that a newer release exists, or that the session's client is newer than every examined release; else ""
	Truth      policy.Truth      `json:"policy_truth,omitempty"`  // evidence for the policy
	Score      *policy.Score     `json:"policy_score,omitempty"`  // how well the policy predicts recorded sessions of its product; nil: not scored
	Counter    string            `json:"counter"`                 // name of the method that counts tokens: "usage", "heuristic" or a tokenizer encoding
	Cache      CacheMode         `json:"prompt_cache,omitempty"`  // whose prompt cache is simulated
	Caches     []ModelCache      `json:"caches,omitempty"`        // models whose provider caches prompts automatically
	Model      string            `json:"model"`
	Converted  *Conversion       `json:"converted,omitempty"` // with Options.Model, where its tokenizer differs from the recorded model's
	Version    string            `json:"client_version,omitempty"`
	Earlier    *EarlierHistory   `json:"earlier_history,omitempty"`     // of a file that begins in the middle of the conversation; else nil
	Window     int               `json:"window"`                        // context window in tokens
	Fit        *Fit              `json:"window_fit,omitempty"`          // the window was derived from the recorded compactions; else nil
	Shown      int               `json:"window_shown_by,omitempty"`     // largest recorded context in tokens, where it shows that the window is the model's large one; else 0
	AutoOff    *AutoOff          `json:"auto_compaction_off,omitempty"` // automatic compaction was off when the session was recorded; else nil
	Limits     []policy.Limit    `json:"limits"`                        // token limits at which the policy's stages act, in Window
	Notes      []string          `json:"policy_notes,omitempty"`        // conditions of the policy's stages that are not a number of tokens
	LimitsOf   string            `json:"limits_of,omitempty"`           // for the recorded track: the release whose limits Limits holds
	Stages     []string          `json:"stages"`                        // names of the policy's stages, in order
	Conditions []ConditionUse    `json:"conditions,omitempty"`          // how often the conditions of the policy's stages held, in order
	Lines      Lines             `json:"lines"`
	Requests   []Request         `json:"requests"`
	Events     []Event           `json:"events"`
	Totals     Totals            `json:"totals"`
	Bill       *bill.Bill        `json:"-"`                   // billed cost of the recorded session; nil for a timeline that was read from JSON
	CacheFit   *CacheFit         `json:"cache_fit,omitempty"` // how well the simulated cache of the recorded track agrees with Bill; nil: not computed
	Regret     *regret.Regret    `json:"regret,omitempty"`    // with Options.Regret
	Findings   []RequestFinding  `json:"findings"`            // violated rules
	Warnings   []session.Warning `json:"warnings"`
	Trace      *trace.Trace      `json:"-"` // with Options.Trace: the content of each request, block by block

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

// Unpriced returns the models without a known price, sorted; nil for a timeline that was read from JSON.
func (t *Timeline) Unpriced() []string { return t.unpriced }

// Estimated reports whether the output tokens of any request are estimated.
func (t *Timeline) Estimated() bool {
	return slices.ContainsFunc(t.Requests, func(r Request) bool { return r.Estimated })
}

// Lines counts every line of the file: Read = Used + sum(SetAside). See session.Accounting.
type Lines struct {
	Read     int            `json:"read"`
	Used     int            `json:"used"`
	Fused    int            `json:"fused"`     // of Read: objects after the first on a line, and rejected bytes on such lines
	SetAside map[string]int `json:"set_aside"` // by reason

	Recorded session.RequestTally `json:"-"` // request bodies that the client logged; their lines are set aside
}

// Totals sums up a timeline. Peaks and means are over main requests, in tokens. raw_tokens, model_tokens and
// payload_tokens are those of Request: the raw history, the view and the payload at that request, each with the
// overhead.
type Totals struct {
	Requests          int         `json:"requests"`                     // number of main requests
	Calls             int         `json:"calls"`                        // number of main requests and of the policy's own requests
	RawPeak           int         `json:"raw_peak"`                     // largest raw_tokens
	ModelPeak         int         `json:"model_peak"`                   // largest model_tokens
	ModelMean         int         `json:"model_mean"`                   // mean of model_tokens
	RawInput          int         `json:"raw_input"`                    // sum of raw_tokens
	ModelInput        int         `json:"model_input"`                  // sum of model_tokens, with the policy's own requests
	Payload           int         `json:"payload_input"`                // sum of payload_tokens, with the policy's own requests: the input tokens
	PayloadPeak       int         `json:"payload_peak"`                 // largest payload_tokens
	PayloadMean       int         `json:"payload_mean"`                 // mean of payload_tokens
	OwnInput          int         `json:"own_input"`                    // of Payload: the policy's own requests
	NotReadBack       int         `json:"not_read_back,omitempty"`      // of RawInput: tokens that a restarted client did not read back, summed over the main requests until the next compaction
	Placeholders      int         `json:"placeholders,omitempty"`       // placeholders for words on no line, in the body of the last main request
	PlaceholderTokens int         `json:"placeholder_tokens,omitempty"` // estimated tokens of the words that the placeholders stand for; part of the overhead
	Saved             int         `json:"tokens_saved"`                 // input tokens saved by the policy: RawInput - NotReadBack - (Payload - OwnInput)
	Output            int         `json:"output_tokens"`                // of all calls
	OwnOutput         int         `json:"own_output"`                   // of Output: the policy's own requests
	Refused           int         `json:"refused"`                      // main requests without an answer: larger than the window, or blocked
	Blocked           int         `json:"blocked"`                      // of Refused: requests that the client itself would not have sent
	Compactions       int         `json:"compactions"`                  // number of compactions
	Failed            int         `json:"failed_compactions"`           // compactions without a result; not in Compactions
	Thrash            int         `json:"thrash"`                       // of Compactions: those that removed less than a tenth of the tokens that they read
	ThrashRun         int         `json:"thrash_run"`                   // the longest run of such compactions
	Cleared           int         `json:"cleared_results"`              // tool_results that stay cleared, each counted once
	ClearedTokens     int         `json:"cleared_tokens"`               // tokens that edits of single blocks removed from the payload, less the tokens that such edits put back
	Events            int         `json:"events"`
	Cache             cache.Split `json:"cache"` // of all calls
	bill.Brief
	CostUSD    price.USD  `json:"cost_usd,omitzero"`            // cost of the calls whose model has a price
	CostParts  *CostParts `json:"cost_parts,omitempty"`         // of cost_usd
	Unpriced   int        `json:"unpriced_requests,omitempty"`  // calls whose model has no price
	Misses     *int       `json:"misses,omitempty"`             // with Options.Regret: blocks that the policy removed and the session used later
	Violations int        `json:"violations"`                   // findings of the policy
	Transcript int        `json:"transcript_violations"`        // findings of the transcript
	Preserved  int        `json:"preserved_thinking,omitempty"` // findings of edits that invalidate thinking
}
