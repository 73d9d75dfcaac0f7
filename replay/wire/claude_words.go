package wire

import (
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// isAttachment reports whether an item is one that the client sends as a reminder.
func (r *renderer) isAttachment(id policy.ItemID) bool {
	m := r.Message(id)
	return m != nil && m.Attachment != ""
}

// worded writes reminders' tags, and placeholders for the client's words, around what no person typed.
func (f *claudeFrame) worded(id policy.ItemID, blocks []BodyBlock) []BodyBlock {
	m := f.Message(id)
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
		case m.Preamble != nil:
			text = reminderHead + *m.Preamble + text + reminderTail
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
	raw := f.raw(b)
	if raw == nil {
		return session.Sent{}
	}
	s := raw.Sent
	s.System = s.System && (s.Recorded || f.SystemTurns && f.Message(b.Source.Item).Class != session.ClassPrompt)
	return s
}

const reminderHead, reminderTail = "<system-reminder>\n", "\n</system-reminder>"

// unwrapped is a reminder's text without its tags.
func unwrapped(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(text, reminderHead), reminderTail)
}

// isReminder reports whether a block is an attachment that is sent as recorded, by its words or by its kind.
func (r *renderer) isReminder(t policy.Target) bool {
	raw := r.Raw(t)
	return raw != nil && raw.Kind == jsonl.KindAttachment && r.conv.Product == session.Product && r.unchanged(t)
}

// raw is the recorded block that a block shows, nil where it shows none.
func (f *claudeFrame) raw(b *BodyBlock) *session.Block {
	if b.Source.Block == Whole {
		return nil
	}
	return f.Raw(b.Source)
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
	if r.Replacement(t) != nil {
		return false
	}
	_, on := r.PolicyReplacement(t)
	return !r.shown || !on
}
