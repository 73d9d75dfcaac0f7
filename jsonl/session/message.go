package session

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Message is one message of a conversation, as the API counts messages; wire.BodyMessage is the form that it has in a
// request. Messages with RecordOnly set are not part of the raw history. They are summaries, messages that the client
// sent again after a compaction, and responses that the client dropped and never sent back.
type Message struct {
	Role       Role
	Class      Class
	Marks      Marks
	HasUsage   bool // the message is a response of the model with recorded input tokens
	Synthetic  bool // the message is a response that the client itself wrote, without a request (its Model is "<synthetic>")
	RecordOnly bool // the message is part of the recorded track, but not of the raw history
	Lost       bool // the message is a placeholder for tool results that are not in the file
	Blocks     []Block
	Line       int      // first line of the message
	LastLine   int      // last line of the message
	UUID       string   // uuid of the first line
	UUIDs      []string // uuids of all lines of the message, in the order of their blocks; nil for a placeholder
	Time       time.Time
	Version    string // client version that wrote the message
	Unsent     int    // number of user messages directly before this one that are not sent; OpenCode counts them when it clears old results and when it compacts

	// These fields are only for responses. ID is message.id.
	ID         string
	End        time.Time // time of the last line
	Model      string
	StopReason string
	Usage      jsonl.Usage // zero: not recorded
	Applied    Applied     // context edits that the API applied to the request
	CacheMiss  string      // why the request read less from the cache than the one before had left, by the API: "messages_changed" …; "": it gave no reason
	Window     int         // recorded context window of the model, in tokens; 0: not recorded

	// These fields are only for user messages. Attachment is the type of the attachment in a message with ClassAttachment.
	Attachment string
	Effort     string  // reasoning effort that the command in this message set, or "auto" for the client's default; "": it set none
	Preamble   *string // for a text that is sent in a reminder: the recorded words before the text in the reminder; nil: the text is not sent so
}

// Marks is a set of flags of a message.
type Marks uint16

const (
	OutputOnly  Marks = 1 << iota // only the output tokens of the response are recorded; HasUsage is false
	NoRequest                     // the session has no request for this response: an earlier session made the request, or the response was interrupted; HasUsage is false
	Reattached                    // the client sent the message again after a compaction (Boundary.Attached)
	Earlier                       // the message is a placeholder for the history before the file
	Queued                        // the prompt was queued while the agent ran, and the run went on
	Stopped                       // before this prompt the agent had ended its run, although no response shows that
	AsAssistant                   // the summary is sent in the role of the assistant
	Uncounted                     // the client leaves the message out of its own estimate of the context
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
