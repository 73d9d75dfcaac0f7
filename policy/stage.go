package policy

import (
	"fmt"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Moment is when a stage runs (docs/internals/model.md, "One request after another").
type Moment uint8

// The moments, in the order they come.
const (
	Ingest  Moment = 1 << iota // a tool_result has just joined the view
	Manual                     // the user compacts here (/compact)
	Prepare                    // before a request
	Project                    // from the model view to the payload
	Respond                    // after response k and all its tool_results have joined
	TurnEnd                    // the agent has stopped: before the next typed prompt, and at the end
)

// String lists the moments in m, joined by ", ".
func (m Moment) String() string {
	var names []string
	for i, name := range []string{"ingest", "manual", "prepare", "project", "respond", "turn end"} {
		if m&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Truth is the evidence for a stage or a policy.
type Truth string

// The kinds of evidence, strongest first.
const (
	TruthRecorded   Truth = "recorded"   // reproduced on real sessions
	TruthOracle     Truth = "oracle"     // the original program's answers
	TruthDocumented Truth = "documented" // the vendor's documentation
	TruthDescribed  Truth = "described"  // one written analysis, nothing to check against
	TruthOwn        Truth = "own"        // it reproduces no product, or not as it is: evidence for what it was changed from does not hold for it
)

// Memory says how a stage keeps to its decisions.
type Memory uint8

// The kinds of memory.
const (
	Sticky    Memory = iota // what it has replaced it never replaces by anything else
	Frozen                  // sticky, and what it has seen and left when it was first sent it never touches
	Stateless               // it decides anew at each request
)

// Definition is a stage as the registry knows it. Params is a pointer to a struct whose field values are the defaults
// of the source and whose tags (yaml, doc, unit, min, max, enum) are the schema: the documentation, changes of a value,
// completion and sweep ranges are derived from them.
//
// A method Limits(*StageLimits) of Params adds the limits at which the stage acts; without it, it acts at no number of tokens.
// A method Check(*Check) reports what is questionable in a policy with the stage; what its limits alone tell is found
// without it.
type Definition struct {
	Name    string
	Summary string // one sentence
	Source  string // product and version it reproduces, and where that is written down
	Truth   Truth
	Differs string // where it is not as the client, and what it leaves out, sentences without the last stop; "": nothing
	Moments Moment
	Params  any
	Example string // a worked before/after, plain text
	Memory  Memory // how it keeps to what it decided
	Window  bool   // it reads Context.Window or Context.Shared
	New     func(params any) (Stage, error)

	// Shared are parameters it shares with other stages; nil: none.
	Shared *Shared

	// Models is the window that its client takes a model to have, by the client's own table as of a release, or, where
	// that is "", of a day; zero: the client knows none. Nil: it follows the model's.
	Models func(model, release string, day time.Time) ModelLimits

	// Compaction says that it compacts the whole conversation; nil: it does not.
	Compaction *Compaction

	// AfterCompaction says that it adds to the compaction of an earlier stage and does nothing without one.
	AfterCompaction bool

	// Program is the parameter that names a program which it starts; its stages are ProgramStages. Empty: it starts
	// none.
	Program string

	// CacheEdits says that the client names results for cache edits from its first request on.
	CacheEdits bool

	// Trial is what a user may try with it next to its parameters; nil: nothing.
	Trial *Trial

	orders [][]string // of its family, set by the registry

}

// Maker is the New of a stage that takes all parameters.
func Maker[P any](stage func(p P) Stage) func(params any) (Stage, error) {
	return func(params any) (Stage, error) { return stage(*params.(*P)), nil }
}

// Trial is an act that a user may try with a stage, such as one that the model could have made.
type Trial struct {
	Form string // of its text: "ID[,ID]@REQUEST"
	Doc  string // what it does, without a stop
	Add  func(params any, text string) error
}

// Try is a trial that was given: the stage and the text.
type Try struct{ Stage, Text string }

// Compaction says when a stage compacts the whole conversation.
type Compaction struct {
	On  func(s *StageConfig) bool // with these parameters; nil: always
	Off string                    // how to switch it off: "set autocompact.enabled to false"

	// With is a stage that it does not compete with: it is tried before that one.
	With string

	// FitsFrom is the first client version whose users set context windows of their own: from it on a session's
	// window may be fitted to its recorded compactions. Empty: never.
	FitsFrom string
}

// Shared are parameters that several stages share. They are keys of the policy's window block wherever a stage reads
// them.
type Shared struct {
	Name   string                                     // the family's
	Params any                                        // pointer to a struct, as Definition.Params
	Check  func(params any) (param string, err error) // refuses a value that means nothing; nil: it takes all
	Lint   func(c *Check)                             // reports what is questionable, once for a policy

	// Limits adds the limits that the parameters alone give; nil: none.
	Limits func(params any, c Circumstances, l *Limits)
}

// Stage is one configured stage during one replay. It keeps its own memory between calls and is used by one
// goroutine. Run proposes edits; the engine applies them in order before the next stage runs. The list of edits may be one
// that the next Run of the stage overwrites.
type Stage interface {
	Run(c *Context) ([]Edit, error)
}

// Starter is a stage that looks at the conversation before the replay begins: what its parameters name may not be in
// it.
type Starter interface {
	Start(conv *session.Conversation) error
}

// OwnCounter is a stage that compares with its limit a count of its own, and not the Context's Used.
type OwnCounter interface {
	// Count is what it compares before a request, in parts that add up to it; nil: Used.
	Count(c *Context) []Counted
}

// Counted is a part of a stage's count.
type Counted struct {
	Name      string `json:"name"` // in words
	Tokens    int    `json:"tokens"`
	Estimated bool   `json:"estimated,omitempty"` // by the stage: the recording leaves out what the client counts
}

// Sum is a count, tokens.
func Sum(parts []Counted) (n int) {
	for i := range parts {
		n += parts[i].Tokens
	}
	return n
}

// Response is what a policy may know of the previous response: the usage as the simulation has it, in tokens.
type Response struct {
	Usage      jsonl.Usage
	Known      bool // there was a response and its size is known
	Message    ItemID
	Time       time.Time
	StopReason string
	Summary    bool // it was a compaction's own response
}

// Context is what a stage sees when it runs. It is valid during the call only.
type Context struct {
	Moment    Moment
	Request   int // n of the request being prepared, or, at Respond and TurnEnd, of the next one
	View      View
	Conv      *session.Conversation
	Window    int  // context window, tokens; 0 for a stage whose Definition does not say that it reads it
	WindowSet bool // the recorded session shows that the user set it
	Shared    any  // the policy's shared parameters that its Definition names
	Model     string
	MaxInput  int       // the most that the model takes, tokens, where that has a limit next to Window; 0: it has none
	MaxOutput int       // the model's largest output, tokens; 0: unknown
	Version   string    // release of the product whose texts the policy follows; "": of none
	Overhead  int       // system prompt and tools, tokens by the report's counter
	Now       time.Time // recorded time of the request or of the message that has just joined; zero if unknown
	Agent     string    // "" on the main thread

	// Used is the client's own arithmetic: the last response's total plus the heuristic of what came after it, before
	// this request's edits (counterfactual: recorded figures moved by what the policy's earlier edits took out).
	// UsedTail is the part of it that came after. At Respond the last response is the one just made. Ingest and
	// TurnEnd have no response and no result.
	Used     int
	UsedTail int

	// Before is the view's tokens as they were before this request's edits, by the report's counter: a compaction
	// reads the messages as they were before the microcompaction of the same request.
	Before int

	Last   Response          // the previous response, simulated
	Joined []ItemID          // Ingest: the messages that have just joined; valid until Run returns
	Asked  *ManualCompaction // Manual: the user's act
	Final  bool              // TurnEnd: nothing comes after
	Texts  TextSource
	Record RecordSource
	Weigh  Weigher

	// Estimate is the client's own estimate of an item in the view, in tokens: a quarter of its
	// characters, rounded.
	Estimate func(id ItemID) int

	// Sent is the blocks of an item in the model view as the Messages API takes them; none of an item that is not sent.
	Sent func(id ItemID) ([]SentBlock, error)

	// Warned, where it is set, receives the warnings.
	Warned func(line int, message string)
}

// Warn reports a request to the stage that it cannot carry out; line is that of the transcript with the request, 0
// for none.
func (c *Context) Warn(line int, format string, args ...any) {
	if c.Warned != nil {
		c.Warned(line, fmt.Sprintf(format, args...))
	}
}

// ManualCompaction is a compaction by the user.
type ManualCompaction struct {
	Recorded int // index into Conversation.Boundaries, or -1 for one that only the replay adds
}

// TextSource fetches texts that are kept out of memory.
type TextSource interface {
	// Text is the current text of a block of the view: what an edit put there, else the recorded text.
	Text(t Target) (string, error)

	// Recorded is the recorded text of a block, whatever edits put in its place.
	Recorded(t Target) (string, error)
}

// RecordSource answers what the recorded session holds about compaction.
type RecordSource interface {
	// Summary is the recorded summary a compaction at request n may reuse: that of the first recorded boundary at or
	// after n, unless another compaction of this policy has taken it already. It is taken when the edit that shows it
	// is applied.
	Summary(n int) (content Content, boundary int, ok bool)

	// TypicalSummary is the placeholder of a summary at request n that is not recorded.
	TypicalSummary(n int) Content

	// Reinjected is what the client sent after a recorded boundary next to the summary, as messages: its attachments,
	// and what no line holds.
	Reinjected(boundary int) []Synthetic

	// SessionMemory is the text of the session's own summary file, where it is next to the transcript.
	SessionMemory() (text string, ok bool, err error)
}

// Weigher gives the report's weight of a block, in tokens.
type Weigher interface {
	Block(message, block int) int
	Message(message int) int // of all its blocks
	Content(c *Content) int
}
