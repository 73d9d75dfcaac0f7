// Package session turns the entries of a session file into a Conversation:
// messages in causal order, requests, and what the client recorded about its
// own context management.
//
// The way from entries to a conversation:
//
//  1. Loader reads every entry of a file and keeps its metadata (load.go).
//  2. Lines that share message.id become one message; usage counts once.
//  3. The active chain is walked from its leaf, boundaries bridged, parallel
//     tool calls and their results pulled in (chain.go).
//  4. What the client recorded (compactions, microcompactions; snips, collapses,
//     replaced results) is recognised and kept apart from the raw history
//     (recorded.go, edits.go, snip.go).
//
// A Conversation is immutable once loaded and safe for concurrent readers.
package session

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Role is who a message is from.
type Role uint8

// The roles of the Messages API.
const (
	User Role = iota
	Assistant
)

func (r Role) String() string {
	if r == Assistant {
		return "assistant"
	}
	return "user"
}

// Class says what a user message is. Assistant messages are ClassResponse.
type Class uint8

// The classes of messages.
const (
	ClassResponse   Class = iota // an assistant message
	ClassPrompt                  // a person typed it: counts as a turn
	ClassToolResult              // holds tool_results only (text beside them allowed)
	ClassMeta                    // isMeta: reminders, caveats, injected skills
	ClassCommand                 // a slash command line or its output
	ClassInterrupt               // "[Request interrupted by user…]" alone
	ClassSummary                 // isCompactSummary
	ClassAttachment              // an attachment line, sent as a reminder
)

var classNames = [...]string{"response", "prompt", "tool_result", "meta", "command", "interrupt", "summary", "attachment"}

func (c Class) String() string { return classNames[c] }

// Block is one content block of a message. Lengths are always there; the text
// is fetched from the file when somebody asks (Conversation.Text).
type Block struct {
	jsonl.Block
	File    int32    // index into Conversation.Sources
	Line    int32    // 1-based line the block stands on
	Offload *Offload // tool_result: the file that holds it whole, where it was offloaded and the file is there
}

// Whole is the length of the block's text as raw history has it: of a
// tool_result that was offloaded and is read back, that of the file; else as
// recorded.
func (b *Block) Whole() jsonl.Metrics {
	if b.Offload != nil {
		return b.Offload.Text
	}
	return b.Text
}

// ReadBack reports whether the block is an offloaded tool_result whose file is
// there.
func (b *Block) ReadBack() bool { return b.Offload != nil }

// Message is one API-level message. Messages that only the recorded track
// holds (summaries, what a compaction re-injected) have RecordOnly set and are
// no part of the raw history.
type Message struct {
	UUID       string   // of its first line
	UUIDs      []string // of every line, file order; UUIDs[0] == UUID
	ID         string   // message.id of an assistant message, else ""
	Role       Role
	Class      Class
	Time       time.Time
	End        time.Time // of its last line
	Blocks     []Block
	Model      string
	StopReason string
	Usage      jsonl.Usage
	HasUsage   bool   // a real response: not <synthetic>, not all zero
	Synthetic  bool   // model "<synthetic>": written by the client, never sent as such
	RecordOnly bool   // on the recorded track only
	Lost       bool   // stands in for tool_results that are not in the file
	Earlier    bool   // stands in for the history before the start of the file
	Queued     bool   // a prompt queued while the agent ran: ends no turn
	Attachment string // attachment type, for ClassAttachment
	Version    string // client version that wrote it
	File       int32  // index into Conversation.Sources
	Line       int32  // of its first line
	LastLine   int32  // of its last line
}

// Request is one API call on the chain: its input is every message before
// Message on the chain.
type Request struct {
	N       int // 1-based
	Message int // index into Messages of the response
}

// Boundary is a compaction the client recorded.
type Boundary struct {
	UUID       string // of the boundary line; of the summary line in the 1.0.x form
	File       int32
	Line       int    // of the boundary line; of the summary line in the 1.0.x form
	Trigger    string // "auto" or "manual"
	PreTokens  int    // as recorded; 0 where the client recorded none (1.0.x)
	PostTokens int    // as recorded by 2.1.119 and later, else 0
	Time       time.Time
	Version    string
	Before     int   // Messages[:Before] lie before it on the chain
	Summary    int   // index into Messages of the summary, or -1
	Preserved  []int // indexes of messages kept verbatim, in order
	Attached   []int // indexes of RecordOnly messages it re-injected
	Request    int   // N of the first main request after it; len(Requests)+1 at the end of the file
}

// Microcompaction is a microcompact the client recorded.
type Microcompaction struct {
	UUID        string
	File        int32
	Line        int
	Trigger     string
	PreTokens   int // sum of compactable results before it, the client's estimate
	TokensSaved int
	ToolIDs     []string
	Attachments []string // uuids of cleared attachments
	Time        time.Time
	Version     string
	Before      int // Messages[:Before] lie before it
	Request     int // N of the first main request after it
}

// Reason says why a line or object was set aside.
type Reason string

// Accounting counts lines so that Read = Used + sum(SetAside) always holds.
// Objects fused on one line are counted one by one, as lines of their own.
type Accounting struct {
	Read     int            `json:"read"`      // lines, plus further objects on fused lines
	Used     int            `json:"used"`      // those that became part of the conversation or its record
	Fused    int            `json:"fused"`     // how many of Read are further objects on a fused line
	SetAside map[Reason]int `json:"set_aside"` // the others, by reason
}

// Warning is something worth telling, with its place.
type Warning struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Code    Code   `json:"code,omitempty"` // what it is about; "" where nothing asks
	Message string `json:"message"`
}

// Code says what a warning is about, by a word that stays the same.
type Code string

// The codes of what loading a session warns of.
const (
	CodeStopped        Code = "reading-stopped"
	CodeMalformed      Code = "malformed-line"
	CodeNoMessage      Code = "no-message"
	CodeDuplicateUUID  Code = "duplicate-uuid"
	CodeMetadata       Code = "unreadable-metadata"
	CodeCircle         Code = "parent-circle"
	CodeLostParent     Code = "lost-parent"
	CodeLostLogical    Code = "lost-logical-parent"
	CodeEarlier        Code = "earlier-history"
	CodeOffloadMissing Code = "missing-offload"
	CodeOffloadRefused Code = "refused-offload"
)

// Conversation is one session, or one sidechain of it.
type Conversation struct {
	SessionID  string
	Agent      string // "" for the main conversation, else the agent id
	Path       string // file as given
	CWD        string
	Version    string // client version of the first request
	Versions   []string
	Model      string // model of the first request
	Messages   []Message
	Requests   []Request
	Boundaries []Boundary
	Micro      []Microcompaction
	SnipCalls  []SnipCall // in the order they were made
	Snips      []Snip     // these and the following by Before
	Collapses  []Collapse
	Snapshots  []CollapseSnapshot // the last one before a request holds there
	Replaced   []Replacement      // one a tool_result
	Lines      Accounting
	Warnings   []Warning
	Offloads   OffloadCount
	Memory     *Memory // the session's own summary file, or nil
	Abandoned  int     // messages on branches that were rewound or forked away
	Title      string

	Sources  []*jsonl.Source
	tools    map[string]toolUse // tool_use id -> where it stands
	offloads offloads
	memory   offloads
}
