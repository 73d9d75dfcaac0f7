// Package replay runs a recorded conversation through a policy, one request after another, and counts what the model
// would have seen.
//
// A replay is off-policy: user, assistant and tool messages are given, and only what the model would have seen
// changes. It cannot know what the model would have answered.
package replay

import (
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
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
	LimitsOf   string            `json:"limits_of,omitempty"`           // of the recorded track: the release that recorded it, whose limits these are
	Stages     []string          `json:"stages"`                        // of the policy, in order
	Conditions []ConditionUse    `json:"conditions,omitempty"`          // of the policy's stages, in order
	Lines      Lines             `json:"lines"`
	Requests   []Request         `json:"requests"`
	Events     []Event           `json:"events"`
	Totals     Totals            `json:"totals"`
	Regret     *regret.Regret    `json:"regret,omitempty"` // with Options.Regret
	Findings   []RequestFinding  `json:"findings"`         // broken rules
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

// ModelCache is how a provider caches a model.
type ModelCache struct {
	Model string `json:"model"`
	cache.CacheKind
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
	Fused    int            `json:"fused"`     // of Read: further objects on a line that held one already
	SetAside map[string]int `json:"set_aside"` // by reason; printed sorted
}

// Request is one API call as the policy would have made it. No figure is below 0: a figure from which an edit removes
// more than there is, because the recorded usage is too small for the content, is 0.
type Request struct {
	N         int        `json:"n"` // of the main request; any other call carries the n of the request it comes before
	UUID      string     `json:"uuid,omitzero"`
	Time      time.Time  `json:"time,omitzero"`
	Kind      string     `json:"kind"` // main, or the kind of the policy's own call: compaction, collapse, session_memory, tool_pair
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
	Recorded  *Recorded  `json:"recorded,omitempty"`
	Repeated  int        `json:"-"`      // of Payload: what the main request before it had sent, too
	Events    []int      `json:"events"` // indexes into Timeline.Events
}

// Recorded is the usage that the API reported, in tokens. Of several iterations within the request the input is that
// of the last one.
type Recorded struct {
	Input      int     `json:"input"`
	CacheWrite int     `json:"cache_write"`
	CacheRead  int     `json:"cache_read"`
	Output     int     `json:"output"`
	Billed     *Billed `json:"billed,omitempty"` // nil: the same
}

// Billed is the sum of several iterations within one request, in tokens.
type Billed struct {
	Iterations int `json:"iterations"`
	Input      int `json:"input"`
	CacheWrite int `json:"cache_write"`
	CacheRead  int `json:"cache_read"`
	Output     int `json:"output"`
}

func recordedUsage(u *jsonl.Usage) *Recorded {
	r := &Recorded{Input: u.Input, CacheWrite: u.CacheWrite, CacheRead: u.CacheRead, Output: u.Output}
	if u.Iterated() {
		b := u.Billed()
		r.Billed = &Billed{Iterations: b.Calls, Input: b.Input, CacheWrite: b.CacheWrite, CacheRead: b.CacheRead, Output: b.Output}
	}
	return r
}

// Event is one firing of one stage, one act of the recorded track, or a main request that would have had no answer.
type Event struct {
	N        int             `json:"n"`       // index into Timeline.Events
	Request  *int            `json:"request"` // nil: after the last request
	Stage    string          `json:"stage"`
	Kind     policy.EditKind `json:"kind"`
	Trigger  string          `json:"trigger,omitempty"`
	Reason   string          `json:"reason"`
	Before   int             `json:"tokens_before"` // of what changed; of a request without an answer: its payload, also after
	After    int             `json:"tokens_after"`
	Saved    int             `json:"tokens_saved"`       // Before - After
	Results  int             `json:"results,omitempty"`  // tool_results changed
	Messages int             `json:"messages,omitempty"` // messages removed
	Detail   map[string]int  `json:"detail,omitempty"`   // figures that the client would record: pre_tokens …
	Targets  []EventTarget   `json:"targets"`            // block edits: every target; rebuilt views: none
	Kept     *Segment        `json:"preserved_segment,omitempty"`
	Recorded *RecordedEvent  `json:"recorded,omitempty"`
}

// Segment is what a compaction leaves verbatim behind its summary, as clients record it: uuids of the first and the last
// message, and of the summary, which comes before them.
type Segment struct {
	Head   string `json:"head_uuid"`
	Anchor string `json:"anchor_uuid"`
	Tail   string `json:"tail_uuid"`
}

// EventTarget is what an event changed.
type EventTarget struct {
	Message string `json:"message"`
	ToolUse string `json:"tool_use_id,omitempty"`
}

// RecordedEvent is where and how the client recorded an event.
type RecordedEvent struct {
	File        string `json:"file"`
	Line        int    `json:"line"`
	Trigger     string `json:"trigger"`
	PreTokens   int    `json:"pre_tokens,omitempty"` // 0: not recorded
	TokensSaved int    `json:"tokens_saved,omitempty"`
}

// Totals sums a timeline up. Peaks and means are over main requests, in tokens.
type Totals struct {
	Requests          int         `json:"requests"` // main requests
	Calls             int         `json:"calls"`    // main requests and the policy's own calls
	RawPeak           int         `json:"raw_peak"`
	ModelPeak         int         `json:"model_peak"`
	ModelMean         int         `json:"model_mean"`
	RawInput          int         `json:"raw_input"`     // sum of raw_tokens
	ModelInput        int         `json:"model_input"`   // sum of model_tokens, the policy's own calls included
	Payload           int         `json:"payload_input"` // sum of payload_tokens, the policy's own calls included: what was sent
	PayloadPeak       int         `json:"payload_peak"`
	PayloadMean       int         `json:"payload_mean"`
	OwnInput          int         `json:"own_input"`                    // of Payload: what the policy's own calls sent
	NotReadBack       int         `json:"not_read_back,omitempty"`      // of RawInput: what a restarted client did not read back, at each main request until the next compaction
	Placeholders      int         `json:"placeholders,omitempty"`       // in the body of the last main request: for words of the client that are on no line
	PlaceholderTokens int         `json:"placeholder_tokens,omitempty"` // what they stand for, about; part of the overhead
	Saved             int         `json:"tokens_saved"`                 // by the policy: RawInput - NotReadBack - (Payload - OwnInput)
	Output            int         `json:"output_tokens"`                // of all calls
	OwnOutput         int         `json:"own_output"`                   // of Output: what the policy's own calls wrote
	Refused           int         `json:"refused"`                      // main requests that would have had no answer: over the window, or blocked
	Blocked           int         `json:"blocked"`                      // of Refused: those that the client would not have sent
	Compactions       int         `json:"compactions"`
	Failed            int         `json:"failed_compactions"` // those that came to nothing; not in Compactions
	Thrash            int         `json:"thrash"`             // of Compactions: those that freed less than a tenth of what they read
	ThrashRun         int         `json:"thrash_run"`         // the longest run of them
	Cleared           int         `json:"cleared_results"`    // tool_results that stay cleared, each once
	ClearedTokens     int         `json:"cleared_tokens"`     // removed from the payload by edits of single blocks, less what they gave back
	Events            int         `json:"events"`
	Cache             cache.Split `json:"cache"`                        // of all calls
	CostUSD           price.USD   `json:"cost_usd,omitzero"`            // of the calls whose model has a price
	CostParts         *CostParts  `json:"cost_parts,omitempty"`         // of cost_usd
	Unpriced          int         `json:"unpriced_requests,omitempty"`  // calls whose model has none
	Misses            *int        `json:"misses,omitempty"`             // with Regret
	Violations        int         `json:"violations"`                   // findings of the policy
	Transcript        int         `json:"transcript_violations"`        // findings of the transcript
	Preserved         int         `json:"preserved_thinking,omitempty"` // findings of edits that cost thinking
}
