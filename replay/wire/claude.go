package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// newClaudeFrame begins the messages of a request of Claude Code. Attachments stand before the prompts that their lines
// follow, up to the response or the results before these, and become a part of such a result.
func newClaudeFrame(r *renderer) *claudeFrame {
	f := &claudeFrame{renderer: r, version: sender(r.View), carriers: map[policy.ItemID]bool{}}
	f.Frame = session.FrameOf(f.version)
	f.own = newOwnReminders(r.View, f.Frame)
	for id := range r.Items {
		if m := r.Message(id); m != nil && m.Class == session.ClassPrompt && !m.Is(session.Queued) {
			f.prompt = id
		}
	}
	for _, c := range r.CacheEdits() {
		f.carriers[c.Carrier] = true
	}
	if w := session.OwnWordsOf(session.WordsOfContext, f.version); w.Before > 0 {
		text := reminderHead + w.Placeholder(w.Before+w.Behind) + reminderTail
		f.context = []BodyBlock{{Type: "text", JSON: textBlock(text)}}
	}
	return f
}

// add appends an item.
func (f *claudeFrame) add(id policy.ItemID, role session.Role, blocks []BodyBlock) {
	if len(f.context) > 0 {
		f.context[0].Source = policy.BlockOf(id, Whole)
		f.said = append(f.said, f.context)
		f.context = nil
	}
	reminders := f.own.follow(f.View, id)
	if f.dropsBefore(id) {
		f.place()
		f.close()
		f.apart = true
	}
	switch blocks = slices.Clone(blocks); {
	case f.isAttachment(id) && f.ofRunningStop(id):
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
			f.remind(reminders)
			f.place()
			f.close()
			f.apart = false
			f.say(session.Assistant, blocks)
		}
	case slices.ContainsFunc(blocks, isResult):
		f.place()
		if f.ToolLoaded && slices.ContainsFunc(blocks, namesTool) {
			blocks = append(blocks, BodyBlock{Source: policy.BlockOf(id, Whole), Type: "text", JSON: textBlock(toolLoaded)})
		}
		f.user(blocks)
	default:
		f.said = append(f.said, f.worded(id, blocks))
	}
	f.last = id
}

// dropsBefore reports whether a response between a message and the last one is not sent. Some clients leave it out once
// messages and attachments have their places, so what is behind it is no part of the message before it.
func (f *claudeFrame) dropsBefore(id policy.ItemID) (drops bool) {
	if f.Message(id) == nil || f.Whole {
		return false
	}
	from := f.next
	if f.next = int(id) + 1; from == 0 {
		return false
	}
	for m := int(id) - 1; m >= from; m-- {
		msg := &f.conv.Messages[m]
		if msg.Class == session.ClassSummary || !msg.RecordOnly && !f.Has(policy.ItemID(m)) {
			return false // the two are no neighbours in the file: a compaction is between them
		}
		drops = drops || msg.RecordOnly && msg.Role == session.Assistant
	}
	return drops
}

// ofRunningTool reports whether an attachment comes from a hook around a tool, and the process that ran it still sends.
// Older clients have it as a text of its own then, and fold it into the result only once they have read it back.
func (f *claudeFrame) ofRunningTool(id policy.ItemID) bool {
	if !f.HooksApart || int(id) < f.own.readBack {
		return false
	}
	_, _, ok := f.conv.ToolUse(f.hook(id).ToolUseID)
	return ok
}

// ofRunningStop reports whether an attachment comes from a hook at the end of the agent's run, and the run goes on for
// what it said. Older clients put it to the history only once the run has ended.
func (f *claudeFrame) ofRunningStop(id policy.ItemID) bool {
	if !f.StopsLater || int(id) < f.own.readBack || id < f.prompt {
		return false
	}
	event := f.hook(id).HookEvent
	return event == "Stop" || event == "SubagentStop"
}

// hook is what an attachment says of its hook.
func (f *claudeFrame) hook(id policy.ItemID) (hook struct{ ToolUseID, HookEvent string }) {
	if raw, err := f.conv.Raw(int(id), 0); err == nil && !f.Message(id).Blocks[0].Sent.Recorded {
		_ = json.Unmarshal(raw, &hook) // of another form it says nothing
	}
	return hook
}

// beforeLastResult reports whether the line of a text stands before that of the last result, which was sent behind it.
func (f *claudeFrame) beforeLastResult(text *BodyBlock) bool {
	if m := f.openUser(); m != nil && f.open.result >= 0 {
		result := f.Raw(m.Blocks[f.open.result].Source)
		own := f.Raw(text.Source)
		return result != nil && own != nil && own.Line < result.Line
	}
	return false
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
	apart    bool // what follows begins a message, see dropsBefore
	next     int  // message after the last one
	own      ownReminders
	last     policy.ItemID // that was added
	prompt   policy.ItemID // the last that begins a turn
	open     openMessage
}

// flush appends what is collected, and closes the last message.
func (f *claudeFrame) flush() {
	f.remind(f.own.before(f.Joined() - 1))
	f.place()
	f.close()
}

// place appends what is collected.
func (f *claudeFrame) place() {
	var system []string
	var first policy.Target // of the content in the system role
	for _, blocks := range f.attached {
		if !f.sent(&blocks[0]).System || !f.systemTurns() {
			f.attach(blocks)
			continue
		}
		typed := f.Message(blocks[0].Source.Item).Class == session.ClassPrompt
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
	f.attached = nil
	f.said = nil
}
