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

// What a replay is asked for.
type (
	Options       = engine.Options       // of a replay
	RecordOptions = record.RecordOptions // of a record
	CacheMode     = account.CacheMode    // whose prompt cache is simulated
	SentRequest   = engine.SentRequest   // a request as it is sent
	SentHead      = account.SentHead     // system prompt and tools of a request
)

// The modes of Options.Cache. The zero value is CacheOwn.
const (
	CacheEqual = account.CacheEqual // that of the recorded session's own client and provider, for every policy
	CacheOwn   = account.CacheOwn   // that of the policy's product
	CacheNone  = account.CacheNone
)

// What a Timeline holds.
type (
	Request        = account.Request       // one API call: a row
	Usage          = account.Usage         // usage that the API reported of it
	Samplings      = account.Samplings     // the sum of several iterations within it
	CacheUse       = account.CacheUse      // its input by how it is billed
	CostParts      = account.CostParts     // its cost by reasons
	StageCost      = account.StageCost     // what the edits of a stage cost
	ModelCache     = account.ModelCache    // how a provider caches a model
	Event          = engine.Event          // one firing of a stage, one act of the client, or a request without an answer
	EventTarget    = engine.EventTarget    // what an event changed
	Segment        = engine.Segment        // what a compaction leaves verbatim
	RecordedEvent  = record.RecordedEvent  // where the client recorded an event
	CompactionKind = record.CompactionKind // why the client compacted
	ConditionUse   = engine.ConditionUse   // how often the condition of a stage held
	RequestFinding = engine.RequestFinding // a rule that a request violates
	FindingKind    = engine.FindingKind    // why
	AutoOff        = engine.AutoOff        // the client did not compact by itself
	Fit            = record.Fit            // the window in which the client compacted
	EarlierHistory = record.EarlierHistory // what came before the file
	Conversion     = record.Conversion     // tokens of another tokenizer
	ConvertedModel = record.ConvertedModel // by model
)

// The kinds of recorded compactions.
const (
	CompactionThreshold   = record.CompactionThreshold   // the context reached the client's threshold
	CompactionReactive    = record.CompactionReactive    // the API refused a prompt as too long
	CompactionIdle        = record.CompactionIdle        // the user was away, and the cache about to expire
	CompactionModelChange = record.CompactionModelChange // the next model has a smaller window, or cannot read what the one before compacted
	CompactionManual      = record.CompactionManual      // the user asked for it
	CompactionServer      = record.CompactionServer      // the API made it
	CompactionPrecomputed = record.CompactionPrecomputed // the summary was written ahead
)

// The kinds of findings.
const (
	FindingViolation  = engine.FindingViolation  // the policy violates a rule
	FindingTranscript = engine.FindingTranscript // the transcript itself violates a rule, under every policy
	FindingPreserved  = engine.FindingPreserved  // allowed, but it costs a model with preserved thinking its thinking
)

// The codes of warnings that a caller may have advice for.
const (
	CodeWindowExceeded = engine.CodeWindowExceeded // the recorded context does not fit the assumed window
	CodeWindowAssumed  = engine.CodeWindowAssumed  // nothing states the window
	CodeUsageUnfit     = engine.CodeUsageUnfit     // the recorded usage is less than the content weighs
	CodeModelUnknown   = engine.CodeModelUnknown   // the model of the options is not in the table
	CodeNoPrice        = engine.CodeNoPrice        // a model has no price
	CodeCacheShown     = engine.CodeCacheShown     // that a model is cached is known from the recorded session alone
	CodeNoCache        = engine.CodeNoCache        // how a model is cached is not known
)

// DefaultWindow is the assumed context window of a model that is not in the table, nor any of its family, tokens.
const DefaultWindow = engine.DefaultWindow

// What a replay costs.
type (
	Cost       = account.Cost       // what a replay would have cost
	CacheLoss  = account.CacheLoss  // what cache misses cost, by cause
	Bridge     = account.Bridge     // from the bill to the cost of a replay
	BridgeStep = account.BridgeStep // one difference on the way
	CacheFit   = account.CacheFit   // of the simulated prompt cache to the recorded session
)

// The steps of a bridge, in their order.
const (
	StepCopies     = account.StepCopies     // calls that several sessions record: each counts once in the bill, and in each session's replay
	StepSubagents  = account.StepSubagents  // their requests, which this replay leaves out
	StepBranches   = account.StepBranches   // calls on branches that were left, which no replay makes
	StepAttempts   = account.StepAttempts   // other models within a request: those that declined, advisors
	StepSearches   = account.StepSearches   // of the web, by the API
	StepWarming    = account.StepWarming    // renewals of the prompt cache
	StepOther      = account.StepOther      // the client's own requests that no replay makes
	StepRuns       = account.StepRuns       // of which only the sum of their calls is recorded
	StepModifiers  = account.StepModifiers  // speed, region, service tier and the day's prices, which the simulation leaves out
	StepRounds     = account.StepRounds     // samplings within a request before its last one
	StepUnreported = account.StepUnreported // requests without recorded usage
	StepOutputs    = account.StepOutputs    // outputs without a reliable count
	StepCounted    = account.StepCounted    // inputs of another size than recorded
	StepFirst      = account.StepFirst      // its cache: what other sessions, or requests before the file's start, left there
	StepRead       = account.StepRead       // the same input of the other requests, by the simulated cache: what is read,
	StepWritten    = account.StepWritten    // written
	StepUncached   = account.StepUncached   // and uncached input
	StepClient     = account.StepClient     // calls of the recorded client whose usage is on no line: compactions
	StepModel      = account.StepModel      // another model: its prices and tokenizer
	StepIdeal      = account.StepIdeal
	StepBreaks     = account.StepBreaks
	StepLifetime   = account.StepLifetime
	StepPlacement  = account.StepPlacement
	StepOwnCalls   = account.StepOwnCalls
	StepOutput     = account.StepOutput
)

// OfPolicy begins the names of the steps from the simulated record to the policy: the differences of the parts.
const OfPolicy = account.OfPolicy

// What else a Record answers.
type (
	Decision       = engine.Decision       // what a policy decides before a request
	OwnRequest     = engine.OwnRequest     // the request of a call of the policy's own
	UnseenError    = engine.UnseenError    // its messages are not known
	Continuation   = engine.Continuation   // what the next request would cost
	NextCost       = account.NextCost      // of one request
	NextCompaction = engine.NextCompaction // the session after a compaction
	CompactionCost = engine.CompactionCost // what that costs
	Pause          = record.Pause          // time before a request
)

// Steps lists the steps of a bridge in their order.
func Steps() []string { return account.Steps() }

// SumBridges adds up the bridges of conversations. Calls that several of them record count once in the bill.
func SumBridges(list []*Bridge) *Bridge { return account.SumBridges(list) }

// RecordedTrack is the policy of the recorded track.
func RecordedTrack() *policy.Policy { return engine.RecordedTrack() }

// NearCompactions returns the requests (n) at which a compaction by a policy is no false alarm: one is recorded there
// or at the request before.
func NearCompactions(conv *session.Conversation) map[int]bool { return engine.NearCompactions(conv) }

// Precedes reports whether a recorded compaction is automatic and a request follows it.
func Precedes(conv *session.Conversation, b *session.Boundary) bool { return engine.Precedes(conv, b) }

// UnknownModel is the warning of a model of the options that is not in the table; nil where it is, or there is none.
func UnknownModel(table *price.Table, opt Options) *session.Warning {
	return engine.UnknownModel(table, opt)
}
