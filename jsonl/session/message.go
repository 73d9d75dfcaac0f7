package session

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Message is one message of a conversation, as the API counts messages, which wire.BodyMessage holds as sent. What is
// recorded of it beside its blocks is a MessageData, kept in a third of its memory.
// Messages of the recorded track alone (summaries, and messages that a compaction re-injected) have RecordOnly set
// and are not part of the raw history.
type Message struct {
	Blocks []Block

	reply  *reply  // of a response; nil: none
	origin *origin // nil: not recorded
	time   int64   // see ticks
	uuid   int32   // place of its first line's in the origin's uuids
	lines  int32   // how many uuids it has from there on; 0: a placeholder, or not recorded

	Line       int32 // of its first line
	LastLine   int32 // of its last line
	timeRest   uint8
	Role       Role
	Class      Class
	HasUsage   bool // a real response: not <synthetic>, not all zero
	Synthetic  bool // model "<synthetic>": written by the client, never sent as such
	RecordOnly bool // on the recorded track only
	Lost       bool // a placeholder for tool_results that are not in the file
	Marks      Marks
}

// Marks are what is so of few messages.
type Marks uint8

// The marks.
const (
	OutputOnly Marks = 1 << iota // Usage().Output is recorded, the input is not: HasUsage is false
	NoRequest                    // a response for which no request of this session is counted: an earlier session asked for it, or it was interrupted; HasUsage is false
	Reattached                   // a compaction re-injected it: the Attached of a boundary names it
	Earlier                      // a placeholder for the history before the start of the file
	Queued                       // a prompt queued while the agent ran: ends no turn
	Stopped                      // a prompt before which the agent had run and stopped, even where no response shows it
	Uncounted                    // the client's own estimate of its context leaves it out
)

// Is reports whether the message has one of some marks.
func (m *Message) Is(marks Marks) bool { return m.Marks&marks != 0 }

func (m *Message) markIf(so bool, marks Marks) {
	if so {
		m.Marks |= marks
	}
}

// MessageData is what is recorded of a message beside its blocks.
type MessageData struct {
	UUID       string   // of its first line
	UUIDs      []string // of every line, in the order of their blocks; the first is UUID, whatever that says; none of a placeholder
	ID         string   // message.id of an assistant message, else ""
	Time       time.Time
	End        time.Time // of its last line; zero for a user message
	Model      string
	StopReason string
	Usage      jsonl.Usage
	Window     int    // of a response: the model's whole context window as recorded, tokens; 0: not recorded
	Attachment string // attachment type, for ClassAttachment
	Effort     string // level of reasoning effort that a command set from here on, "auto" for the client's choice; else ""
	Version    string // client version that wrote it
}

// origin is what many messages share.
type origin struct {
	version            string // of the client
	attachment, effort string // of most messages empty
	uuids              *uuids
}

// NewMessage is a message without blocks. Its times are in UTC.
func NewMessage(d MessageData) (made Message) {
	made.fill(&d)
	return made
}

// Change changes what is recorded of a message, which is nobody else's yet.
func (m *Message) Change(change func(d *MessageData)) {
	d := MessageData{
		UUID: m.UUID(), UUIDs: m.UUIDs(), ID: m.ID(), Time: m.Time(), End: m.End(), Model: m.Model(), StopReason: m.StopReason(),
		Usage: m.Usage(), Window: m.Window(), Attachment: m.Attachment(), Effort: m.Effort(), Version: m.Version(),
	}
	change(&d)
	m.fill(&d)
}

func (m *Message) fill(d *MessageData) {
	m.time, m.timeRest = ticks(d.Time)
	m.reply = &reply{id: d.ID, voice: &voice{d.Model, d.StopReason, d.Window}, recorded: d.Usage != jsonl.Usage{}}
	m.reply.setUsage(&d.Usage)
	m.reply.end, m.reply.endRest = ticks(d.End)
	m.origin = &origin{d.Version, d.Attachment, d.Effort, &uuids{}}
	m.uuid, m.lines = 0, int32(len(d.UUIDs))
	if m.lines == 0 {
		m.origin.uuids.add(d.UUID)
	}
	for _, s := range d.UUIDs {
		m.origin.uuids.add(s)
	}
}

// requested reports whether it is the response to a request of its conversation.
func (m *Message) requested() bool { return m.Role == Assistant && !m.Synthetic && !m.Is(NoRequest) }

// UUID is that of the first line.
func (m *Message) UUID() string {
	if m.origin == nil {
		return ""
	}
	return m.origin.uuids.text(m.uuid)
}

// UUIDs are those of every line, in the order of their blocks: none of a placeholder.
func (m *Message) UUIDs() []string {
	if m.lines == 0 {
		return nil
	}
	list := make([]string, m.lines)
	for i := range list {
		list[i] = m.origin.uuids.text(m.uuid + int32(i))
	}
	return list
}

// ID is the message.id of an assistant message, else "".
func (m *Message) ID() string {
	if m.reply == nil {
		return ""
	}
	return m.reply.id
}

// Time is that of the first line, in UTC.
func (m *Message) Time() time.Time { return timeOf(m.time, m.timeRest) }

// End is the time of the last line of a response, zero for a user message.
func (m *Message) End() time.Time {
	if m.reply == nil {
		return time.Time{}
	}
	return timeOf(m.reply.end, m.reply.endRest)
}

// Model is that of a response, as recorded.
func (m *Message) Model() string { return m.voice().model }

// StopReason is why a response ended, as recorded.
func (m *Message) StopReason() string { return m.voice().stop }

// Window is the model's whole context window as recorded with a response, tokens; 0: not recorded.
func (m *Message) Window() int { return m.voice().window }

var unvoiced voice

func (m *Message) voice() *voice {
	if m.reply == nil {
		return &unvoiced
	}
	return m.reply.voice
}

// Usage is that of a response; zero: not recorded.
func (m *Message) Usage() jsonl.Usage {
	if m.reply == nil {
		return jsonl.Usage{}
	}
	return m.reply.usage()
}

// Attachment is the attachment type, for ClassAttachment.
func (m *Message) Attachment() string {
	if m.origin == nil {
		return ""
	}
	return m.origin.attachment
}

// Effort is the level of reasoning effort that a command set from here on, "auto" for the client's choice; else "".
func (m *Message) Effort() string {
	if m.origin == nil {
		return ""
	}
	return m.origin.effort
}

// Version is the client version that wrote it.
func (m *Message) Version() string {
	if m.origin == nil {
		return ""
	}
	return m.origin.version
}

// Times are kept in 9 bytes: the ticks of 100 ns since the start of the year 1, and the nanoseconds beyond. That is exact
// for 29,000 years, more than a file can name.
const (
	tick    = 100 // ns
	second  = 1e9 / tick
	yearOne = -62135596800 // in seconds of the epoch
)

func ticks(t time.Time) (n int64, rest uint8) {
	return (t.Unix()-yearOne)*second + int64(t.Nanosecond()/tick), uint8(t.Nanosecond() % tick)
}

func timeOf(n int64, rest uint8) time.Time {
	return time.Unix(n/second+yearOne, n%second*tick+int64(rest)).UTC()
}
