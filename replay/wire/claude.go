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
	"github.com/ctxkit/ctxkit/replay/price"
)

// newClaudeFrame begins the messages of a request of Claude Code. Attachments stand before the prompts that their lines
// follow, up to the response or the results before these, and become a part of such a result.
func newClaudeFrame(r *renderer) *claudeFrame {
	f := &claudeFrame{renderer: r, version: sender(r.view), carriers: map[policy.ItemID]bool{}}
	f.Frame = session.FrameOf(f.version)
	for _, r := range f.conv.Restarts {
		if r.Before <= f.view.Joined() {
			f.readBack = r.Before
		}
	}
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
		f.place()
		f.apart = true
	}
	switch blocks = slices.Clone(blocks); {
	case f.isAttachment(id) && f.ofRunningTool(id):
		if f.beforeLastResult(&blocks[0]) {
			f.user(blocks)
		} else {
			f.said = append(f.said, blocks)
		}
	case f.isAttachment(id):
		f.attached = append(f.attached, blocks)
	case role == session.Assistant:
		if blocks = f.answer(id, blocks); len(blocks) > 0 {
			f.place()
			f.close()
			f.say(session.Assistant, blocks)
		}
	case slices.ContainsFunc(blocks, isResult):
		f.place()
		if f.ToolLoaded && slices.ContainsFunc(blocks, namesTool) {
			blocks = append(blocks, BodyBlock{Source: policy.Target{Item: id, Block: Whole}, Type: "text", JSON: textBlock(toolLoaded)})
		}
		f.user(blocks)
	default:
		f.said = append(f.said, f.worded(id, blocks))
	}
}

// dropsBefore reports whether a response between a message and the last one is not sent. Some clients leave it out once
// attachments have their places, so those behind it are no part of the results before it.
func (f *claudeFrame) dropsBefore(id policy.ItemID) (drops bool) {
	if f.view.Message(id) == nil || f.Whole {
		return false
	}
	from := f.next
	if f.next = int(id) + 1; from == 0 {
		return false
	}
	for m := int(id) - 1; m >= from; m-- {
		msg := &f.conv.Messages[m]
		if msg.Class == session.ClassSummary || !msg.RecordOnly && !f.view.Has(policy.ItemID(m)) {
			return false // the two are no neighbours in the file: a compaction is between them
		}
		drops = drops || msg.RecordOnly && msg.Role == session.Assistant
	}
	return drops
}

// ofRunningTool reports whether an attachment is of a hook around a tool, and the process that ran it still sends. Older
// clients have it as a text of its own then, and fold it into the result only once they have read it back.
func (f *claudeFrame) ofRunningTool(id policy.ItemID) bool {
	var hook struct{ ToolUseID string }
	raw, err := f.conv.Raw(int(id), 0)
	if !f.HooksApart || int(id) < f.readBack || f.view.Message(id).Blocks[0].Sent.Recorded || err != nil || json.Unmarshal(raw, &hook) != nil {
		return false
	}
	_, _, ok := f.conv.ToolUse(hook.ToolUseID)
	return ok
}

// beforeLastResult reports whether the line of a text stands before that of the last result, which was sent behind it.
func (f *claudeFrame) beforeLastResult(text *BodyBlock) bool {
	if m := f.openUser(); m != nil && f.open.result >= 0 {
		result, own := f.view.Raw(m.Blocks[f.open.result].Source), f.view.Raw(text.Source)
		return result != nil && own != nil && own.Line < result.Line
	}
	return false
}

// answer is what is sent of a response: of another model than the one that is asked newer clients leave out the signed
// thinking, and older ones send a plan without what they wrote into its call.
func (f *claudeFrame) answer(id policy.ItemID, blocks []BodyBlock) []BodyBlock {
	if m := f.view.Message(id); m != nil && f.OwnThinking && !m.Synthetic && m.Model != f.asked() {
		blocks = slices.DeleteFunc(blocks, isSigned)
	}
	for i := range blocks {
		if b := &blocks[i]; f.NoPlan && b.Type == "tool_use" && f.unchanged(b.Source) {
			b.JSON = withoutPlan(b.JSON)
		}
	}
	return blocks
}

// isSigned reports whether a block is thinking that only the model that wrote it can read.
func isSigned(b BodyBlock) bool {
	var thinking struct{ Signature string }
	return b.Type == "redacted_thinking" || b.Type == "thinking" && json.Unmarshal(b.JSON, &thinking) == nil && thinking.Signature != ""
}

// withoutPlan leaves out of a call of ExitPlanMode what the client wrote into it for its own record.
func withoutPlan(js []byte) []byte {
	var call struct {
		Name  string
		Input json.RawMessage
	}
	var input map[string]json.RawMessage
	if json.Unmarshal(js, &call) != nil || call.Name != "ExitPlanMode" || json.Unmarshal(call.Input, &input) != nil {
		return js
	}
	at, n := bytes.Index(js, slices.Concat([]byte(`"input":`), call.Input)), len(input)
	delete(input, "plan")
	delete(input, "planFilePath")
	if at < 0 || len(input) == n {
		return js
	}
	at += len(`"input":`)
	return slices.Concat(js[:at], appendValue(nil, input), js[at+len(call.Input):])
}

// isAttachment reports whether an item is one that the client sends as a reminder.
func (r *renderer) isAttachment(id policy.ItemID) bool {
	m := r.view.Message(id)
	return m != nil && m.Attachment != ""
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
	turns    *bool  // see systemTurns
	model    string // see asked
	attached [][]BodyBlock
	said     [][]BodyBlock
	apart    bool // see dropsBefore
	next     int  // message after the last one
	readBack int  // messages before it were read back by the client's last process
	open     openMessage
}

// flush appends what is collected, and closes the last message.
func (f *claudeFrame) flush() {
	f.place()
	f.close()
}

// place appends what is collected.
func (f *claudeFrame) place() {
	var system []string
	var first policy.Target // of what is sent in the system role
	for _, blocks := range f.attached {
		if !f.sent(&blocks[0]).System || !f.systemTurns() {
			f.attach(blocks)
			continue
		}
		typed := f.view.Message(blocks[0].Source.Item).Class == session.ClassPrompt
		for i := range blocks {
			switch text, ok := blocks[i].text(); {
			case !ok:
				f.attach(blocks[i : i+1])
			case typed:
				blocks[i].JSON = textBlock(unwrapped(text))
				f.user(blocks[i : i+1])
			default:
				if len(system) == 0 {
					first = blocks[i].Source
				}
				system = append(system, unwrapped(text))
			}
		}
	}
	for _, blocks := range f.said {
		f.user(blocks)
	}
	if len(system) > 0 {
		f.close()
		f.body.Messages = append(f.body.Messages, BodyMessage{Role: session.System, Blocks: []BodyBlock{
			{Source: first, Type: "text", JSON: textBlock(strings.Join(system, "\n\n"))},
		}})
	}
	f.attached, f.said, f.apart = nil, nil, false
}

// worded writes reminders' tags, and placeholders for the client's words, around what no person typed.
func (f *claudeFrame) worded(id policy.ItemID, blocks []BodyBlock) []BodyBlock {
	m := f.view.Message(id)
	if m == nil || m.Class != session.ClassMeta {
		return blocks
	}
	for i := range blocks {
		text, ok := blocks[i].text()
		if !ok || !f.unchanged(blocks[i].Source) {
			continue
		}
		w := session.OwnWordsOf(session.WordsOfNotification, f.version)
		switch {
		case m.Lead != nil:
			text = reminderHead + *m.Lead + text + reminderTail
		case w.Before > 0 && strings.HasPrefix(text, notificationHead):
			if text = w.Wrap(text); !f.Notices {
				text = unwrapped(text)
			}
		case f.Notices && strings.HasPrefix(text, "[SYSTEM NOTIFICATION"): // a subagent's lines have the words
			text = reminderHead + text + reminderTail
		default:
			continue
		}
		blocks[i].JSON = textBlock(text)
	}
	return blocks
}

// notificationHead begins a notice of a task in the background, which the client words.
const notificationHead = "<task-notification>"

// sent is how a block's line says that it was sent. Clients that do not say it send what no person typed in the system role.
func (f *claudeFrame) sent(b *BodyBlock) session.Sent {
	raw := f.view.Raw(b.Source)
	if raw == nil {
		return session.Sent{}
	}
	s := raw.Sent
	s.System = s.System && (s.Recorded || f.SystemTurns && f.view.Message(b.Source.Item).Class != session.ClassPrompt)
	return s
}

const reminderHead, reminderTail = "<system-reminder>\n", "\n</system-reminder>"

// unwrapped is a reminder's text without its tags.
func unwrapped(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(text, reminderHead), reminderTail)
}

// attach appends an attachment.
func (f *claudeFrame) attach(blocks []BodyBlock) {
	m := f.openUser()
	if m == nil {
		f.begin(blocks)
		return
	}
	for i := range blocks {
		if raw := f.view.Raw(blocks[i].Source); f.FilesApart && raw != nil && raw.Sent.Recorded && filesApart[raw.Type] && f.systemTurns() {
			f.user(blocks[i : i+1])
			continue
		}
		if f.apart || f.sent(&blocks[i]).Beside || f.carriers[blocks[i].Source.Item] || !f.fold(m, f.before(m, &blocks[i]), &blocks[i]) {
			m.Blocks = append(m.Blocks, blocks[i])
			f.open.note(m.Blocks, len(m.Blocks)-1)
			f.open.end = len(m.Blocks) - 1
		}
	}
}

// filesApart are the kinds of attachments of Frame.FilesApart.
var filesApart = map[string]bool{"nested_memory": true, "file": true, "directory": true}

// openMessage is what is known of the user's message in progress. Its blocks are in their order once it is closed.
type openMessage struct {
	end    int              // of its blocks: the last one in their order
	result int              // the last result, -1: none
	other  int              // the last one that is none, -1: none
	merged bool             // more than one message of the user is in it
	folds  map[int][]string // reminders that become a part of a result
}

// note notes the blocks from index n on.
func (o *openMessage) note(blocks []BodyBlock, n int) {
	for i := n; i < len(blocks); i++ {
		if isResult(blocks[i]) {
			o.result = i
		} else {
			o.other = i
		}
	}
}

// openUser is the last message if it is the user's; nil: a new one has to begin.
func (f *claudeFrame) openUser() *BodyMessage {
	if n := len(f.body.Messages); n > 0 && f.body.Messages[n-1].Role == session.User {
		return &f.body.Messages[n-1]
	}
	return nil
}

// begin begins a message of the user.
func (f *claudeFrame) begin(blocks []BodyBlock) {
	f.body.Messages = append(f.body.Messages, BodyMessage{Role: session.User, Blocks: slices.Clip(blocks)})
	f.open = openMessage{end: len(blocks) - 1, result: -1, other: -1, folds: map[int][]string{}}
	f.open.note(blocks, 0)
}

// close writes the last message's reminders into its results and puts its blocks in order, if it is the user's.
func (f *claudeFrame) close() {
	m := f.openUser()
	if m == nil {
		return
	}
	for i, reminders := range f.open.folds {
		m.Blocks[i].JSON = folded(m.Blocks[i].JSON, strings.Join(reminders, "\n\n"))
	}
	f.open.folds = nil
	if f.open.merged {
		slices.SortStableFunc(m.Blocks, func(a, b BodyBlock) int { return cmp.Compare(rank(a), rank(b)) })
		f.byCall(m.Blocks)
	}
}

// before is the last block of a message: of results at its end the last one whose line is before the attachment's.
func (f *claudeFrame) before(m *BodyMessage, attachment *BodyBlock) int {
	for i := f.open.end; i >= 0 && isResult(m.Blocks[i]); i-- {
		if a, b := f.view.Raw(m.Blocks[i].Source), f.view.Raw(attachment.Source); a != nil && b != nil && a.Line < b.Line {
			return i
		}
	}
	return f.open.end
}

// toolLoaded is what the client writes behind results that name tools.
const toolLoaded = "Tool loaded."

// user appends a message of the user. Results stand first, and a text that another follows ends its line in newer clients.
func (f *claudeFrame) user(blocks []BodyBlock) {
	m := f.openUser()
	if m == nil {
		f.begin(blocks)
		return
	}
	last := &m.Blocks[f.open.end]
	if text, ok := last.text(); ok && f.LineEnds && blocks[0].Type == "text" {
		last.JSON = textBlock(text + "\n")
	}
	n := len(m.Blocks)
	m.Blocks = append(m.Blocks, blocks...)
	f.open.note(m.Blocks, n)
	f.open.merged, f.open.end = true, f.open.other
	if f.open.other < 0 {
		f.open.end = f.open.result
	}
}

// rank is 0 for results, which stand before the rest of their message.
func rank(b BodyBlock) int {
	if isResult(b) {
		return 0
	}
	return 1
}

// byCall orders the results that stand before the rest of a message as a process has them that read them back: by their
// times, of one moment in the order of the calls. The one that came last is on the path of parents and stays last.
func (f *claudeFrame) byCall(blocks []BodyBlock) {
	n := 0
	for n < len(blocks) && isResult(blocks[n]) && f.view.Message(blocks[n].Source.Item) != nil && int(blocks[n].Source.Item) < f.readBack {
		n++
	}
	if f.ByCall && n > 2 {
		slices.SortStableFunc(blocks[:n-1], func(a, b BodyBlock) int {
			return cmp.Or(f.view.Message(a.Source.Item).Time.Compare(f.view.Message(b.Source.Item).Time), cmp.Compare(f.call(a), f.call(b)))
		})
	}
}

// call is the number of a result's call.
func (f *claudeFrame) call(b BodyBlock) int { return f.conv.CallNumber(f.view.Raw(b.Source)) }

// fold makes a reminder a part of the result of a tool before it, block i. Older clients fold into results of one text
// alone.
func (f *claudeFrame) fold(m *BodyMessage, i int, reminder *BodyBlock) bool {
	text, ok := reminder.text()
	if !ok || !isResult(m.Blocks[i]) || len(f.open.folds[i]) == 0 && !f.folds(m.Blocks[i].JSON) {
		return false
	}
	f.open.folds[i] = append(f.open.folds[i], strings.TrimSpace(text))
	return true
}

// folds reports whether a result takes reminders.
func (f *claudeFrame) folds(js []byte) bool {
	raw, _, ok := resultContent(js)
	var whole string
	if !ok || json.Unmarshal(raw, &whole) == nil {
		return ok
	}
	var parts []struct{ Type string }
	if !f.Whole || json.Unmarshal(raw, &parts) != nil {
		return false
	}
	for _, p := range parts {
		if p.Type == "tool_reference" {
			return false
		}
	}
	return true
}

// folded is a result's JSON with a text at its end.
func folded(js []byte, text string) []byte {
	raw, at, _ := resultContent(js)
	var content any
	var whole string
	var parts []json.RawMessage
	if json.Unmarshal(raw, &whole) == nil {
		content = trimmed(whole, text)
	} else {
		_ = json.Unmarshal(raw, &parts) // folds has read it
		var last struct{ Type, Text string }
		if n := len(parts); n > 0 && json.Unmarshal(parts[n-1], &last) == nil && last.Type == "text" {
			parts = append(parts[:n-1], textBlock(trimmed(last.Text, text)))
		} else if text != "" {
			parts = append(parts, textBlock(text))
		}
		content = parts
	}
	return slices.Concat(js[:at], appendValue(nil, content), js[at+len(raw):])
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
	return raw != nil && raw.Kind == jsonl.KindAttachment && r.conv.Product == session.Product && r.unchanged(t)
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
	last, known, turns := "", map[string]bool{}, map[string]bool{}
	for m := range f.conv.Messages {
		msg := &f.conv.Messages[m]
		switch {
		case msg.Role == session.Assistant && !msg.Synthetic:
			last = msg.Model
		case msg.Attachment == "prompt_snapshot" && last != "":
			if s := msg.Blocks[0].Sent; s.Turns != session.TurnsUnknown {
				known[last], turns[last] = true, s.Turns == session.TurnsSystem
			}
		}
	}
	if asked := f.asked(); known[asked] {
		return turns[asked]
	}
	return laterThan48(f.asked())
}

// asked is the model that is asked: that of the next response, else of the last one.
func (f *claudeFrame) asked() string {
	if f.model == "" {
		for m := range f.conv.Messages {
			if msg := &f.conv.Messages[m]; msg.Role == session.Assistant && !msg.Synthetic {
				if f.model = msg.Model; m >= f.view.Joined() {
					break
				}
			}
		}
		f.model = cmp.Or(f.model, f.conv.Model)
	}
	return f.model
}

// laterThan48 reports whether a model is a Claude of generation 4.8 or later, the first that takes such messages. What
// follows "@" or "[" is its date or its window.
func laterThan48(model string) bool {
	if !price.Anthropic(model) {
		return false
	}
	if end := strings.IndexAny(model, "@["); end >= 0 {
		model = model[:end]
	}
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
