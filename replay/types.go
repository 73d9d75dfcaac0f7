package replay

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/internal/account"
	"github.com/ctxkit/ctxkit/replay/internal/engine"
	"github.com/ctxkit/ctxkit/replay/internal/record"
	"github.com/ctxkit/ctxkit/replay/price"
)

// What a replay is asked for.
type (
	Options       = engine.Options
	RecordOptions = record.RecordOptions
	CacheMode     = account.CacheMode
	SentRequest   = engine.SentRequest
	SentHead      = account.SentHead
)

// The modes of Options.Cache. The zero value is CacheOwn.
const (
	CacheEqual = account.CacheEqual // that of the record's own client and provider, for every policy
	CacheOwn   = account.CacheOwn   // that of the policy's product
	CacheNone  = account.CacheNone
)

// What a Timeline holds.
type (
	Request        = account.Request
	Recorded       = account.Recorded
	Billed         = account.Billed
	CacheUse       = account.CacheUse
	CostParts      = account.CostParts
	StageCost      = account.StageCost
	ModelCache     = account.ModelCache
	Event          = engine.Event
	EventTarget    = engine.EventTarget
	Segment        = engine.Segment
	RecordedEvent  = record.RecordedEvent
	ConditionUse   = engine.ConditionUse
	RequestFinding = engine.RequestFinding
	FindingKind    = engine.FindingKind
	AutoOff        = engine.AutoOff
	Fit            = record.Fit
	EarlierHistory = record.EarlierHistory
	Conversion     = record.Conversion
	ConvertedModel = record.ConvertedModel
)

// The kinds of findings.
const (
	FindingViolation  = engine.FindingViolation  // the policy breaks a rule
	FindingTranscript = engine.FindingTranscript // the transcript itself breaks a rule, under every policy
	FindingPreserved  = engine.FindingPreserved  // allowed, but it costs a model with preserved thinking its thinking
)

// The codes of warnings that a caller may have advice for.
const (
	CodeWindowExceeded = engine.CodeWindowExceeded // the recorded context does not fit the assumed window
	CodeUsageUnfit     = engine.CodeUsageUnfit     // the recorded usage is less than the content weighs
	CodeModelUnknown   = engine.CodeModelUnknown   // the model of the options is not in the table
	CodeNoPrice        = engine.CodeNoPrice        // a model has no price
	CodeNoCache        = engine.CodeNoCache        // how a model is cached is not known
)

// DefaultWindow is the assumed context window of a model that is not in the table, tokens.
const DefaultWindow = engine.DefaultWindow

// What a replay costs, and what the API billed.
type (
	Bill         = account.Bill
	Cost         = account.Cost
	Lost         = account.Lost
	RecordedBill = account.RecordedBill
	ModelBill    = account.ModelBill
	Bridge       = account.Bridge
	BridgeStep   = account.BridgeStep
)

// The steps of a bridge, in their order.
const (
	StepSubagents  = account.StepSubagents  // their requests, which this replay leaves out
	StepRounds     = account.StepRounds     // samplings within a request before its last one
	StepUnreported = account.StepUnreported // requests without recorded usage
	StepOutputs    = account.StepOutputs    // outputs without a reliable count
	StepCounted    = account.StepCounted    // inputs of another size than recorded
	StepFirst      = account.StepFirst      // its cache: what other sessions, or requests before the file's start, left there
	StepRead       = account.StepRead       // the same input of the other requests, by the simulated cache: what is read,
	StepWritten    = account.StepWritten    // written
	StepUncached   = account.StepUncached   // and neither
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
	Decision      = engine.Decision
	OwnRequest    = engine.OwnRequest
	UnseenError   = engine.UnseenError
	Continuation  = engine.Continuation
	NextCost      = account.NextCost
	Compacted     = engine.Compacted
	CompactedCost = engine.CompactedCost
	Pause         = record.Pause
)

// Steps lists the steps of a bridge in their order.
func Steps() []string { return account.Steps() }

// BilledBy is what the API reported of a conversation's requests, at the prices of a table; nil: the embedded one.
func BilledBy(conv *session.Conversation, table *price.Table) *RecordedBill {
	return account.BilledBy(conv, table)
}

// RecordedSplit is the input that the API reported of a request, its last iteration alone. Writes of an unknown
// lifetime are for five minutes.
func RecordedSplit(u *jsonl.Usage) cache.Split { return account.RecordedSplit(u) }

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
