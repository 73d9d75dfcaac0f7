package session

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Message is one message of a conversation, as the API counts messages; wire.BodyMessage is its form in a request. The
// raw history has no messages with RecordOnly set: summaries, messages that the client sent again after a compaction,
// and responses that the client dropped and never sent back.
type Message struct {
	Role       Role
	Class      Class
	Marks      Marks
	HasUsage   bool // a response with recorded input tokens that the client did not write itself
	Synthetic  bool // a response with the model "<synthetic>": the client wrote it, and no request led to it
	RecordOnly bool // part of the recorded track, not of the raw history
	Lost       bool // a placeholder for tool results that are not in the file
	Blocks     []Block
	Line       int      // its first line
	LastLine   int      // its last line
	UUID       string   // of the first line
	UUIDs      []string // of all lines, in the order of their blocks; nil for a placeholder
	Time       time.Time
	Version    string // client version that wrote it
	Unsent     int    // number of user messages directly before it that are not sent; OpenCode counts them when it clears old results and when it compacts

	// Of a response. ID is message.id.
	ID         string
	End        time.Time // time of its last line
	Model      string
	StopReason string
	Usage      jsonl.Usage // zero: not recorded
	Applied    Applied     // context edits that the API applied to the request
	Window     int         // recorded context window of the model, in tokens; 0: not recorded

	// Of a user message. Attachment is the type of the attachment, for ClassAttachment.
	Attachment string
	Effort     string  // reasoning effort that this command set, or "auto" for the client's default; "": none set
	Preamble   *string // for a text that is sent as a reminder: the recorded words before it in the reminder; nil for other messages
}

// Marks is a set of flags of a message.
type Marks uint16

const (
	OutputOnly  Marks = 1 << iota // the output tokens are recorded, the input tokens are not: HasUsage is false
	NoRequest                     // a response of which this session has no request: an earlier session asked for it, or it was interrupted; HasUsage is false
	Reattached                    // a message that the client sent again after a compaction; see Boundary.Attached
	Earlier                       // a placeholder for the history before the file
	Queued                        // a prompt that was queued while the agent ran; it does not end the turn
	Stopped                       // a prompt before which the agent had ended its run, though no response shows that
	AsAssistant                   // a summary that is sent in the role of the assistant
	Uncounted                     // the client leaves it out of its own estimate of the context
	StartOnly                     // Usage.Output counts only the start of the response
)

// Is reports whether the message has at least one of marks.
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
