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
	// RecordOptions are the options of NewRecordWith: prices, encoders, model families, programs. The zero value is the
	// default. (record.RecordOptions)
	RecordOptions = record.RecordOptions
	// CacheMode says whose prompt cache a replay simulates: CacheEqual, CacheOwn or CacheNone. (account.CacheMode)
	CacheMode = account.CacheMode
	// SentRequest is a request as it would be sent, which Options.Send receives: its figures, view, model and times.
	// (engine.SentRequest)
	SentRequest = engine.SentRequest
	// SentHead describes the system prompt and the tools of a request: how many of their tokens all sessions of the
	// client share, and how often they changed. (account.SentHead)
	SentHead = account.SentHead
)

// The values of Options.Cache; "" is CacheOwn.
const (
	CacheEqual = account.CacheEqual // the prompt cache of the recorded client and provider, for every policy
	CacheOwn   = account.CacheOwn   // the prompt cache of the policy's product
	CacheNone  = account.CacheNone  // no prompt cache
)

type (
	// Request is one API call of a replay, a main request or an own request of the policy: its tokens, its cache use
	// and its cost. (account.Request)
	Request = account.Request
	// Usage is what the API reported for a recorded request, in tokens. (account.Usage)
	Usage = account.Usage
	// Samplings is the sum of the iterations within one recorded request, in tokens. (account.Samplings)
	Samplings = account.Samplings
	// CacheUse divides the input tokens of a request by how they are billed (cache read, cache write, uncached), by the
	// simulated prompt cache, with the cause of a cache miss. (account.CacheUse)
	CacheUse = account.CacheUse
	// CostParts divides a cost by its causes, such as edits, an expired prompt cache and the policy's own requests. The
	// parts sum to the cost. (account.CostParts)
	CostParts = account.CostParts
	// StageCost is the cost of the cache misses that the edits of one stage caused. (account.StageCost)
	StageCost = account.StageCost
	// ModelCache says how the provider of a model caches prompts. (account.ModelCache)
	ModelCache = account.ModelCache
	// Event is one firing of one stage with its edits, one context change that the client recorded, or a main request
	// that would have had no answer. (engine.Event)
	Event = engine.Event
	// EventTarget is a message or tool result that an event changed. (engine.EventTarget)
	EventTarget = engine.EventTarget
	// Segment names the messages that a compaction keeps verbatim: uuids of the first and last message and of the
	// summary. (engine.Segment)
	Segment = engine.Segment
	// RecordedEvent is the line and the figures with which the client recorded an event. (record.RecordedEvent)
	RecordedEvent = record.RecordedEvent
	// CompactionKind is the reason for a recorded compaction. (record.CompactionKind)
	CompactionKind = record.CompactionKind
	// ConditionUse counts how often the condition of a stage held and how often not. (engine.ConditionUse)
	ConditionUse = engine.ConditionUse
	// RequestFinding is a rule of the API that a request violates, reported at the first such request.
	// (engine.RequestFinding)
	RequestFinding = engine.RequestFinding
	// FindingKind is the cause of a RequestFinding. (engine.FindingKind)
	FindingKind = engine.FindingKind
	// AutoOff says that the recorded client did not compact by itself where its release would have. (engine.AutoOff)
	AutoOff = engine.AutoOff
	// Fit is the context window, in tokens, that follows from the recorded automatic compactions. A user can set that
	// window, and no line records it. (record.Fit)
	Fit = record.Fit
	// EarlierHistory describes the part of the conversation before the file, by the usage of the first request.
	// (record.EarlierHistory)
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
	FindingViolation  = engine.FindingViolation  // the policy violates a rule
	FindingTranscript = engine.FindingTranscript // the recorded session itself violates a rule, under every policy
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

// DefaultWindow, 200,000 tokens, is the context window assumed for a model if neither it nor a model of its family is
// in the table.
const DefaultWindow = engine.DefaultWindow

type (
	// Cost is what a replay would have cost: the main requests, the policy's own requests, and the tokens that each
	// cause of a cache miss cost. (account.Cost)
	Cost = account.Cost
	// CacheLoss is the number of tokens that could not be read from the prompt cache for one cause. (account.CacheLoss)
	CacheLoss = account.CacheLoss
	// Bridge leads from the billed cost of a session to the cost of a replay, step by step; the steps sum to the
	// difference exactly. (account.Bridge)
	Bridge = account.Bridge
	// BridgeStep is one step of a Bridge: its name, its calls and its amount. (account.BridgeStep)
	BridgeStep = account.BridgeStep
	// CacheFit says how well the simulated prompt cache of recorded sessions agrees with the usage that the API
	// reported. (account.CacheFit)
	CacheFit = account.CacheFit
)

// The names of the steps of a bridge, in their order. The steps before StepModel lead from the bill to the simulated
// recorded session, StepModel to the same under Options.Model, and the steps after it to the policy.
const (
	StepCopies     = account.StepCopies     // calls that several sessions record: counted once in the bill, but in the replay of each session
	StepSubagents  = account.StepSubagents  // calls of subagents, which this replay leaves out
	StepBranches   = account.StepBranches   // calls on abandoned branches, which no replay makes
	StepAttempts   = account.StepAttempts   // further models within a request: models that declined, advisors
	StepSearches   = account.StepSearches   // web searches by the API
	StepWarming    = account.StepWarming    // renewals of the prompt cache
	StepOther      = account.StepOther      // other requests of the client, which no replay makes
	StepRuns       = account.StepRuns       // calls of which only a sum per client process is recorded
	StepModifiers  = account.StepModifiers  // surcharges and discounts for speed, region, service tier and time, which the simulation leaves out
	StepRounds     = account.StepRounds     // iterations within a request before its last one
	StepUnreported = account.StepUnreported // requests without recorded usage
	StepOutputs    = account.StepOutputs    // responses without a reliable output count
	StepCounted    = account.StepCounted    // requests whose simulated input is larger or smaller than the recorded input
	StepFirst      = account.StepFirst      // the first request: what it read that other sessions, or requests before the file, had left in the prompt cache
	StepRead       = account.StepRead       // the other requests: simulated less recorded cache reads
	StepWritten    = account.StepWritten    // the other requests: simulated less recorded cache writes
	StepUncached   = account.StepUncached   // the other requests: simulated less recorded uncached input
	StepClient     = account.StepClient     // calls of the recorded client that the simulation makes and whose usage is on no line: compactions
	StepModel      = account.StepModel      // the prices and the tokenizer of Options.Model
	StepIdeal      = account.StepIdeal      // input under a prompt cache that keeps every prefix; this and the following steps are policy less recorded session
	StepBreaks     = account.StepBreaks     // input that the prompt cache lost because of edits
	StepLifetime   = account.StepLifetime   // content that is written again because its cache entry has expired
	StepPlacement  = account.StepPlacement  // content that no cache breakpoint or look-back covers, or that is too short to be cached
	StepOwnCalls   = account.StepOwnCalls   // own requests of the policy
	StepOutput     = account.StepOutput     // output of main requests
)

// OfPolicy is the prefix of the names of the steps from StepIdeal on, which compare the policy with the simulated
// recorded session.
const OfPolicy = account.OfPolicy

type (
	// Decision is what a policy decides before one request on the recorded view. (engine.Decision)
	Decision = engine.Decision
	// OwnRequest is an own request of a policy, such as that for a summary. (engine.OwnRequest)
	OwnRequest = engine.OwnRequest
	// UnseenError is the error of Record.RequestOf for a call of which only the tokens are known, not the messages.
	// (engine.UnseenError)
	UnseenError = engine.UnseenError
	// Continuation is what the next request of a session would send and cost: without a compaction, and after one.
	// (engine.Continuation)
	Continuation = engine.Continuation
	// NextCost is the input of one request, divided by how it is billed, and its cost. (account.NextCost)
	NextCost = account.NextCost
	// NextCompaction is a session after a compaction: the policy, the context and the costs. (engine.NextCompaction)
	NextCompaction = engine.NextCompaction
	// CompactionCost is the cost of a compaction and of the first request after it. (engine.CompactionCost)
	CompactionCost = engine.CompactionCost
	// Pause is the time from the end of a response to the next request, as far as the lines show it. (record.Pause)
	Pause = record.Pause
)

// Steps returns the names of the steps of a bridge in their order.
func Steps() []string { return account.Steps() }

// SumBridges returns the sum of the bridges of conversations. Calls that several of them record count once in the bill.
func SumBridges(list []*Bridge) *Bridge { return account.SumBridges(list) }

// RecordedTrack returns the policy that repeats what the client really sent, from the context changes that it recorded.
func RecordedTrack() *policy.Policy { return engine.RecordedTrack() }

// NearCompactions returns the numbers of the main requests at which a compaction by a policy is no false alarm: a
// compaction is recorded before that request or before the previous one.
func NearCompactions(conv *session.Conversation) map[int]bool { return engine.NearCompactions(conv) }

// Precedes reports whether b is a recorded automatic compaction that a main request follows.
func Precedes(conv *session.Conversation, b *session.Boundary) bool { return engine.Precedes(conv, b) }

// UnknownModel returns a warning where opt.Model is set and not in table, else nil.
func UnknownModel(table *price.Table, opt Options) *session.Warning {
	return engine.UnknownModel(table, opt)
}
