// Package replay runs a recorded conversation through a policy, one request after another, and counts what would have
// been sent to the model. The messages of the user, the model and the tools stay as they were recorded. A policy
// changes only which of them are sent, and in what form. A replay cannot tell what the model would have answered.
//
// # Terms
//
// The terms of package session apply: chain, main request, raw history, recorded track. The view, or model view, is
// what a policy leaves of the raw history for the model at one request. The payload is the part of the view that the
// server processes: the view without the content that the server itself clears. The overhead is everything else in a
// request: system prompt, tool definitions and words that no line of the file records. An own request is a request that
// the policy itself makes, for example for a summary. A cache miss is a request that reads fewer tokens from the prompt
// cache than the previous request had left there. Regret is the content that a policy removed and the recorded session
// used later. A bridge is the list of steps from the billed cost of a session to the cost of a replay. The counter is
// the method that counts tokens (Timeline.Counter). Main requests are numbered from 1; the number directly after the
// last main request stands for the end of the file. Indexes, such as those of events, are from 0.
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

// Timeline is the result of one replay. It consists of data only, and reports are made from it alone. Figures in tokens
// are counted with the method in the field Counter.
type Timeline struct {
	Schema     string            `json:"schema"`
	Session    string            `json:"session"`
	Agent      string            `json:"agent,omitempty"`
	File       string            `json:"file"`
	Title      string            `json:"title,omitempty"`
	Policy     string            `json:"policy"`
	Chosen     string            `json:"policy_chosen,omitempty"` // why a bare product name stands for this policy; "": the policy was given by its own name
	Newer      string            `json:"policy_newer,omitempty"`  // a note that a newer policy of the product exists, or that the session's client is newer than every examined release; else ""
	Truth      policy.Truth      `json:"policy_truth,omitempty"`  // evidence for the policy
	Score      *policy.Score     `json:"policy_score,omitempty"`  // how well the policy predicts recorded sessions of its product; nil: not scored
	Counter    string            `json:"counter"`                 // name of the method that counts tokens: "usage", "heuristic" or a tokenizer encoding
	Cache      CacheMode         `json:"prompt_cache,omitempty"`  // whose prompt cache is simulated
	Caches     []ModelCache      `json:"caches,omitempty"`        // models whose provider caches prompts automatically
	Model      string            `json:"model"`
	Converted  *Conversion       `json:"converted,omitempty"` // with Options.Model: how the recorded tokens were converted to that model's tokenizer; nil: they were not
	Version    string            `json:"client_version,omitempty"`
	Earlier    *EarlierHistory   `json:"earlier_history,omitempty"`     // what came before the file, if the file begins in the middle of its conversation; else nil
	Window     int               `json:"window"`                        // context window in tokens
	Fit        *Fit              `json:"window_fit,omitempty"`          // how Window was derived from the recorded compactions; nil: it was not
	Shown      int               `json:"window_shown_by,omitempty"`     // largest recorded context in tokens, if it shows that the window is the larger one of the model; else 0
	AutoOff    *AutoOff          `json:"auto_compaction_off,omitempty"` // automatic compaction was off when the session was recorded; else nil
	Limits     []policy.Limit    `json:"limits"`                        // numbers of tokens at which the policy's stages act in a context window of Window tokens
	Notes      []string          `json:"policy_notes,omitempty"`        // conditions under which the policy's stages act that are not numbers of tokens
	LimitsOf   string            `json:"limits_of,omitempty"`           // for the recorded track: the release whose limits are in Limits
	Stages     []string          `json:"stages"`                        // names of the policy's stages, in order
	Conditions []ConditionUse    `json:"conditions,omitempty"`          // how often the condition of each stage held, in the order of the stages
	Lines      Lines             `json:"lines"`
	Requests   []Request         `json:"requests"`
	Events     []Event           `json:"events"`
	Totals     Totals            `json:"totals"`
	Bill       *bill.Bill        `json:"-"`                   // billed cost of the recorded session; nil for a timeline that was read from JSON
	CacheFit   *CacheFit         `json:"cache_fit,omitempty"` // for the recorded track: how well its simulated cache agrees with the recorded usage; nil: not computed
	Regret     *regret.Regret    `json:"regret,omitempty"`    // with Options.Regret
	Findings   []RequestFinding  `json:"findings"`            // violated rules
	Warnings   []session.Warning `json:"warnings"`
	Trace      *trace.Trace      `json:"-"` // with Options.Trace: the content of each request, block by block

	unpriced []string
}

// Main returns the main requests, which are those of the client.
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

// Estimated reports whether the output tokens of at least one request are estimated.
func (t *Timeline) Estimated() bool {
	return slices.ContainsFunc(t.Requests, func(r Request) bool { return r.Estimated })
}

// Lines counts every line of the session's file, as session.Accounting does: Read = Used + sum(SetAside).
type Lines struct {
	Read     int            `json:"read"`
	Used     int            `json:"used"`
	Fused    int            `json:"fused"`     // part of Read: objects after the first on a line, and rejected bytes on such lines
	SetAside map[string]int `json:"set_aside"` // number of lines, by reason

	Recorded session.RequestTally `json:"-"` // request bodies that the client logged; their lines are set aside
}

// Totals sums up a timeline. Peaks and means are over main requests, in tokens. raw_tokens, model_tokens and
// payload_tokens are fields of Request: the raw history, the view and the payload at a request, each with the overhead.
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
	OwnInput          int         `json:"own_input"`                    // part of Payload: the policy's own requests
	NotReadBack       int         `json:"not_read_back,omitempty"`      // part of RawInput: tokens that a restarted client did not read back, counted again for each main request up to the next compaction
	Placeholders      int         `json:"placeholders,omitempty"`       // number of placeholders, in the body of the last main request, for words that no line of the file records
	PlaceholderTokens int         `json:"placeholder_tokens,omitempty"` // estimated tokens of the words that the placeholders stand for; part of the overhead
	Saved             int         `json:"tokens_saved"`                 // input tokens saved by the policy: RawInput - NotReadBack - (Payload - OwnInput)
	Output            int         `json:"output_tokens"`                // output tokens of all calls
	OwnOutput         int         `json:"own_output"`                   // part of Output: the policy's own requests
	Refused           int         `json:"refused"`                      // main requests without an answer: larger than the window, or blocked
	Blocked           int         `json:"blocked"`                      // part of Refused: requests that the client itself would not have sent
	Compactions       int         `json:"compactions"`                  // number of compactions
	Failed            int         `json:"failed_compactions"`           // compactions without a result; not in Compactions
	Thrash            int         `json:"thrash"`                       // part of Compactions: those that removed less than a tenth of the tokens that they read
	ThrashRun         int         `json:"thrash_run"`                   // largest number of such compactions in a row
	Cleared           int         `json:"cleared_results"`              // number of tool_results that are cleared at the end
	ClearedTokens     int         `json:"cleared_tokens"`               // tokens that edits of single blocks removed from the payload, minus the tokens that such edits put back
	Events            int         `json:"events"`
	Cache             cache.Split `json:"cache"` // input tokens of all calls
	bill.Brief
	CostUSD    price.USD  `json:"cost_usd,omitzero"`            // cost of the calls whose model has a price
	CostParts  *CostParts `json:"cost_parts,omitempty"`         // the parts of cost_usd
	Unpriced   int        `json:"unpriced_requests,omitempty"`  // calls whose model has no price
	Misses     *int       `json:"misses,omitempty"`             // with Options.Regret: blocks that the policy removed and the session used later
	Violations int        `json:"violations"`                   // findings with FindingViolation
	Transcript int        `json:"transcript_violations"`        // findings with FindingTranscript
	Preserved  int        `json:"preserved_thinking,omitempty"` // findings with FindingPreserved
}
