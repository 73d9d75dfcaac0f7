// Package session turns the entries of a session file into a Conversation: messages in causal order, requests, and
// what the client recorded about its own context management.
//
// The steps from entries to a conversation:
//
//  1. The loader reads every entry of a file and keeps its metadata (load.go).
//  2. Lines that share message.id become one message; usage counts once.
//  3. The current branch is followed from its last message back, across
//     compactions, with parallel tool calls (chain.go).
//  4. Changes of the context that the client recorded (summaries, cleared, cut,
//     collapsed or replaced content) are kept apart from the raw history
//     (recorded.go, edits.go, snip.go).
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

// The roles of the Messages API.
const (
	User Role = iota
	Assistant
	System // of what a client sends between messages; no recorded message has it
)

func (r Role) String() string {
	switch r {
	case Assistant:
		return "assistant"
	case System:
		return "system"
	}
	return "user"
}

// Class is the kind of a user message. Assistant messages are ClassResponse.
type Class uint8

// The classes of messages.
const (
	ClassResponse   Class = iota // an assistant message
	ClassPrompt                  // a person typed it: counts as a turn
	ClassToolResult              // holds tool_results only (text next to them allowed)
	ClassMeta                    // isMeta: reminders, caveats, injected skills
	ClassCommand                 // a slash command line or its output
	ClassInterrupt               // "[Request interrupted by user…]" alone
	ClassSummary                 // isCompactSummary
	ClassAttachment              // an attachment line, sent as a reminder
)

var classNames = strings.Fields("response prompt tool_result meta command interrupt summary attachment")

func (c Class) String() string { return classNames[c] }

// APICall is one request on the chain. Its input is every message before Message.
type APICall struct {
	N       int // 1-based
	Message int // index into Messages of the response
}

// Boundary is a compaction that the client recorded.
type Boundary struct {
	UUID        string       // of the boundary line; of the summary line in the 1.0.x form
	Line        int          // of the boundary line; of the summary line in the 1.0.x form
	Trigger     string       // "auto", "manual", "model": called by it, or "model_change": the turn goes on with another one
	PreTokens   int          // as recorded; 0 where the client recorded none (1.0.x)
	PostTokens  int          // as recorded by 2.1.119 and later, else 0
	Usage       *jsonl.Usage // of the call that wrote the summary; nil: not recorded
	Time        time.Time
	Version     string
	Before      int   // Messages[:Before] are before it on the chain
	Summary     int   // index into Messages of the summary, or -1
	Preserved   []int // indexes of messages kept verbatim, in order
	Attached    []int // indexes of RecordOnly messages it re-injected, some of which may be before the summary
	Precomputed bool  // the summary was written ahead
	KeptFirst   bool  // the summary stands after the preserved messages: it summarises what followed them
	Order       []int // indexes of messages in the order that was recorded of what is kept; nil: none was
	Request     int   // N of the first main request after it; len(Requests)+1 at the end of the file
}

// Kept is what is in context after the compaction of what was before it, in order: indexes of messages.
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

// Microcompaction is a microcompaction that the client recorded.
type Microcompaction struct {
	Line        int
	Trigger     string
	PreTokens   int // sum of compactable results before it, the client's estimate
	TokensSaved int
	ToolIDs     []string
	Before      int // Messages[:Before] are before it
	Request     int // N of the first main request after it
}

// RunTotals are what a client says that its calls of one model used, subagents included, since its start or since the
// RunTotals before: some say no more of the input.
type RunTotals struct {
	Line     int
	Model    string
	Time     time.Time
	Requests int
	Usage    jsonl.Usage
}

// Restart is a new process of the client that goes on with the session. It has read the history back from the file.
type Restart struct {
	UUID    string // of the first line that shows it
	Line    int
	Sign    RestartSign  // the evidence
	Version string       // of the new process
	Before  int          // Messages[:Before] are before it
	Left    []BlockPlace // what the new process did not read back, in order
	Repeats bool         // it sends the results before it a second time, behind those of their response
	Request int          // N of the first main request after it; len(Requests)+1 at the end of the file
}

// RestartSign is what in a file says that the client was restarted.
type RestartSign string

// The signs of a restart. The first of those that a restart left counts.
const (
	SignHook       RestartSign = "the output of a SessionStart:resume hook"
	SignNoResponse RestartSign = `the answer "No response requested."`
	SignVersion    RestartSign = "another client version"
	SignQueue      RestartSign = "a prompt that a new process took from its queue"
	SignResumed    RestartSign = "a line that states it"
	SignTorn       RestartSign = "two records on one line: the first was cut off before its line ended"
)

// BlockPlace is the place of a block in a conversation.
type BlockPlace struct{ Message, Block int }

// Reason is why a line or object was set aside.
type Reason string

// Accounting counts lines so that Read = Used + sum(SetAside) always holds. Objects fused on one line are counted one
// by one, as lines of their own, and so are rejected bytes next to them.
type Accounting struct {
	Read     int            `json:"read"`      // lines, plus what else is on fused lines
	Used     int            `json:"used"`      // lines that became part of the conversation or its record
	Fused    int            `json:"fused"`     // further objects and rejected bytes on fused lines, included in Read
	SetAside map[Reason]int `json:"set_aside"` // the other lines, by reason

	Recorded RequestTally `json:"-"` // requests on lines that are set aside
}

// RequestTally counts the requests that a client recorded, and those of them that can be put together.
type RequestTally struct{ Of, Whole int }

// Add adds the requests of another file.
func (t *RequestTally) Add(o RequestTally) {
	t.Of += o.Of
	t.Whole += o.Whole
}

// Warning is a message about a file, with its line.
type Warning struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Code    Code   `json:"code,omitempty"` // its kind; "" where nothing refers to it
	Message string `json:"message"`
	More    int    `json:"more,omitempty"` // the number of further warnings of its kind, which are not kept
}

// Code is the kind of a warning. Codes never change.
type Code string

// The codes of warnings of loading a session.
const (
	CodeStopped        Code = "reading-stopped"
	CodeMalformed      Code = "malformed-line"
	CodeNoMessage      Code = "no-message"
	CodeDuplicateUUID  Code = "duplicate-uuid"
	CodeMetadata       Code = "unreadable-metadata"
	CodeUsage          Code = "unreadable-usage"
	CodeCircle         Code = "parent-circle"
	CodeLostParent     Code = "lost-parent"
	CodeLostLogical    Code = "lost-logical-parent"
	CodeNoSummary      Code = "no-summary"
	CodeLostPreserved  Code = "lost-preserved"
	CodeEarlier        Code = "earlier-history"
	CodeOffloadMissing Code = "missing-offload"
	CodeOffloadRefused Code = "refused-offload"
)

// Response is the message that answers main request k (0-based).
func (c *Conversation) Response(k int) *Message { return &c.Messages[c.Requests[k].Message] }

// BeginsMidway reports whether the file begins in the middle of the conversation: the first message stands for what came
// before.
func (c *Conversation) BeginsMidway() bool { return len(c.Messages) > 0 && c.Messages[0].Is(Earlier) }

// Product is the client that recorded a session without a line that names it.
const Product = "claude-code"

// Conversation is one session, or one sidechain of it.
type Conversation struct {
	SessionID  string
	Agent      string // "" for the main conversation, else the agent id
	Path       string // file as given
	CWD        string
	Repository string // of CWD: host and path of its git repository; "": not recorded
	Product    string // client that recorded it
	Provider   string // of its models, as recorded; "": not recorded
	Overhead   int    // system prompt and tools of a main conversation, tokens as the client counted them; 0: not recorded
	Version    string // of the client at the first request
	Versions   []string
	Model      string // model of the first request
	Messages   []Message
	Requests   []APICall
	Boundaries []Boundary
	Micro      []Microcompaction
	Restarts   []Restart
	SnipCalls  []SnipCall     // in the order of the calls
	Snips      []RecordedSnip // this and the following lists are sorted by Before
	Collapses  []Collapse
	Snapshots  []CollapseSnapshot // the last one before a request applies to it
	Replaced   []Replacement      // at most one for a tool_result
	Charges    []Charge           // calls that were billed, in the order of the file; those on branches that were left too
	Totals     []RunTotals        // of the session, in file order; of a main conversation only
	Client     *ClientTotals      // the last of the session; nil: the client says nothing; of a main conversation only
	Lines      Accounting
	Warnings   []Warning
	Offloads   OffloadCount
	HasMemory  bool // the client maintained a summary during the session: MemoryText
	Title      string

	Source   *jsonl.Source      // of the texts; nil for a conversation made by hand
	tools    map[string]toolUse // by id
	alike    map[string]string  // tool -> Claude Code's, read only
	offloads offloads
	memory   offloads
}
