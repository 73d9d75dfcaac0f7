package policy

import (
	"fmt"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Moment is a set of points of a replay at which stages run (docs/internals/model.md, "One request after another").
type Moment uint8

// The moments, in the order in which a replay reaches them around one request.
const (
	Ingest  Moment = 1 << iota // tool results have just joined the view
	Manual                     // the user asks for a compaction (/compact)
	Prepare                    // before a request
	Project                    // before a request, after Prepare: payload-only edits are made
	Respond                    // after a response and the results of all its tool calls
	TurnEnd                    // the agent has stopped: directly before the next typed prompt, and at the end of the session
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

// Truth is the evidence that a stage or a policy acts as the product does.
type Truth string

// The kinds of evidence, strongest first.
const (
	TruthRecorded   Truth = "recorded"   // confirmed by recorded sessions, whose actions it reproduces
	TruthOracle     Truth = "oracle"     // confirmed by answers of the original program
	TruthDocumented Truth = "documented" // documented by the vendor
	TruthDescribed  Truth = "described"  // described in one written analysis, and nothing else confirms it
	TruthOwn        Truth = "own"        // no product acts so: the rule is new, or a changed rule of a product, for which the product's evidence does not hold
)

// Memory says whether a stage keeps to its earlier decisions.
type Memory uint8

const (
	Sticky    Memory = iota // a block that the stage has replaced keeps its replacement
	Frozen                  // like Sticky; and a result that the stage did not replace when the result was first sent is never replaced
	Stateless               // the stage decides anew at each request
)

// Definition describes a stage. Its Params is a pointer to a struct. The values of the struct's fields are the
// defaults, and their tags (yaml, doc, unit, min, max, enum) are the schema. Documentation, changes of values,
// completion and the ranges of sweeps are derived from the tags.
//
// Params may have two methods. Limits(*StageLimits) adds the limits at which the stage acts; a stage without this
// method has no token limit. Check(*Check) adds findings; it need not add those that can be derived from the limits.
type Definition struct {
	Name    string
	Summary string                          // one sentence
	Source  string                          // product and version that the stage reproduces, and where these are described
	Truth   Truth                           // evidence that the stage acts as the client does
	Differs string                          // how the stage differs from the client and what it leaves out, as sentences without the last period; "": no difference is known
	Moments Moment                          // moments at which the stage runs
	Params  any                             // pointer to the struct of parameters with their defaults
	Example string                          // an example: the text before and after the stage
	Memory  Memory                          // whether the stage keeps to earlier decisions
	Window  bool                            // the stage reads Context.Window or Context.Shared
	New     func(params any) (Stage, error) // makes the stage with the given parameters, which have the type of Params

	// Shared are the parameters that the stage shares with other stages; nil: none.
	Shared *Shared

	// Models returns the limits that the client assumes for a model. They are from the client's table in release or, if
	// release is "", on day. A zero result means that the table lacks the model. Nil: the client uses the real limits
	// of the model.
	Models func(model, release string, day time.Time) ModelLimits

	// Compaction is set for a stage that compacts the whole conversation; nil for other stages.
	Compaction *Compaction

	// AfterCompaction: the stage adds to the compaction of an earlier stage, and does nothing without one.
	AfterCompaction bool

	// Program is the name of the parameter that holds the program which the stage starts; New then returns a
	// ProgramStage. "": the stage starts no program.
	Program string

	// CacheEdits: the client sends a cache_reference with each tool result from its first request on, so that cache
	// edits can name them.
	CacheEdits bool

	// Trial describes an extra action that a user may try with the stage, in addition to its parameters; nil: none.
	Trial *Trial

	orders [][]string // of its family, set by the registry

}

// Maker turns stage, a function that makes a stage and cannot fail, into a function for Definition.New. It is for
// stages that accept all values of their parameters.
func Maker[P any](stage func(p P) Stage) func(params any) (Stage, error) {
	return func(params any) (Stage, error) { return stage(*params.(*P)), nil }
}

// Trial describes an extra action that a user can add to a stage, such as a tool call that the model did not make.
type Trial struct {
	Form string                              // how a user writes the action: "ID[,ID]@REQUEST"
	Doc  string                              // what the action does, as a sentence without its period
	Add  func(params any, text string) error // adds the action that text describes to the parameters of the stage
}

// Try is an action that the user adds to a stage (Trial): the name of the stage and the text of the action.
type Try struct{ Stage, Text string }

// Compaction says with which parameters a stage compacts the whole conversation, and how to switch that off.
type Compaction struct {
	On  func(s *StageConfig) bool // reports whether the stage compacts with its present parameters; nil: it always does
	Off string                    // how to switch the compaction off: "set autocompact.enabled to false"

	// With is the name of another stage that compacts and that is tried only after this one. Lint does not report the
	// two stages as competing.
	With string

	// FitsFrom is the first client version in which users can set the context window. For sessions of this version and
	// later ones the window may be derived from the recorded compactions (replay.Record.FitWindow). "": it is never
	// derived.
	FitsFrom string
}

// Shared are parameters that several stages share. They are in the section "window" of every policy that has one of
// these stages.
type Shared struct {
	Name   string                                     // name of the family
	Params any                                        // pointer to a struct, as Definition.Params
	Check  func(params any) (param string, err error) // returns the name of a wrong parameter, and an error, for values that make no sense; nil: all values are accepted
	Lint   func(c *Check)                             // adds findings; it is called once for each policy

	// Limits adds the limits that follow from these parameters alone; nil: there are none.
	Limits func(params any, c Circumstances, l *Limits)
}

// Stage is one stage of a policy during one replay. It may keep state between calls and is not safe for concurrent use.
// Run proposes edits. The replay applies them in order before the next stage runs. The next call of Run may overwrite
// the returned slice.
type Stage interface {
	Run(c *Context) ([]Edit, error)
}

// Starter is implemented by stages that check the conversation before a replay, because their parameters may name
// something that the conversation lacks.
type Starter interface {
	Start(conv *session.Conversation) error
}

// OwnCounter is implemented by stages that compare a count of their own, and not Context.Used, with their limit.
type OwnCounter interface {
	// Count returns the parts of that count. The stage compares their sum with its limit before a request. Nil: the
	// stage compares Context.Used.
	Count(c *Context) []Counted
}

// Counted is one part of a count of tokens that a stage makes.
type Counted struct {
	Name      string `json:"name"` // name of the part, for people
	Tokens    int    `json:"tokens"`
	Estimated bool   `json:"estimated,omitempty"` // the stage estimates Tokens, because the session file leaves out what the client counts
}

// Sum returns the sum of the tokens of all parts.
func Sum(parts []Counted) (n int) {
	for i := range parts {
		n += parts[i].Tokens
	}
	return n
}

// Response is what a policy may know of the latest response. Its Usage is simulated, in tokens.
type Response struct {
	Usage      jsonl.Usage
	Known      bool   // there was a response and its size is known
	Message    ItemID // the response in the view
	Time       time.Time
	StopReason string
	Summary    bool // it is the response to the request for a compaction
}

// Context is what a stage sees when it runs. It is valid only until Run returns.
type Context struct {
	Moment    Moment
	Request   int // number of the request that is being prepared; at Respond and TurnEnd, number of the next request
	View      View
	Conv      *session.Conversation // the recorded conversation
	Window    int                   // context window in tokens; 0 for a stage whose Definition.Window is false
	WindowSet bool                  // the recorded session shows that the user had set the window
	Shared    any                   // pointer to the policy's values of Definition.Shared
	Model     string
	MaxInput  int       // largest input that the model accepts, in tokens, if it has a limit apart from the context window; 0: it has none
	MaxOutput int       // largest output of the model, in tokens; 0: unknown
	Version   string    // release whose placeholders and prompts the policy uses; "": none
	Overhead  int       // overhead in tokens
	Now       time.Time // recorded time of the request, or of the message that has just joined; zero: unknown
	Agent     string    // agent id of a subagent; "" in the main conversation

	// Used is the size of the context before the edits of this request, in tokens, as the client computes it: the usage
	// of the last response plus UsedTail, the client's estimate of the messages after that response. A replay subtracts
	// from the recorded usage what earlier edits of the policy removed. At Respond the last response is the one just
	// made. At Ingest and TurnEnd both fields are 0.
	Used     int
	UsedTail int

	// Before is the number of tokens of the view before the edits of this request. A compaction reads the messages as
	// they were before results were cleared at the same request.
	Before int

	Last   Response          // the latest response, with simulated usage
	Joined []ItemID          // at Ingest: the messages that have just joined the view; valid until Run returns
	Asked  *ManualCompaction // at Manual: the compaction that the user asks for; else nil
	Final  bool              // at TurnEnd: the session ends here
	Texts  TextSource
	Record RecordSource
	Weigh  Weigher

	// Estimate returns the client's estimate of the tokens of an item of the view: a quarter of its characters,
	// rounded.
	Estimate func(id ItemID) int

	// Sent returns the blocks of an item in the form in which the Messages API takes them; none if the item is not
	// sent.
	Sent func(id ItemID) ([]SentBlock, error)

	// Warned, if set, receives the warnings of the stage.
	Warned func(line int, message string)
}

// Warn gives a warning that the stage cannot do what a line of the transcript asks of it, such as a call of the Snip
// tool. line is the number of that line; 0: there is none.
func (c *Context) Warn(line int, format string, args ...any) {
	if c.Warned != nil {
		c.Warned(line, fmt.Sprintf(format, args...))
	}
}

// ManualCompaction is a compaction that the user asks for.
type ManualCompaction struct {
	Recorded int // index into Conversation.Boundaries; -1: the compaction is not recorded, the replay adds it
}

// TextSource reads texts, which are not kept in memory.
type TextSource interface {
	// Text returns the present text of a block of the view: the text that an edit put there, else the recorded text.
	Text(t Target) (string, error)

	// Recorded returns the recorded text of a block.
	Recorded(t Target) (string, error)
}

// RecordSource gives stages what the recorded session holds about compactions.
type RecordSource interface {
	// Summary returns the recorded summary that a compaction at request n may reuse. It is the first summary not
	// yet used of the recorded compactions from 10 requests before n on. If the first compaction at or after n has a
	// summary that has been used, there is none.
	// A summary has been used if an edit of this policy with that summary was applied. boundary is an index into
	// Conversation.Boundaries. ok is false if there is no such summary.
	Summary(n int) (content Content, boundary int, ok bool)

	// TypicalSummary returns a placeholder for a summary at request n that is not recorded. Its size is the median of
	// the recorded summaries or, if there are none, DefaultSummaryTokens.
	TypicalSummary(n int) Content

	// Reinjected returns the messages that the client sent together with the summary after a recorded compaction:
	// attachments, and content that no line of the file records.
	Reinjected(boundary int) []Synthetic

	// SessionMemory returns the text of the session's own summary file; ok is false if there is no such file.
	SessionMemory() (text string, ok bool, err error)
}

// Weigher counts tokens with the counter of the replay.
type Weigher interface {
	// Block returns the tokens of a recorded block.
	Block(message, block int) int
	// Message returns the tokens of all blocks of a recorded message.
	Message(message int) int
	// Content returns the tokens of a content that the policy makes.
	Content(c *Content) int
}
