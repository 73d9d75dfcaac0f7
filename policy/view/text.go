package view

import "github.com/ctxkit/ctxkit/policy"

// Text is the current text of a block in the model view: that of an edit, else the recorded text, with an offloaded
// result read back. It is empty for content that is only a number of tokens.
func (v *View) Text(t policy.Target) (string, error) {
	c := v.Replacement(t)
	switch {
	case c == nil:
		return v.conv.WholeText(int(t.Item), t.Block)
	case c.Ref != nil && c.Stub:
		return v.conv.Text(int(c.Ref.Item), c.Ref.Block)
	case c.Ref != nil:
		return v.conv.WholeText(int(c.Ref.Item), c.Ref.Block)
	}
	return c.Text, nil
}

// Recorded is the recorded text of a block, whatever edits put in its place.
func (v *View) Recorded(t policy.Target) (string, error) {
	return v.conv.WholeText(int(t.Item), t.Block)
}
