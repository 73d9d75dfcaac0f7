package session

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Message is one message of a conversation, as the API counts messages, which wire.BodyMessage holds as sent.
// Messages of the recorded track alone (summaries, and messages that a compaction re-injected) have RecordOnly set, as do
// responses that the client dropped, which no later request has,
// and are not part of the raw history.
type Message struct {
	Role       Role
	Class      Class
	Marks      Marks
	HasUsage   bool // a real response: not <synthetic>, not all zero
	Synthetic  bool // model "<synthetic>": written by the client, never sent as such
	RecordOnly bool // on the recorded track only
	Lost       bool // a placeholder for tool_results that are not in the file
	Blocks     []Block
	Line       int      // of its first line
	LastLine   int      // of its last line
	UUID       string   // of its first line
	UUIDs      []string // of every line, in the order of their blocks; the first is UUID; none of a placeholder
	Time       time.Time
	Version    string // client version that wrote it
	Unsent     int    // user messages before it of which nothing is sent; OpenCode's prune and tail count them

	// Of a response.
	ID         string    // message.id
	End        time.Time // of its last line
	Model      string
	StopReason string
	Usage      jsonl.Usage // zero: not recorded
	Applied    Applied     // to its request by the API
	Window     int         // the model's whole context window as recorded, tokens; 0: not recorded

	// Of a user message.
	Attachment string  // attachment type, for ClassAttachment
	Effort     string  // level of reasoning effort that a command set from here on, "auto" for the client's choice; else ""
	Preamble   *string // of a text that is sent as a reminder: what its line says that stands before it there; nil: of any other
}

// Marks are what is so of few messages.
type Marks uint16

// The marks.
const (
	OutputOnly  Marks = 1 << iota // Usage.Output is recorded, the input is not: HasUsage is false
	NoRequest                     // a response for which no request of this session is counted: an earlier session asked for it, or it was interrupted; HasUsage is false
	Reattached                    // a compaction re-injected it: the Attached of a boundary names it
	Earlier                       // a placeholder for the history before the start of the file
	Queued                        // a prompt queued while the agent ran: ends no turn
	Stopped                       // a prompt before which the agent had run and stopped, even where no response shows it
	AsAssistant                   // a summary that is sent in the assistant's role
	Uncounted                     // the client's own estimate of its context leaves it out
	StartOnly                     // Usage.Output counts the start of the response: more was written
)

// Is reports whether the message has one of some marks.
func (m *Message) Is(marks Marks) bool { return m.Marks&marks != 0 }

func (m *Message) markIf(so bool, marks Marks) {
	if so {
		m.Marks |= marks
	}
}

// requested reports whether it is the response to a request of its conversation.
func (m *Message) requested() bool { return m.Role == Assistant && !m.Synthetic && !m.Is(NoRequest) }

// addUsage adds what a line of the response says of its usage, which other lines may repeat.
func (m *Message) addUsage(u jsonl.Usage) {
	m.Usage.Add(u)
	m.HasUsage = true
}
