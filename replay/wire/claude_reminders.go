package wire

import (
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// ownReminders follows a view for the reminders that clients send before a response where no line has them: the list of skills,
// and that the model has long not written down its tasks. (cli.js of 2.1.45 and 2.1.76; in all requests of 2.1.19, 2.1.37, 2.1.45
// and 2.1.76 that were read.)
type ownReminders struct {
	session.Frame
	readBack      int  // messages before it were read back by the client's last process, which has not sent theirs
	sinceTasks    int  // messages of the model since it wrote down its tasks
	sinceReminder int  // and since it was reminded to
	tasks         bool // it writes them one by one
	skills        bool // it was sent the list of skills
	input         bool // a prompt or a result came since its last response, which the client adds to
}

// newOwnReminders begins at the first item of a view, which a client with such a frame sends.
func newOwnReminders(v *view.View, frame session.Frame) (r ownReminders) {
	if v.Conversation().Agent == "" {
		r.Frame = frame
	}
	for _, restart := range v.Conversation().Restarts {
		if restart.Before <= v.Joined() {
			r.readBack = restart.Before
		}
	}
	return r
}

// follow notes an item. It returns the kinds of the reminders before it, if it is a response. One that the client wrote itself
// has none: no request was sent for it.
func (r *ownReminders) follow(v *view.View, id policy.ItemID) (kinds []string) {
	m := v.Message(id)
	switch {
	case m == nil || !r.TaskReminders: // nor is there a list of skills
	case m.Class == session.ClassSummary:
		r.skills = false
		r.input = false
	case m.Role == session.Assistant:
		if !m.Synthetic {
			kinds = r.before(int(id))
			r.input = false
		}
		r.answer(v, id, m)
	case m.Attachment == "":
		r.input = true
	}
	return kinds
}

// before are the kinds of the reminders before a response to all that was followed.
func (r *ownReminders) before(message int) (kinds []string) {
	const most = 10
	if message < r.readBack || !r.input {
		return nil
	}
	if r.SkillList && !r.skills {
		r.skills = true
		kinds = append(kinds, session.WordsOfSkills)
	}
	if r.TaskReminders && r.sinceTasks >= most && r.sinceReminder >= most {
		if r.sinceReminder = 0; r.tasks {
			return append(kinds, "task_reminder")
		}
		kinds = append(kinds, "todo_reminder")
	}
	return kinds
}

// answer notes the messages of a response, which clients make of each block but thinking and blank texts.
func (r *ownReminders) answer(v *view.View, id policy.ItemID, m *session.Message) {
	for b := range m.Blocks {
		if c := v.Replacement(policy.BlockOf(id, b)); c != nil && c.Gone || strings.HasSuffix(m.Blocks[b].Type, "thinking") {
			continue
		}
		if m.Blocks[b].Type == "text" && m.Blocks[b].Text.UTF16 < maxBlank {
			if text, err := v.Conversation().Text(int(id), b); err == nil && strings.TrimSpace(text) == "" {
				continue
			}
		}
		r.sinceReminder += 1
		r.sinceTasks += 1
		switch m.Blocks[b].Name {
		case "TaskCreate", "TaskUpdate":
			r.tasks = true
			r.sinceTasks = 0
		case "TodoWrite":
			r.sinceTasks = 0
		}
	}
}

// NextReminders returns how many characters of reminders the client would add to one more request, directly after the
// last message in v. It counts only the reminders that no line of the file records.
func NextReminders(v *view.View) (characters int) {
	version := sender(v)
	r := newOwnReminders(v, session.FrameOf(version))
	for id := range v.Items {
		r.follow(v, id)
	}
	for _, kind := range r.before(v.Joined() - 1) {
		characters += session.OwnWordsOf(kind, version).Before
	}
	return characters
}

// remind attaches placeholders for the reminders before a response.
func (f *claudeFrame) remind(kinds []string) {
	for _, kind := range kinds {
		text := session.OwnWordsOf(kind, f.version).Wrap("")
		f.attached = append(f.attached, []BodyBlock{{Source: policy.BlockOf(f.last, Whole), Type: "text", JSON: textBlock(text)}})
	}
}
