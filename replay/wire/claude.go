package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// newClaudeFrame begins the messages of a request of Claude Code. Attachments stand before the prompts that their lines
// follow, up to the response or the results before these, and become a part of such a result.
func newClaudeFrame(r *renderer) *claudeFrame {
	f := &claudeFrame{renderer: r, version: sender(r.view), carriers: map[policy.ItemID]bool{}}
	f.Frame = session.FrameOf(f.version)
	for _, c := range r.view.CacheEdits() {
		f.carriers[c.Carrier] = true
	}
	if w := session.OwnWordsOf(session.WordsOfContext, f.version); w.Before > 0 {
		text := reminderHead + session.Placeholder(w.Of, w.Before+w.Behind) + reminderTail
		f.context = []BodyBlock{{Type: "text", JSON: textBlock(text)}}
	}
	return f
}

// add appends an item.
func (f *claudeFrame) add(id policy.ItemID, role session.Role, blocks []BodyBlock) {
	if len(f.context) > 0 {
		f.context[0].Source = policy.Target{Item: id, Block: Whole}
		f.said, f.context = append(f.said, f.context), nil
	}
	if f.dropsBefore(id) {
		f.flush()
		f.apart = true
	}
	switch blocks = slices.Clone(blocks); {
	case f.isAttachment(id):
		f.attached = append(f.attached, blocks)
	case role == session.Assistant:
		f.flush()
		f.say(session.Assistant, blocks)
	case slices.ContainsFunc(blocks, isResult):
		f.flush()
		if slices.ContainsFunc(blocks, namesTool) {
			blocks = append(blocks, BodyBlock{Source: policy.Target{Item: id, Block: Whole}, Type: "text", JSON: textBlock(toolLoaded)})
		}
		f.user(blocks)
	default:
		f.said = append(f.said, f.worded(blocks))
	}
}

// dropsBefore reports whether a response between a message and the last one is not sent. Some clients leave it out once
// attachments have their places, so those behind it are no part of the results before it.
func (f *claudeFrame) dropsBefore(id policy.ItemID) bool {
	if f.view.Message(id) == nil || f.Whole {
		return false
	}
	from := f.next
	if f.next = int(id) + 1; from == 0 {
		return false
	}
	for m := from; m < int(id); m++ {
		if msg := &f.conv.Messages[m]; msg.RecordOnly && msg.Role == session.Assistant {
			return true
		}
	}
	return false
}

// isAttachment reports whether an item is one that the client sends as a reminder.
func (r *renderer) isAttachment(id policy.ItemID) bool {
	m := r.view.Message(id)
	return m != nil && m.Attachment != "" && (m.Class == session.ClassAttachment || m.Blocks[0].Sent.Recorded)
}

// sender is the version of the client that sends the view: of the last line in it that names one, else of the session.
func sender(v *view.View) string {
	version := v.Conversation().Version
	for id := range v.Items {
		if m := v.Message(id); m != nil && m.Version != "" {
			version = m.Version
		}
	}
	return version
}

// claudeFrame is what is collected since the last response or result.
type claudeFrame struct {
	*renderer
	session.Frame
	version  string
	context  []BodyBlock // of the client's context, which stands before the first item
	carriers map[policy.ItemID]bool
	turns    *bool // see systemTurns
	attached [][]BodyBlock
	said     [][]BodyBlock
	apart    bool // see dropsBefore
	next     int  // message after the last one
}

// flush appends what is collected.
func (f *claudeFrame) flush() {
	var system []string
	for _, blocks := range f.attached {
		text, ok := blocks[0].text()
		if sent := f.sent(&blocks[0]); ok && sent.System && f.systemTurns() {
			if f.view.Message(blocks[0].Source.Item).Class == session.ClassPrompt { // a person's
				blocks[0].JSON = textBlock(unwrapped(text))
				f.user(blocks)
				continue
			}
			system = append(system, unwrapped(text))
			continue
		}
		f.attach(blocks)
	}
	for _, blocks := range f.said {
		f.user(blocks)
	}
	if len(system) > 0 {
		source := f.attached[0][0].Source
		f.body.Messages = append(f.body.Messages, BodyMessage{Role: session.System, Blocks: []BodyBlock{
			{Source: source, Type: "text", JSON: textBlock(strings.Join(system, "\n\n"))},
		}})
	}
	f.attached, f.said, f.apart = nil, nil, false
}

// worded writes reminders' tags, and placeholders for the client's words, around what no person typed.
func (f *claudeFrame) worded(blocks []BodyBlock) []BodyBlock {
	for i := range blocks {
		text, ok := blocks[i].text()
		if !ok || !f.unchanged(blocks[i].Source) {
			continue
		}
		for head, of := range wordedHeads {
			if w := session.OwnWordsOf(of, f.version); w.Before > 0 && strings.HasPrefix(text, head) {
				if text = w.Wrap(text); !f.Notices {
					text = unwrapped(text)
				}
				blocks[i].JSON = textBlock(text)
			}
		}
		if f.Notices && strings.HasPrefix(text, "[SYSTEM NOTIFICATION") { // a subagent's lines have the words
			blocks[i].JSON = textBlock(reminderHead + text + reminderTail)
		}
	}
	return blocks
}

// wordedHeads begin texts that the client words.
var wordedHeads = map[string]string{"<task-notification>": session.WordsOfNotification, "Stop hook feedback:": session.WordsOfStopHook}

// sent is how a block's line says that it was sent.
func (f *claudeFrame) sent(b *BodyBlock) session.Sent {
	if raw := f.view.Raw(b.Source); raw != nil {
		return raw.Sent
	}
	return session.Sent{}
}

const reminderHead, reminderTail = "<system-reminder>\n", "\n</system-reminder>"

// unwrapped is a reminder's text without its tags.
func unwrapped(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(text, reminderHead), reminderTail)
}

// attach appends an attachment.
func (f *claudeFrame) attach(blocks []BodyBlock) {
	n := len(f.body.Messages)
	if n == 0 || f.body.Messages[n-1].Role != session.User {
		f.body.Messages = append(f.body.Messages, BodyMessage{Role: session.User, Blocks: blocks})
		return
	}
	m := &f.body.Messages[n-1]
	for i := range blocks {
		if f.apart || f.sent(&blocks[i]).Beside || f.carriers[blocks[i].Source.Item] || !f.fold(f.before(m, &blocks[i]), &blocks[i]) {
			m.Blocks = append(m.Blocks, blocks[i])
		}
	}
}

// before is the last block of a message: of results at its end the last one whose line is before the attachment's.
func (f *claudeFrame) before(m *BodyMessage, attachment *BodyBlock) *BodyBlock {
	last := len(m.Blocks) - 1
	for i := last; i >= 0 && isResult(m.Blocks[i]); i-- {
		if a, b := f.view.Raw(m.Blocks[i].Source), f.view.Raw(attachment.Source); a != nil && b != nil && a.Line < b.Line {
			return &m.Blocks[i]
		}
	}
	return &m.Blocks[last]
}

// toolLoaded is what the client writes behind results that name tools.
const toolLoaded = "Tool loaded."

// user appends a message of the user. Results stand first, and a text that another follows ends its line.
func (f *claudeFrame) user(blocks []BodyBlock) {
	n := len(f.body.Messages)
	if n == 0 || f.body.Messages[n-1].Role != session.User {
		f.body.Messages = append(f.body.Messages, BodyMessage{Role: session.User, Blocks: blocks})
		return
	}
	m := &f.body.Messages[n-1]
	last := &m.Blocks[len(m.Blocks)-1]
	if text, ok := last.text(); ok && blocks[0].Type == "text" {
		last.JSON = textBlock(text + "\n")
	}
	m.Blocks = slices.Concat(m.Blocks, blocks)
	slices.SortStableFunc(m.Blocks, func(a, b BodyBlock) int { return rank(a) - rank(b) })
}

// rank is 0 for results, which stand before the rest of their message.
func rank(b BodyBlock) int {
	if isResult(b) {
		return 0
	}
	return 1
}

// fold makes a reminder a part of the result of a tool before it. Older clients fold into results of one text alone.
func (f *claudeFrame) fold(result, reminder *BodyBlock) bool {
	text, ok := reminder.text()
	if !ok || !isResult(*result) {
		return false
	}
	raw, at, ok := resultContent(result.JSON)
	if !ok {
		return false
	}
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		result.JSON = slices.Concat(result.JSON[:at], appendValue(nil, trimmed(whole, text)), result.JSON[at+len(raw):])
		return true
	}
	if !f.Whole {
		return false
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return false
	}
	for _, p := range parts {
		var part struct{ Type string }
		if json.Unmarshal(p, &part) != nil || part.Type == "tool_reference" {
			return false
		}
	}
	text = strings.TrimSpace(text)
	if n := len(parts); n > 0 {
		var last struct{ Type, Text string }
		if json.Unmarshal(parts[n-1], &last) == nil && last.Type == "text" {
			parts[n-1], text = textBlock(trimmed(last.Text, text)), ""
		}
	}
	if text != "" {
		parts = append(parts, textBlock(text))
	}
	result.JSON = slices.Concat(result.JSON[:at], appendValue(nil, parts), result.JSON[at+len(raw):])
	return true
}

// trimmed joins a result's text and a reminder.
func trimmed(text, reminder string) string {
	return strings.TrimPrefix(strings.TrimSpace(text)+"\n\n"+strings.TrimSpace(reminder), "\n\n")
}

// resultContent finds the content of a result's JSON.
func resultContent(js []byte) (raw []byte, at int, ok bool) {
	var members struct{ Content json.RawMessage }
	if json.Unmarshal(js, &members) != nil || len(members.Content) == 0 {
		return nil, 0, false
	}
	at = bytes.Index(js, slices.Concat([]byte(`"content":`), members.Content))
	if at < 0 {
		return nil, 0, false
	}
	return members.Content, at + len(`"content":`), true
}

// isReminder reports whether a block is an attachment that is sent as recorded, by its words or by its kind.
func (r *renderer) isReminder(t policy.Target) bool {
	raw := r.view.Raw(t)
	if raw == nil || raw.Kind != jsonl.KindAttachment || r.conv.Product != session.Product || !r.unchanged(t) {
		return false
	}
	return raw.Sent.Recorded || r.view.Message(t.Item).Class == session.ClassAttachment
}

// reminders renders an attachment, one block a message.
func (r *renderer) reminders(t policy.Target) (blocks []BodyBlock, err error) {
	texts, err := r.conv.Reminders(int(t.Item), t.Block)
	for _, text := range texts {
		blocks = append(blocks, BodyBlock{Source: t, Type: "text", JSON: textBlock(text)})
	}
	return blocks, err
}

// unchanged reports whether a block is shown as recorded.
func (r *renderer) unchanged(t policy.Target) bool {
	if r.view.Replacement(t) != nil {
		return false
	}
	_, on := r.view.PolicyReplacement(t)
	return !r.shown || !on
}

// systemTurns reports whether the model that is asked takes messages of the system role between others: by the
// snapshots of prompts that were made for it, else by its generation.
func (f *claudeFrame) systemTurns() bool {
	if f.turns == nil {
		turns := f.findTurns()
		f.turns = &turns
	}
	return *f.turns
}

func (f *claudeFrame) findTurns() bool {
	asked, last, known, turns := "", "", map[string]bool{}, map[string]bool{}
	for m := range f.conv.Messages {
		msg := &f.conv.Messages[m]
		switch {
		case msg.Role == session.Assistant && !msg.Synthetic:
			if last = msg.Model; asked == "" && m >= f.view.Joined() {
				asked = last
			}
		case msg.Attachment == "prompt_snapshot" && last != "":
			if s := msg.Blocks[0].Sent; s.Turns != session.TurnsUnknown {
				known[last], turns[last] = true, s.Turns == session.TurnsSystem
			}
		}
	}
	if asked == "" {
		asked = cmp.Or(last, f.conv.Model)
	}
	if known[asked] {
		return turns[asked]
	}
	return laterThan48(asked)
}

// laterThan48 reports whether a model is of generation 4.8 or later, the first that takes such messages.
func laterThan48(model string) bool {
	var numbers []int
	for _, part := range strings.Split(model, "-") {
		if n, err := strconv.Atoi(part); err == nil && n < 100 {
			numbers = append(numbers, n)
		}
	}
	return slices.Compare(numbers, []int{4, 8}) >= 0
}

// namesTool reports whether a block is a result that names a tool whose definition is sent from then on.
func namesTool(b BodyBlock) bool {
	return isResult(b) && bytes.Contains(b.JSON, []byte(`"tool_reference"`))
}
