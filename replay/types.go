package replay

// The types below are declared in the packages below replay/internal that make them. docs/api.txt lists their fields, and
// go doc shows them there: go doc github.com/ctxkit/ctxkit/replay/internal/engine Options.

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/internal/account"
	"github.com/ctxkit/ctxkit/replay/internal/engine"
	"github.com/ctxkit/ctxkit/replay/internal/record"
	"github.com/ctxkit/ctxkit/replay/price"
)

type (
	// Options are the options of a replay: counter, model, window, prompt cache, prices, and callbacks. The zero value
	// is the default. (engine.Options)
	Options = engine.Options
	// RecordOptions are the options of NewRecordWith: prices, encoders, families of stages, programs. The zero value is the
	// default. (record.RecordOptions)
	RecordOptions = record.RecordOptions
	// CacheMode says whose prompt cache a replay simulates: CacheEqual, CacheOwn or CacheNone. (account.CacheMode)
	CacheMode = account.CacheMode
	// SentRequest is a request as it would be sent, with its figures, view, model and times. Options.Send receives it.
	// (engine.SentRequest)
	SentRequest = engine.SentRequest
	// SentHead describes the system prompt and the tools of a request: how many of their first tokens are the same in all
	// sessions of the client, and how often the prompt and the tools have changed in the session. (account.SentHead)
	SentHead = account.SentHead
)

// The values of Options.Cache; "" is CacheOwn.
const (
	CacheEqual = account.CacheEqual // the prompt cache of the recorded client and provider, for every policy
	CacheOwn   = account.CacheOwn   // the prompt cache of the policy's product
	CacheNone  = account.CacheNone  // no prompt cache
)

type (
	// Request is one API call of a replay, either a main request or an own request of the policy: its tokens, its cache
	// use and its cost. (account.Request)
	Request = account.Request
	// Usage is what the API reported for a recorded request, in tokens. (account.Usage)
	Usage = account.Usage
	// Samplings is the usage, in tokens, of one recorded request for which the API ran the model several times: the sum
	// over all these runs. (account.Samplings)
	Samplings = account.Samplings
	// CacheUse is the input tokens of a request in each billing class (cache read, cache write, uncached), as the
	// simulated prompt cache gives them. For a cache miss it also has the cause. (account.CacheUse)
	CacheUse = account.CacheUse
	// CostParts divides a cost by its causes, such as edits, an expired prompt cache and the policy's own requests. The
	// parts sum to the cost. (account.CostParts)
	CostParts = account.CostParts
	// StageCost is the cost of the cache misses that the edits of one stage caused. (account.StageCost)
	StageCost = account.StageCost
	// ModelCache says how the provider of a model caches prompts. (account.ModelCache)
	ModelCache = account.ModelCache
	// Event is one of three things: a firing of a stage with its edits, a context change that the client recorded, or a
	// main request that the API would have refused or the client would not have sent. (engine.Event)
	Event = engine.Event
	// EventTarget is a message or tool result that an event changed. (engine.EventTarget)
	EventTarget = engine.EventTarget
	// Segment names the messages that a compaction keeps verbatim, by the uuids of the first and the last one. It also has
	// the uuid of the summary, which is not one of them. (engine.Segment)
	Segment = engine.Segment
	// RecordedEvent is the line of the file on which the client recorded an event, with the recorded figures.
	// (record.RecordedEvent)
	RecordedEvent = record.RecordedEvent
	// CompactionKind is the reason for a recorded compaction. (record.CompactionKind)
	CompactionKind = record.CompactionKind
	// ConditionUse counts how often the condition of a stage held and how often it did not. (engine.ConditionUse)
	ConditionUse = engine.ConditionUse
	// RequestFinding is a violation of a rule of the API, or an edit that invalidates thinking which the model needs
	// (FindingPreserved). It is reported once, at the first request that has it. (engine.RequestFinding)
	RequestFinding = engine.RequestFinding
	// FindingKind says whether a RequestFinding is a violation, and whether the policy or the recorded session causes it.
	// (engine.FindingKind)
	FindingKind = engine.FindingKind
	// AutoOff says that automatic compaction was off in the recorded client: the client did not compact where its
	// release does by default. (engine.AutoOff)
	AutoOff = engine.AutoOff
	// Fit is the context window of the recorded client, in tokens, derived from its automatic compactions. The user may
	// have set this window, and the session file does not record the setting. (record.Fit)
	Fit = record.Fit
	// EarlierHistory is for a file that begins in the middle of its conversation. It describes what came before the
	// file, as far as the usage of the first request shows it. (record.EarlierHistory)
	EarlierHistory = record.EarlierHistory
	// Conversion says how the recorded tokens were converted to another model's tokenizer. (record.Conversion)
	Conversion = record.Conversion
	// ConvertedModel is a recorded model with its number of requests and the ratio of its conversion.
	// (record.ConvertedModel)
	ConvertedModel = record.ConvertedModel
)

// The values of CompactionKind.
const (
	CompactionThreshold   = record.CompactionThreshold   // the context reached the client's threshold
	CompactionReactive    = record.CompactionReactive    // the API refused a prompt as too long
	CompactionIdle        = record.CompactionIdle        // the user was away and the prompt cache was about to expire
	CompactionModelChange = record.CompactionModelChange // the next model has a smaller window, or cannot read the previous model's compaction
	CompactionManual      = record.CompactionManual      // the user asked for it
	CompactionServer      = record.CompactionServer      // the API compacted
	CompactionPrecomputed = record.CompactionPrecomputed // the client had written the summary in advance
)

// The values of FindingKind.
const (
	FindingViolation  = engine.FindingViolation  // the policy violates a rule of the API
	FindingTranscript = engine.FindingTranscript // the recorded session itself violates a rule; the finding is the same under every policy
	FindingPreserved  = engine.FindingPreserved  // no violation, but an edit invalidates thinking that the model needs back unchanged (price.Model.Preserved)
)

// Codes of warnings of a replay, for callers that add advice to a warning.
const (
	CodeWindowExceeded = engine.CodeWindowExceeded // a recorded context is larger than the assumed window
	CodeWindowAssumed  = engine.CodeWindowAssumed  // nothing states the context window, which is assumed
	CodeUsageUnfit     = engine.CodeUsageUnfit     // the recorded usage is less than the tokens of the recorded content
	CodeModelUnknown   = engine.CodeModelUnknown   // Options.Model is not in the table of models
	CodeNoPrice        = engine.CodeNoPrice        // a model has no price
	CodeCacheShown     = engine.CodeCacheShown     // only the recorded usage shows that the provider caches the model's prompts
	CodeNoCache        = engine.CodeNoCache        // nothing tells how the model's prompts are cached
)

// DefaultWindow is the context window that is assumed for a model if the table has neither the model nor another model
// of its family: 200,000 tokens.
const DefaultWindow = engine.DefaultWindow

type (
	// Cost is what the session would have cost under the policy: the main requests, the policy's own requests, and the
	// tokens lost to each cause of a cache miss. (account.Cost)
	Cost = account.Cost
	// CacheLoss is one cause of cache misses, with the number of tokens that were not read from the prompt cache because
	// of it. (account.CacheLoss)
	CacheLoss = account.CacheLoss
	// Bridge explains the difference between the billed cost of a session and the cost of a replay, step by step. The
	// steps sum to the difference exactly. (account.Bridge)
	Bridge = account.Bridge
	// BridgeStep is one step of a Bridge: its name, its calls and its amount. (account.BridgeStep)
	BridgeStep = account.BridgeStep
	// CacheFit says how well the simulated prompt cache of recorded sessions agrees with the usage that the API
	// reported. (account.CacheFit)
	CacheFit = account.CacheFit
)

// The names of the steps of a bridge, in their order. The steps before StepModel lead from the bill to the cost of
// replaying the recorded track. StepModel leads from there to the cost of replaying it with Options.Model. The steps
// after StepModel lead to the cost of replaying the policy.
const (
	StepCopies     = account.StepCopies     // calls that several sessions record: counted once in the bill, but in the replay of each session
	StepSubagents  = account.StepSubagents  // calls of subagents, which this replay leaves out
	StepBranches   = account.StepBranches   // calls on abandoned branches, which no replay makes
	StepAttempts   = account.StepAttempts   // calls of other models within a request: models that declined, and advisors
	StepSearches   = account.StepSearches   // web searches by the API
	StepWarming    = account.StepWarming    // renewals of the prompt cache
	StepOther      = account.StepOther      // other requests of the client, which no replay makes
	StepRuns       = account.StepRuns       // calls of which the file has only a sum for each client process
	StepModifiers  = account.StepModifiers  // surcharges and discounts for speed, region, service tier and time, which the simulation leaves out
	StepRounds     = account.StepRounds     // iterations (Samplings): runs of the model within one request, except the last run
	StepUnreported = account.StepUnreported // requests without recorded usage
	StepOutputs    = account.StepOutputs    // responses without a reliable output count
	StepCounted    = account.StepCounted    // requests whose simulated input is larger or smaller than the recorded input
	StepFirst      = account.StepFirst      // the first request: what it read from the prompt cache that other sessions, or requests before the file, had written
	StepRead       = account.StepRead       // the other requests: simulated minus recorded cache reads
	StepWritten    = account.StepWritten    // the other requests: simulated minus recorded cache writes
	StepUncached   = account.StepUncached   // the other requests: simulated minus recorded uncached input
	StepClient     = account.StepClient     // compactions of the recorded client: a replay makes their calls, and no line of the file records their usage
	StepModel      = account.StepModel      // the prices and the tokenizer of Options.Model
	StepIdeal      = account.StepIdeal      // input under a prompt cache that keeps every prefix; this step and all later ones are policy minus recorded track
	StepBreaks     = account.StepBreaks     // input that is not read from the prompt cache because edits changed the prefix
	StepLifetime   = account.StepLifetime   // content that is written again because its cache entry has expired
	StepPlacement  = account.StepPlacement  // content that no cache breakpoint or look-back covers, or that is too short to be cached
	StepOwnCalls   = account.StepOwnCalls   // own requests of the policy
	StepOutput     = account.StepOutput     // output of main requests
)

// OfPolicy is the prefix of the names of StepIdeal and the steps after it. These steps compare the policy with a replay
// of the recorded track.
const OfPolicy = account.OfPolicy

type (
	// Decision is what a policy decides before one request if it is given the recorded view. (engine.Decision)
	Decision = engine.Decision
	// OwnRequest is an own request of a policy, for example for a summary. (engine.OwnRequest)
	OwnRequest = engine.OwnRequest
	// UnseenError is the error of Record.RequestOf for an own request of which the number of tokens is known, but not
	// the messages. (engine.UnseenError)
	UnseenError = engine.UnseenError
	// Continuation is what the next request of a session would send and cost, both without a compaction before it and
	// with one. (engine.Continuation)
	Continuation = engine.Continuation
	// NextCost is the input tokens of one request in each billing class, and its cost. (account.NextCost)
	NextCost = account.NextCost
	// NextCompaction describes a compaction directly before the next request of a session: the policy that makes it,
	// the context after it, and the costs. (engine.NextCompaction)
	NextCompaction = engine.NextCompaction
	// CompactionCost is the cost of a compaction and that of the request directly after it, each alone and their sum. (engine.CompactionCost)
	CompactionCost = engine.CompactionCost
	// Pause is the time from the end of a response to the sending of the next request, as far as the lines show it.
	// (GlanceAt measures its pauses to the next response.) (record.Pause)
	Pause = record.Pause
)

// Steps returns the names of the steps of a bridge in their order.
func Steps() []string { return account.Steps() }

// SumBridges returns the sum of the bridges of conversations. A call that several of the conversations record counts
// once in the bill.
func SumBridges(list []*Bridge) *Bridge { return account.SumBridges(list) }

// RecordedTrack returns the policy of the recorded track: it makes the context changes that the client recorded, and no
// others.
func RecordedTrack() *policy.Policy { return engine.RecordedTrack() }

// NearCompactions returns the numbers of the main requests at which a compaction by any policy would count as a hit,
// not as a false alarm: those with a recorded compaction directly before them or directly before the previous main request.
func NearCompactions(conv *session.Conversation) map[int]bool { return engine.NearCompactions(conv) }

// Precedes reports whether b is an automatic compaction with at least one main request after it.
func Precedes(conv *session.Conversation, b *session.Boundary) bool { return engine.Precedes(conv, b) }

// UnknownModel returns a warning if opt.Model is set and table lacks that model, else nil.
func UnknownModel(table *price.Table, opt Options) *session.Warning {
	return engine.UnknownModel(table, opt)
}
