package replay

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// viewTexts fetches the current texts of a view's blocks.
type viewTexts struct {
	view *policy.View
	conv *session.Conversation
}

// Text is what an edit put there, else the recorded text.
func (v viewTexts) Text(t policy.Target) (string, error) {
	if c := v.view.Replacement(t); c != nil {
		switch {
		case c.Ref != nil && c.Stub:
			return v.conv.Text(int(c.Ref.Item), c.Ref.Block)
		case c.Ref != nil:
			return v.conv.WholeText(int(c.Ref.Item), c.Ref.Block)
		}
		return c.Text, nil
	}
	return v.conv.WholeText(int(t.Item), t.Block)
}
