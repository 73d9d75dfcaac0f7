// Package session turns the entries of a session file into a Conversation: messages in causal order, requests, and the
// changes of the context that the client recorded.
//
// # Terms
//
// The client is the program that recorded the session, such as Claude Code. The chain is the current branch of the
// file, from its first message to its last one. A main request is a request whose response is on the chain of its
// conversation (APICall); main requests are numbered from 1, also those of a sidechain. A sidechain is the conversation of a subagent. The raw history is the content of
// the chain as if the client had never changed the context: offloaded results are read back from their files, and
// summaries are left out. The recorded track is the sequence of requests that the client really sent, with the client's
// summaries. The client also sends content that it does not write to the file, such as the system prompt. This
// documentation says of such content that no line records it. A line that is set aside has been read and is not part of
// the conversation (Accounting). Line numbers are those of the file, from 1. Indexes are from 0.
//
// # Steps
//
//  1. The loader reads every entry of a file and keeps its metadata.
//  2. Lines with the same message.id become one message, and their usage counts once.
//  3. The chain is followed from its last message back to the first, across compactions. Results of parallel
//     tool calls, which the file has on side branches, are put back on the chain.
//  4. Changes of the context that the client recorded (summaries, and cleared, cut, collapsed or replaced
//     content) are kept apart from the raw history.
//
// A Conversation is immutable once loaded and safe for concurrent readers.
package session

import (
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Role says who wrote a message.
type Role uint8

const (
	User      Role = iota // a person, a tool or the client
	Assistant             // the model
	System                // the role of texts that a client sends between other messages; no recorded message has this role
)

// String returns the name of the role in the Messages API.
func (r Role) String() string {
	switch r {
	case Assistant:
		return "assistant"
	case System:
		return "system"
	}
	return "user"
}

// Class is the kind of a message: ClassResponse for assistant messages, the other values for user messages.
type Class uint8

const (
	ClassResponse   Class = iota // an assistant message
	ClassPrompt                  // text that a person typed: it starts a turn
	ClassToolResult              // results of tool calls, possibly with text after them
	ClassMeta                    // text that the client marks with isMeta: reminders, caveats, skills
	ClassCommand                 // a slash command line or its output
	ClassInterrupt               // only the note "[Request interrupted by user…]"
	ClassSummary                 // a compaction summary, which the client marks with isCompactSummary
	ClassAttachment              // an attachment line, which the client sends as a reminder
)

var classNames = strings.Fields("response prompt tool_result meta command interrupt summary attachment")

// String returns the name of the class, such as "tool_result".
func (c Class) String() string { return classNames[c] }

// APICall is one main request. Its input is every message of the conversation before its response.
type APICall struct {
	N       int // number of the main request, from 1
	Message int // index of the response in Messages, from 0
}

// Boundary is a compaction that the client recorded. In the comments on its fields, "before" and "after" mean before
// and after the compaction.
type Boundary struct {
	UUID        string       // uuid of the line that records the compaction: a boundary line or, in 1.0.x, the line of the summary
	Line        int          // number of that line
	Trigger     string       // "auto", "manual", "model" (the model asked for the compaction) or "model_change" (another model continues the turn)
	PreTokens   int          // recorded tokens of the context before; 0: not recorded (1.0.x)
	PostTokens  int          // recorded tokens of the context after; 0: not recorded (before 2.1.119)
	Usage       *jsonl.Usage // usage of the request for the summary; nil: not recorded
	Time        time.Time
	Version     string
	Before      int   // Messages[:Before] are the messages on the chain before
	Summary     int   // index of the summary in Messages; -1: none
	Preserved   []int // indexes of the messages that were kept verbatim, in order
	Attached    []int // indexes of the RecordOnly messages that the client sent again after; some of them may be in front of the summary
	Precomputed bool  // the client had written the summary in advance
	KeptFirst   bool  // the messages in Preserved are in front of the summary, and the summary covers the messages after them
	Order       []int // indexes of the kept messages in their recorded order; nil: no order is recorded
	Request     int   // number of the first main request after; len(Requests)+1: there is none
}

// Kept returns the indexes of the messages that are in the context directly after the compaction, in order: the
// summary, the preserved messages and the attached messages.
func (b *Boundary) Kept() []int {
	before := []int{}
	summary := []int{}
	after := b.Attached
	if b.Summary >= 0 {
		n, _ := slices.BinarySearch(b.Attached, b.Summary)
		before = b.Attached[:n]
		summary = []int{b.Summary}
		after = b.Attached[n:]
	}
	kept := slices.Concat(before, summary, b.Preserved, after)
	if b.KeptFirst {
		kept = slices.Concat(b.Preserved, before, summary, after)
	}
	place := map[int]int{}
	for i, m := range b.Order {
		place[m] = i - len(b.Order) // what has no place stands last
	}
	slices.SortStableFunc(kept, func(x, y int) int { return place[x] - place[y] })
	return kept
}

// Microcompaction is a recorded removal of old tool results without a summary.
type Microcompaction struct {
	Line        int
	Trigger     string
	PreTokens   int      // the client's estimate of the tokens of all clearable results before the removal
	TokensSaved int      // the client's estimate of the tokens that were removed
	ToolIDs     []string // ids of the calls whose results were removed
	Before      int      // Messages[:Before] are before the removal
	Request     int      // number of the first main request after the removal
}

// RunTotals is the usage that a process of the client reports for all its calls of one model, subagents included. It
// covers the calls since the previous report of the process or, for the first report, since the process started. Some
// clients record input tokens only here.
type RunTotals struct {
	Line     int
	Model    string
	Time     time.Time
	Requests int
	Usage    jsonl.Usage
}

// Restart is the start of a new process of the client that continues the session. The new process reads the history
// back from the file.
type Restart struct {
	UUID    string // uuid of the first line that shows the restart
	Line    int
	Sign    RestartSign  // the evidence for the restart
	Version string       // client version of the new process
	Before  int          // Messages[:Before] are before the restart
	Left    []BlockPlace // blocks that the new process did not read back, in order
	Repeats bool         // the new process sends each earlier tool result twice: all results of a response, then the same results again
	Request int          // number of the first main request after the restart; len(Requests)+1: there is none
}

// RestartSign is the evidence in the file for a restart. If there are several kinds of evidence, it is the first one in
// this list.
type RestartSign string

const (
	SignHook       RestartSign = "the output of a SessionStart:resume hook"
	SignNoResponse RestartSign = `the answer "No response requested."`
	SignVersion    RestartSign = "another client version"
	SignQueue      RestartSign = "a prompt that a new process took from its queue"
	SignResumed    RestartSign = "a line that states it"
	SignTorn       RestartSign = "two records on one line: the first was cut off before its line ended"
)

// BlockPlace is the position of a block: the index of its message in Messages, and the index of the block in the
// message.
type BlockPlace struct{ Message, Block int }

// Reason is the reason why a line, or an object on a line, was set aside.
type Reason string

// Accounting counts the lines of a file. Read = Used + sum(SetAside) always holds. If a line has several objects, each
// of them counts as a line, and so does each run of bytes between them that is not JSON.
type Accounting struct {
	Read     int            `json:"read"`      // number of lines, plus Fused
	Used     int            `json:"used"`      // number of lines that became part of the conversation or of its recorded changes
	Fused    int            `json:"fused"`     // number of further objects on lines with several objects, and of runs of bytes on such lines that are not JSON
	SetAside map[Reason]int `json:"set_aside"` // number of lines set aside, by reason

	Recorded RequestTally `json:"-"` // the request bodies that the client logged; their lines are set aside
}

// RequestTally counts the request bodies that a client logged (Of), and how many of them have all their parts in the
// file (Whole).
type RequestTally struct{ Of, Whole int }

// Add adds the counts of another file.
func (t *RequestTally) Add(o RequestTally) {
	t.Of += o.Of
	t.Whole += o.Whole
}

// Warning is a message about a line of a file, or about a whole file.
type Warning struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"` // from 1; 0: the warning is about the whole file
	Code    Code   `json:"code,omitempty"` // kind of the warning; "": none is defined
	Message string `json:"message"`
	More    int    `json:"more,omitempty"` // number of further warnings with this Code, which are only counted
}

// Code is the kind of a warning. Codes never change.
type Code string

const (
	CodeStopped        Code = "reading-stopped"     // reading ended before the end of the file
	CodeMalformed      Code = "malformed-line"      // a line, or part of a line, is not JSON
	CodeNoMessage      Code = "no-message"          // a message line has no message
	CodeDuplicateUUID  Code = "duplicate-uuid"      // two lines have the same uuid
	CodeMetadata       Code = "unreadable-metadata" // metadata of a line cannot be decoded
	CodeUsage          Code = "unreadable-usage"    // the token counts of a response are not plausible and are not used
	CodeCircle         Code = "parent-circle"       // the parents of lines form a cycle
	CodeLostParent     Code = "lost-parent"         // the parent of a line is not in the file
	CodeLostLogical    Code = "lost-logical-parent" // a compaction names the last message before it, and that message is not in the file
	CodeNoSummary      Code = "no-summary"          // a compaction has no summary after it
	CodeLostPreserved  Code = "lost-preserved"      // messages that a compaction kept are not in the file
	CodeEarlier        Code = "earlier-history"     // the conversation began before the file
	CodeOffloadMissing Code = "missing-offload"     // the file of an offloaded result does not exist
	CodeOffloadRefused Code = "refused-offload"     // the file of an offloaded result is not read; see OffloadCount.Refused
)

// Response returns the message that answers Requests[k].
func (c *Conversation) Response(k int) *Message { return &c.Messages[c.Requests[k].Message] }

// BeginsMidway reports whether the conversation began before the file. If so, Messages[0] is a placeholder for the part
// before the file.
func (c *Conversation) BeginsMidway() bool { return len(c.Messages) > 0 && c.Messages[0].Is(Earlier) }

// Product is the client that is assumed for a session in which no line names its client.
const Product = "claude-code"

// Conversation is the main conversation of a session, or one sidechain. Methods that return an error read texts from
// the session's file, or from a file of the session's folder, and return the error of that reading.
type Conversation struct {
	SessionID  string
	Agent      string   // agent id of a sidechain; "" for the main conversation
	Path       string   // name of the file as the caller gave it
	CWD        string   // working directory
	Repository string   // host and path of the git repository of CWD; "": not recorded
	Product    string   // the client, such as "claude-code"
	Provider   string   // provider of the models; "": not recorded
	Overhead   int      // tokens of the system prompt and the tool definitions, as counted by the client; main conversations only; 0: not recorded
	Version    string   // client version at the first main request
	Versions   []string // client versions in order of appearance
	Model      string   // model of the first main request
	Messages   []Message
	Requests   []APICall
	Boundaries []Boundary
	Micro      []Microcompaction
	Restarts   []Restart
	SnipCalls  []SnipCall     // in the order of the calls
	Snips      []RecordedSnip // sorted by Before, as are Collapses, Snapshots and Replaced
	Collapses  []Collapse
	Snapshots  []CollapseSnapshot // for a main request, the last snapshot before it is the current one
	Replaced   []Replacement      // at most one for each tool_result
	Charges    []Charge           // billed calls in the order of the file, including calls on abandoned branches
	Totals     []RunTotals        // in the order of the file; main conversations only
	Unfiled    []UnfiledAgent     // subagents that lines name, but of which there is no file, in the order of the lines
	Client     *ClientTotals      // the last ClientTotals of the session; nil: none is recorded; main conversations only
	Lines      Accounting
	Warnings   []Warning
	Offloads   OffloadCount
	HasMemory  bool // the session has a summary file that the client kept up to date (session memory); see MemoryText
	Title      string

	Source   *jsonl.Source      // the file, for texts; nil for a conversation built by hand
	tools    map[string]toolUse // by id
	alike    map[string]string  // tool -> Claude Code's, read only
	offloads offloads
	memory   offloads
}
