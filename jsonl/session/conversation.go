// Package session turns the entries of a session file into a Conversation: messages in causal order, requests, and the
// changes of the context that the client recorded.
//
// # Terms
//
// The client is the program that recorded the session, such as Claude Code. The chain is the current branch of the
// file, from its first message to its last one. A main request is a request whose response is on the chain (APICall);
// main requests are numbered from 1. A sidechain is the conversation of a subagent. The raw history is the content of
// the chain as if the client had never changed it: offloaded results are read back from their files, summaries are left
// out. The recorded track is the sequence of requests that the client really sent, with its summaries. Content "on no
// line" is content that the client sent and did not write to the file, such as the system prompt. A line that is set
// aside has been read and is not part of the conversation (Accounting). Lines and their numbers are those of the file,
// from 1; indexes are from 0.
//
// # Steps
//
//  1. The loader reads every entry of a file and keeps its metadata.
//  2. Lines that share message.id become one message; usage counts once.
//  3. The chain is followed from its last message back to the first, across compactions. Results of parallel
//     tool calls, which the file has on side branches, are put back on it.
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

// Role is the author of a message.
type Role uint8

const (
	User      Role = iota // a person, a tool or the client
	Assistant             // the model
	System                // the role of texts that a client sends between messages; no recorded message has it
)

// String returns the role as the Messages API names it.
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

// APICall is one main request. Its input is every message before Message.
type APICall struct {
	N       int // number of the request, from 1
	Message int // index into Messages of the response, from 0
}

// Boundary is a compaction that the client recorded.
type Boundary struct {
	UUID        string       // of the line that records the compaction: the boundary line, or the summary line of 1.0.x
	Line        int          // of the same line
	Trigger     string       // "auto", "manual", "model" (the model called it) or "model_change" (the turn goes on with another model)
	PreTokens   int          // tokens of the context before it, as recorded; 0: not recorded (1.0.x)
	PostTokens  int          // tokens of the context after it, as recorded from 2.1.119 on; 0: not recorded
	Usage       *jsonl.Usage // of the request that wrote the summary; nil: not recorded
	Time        time.Time
	Version     string
	Before      int   // Messages[:Before] precede it on the chain
	Summary     int   // index into Messages of the summary; -1: none
	Preserved   []int // indexes of messages kept verbatim, in order
	Attached    []int // indexes of the RecordOnly messages that the client sent again after it; some may precede the summary
	Precomputed bool  // the client had written the summary in advance
	KeptFirst   bool  // the preserved messages precede the summary, which covers what came after them
	Order       []int // indexes of kept messages in their recorded order; nil: no order is recorded
	Request     int   // number of the first main request after it; len(Requests)+1: none follows
}

// Kept returns the indexes of the messages that are in context right after the compaction, in order: the summary, the
// preserved and the attached messages.
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
	PreTokens   int      // the client's estimate of the tokens of all clearable results before it
	TokensSaved int      // the client's estimate of the tokens that it removed
	ToolIDs     []string // ids of the calls whose results it cleared
	Before      int      // Messages[:Before] precede it
	Request     int      // number of the first main request after it
}

// RunTotals is the usage that a client reports for all its calls of one model, subagents included: since the process
// started, or since the previous RunTotals of the process. Some clients record input tokens only here.
type RunTotals struct {
	Line     int
	Model    string
	Time     time.Time
	Requests int
	Usage    jsonl.Usage
}

// Restart is a new process of the client that continues the session with the history that it read back from the file.
type Restart struct {
	UUID    string // of the first line that shows it
	Line    int
	Sign    RestartSign  // the evidence for it
	Version string       // of the new process
	Before  int          // Messages[:Before] precede it
	Left    []BlockPlace // blocks that the new process did not read back, in order
	Repeats bool         // the new process sends each earlier tool result twice: all results of a response, then the same results again
	Request int          // number of the first main request after it; len(Requests)+1: none follows
}

// RestartSign is the evidence in the file for a restart. A restart with several signs has the first in this list.
type RestartSign string

const (
	SignHook       RestartSign = "the output of a SessionStart:resume hook"
	SignNoResponse RestartSign = `the answer "No response requested."`
	SignVersion    RestartSign = "another client version"
	SignQueue      RestartSign = "a prompt that a new process took from its queue"
	SignResumed    RestartSign = "a line that states it"
	SignTorn       RestartSign = "two records on one line: the first was cut off before its line ended"
)

// BlockPlace is the position of a block: the index of its message and its index in the message.
type BlockPlace struct{ Message, Block int }

// Reason is the reason why a line or object was set aside.
type Reason string

// Accounting counts lines; Read = Used + sum(SetAside) always holds. Each of several objects on one line counts as a
// line, and so does each run of bytes between them that is not JSON.
type Accounting struct {
	Read     int            `json:"read"`      // lines, and the further objects and bytes counted in Fused
	Used     int            `json:"used"`      // lines that became part of the conversation or of its recorded changes
	Fused    int            `json:"fused"`     // objects after the first on a line, and rejected bytes on such lines
	SetAside map[Reason]int `json:"set_aside"` // the other lines, by reason

	Recorded RequestTally `json:"-"` // request bodies that the client logged; their lines are set aside
}

// RequestTally counts the request bodies that a client logged (Of), and those of them whose parts are all in the file
// (Whole).
type RequestTally struct{ Of, Whole int }

// Add adds the counts of another file.
func (t *RequestTally) Add(o RequestTally) {
	t.Of += o.Of
	t.Whole += o.Whole
}

// Warning is a message about a line of a file.
type Warning struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"` // from 1; 0: it is about the file
	Code    Code   `json:"code,omitempty"` // its kind; "" where no kind is defined
	Message string `json:"message"`
	More    int    `json:"more,omitempty"` // number of further warnings of this kind, which are counted and not kept
}

// Code is the kind of a warning. Codes never change.
type Code string

const (
	CodeStopped        Code = "reading-stopped"     // reading ended before the end of the file
	CodeMalformed      Code = "malformed-line"      // a line is not JSON, or bytes of it are not
	CodeNoMessage      Code = "no-message"          // a message line has no message
	CodeDuplicateUUID  Code = "duplicate-uuid"      // an earlier line has the uuid
	CodeMetadata       Code = "unreadable-metadata" // metadata of a line cannot be decoded
	CodeUsage          Code = "unreadable-usage"    // the token counts of a response are not plausible and are not used
	CodeCircle         Code = "parent-circle"       // the parents of lines form a cycle
	CodeLostParent     Code = "lost-parent"         // the parent of a line is not in the file
	CodeLostLogical    Code = "lost-logical-parent" // the message that a compaction names as the last before it is not in the file
	CodeNoSummary      Code = "no-summary"          // no summary follows a compaction
	CodeLostPreserved  Code = "lost-preserved"      // messages that a compaction kept are not in the file
	CodeEarlier        Code = "earlier-history"     // the conversation began before the file
	CodeOffloadMissing Code = "missing-offload"     // the file of an offloaded result does not exist
	CodeOffloadRefused Code = "refused-offload"     // the file of an offloaded result is not read; see OffloadCount.Refused
)

// Response returns the message that answers the main request Requests[k]; k is from 0.
func (c *Conversation) Response(k int) *Message { return &c.Messages[c.Requests[k].Message] }

// BeginsMidway reports whether the conversation began before the file. Messages[0] is then a placeholder for the
// earlier part.
func (c *Conversation) BeginsMidway() bool { return len(c.Messages) > 0 && c.Messages[0].Is(Earlier) }

// Product is the client assumed for a session in which no line names its client.
const Product = "claude-code"

// Conversation is the main conversation of a session, or one sidechain. Methods that return an error read texts from
// the session's file or from a file of its folder; the error is that of reading.
type Conversation struct {
	SessionID  string
	Agent      string   // agent id of a sidechain; "" for the main conversation
	Path       string   // the file, as the caller named it
	CWD        string   // working directory
	Repository string   // host and path of the git repository of CWD; "": not recorded
	Product    string   // the client, such as "claude-code"
	Provider   string   // provider of its models; "": not recorded
	Overhead   int      // tokens of the system prompt and the tool definitions, as the client counted them; main conversations only; 0: not recorded
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
	Snapshots  []CollapseSnapshot // a main request has the last one before it
	Replaced   []Replacement      // at most one for a tool_result
	Charges    []Charge           // billed calls in the order of the file, with those on abandoned branches
	Totals     []RunTotals        // in the order of the file; main conversations only
	Client     *ClientTotals      // the last totals of the session; nil: the client records none; main conversations only
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
