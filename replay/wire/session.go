package wire

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/price"
)

// SessionFileOptions are the options of Session.
type SessionFileOptions struct {
	Policy   string // name of the policy
	Request  int    // number of the main request at which the view was taken
	Overhead int    // tokens that the client counts in addition to the messages
	Client   string // version of Claude Code to write on the lines, for a session of another agent
	Title    string // title of the session; "": none
}

// SessionFile is a view in the form of a session file of Claude Code. Claude Code can resume it, and ctxkit can read
// it.
type SessionFile struct {
	ID       string   // id of the session: a uuid computed from the view, the policy and the request
	CWD      string   // folder in which Claude Code can resume the session
	Lines    [][]byte // lines without their newlines
	Files    []ResultFile
	Messages []BodyMessage // the messages in Lines
	Tokens   int           // tokens of Messages, counted with the counter of the replay, without the overhead

	StandIns int // number of texts of the policy whose size is known and whose words are not
	Unsigned int // number of thinking blocks that are left out because another vendor's model wrote them
	Renamed  int // number of calls whose ids are changed because the API would refuse them
	Opaque   int // number of blocks that only the agent that recorded the session can read
}

// ResultFile is the file with the full text of an offloaded tool result. The session file holds only a stub of such a
// result.
type ResultFile struct{ Name, Text string }

// Session returns a view as a session file: one chain of lines with new ids and the content of the model view. Results
// that the server would clear under the policy (payload-only edits) are cleared in the file. Content that the server
// drops without being asked, such as the thinking of earlier turns, stays in the file.
//
// In sessions of other agents, blocks differ from those of the function Model in three ways: thinking of other vendors'
// models is left out; a block whose type only the agent knows becomes a text that names the type; ids of calls have
// only characters that the API accepts. It returns an error if the session's file cannot be read.
func Session(v *view.View, o SessionFileOptions) (*SessionFile, error) {
	w := sessionWriter{
		renderer:           renderer{View: v, conv: v.Conversation(), body: &Body{}, shown: true},
		SessionFileOptions: o, out: &SessionFile{CWD: v.Conversation().CWD, Tokens: v.PayloadTokens()}, said: map[string]bool{}, ids: map[string]string{},
	}
	if err := w.gather(); err != nil {
		return nil, err
	}
	w.identify()
	return w.out, w.write()
}

// sessionWriter writes a view as the lines of a session.
type sessionWriter struct {
	renderer
	SessionFileOptions
	out     *SessionFile
	items   []sessionItem
	last    int             // of items: the last response, -1: none
	end     int             // of items: the last one that is no attachment, -1: none
	said    map[string]bool // ids of responses
	ids     map[string]string
	uuid    string    // of the last line
	clock   time.Time // of the item
	written time.Time // of the last line
}

// sessionItem is an item with what is shown of it.
type sessionItem struct {
	id     policy.ItemID
	role   session.Role
	blocks []BodyBlock
}

// gather lists what is in view.
func (w *sessionWriter) gather() error {
	w.last = -1
	w.end = -1
	messages := w.messages()
	for id := range w.Items {
		blocks, err := w.blocks(id)
		if err != nil {
			return err
		}
		blocks, err = w.accepted(id, blocks)
		if err != nil {
			return err
		}
		if len(blocks) == 0 {
			continue
		}
		role := w.Role(id)
		m := w.Message(id)
		if role == session.Assistant && (m == nil || !m.Synthetic) {
			w.last = len(w.items)
		}
		if m == nil || m.Attachment == "" {
			w.end = len(w.items)
		}
		w.items = append(w.items, sessionItem{id, role, blocks})
		messages.add(id, role, blocks)
		for t := range policy.Targets(w.View, id) {
			if c := w.Replacement(t); c != nil && !c.Gone && c.Ref == nil && c.Text == "" && c.Tokens > 0 {
				w.out.StandIns++
			}
			if err := w.offloaded(t); err != nil {
				return err
			}
		}
	}
	messages.flush()
	w.out.Messages = w.body.Messages
	return nil
}

// callID are the ids that the API takes.
var callID = pattern.New(`^[a-zA-Z0-9_-]+$`)

// accepted is what the API accepts of an item of another agent's session.
func (w *sessionWriter) accepted(id policy.ItemID, blocks []BodyBlock) ([]BodyBlock, error) {
	if w.conv.Product == session.Product {
		return blocks, nil
	}
	if m := w.Message(id); m != nil && m.Role == session.Assistant && !price.Anthropic(m.Model) {
		n := len(blocks)
		blocks = slices.DeleteFunc(blocks, func(b BodyBlock) bool { return b.Type == "thinking" || b.Type == "redacted_thinking" })
		w.out.Unsigned += n - len(blocks)
	}
	for i := range blocks {
		b := &blocks[i]
		if raw := w.Raw(b.Source); raw != nil && raw.Kind == jsonl.KindUnknown && b.Type != "text" {
			w.out.Opaque++
			b.JSON = appendValue([]byte(`{"type":"text","text":`), fmt.Sprintf("[%s: only %s can read this block.]", b.Type, w.conv.Product))
			b.JSON = append(b.JSON, '}')
			b.Type = "text"
			continue
		}
		field := map[string]string{"tool_use": "id", "tool_result": "tool_use_id"}[b.Type]
		if field == "" || callID().MatchString(b.ToolUse) {
			continue
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(b.JSON, &members); err != nil {
			return nil, fmt.Errorf("message %d: a %s block is no JSON object: %w", id, b.Type, err)
		}
		if b.Type == "tool_use" {
			w.out.Renamed++
		}
		b.ToolUse = fmt.Sprintf("toolu_%x", sha256.Sum256([]byte(b.ToolUse)))[:30]
		members[field] = appendValue(nil, b.ToolUse)
		b.JSON = appendValue(nil, members)
	}
	return blocks, nil
}

// stubHead starts a stub of an offloaded result.
const stubHead = "<persisted-output>"

// offloaded adds the file of a result of which a stub is shown. A stub whose file is missing has none.
func (w *sessionWriter) offloaded(t policy.Target) error {
	raw := w.Raw(t)
	if raw == nil || raw.Kind != jsonl.KindToolResult || !callID().MatchString(raw.ID) {
		return nil
	}
	shown, err := w.Text(t)
	if err != nil || !strings.HasPrefix(strings.TrimLeft(shown, " \t\r\n"), stubHead) {
		return err
	}
	whole, err := w.Recorded(t)
	if err == nil && whole != shown {
		w.out.Files = append(w.out.Files, ResultFile{raw.ID + ".txt", whole})
	}
	return err
}

// identify gives the session its id.
func (w *sessionWriter) identify() {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %d\n", w.conv.SessionID, w.conv.Agent, w.Policy, w.Request)
	for i := range w.out.Messages {
		h.Write(w.out.Messages[i].Append(nil))
	}
	w.out.ID = uuidOf(h.Sum(nil))
}

// uuidOf is a hash in the form of a random uuid, as the client gives them.
func uuidOf(hash []byte) string {
	b := slices.Clone(hash[:16])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// derived is a hash of the session's id and the number of a line.
func (w *sessionWriter) derived(line int) []byte {
	h := sha256.Sum256(fmt.Appendf(nil, "%s %d", w.out.ID, line))
	return h[:]
}

// sessionLine is a line as the client writes it.
type sessionLine struct {
	Parent    *string `json:"parentUuid"`
	Sidechain bool    `json:"isSidechain"`
	UserType  string  `json:"userType"`
	CWD       string  `json:"cwd"`
	SessionID string  `json:"sessionId"`
	Version   string  `json:"version,omitempty"`
	Type      string  `json:"type"`
	Subtype   string  `json:"subtype,omitempty"`
	Content   string  `json:"content,omitempty"` // system
	Level     string  `json:"level,omitempty"`
	Meta      bool    `json:"isMeta,omitempty"`
	Hidden    bool    `json:"isVisibleInTranscriptOnly,omitempty"`
	Summary   bool    `json:"isCompactSummary,omitempty"`
	NoRequest bool    `json:"noRequest,omitempty"` // the session of the view asked for it
	UUID      string  `json:"uuid"`
	Time      string  `json:"timestamp"`
}

// compacted is the metadata of the boundary before a summary.
type compacted struct {
	Trigger    string `json:"trigger"`
	PreTokens  int    `json:"preTokens"`
	PostTokens int    `json:"postTokens"`
}

// answer is the message of a response without its content.
type answer struct {
	ID           string  `json:"id"`
	Type         string  `json:"type"`
	Role         string  `json:"role"`
	Model        string  `json:"model"`
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
	Usage        size    `json:"usage"`
}

// size is the usage by which the client knows the size of its context.
type size struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`
}

// write writes the lines.
func (w *sessionWriter) write() error {
	for i := range w.items {
		it := &w.items[i]
		w.advance(it.id)
		switch {
		case it.role == session.Assistant:
			w.answer(i)
		case i == 0 && w.isSummary(it.id):
			w.boundary()
			w.user(it, sessionLine{Summary: true, Hidden: true})
		default:
			if js, err := w.attachment(i); js != nil || err != nil {
				if err != nil {
					return err
				}
				if t := it.blocks[0].Source; w.Raw(t).Sent.Recorded {
					words, err := w.conv.Raw(int(t.Item), t.Block)
					if err != nil {
						return err
					}
					js = slices.Concat(js, []byte(`,"rendered":`), words)
				}
				w.line(sessionLine{Type: "attachment"}, "attachment", js)
				continue
			}
			w.user(it, sessionLine{Meta: w.isMeta(it.id)})
		}
	}
	if w.Title != "" {
		w.out.Lines = append(w.out.Lines, appendValue(nil, struct {
			Type      string `json:"type"`
			Title     string `json:"customTitle"`
			SessionID string `json:"sessionId"`
		}{"custom-title", w.Title, w.out.ID}))
	}
	return nil
}

// advance sets the clock to an item's time. It never runs backwards.
func (w *sessionWriter) advance(id policy.ItemID) {
	const unit = time.Millisecond // of the lines
	if m := w.Message(id); m != nil && m.Time.Truncate(unit).After(w.clock) {
		w.clock = m.Time.Truncate(unit)
		return
	}
	if !w.clock.IsZero() {
		return
	}
	w.clock = time.Unix(0, 0)
	for i := range w.items { // the first time that is known
		if m := w.Message(w.items[i].id); m != nil && !m.Time.IsZero() {
			w.clock = m.Time.Truncate(unit)
			return
		}
	}
}

// member is the JSON of an object with a further member, of which each byte is kept.
func member(object []byte, name string, value []byte) []byte {
	return slices.Concat(object[:len(object)-1], []byte(`,"`+name+`":`), value, []byte("}"))
}

// line appends a line below the last one: the fields and a member.
func (w *sessionWriter) line(l sessionLine, name string, value []byte) {
	if w.uuid != "" {
		parent := w.uuid
		l.Parent = &parent
		if !w.clock.After(w.written) { // old clients (2.1.19) go on from the newest line, of several as new the first
			w.clock = w.written.Add(time.Millisecond)
		}
	}
	w.written = w.clock
	w.uuid = uuidOf(w.derived(len(w.out.Lines)))
	l.UUID, l.SessionID, l.CWD, l.UserType, l.Version = w.uuid, w.out.ID, w.out.CWD, "external", w.version()
	l.Time = w.clock.UTC().Format("2006-01-02T15:04:05.000Z")
	w.out.Lines = append(w.out.Lines, member(appendValue(nil, l), name, value))
}

// version is that of the client on every line: of its own session the last one in view, so that no change of the version
// says that the client was started again.
func (w *sessionWriter) version() string {
	if w.conv.Product != session.Product {
		return w.Client
	}
	for i := len(w.items) - 1; i >= 0; i-- {
		if m := w.Message(w.items[i].id); m != nil && m.Version != "" {
			return m.Version
		}
	}
	return w.conv.Version
}

func (w *sessionWriter) isSummary(id policy.ItemID) bool {
	if s := w.Synthetic(id); s != nil {
		return s.Summary
	}
	return w.Message(id).Class == session.ClassSummary
}

// isMeta reports whether a user message is one that no person typed.
func (w *sessionWriter) isMeta(id policy.ItemID) bool {
	if s := w.Synthetic(id); s != nil {
		return !s.Turn
	}
	switch w.Message(id).Class {
	case session.ClassMeta, session.ClassSummary, session.ClassAttachment:
		return true
	}
	return false
}

// boundary writes the line of a compaction. The messages before it are in no line.
func (w *sessionWriter) boundary() {
	pre := 0
	for _, e := range w.Edits() {
		if e.Kind == policy.KindSummarize {
			pre = e.Before
		}
	}
	w.line(sessionLine{Type: "system", Subtype: "compact_boundary", Content: "Conversation compacted", Level: "info"},
		"compactMetadata", appendValue(nil, compacted{Trigger: "auto", PreTokens: pre + w.Overhead, PostTokens: w.out.Tokens + w.Overhead}))
}

// user writes a message of the user. A single text is a string, as the client writes it.
func (w *sessionWriter) user(it *sessionItem, l sessionLine) {
	content := []byte("[")
	for i := range it.blocks {
		if i > 0 {
			content = append(content, ',')
		}
		content = append(content, it.blocks[i].JSON...)
	}
	content = append(content, ']')
	if len(it.blocks) == 1 {
		if s, ok := plainText(it.blocks[0].JSON); ok {
			content = s
		}
	}
	l.Type = "user"
	w.line(l, "message", member([]byte(`{"role":"user"}`), "content", content))
}

// plainText returns the string of a text block that has no other members and the form of textBlock.
func plainText(js []byte) ([]byte, bool) {
	s, ok := bytes.CutPrefix(js, []byte(`{"type":"text","text":`))
	s, end := bytes.CutSuffix(s, []byte("}"))
	var text string
	return s, ok && end && len(s) > 0 && s[0] == '"' && json.Unmarshal(s, &text) == nil
}

// attachment returns the recorded JSON of an unchanged attachment that the client turns into a text itself; nil for
// any other item, and for those at the end: clients go on from the last message, and read no attachment behind it.
func (w *sessionWriter) attachment(i int) ([]byte, error) {
	it := &w.items[i]
	m := w.Message(it.id)
	if i > w.end || m == nil || m.Attachment == "" || w.conv.Product != session.Product || slices.ContainsFunc(it.blocks, func(b BodyBlock) bool { return b.Source != it.blocks[0].Source }) || w.Tag(it.id) != nil {
		return nil, nil
	}
	t := it.blocks[0].Source
	if raw := w.Raw(t); raw == nil || raw.Kind != jsonl.KindAttachment || w.Replacement(t) != nil {
		return nil, nil
	}
	js, err := w.conv.BlockJSON(int(t.Item), t.Block)
	var recorded struct{ Type string }
	if err != nil || json.Unmarshal(js, &recorded) != nil || recorded.Type == m.Attachment {
		return js, err
	}
	text, err := w.conv.Text(int(t.Item), t.Block) // of a line of the queue
	return appendValue(nil, struct {
		Type   string `json:"type"`
		Prompt string `json:"prompt"`
		Mode   string `json:"commandMode"`
	}{m.Attachment, text, "prompt"}), err
}

// answer writes a response: a line for each block. Its request belongs to another session, so it has no bill. The
// usage of the last one is the size of the context, of which the client makes its estimate.
func (w *sessionWriter) answer(i int) {
	it := &w.items[i]
	m := w.Message(it.id)
	if m == nil {
		made := session.Message{Model: w.conv.Model, StopReason: "end_turn"}
		m = &made
	}
	id := m.ID
	if id == "" || w.said[id] {
		id = fmt.Sprintf("msg_%x", w.derived(-1-i))[:28]
	}
	w.said[id] = true
	var stop *string
	if s := m.StopReason; s != "" {
		stop = &s
	}
	var usage size
	if i == w.last {
		after := 0
		for _, later := range w.items[i+1:] {
			after += w.PayloadWeight(later.id)
		}
		usage.Output = max(w.PayloadWeight(it.id), 0)
		usage.CacheRead = max(w.out.Tokens-after-usage.Output, 0) + w.Overhead
	}
	message := appendValue(nil, answer{ID: id, Type: "message", Role: "assistant", Model: cmp.Or(m.Model, w.conv.Model), StopReason: stop, Usage: usage})
	for b := range it.blocks {
		content := slices.Concat([]byte("["), it.blocks[b].JSON, []byte("]"))
		w.line(sessionLine{Type: "assistant", NoRequest: true}, "message", member(message, "content", content))
	}
}
