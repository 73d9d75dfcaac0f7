package wire

import (
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// nudges follows a view for the reminders that clients send before a response where no line has them: the list of skills, and
// that the model has long not written down its tasks. (cli.js of 2.1.45; in all requests of 2.1.19, 2.1.37, 2.1.45 and 2.1.76
// that were read.)
type nudges struct {
	session.Frame
	readBack      int  // messages before it were read back by the client's last process, which has not sent theirs
	written, told int  // messages of the model since it wrote down its tasks, and since it was reminded to
	tasks         bool // it writes them one by one
	listed        bool // it was sent the list of skills
	asked         bool // a prompt or a result came since its last response, which the client adds to
}

// newNudges begins at the first item of a view, which a client with such a frame sends.
func newNudges(v *view.View, frame session.Frame) (n nudges) {
	if v.Conversation().Agent == "" {
		n.Frame = frame
	}
	for _, r := range v.Conversation().Restarts {
		if r.Before <= v.Joined() {
			n.readBack = r.Before
		}
	}
	return n
}

// joins notes an item.
func (n *nudges) joins(m *session.Message) {
	switch {
	case m == nil:
	case m.Class == session.ClassSummary:
		n.listed, n.asked = false, false
	case m.Role != session.Assistant && m.Attachment == "":
		n.asked = true
	}
}

// before are the kinds of the reminders before a response, or before what follows the last item.
func (n *nudges) before(id policy.ItemID) (kinds []string) {
	const most = 10
	if int(id) < n.readBack || !n.asked {
		return nil
	}
	if n.Lists && !n.listed {
		n.listed = true
		kinds = append(kinds, session.WordsOfSkills)
	}
	if n.Nudges && n.written >= most && n.told >= most {
		if n.told = 0; n.tasks {
			return append(kinds, "task_reminder")
		}
		kinds = append(kinds, "todo_reminder")
	}
	return kinds
}

// answered notes the messages of a response, which clients make of each block but thinking.
func (n *nudges) answered(v *view.View, blocks []BodyBlock) {
	n.asked = false
	for i := range blocks {
		if strings.HasSuffix(blocks[i].Type, "thinking") {
			continue
		}
		n.told, n.written = n.told+1, n.written+1
		if t := blocks[i].Source; t.Block != Whole && t.Item >= 0 {
			switch v.Raw(t).Name {
			case "TaskCreate", "TaskUpdate":
				n.tasks, n.written = true, 0
			case "TodoWrite":
				n.written = 0
			}
		}
	}
}

// nudge attaches placeholders for the reminders before a response.
func (f *claudeFrame) nudge(before policy.ItemID) {
	for _, kind := range f.nudges.before(before) {
		text := session.OwnWordsOf(kind, f.version).Wrap("")
		f.attached = append(f.attached, []BodyBlock{{Source: policy.Target{Item: f.last, Block: Whole}, Type: "text", JSON: textBlock(text)}})
	}
}
