package policy

import (
	"fmt"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Moment is a set of points in a replay at which stages run (docs/internals/model.md, "One request after another").
type Moment uint8

// The moments, in their order.
const (
	Ingest  Moment = 1 << iota // tool results have just joined the view
	Manual                     // the user asks for a compaction (/compact)
	Prepare                    // before a request
	Project                    // before a request, after Prepare: from the model view to the payload
	Respond                    // after a response and the results of all its tool calls
	TurnEnd                    // the agent has stopped: before the next typed prompt, and at the end of the session
)

// String returns the names of the moments in m, joined by ", ".
func (m Moment) String() string {
	var names []string
	for i, name := range []string{"ingest", "manual", "prepare", "project", "respond", "turn end"} {
		if m&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Truth is the evidence that a stage or a policy acts as a product does.
type Truth string

// The kinds of evidence, strongest first.
const (
	TruthRecorded   Truth = "recorded"   // reproduced on recorded sessions
	TruthOracle     Truth = "oracle"     // compared with answers of the original program
	TruthDocumented Truth = "documented" // the vendor's documentation
	TruthDescribed  Truth = "described"  // one written analysis; nothing to check it against
	TruthOwn        Truth = "own"        // no product acts so: the rule is new, or changed from a product's, whose evidence no longer applies
)

// Memory says whether a stage keeps to its earlier decisions.
type Memory uint8

const (
	Sticky    Memory = iota // a block that it has replaced keeps that replacement
	Frozen                  // like Sticky, and a result that it left alone when it was first sent stays as it is
	Stateless               // it decides anew at each request
)

// Definition describes a stage. Params is a pointer to a struct whose field values are the defaults and whose tags
// (yaml, doc, unit, min, max, enum) are the schema: documentation, changes of values, completion and the ranges of
// sweeps follow from them.
//
// A method Limits(*StageLimits) of Params adds the limits at which the stage acts; a stage without it has no token
// limit. A method Check(*Check) of Params adds findings; those that follow from the limits need no such method.
type Definition struct {
	Name    string
	Summary string                          // one sentence
	Source  string                          // product and version that it reproduces, and where that is described
	Truth   Truth                           // evidence that it acts as the client does
	Differs string                          // how it differs from the client and what it leaves out, as sentences without the last period; "": nothing
	Moments Moment                          // moments at which it runs
	Params  any                             // pointer to the struct of parameters with their defaults
	Example string                          // an example with the text before and after
	Memory  Memory                          // whether it keeps to earlier decisions
	Window  bool                            // it reads Context.Window or Context.Shared
	New     func(params any) (Stage, error) // makes the stage with params, which has the type of Params

	// Shared are parameters that it shares with other stages; nil: none.
	Shared *Shared

	// Models returns the limits that the client assumes for a model: by its table as of release or, where release is
	// "", as of day. A zero result means that the table lacks the model. Nil: the real limits of the model apply.
	Models func(model, release string, day time.Time) ModelLimits

	// Compaction is set for a stage that compacts the whole conversation; else nil.
	Compaction *Compaction

	// AfterCompaction: it adds to the compaction of an earlier stage and does nothing without one.
	AfterCompaction bool

	// Program is the parameter that names a program which the stage starts; New then returns a ProgramStage. "": it
	// starts none.
	Program string

	// CacheEdits: the client sends a cache_reference with each tool result from its first request on, so that cache
	// edits can name them.
	CacheEdits bool

	// Trial describes an extra action that a user may try with it, in addition to its parameters; nil: none.
	Trial *Trial

	orders [][]string // of its family, set by the registry

}

// Maker returns a Definition.New that calls stage and never returns an error, for stages that accept all parameter
// values.
func Maker[P any](stage func(p P) Stage) func(params any) (Stage, error) {
	return func(params any) (Stage, error) { return stage(*params.(*P)), nil }
}

// Trial describes an extra action that a user can feed to a stage, such as a tool call that the model did not make.
type Trial struct {
	Form string                              // how to write it: "ID[,ID]@REQUEST"
	Doc  string                              // what it does, as a sentence without its period
	Add  func(params any, text string) error // adds the action with a text to the parameters of the stage
}

// Try is a Trial that the user gave: the stage and the text of the action.
type Try struct{ Stage, Text string }

// Compaction says when a stage compacts the whole conversation.
type Compaction struct {
	On  func(s *StageConfig) bool // reports whether it does with these parameters; nil: always
	Off string                    // how to switch it off: "set autocompact.enabled to false"

	// With names a stage that also compacts and before which this stage is tried; Lint does not report the two as
	// competing.
	With string

	// FitsFrom is the first client version in which users can set the context window. The window of its sessions may be
	// derived from their recorded compactions (replay.Record.FitWindow). "": none.
	FitsFrom string
}

// Shared are parameters that several stages share. They are keys of the policy's block window wherever the policy has
// one of these stages.
type Shared struct {
	Name   string                                     // name of the family
	Params any                                        // pointer to a struct, as Definition.Params
	Check  func(params any) (param string, err error) // returns the wrong parameter and an error for values that make no sense; nil: it accepts all
	Lint   func(c *Check)                             // adds findings, once for a policy

	// Limits adds the limits that follow from these parameters alone; nil: none.
	Limits func(params any, c Circumstances, l *Limits)
}

// Stage is one stage of a policy during one replay. It may keep state between calls and is not safe for concurrent use.
// Run proposes edits, which the replay applies in order before the next stage runs. The next Run may overwrite the
// returned slice.
type Stage interface {
	Run(c *Context) ([]Edit, error)
}

// Starter is implemented by stages that check the conversation before a replay, because their parameters may name
// something that is not in it.
type Starter interface {
	Start(conv *session.Conversation) error
}

// OwnCounter is implemented by stages that compare with their limit a count of their own instead of Context.Used.
type OwnCounter interface {
	// Count returns the parts of that count, whose sum the stage compares before a request; nil: it compares Used.
	Count(c *Context) []Counted
}

// Counted is one part of the tokens that a stage counts.
type Counted struct {
	Name      string `json:"name"` // for people
	Tokens    int    `json:"tokens"`
	Estimated bool   `json:"estimated,omitempty"` // estimated by the stage, because the session file leaves out what the client counts
}

// Sum returns the sum of the tokens of parts.
func Sum(parts []Counted) (n int) {
	for i := range parts {
		n += parts[i].Tokens
	}
	return n
}

// Response is what a policy may know of the previous response. Usage is simulated, in tokens.
type Response struct {
	Usage      jsonl.Usage
	Known      bool   // there was a response and its size is known
	Message    ItemID // the response in the view
	Time       time.Time
	StopReason string
	Summary    bool // it is the response to a compaction
}

// Context is what a stage sees when it runs. It is valid only during the call.
type Context struct {
	Moment    Moment
	Request   int // number of the request that is being prepared; at Respond and TurnEnd, of the next one
	View      View
	Conv      *session.Conversation // the recorded conversation
	Window    int                   // context window in tokens; 0 for a stage whose Definition.Window is false
	WindowSet bool                  // the recorded session shows that the user had set the window
	Shared    any                   // pointer to the policy's values of Definition.Shared
	Model     string
	MaxInput  int       // largest input that the model accepts, in tokens, where this is limited separately from Window; 0: not limited
	MaxOutput int       // largest output of the model, in tokens; 0: unknown
	Version   string    // release whose wording (placeholders, prompts) the policy follows; "": none
	Overhead  int       // overhead in tokens by the counter of the replay
	Now       time.Time // recorded time of the request, or of the message that has just joined; zero: unknown
	Agent     string    // agent id of a subagent; "" in the main conversation

	// Used is the size of the context as the client computes it, in tokens, before this request's edits: the usage of
	// the last response plus the client's estimate of what came after it (UsedTail). In a replay the recorded usage is
	// reduced by what the policy's earlier edits removed. At Respond the last response is the one just made. At Ingest
	// and TurnEnd both are 0.
	Used     int
	UsedTail int

	// Before is the tokens of the view before this request's edits, by the counter of the replay: a compaction reads
	// the messages as they were before the clearing of results at the same request.
	Before int

	Last   Response          // the previous response, with simulated usage
	Joined []ItemID          // at Ingest: the messages that have just joined the view; valid until Run returns
	Asked  *ManualCompaction // at Manual: the user's command; else nil
	Final  bool              // at TurnEnd: the session ends here
	Texts  TextSource
	Record RecordSource
	Weigh  Weigher

	// Estimate returns the client's estimate of an item of the view, in tokens: a quarter of its characters, rounded.
	Estimate func(id ItemID) int

	// Sent returns the blocks of an item as the Messages API takes them; none for an item that is not sent.
	Sent func(id ItemID) ([]SentBlock, error)

	// Warned, if set, receives the warnings of the stage.
	Warned func(line int, message string)
}

// Warn warns that the stage cannot do what the transcript asks of it, such as a call of the Snip tool. line is the line
// of the transcript that asks; 0: none.
func (c *Context) Warn(line int, format string, args ...any) {
	if c.Warned != nil {
		c.Warned(line, fmt.Sprintf(format, args...))
	}
}

// ManualCompaction is a compaction that the user asks for.
type ManualCompaction struct {
	Recorded int // index into Conversation.Boundaries; -1: only the replay adds it
}

// TextSource reads texts that are not kept in memory.
type TextSource interface {
	// Text returns the present text of a block of the view: what an edit put there, else the recorded text.
	Text(t Target) (string, error)

	// Recorded returns the recorded text of a block.
	Recorded(t Target) (string, error)
}

// RecordSource gives stages what the recorded session holds about compactions.
type RecordSource interface {
	// Summary returns the recorded summary that a compaction at request n may reuse: that of the first recorded
	// boundary at or after n that no other compaction of this policy has used. It counts as used once an edit with it
	// is applied. ok is false where there is none.
	Summary(n int) (content Content, boundary int, ok bool)

	// TypicalSummary returns a placeholder for a summary at request n that is not recorded: of the median size of the
	// recorded summaries, or of DefaultSummaryTokens.
	TypicalSummary(n int) Content

	// Reinjected returns the messages that the client sent with the summary after a recorded boundary: its attachments,
	// and content on no line.
	Reinjected(boundary int) []Synthetic

	// SessionMemory returns the text of the session's own summary file; ok is false where there is none.
	SessionMemory() (text string, ok bool, err error)
}

// Weigher counts tokens by the counter of the replay.
type Weigher interface {
	// Block returns the tokens of a recorded block.
	Block(message, block int) int
	// Message returns the tokens of all blocks of a recorded message.
	Message(message int) int
	// Content returns the tokens of a content that a policy makes.
	Content(c *Content) int
}
