package diff

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// message compares one message: item l of the left view, item r of the right.
func (c *comparison) message(l, r policy.ItemID) MessageDiff {
	at := c.r.View
	id := r
	if !known(c.r.View, r) {
		at = c.l.View
		id = l
	}
	m := describe(at, id)
	c.judge(&m, l, r)
	switch {
	case c.l.has(l) && c.r.has(r):
		m.Blocks = c.blocks(l, r)
	case c.r.has(r) && m.Right.Status == Added:
		m.Text = c.text(c.r.View, r)
	}
	return m
}

// judge says how both views show a message, and whether they show the same.
func (c *comparison) judge(m *MessageDiff, l, r policy.ItemID) {
	m.Left, m.Right = c.l.side(l), c.r.side(r)
	if m.Left.Status == Absent && m.Right.Status == Kept {
		m.Right.Status = Said
	}
	inLeft := c.l.has(l)
	inRight := c.r.has(r)
	m.Shown = inLeft || inRight
	m.Same = inLeft == inRight
	if inLeft && inRight {
		m.Same = sameTag(c.l.Tag(l), c.r.Tag(r))
		for b := 0; m.Same && b < min(c.l.Blocks(l), c.r.Blocks(r)); b++ {
			m.Same = c.l.shows(policy.BlockOf(l, b)).equal(c.r.shows(policy.BlockOf(r, b)))
		}
	}
}

func sameTag(a, b *policy.Content) bool { return a == b || a != nil && b != nil && a.Same(b) }

func known(v *view.View, id policy.ItemID) bool {
	if id >= 0 {
		return int(id) < len(v.Conversation().Messages)
	}
	return v.Has(id)
}

func (v *compared) has(id policy.ItemID) bool { return id != nowhere && v.Has(id) }

// side is how the view shows a message.
func (v *compared) side(id policy.ItemID) Side {
	h := v.history
	if !v.has(id) {
		s := Side{Status: Absent}
		if id >= 0 {
			s.by(h.Gone[id])
		}
		return s
	}
	s := Side{Status: Kept, Tokens: v.PayloadWeight(id)}
	if id < 0 || v.Message(id).RecordOnly {
		s.by(h.Made[id])
		s.Status = Added
		return s
	}
	for t := range policy.Targets(v, id) {
		if e := v.edit(t); e != nil {
			s.by(e)
			return s
		}
	}
	s.by(h.Tagged[id])
	return s
}

// edit is the edit of a block in the payload: the server's, if there is one.
func (v *compared) edit(t policy.Target) *policy.Edit {
	if _, on := v.PayloadReplacement(t); on && v.history.Server[t] != nil {
		return v.history.Server[t]
	}
	return v.history.Changed[t]
}

// blocks lists the blocks that differ between the views.
func (c *comparison) blocks(l, r policy.ItemID) []BlockDiff {
	var list []BlockDiff
	for i := range min(c.l.Blocks(l), c.r.Blocks(r)) {
		tl := policy.BlockOf(l, i)
		tr := policy.BlockOf(r, i)
		if c.l.shows(tl).equal(c.r.shows(tr)) {
			continue
		}
		b := BlockDiff{Index: i, Left: c.l.blockSide(tl), Right: c.r.blockSide(tr)}
		if raw := c.r.Raw(tr); raw != nil {
			b.Type = raw.Type
			b.ToolUse = raw.ID
		}
		b.Before, b.Replacement = c.blockText(&c.l, tl), c.blockText(&c.r, tr)
		list = append(list, b)
	}
	return list
}

func (v *compared) blockSide(t policy.Target) Side {
	s := Side{Status: Kept, Tokens: v.BlockTokens(t)}
	if c, on := v.PayloadReplacement(t); on {
		s.Tokens = 0
		if c != nil {
			s.Tokens = v.BlockTokens(t) + v.PayloadWeight(t.Item) - v.Weight(t.Item)
		}
	}
	s.by(v.edit(t))
	return s
}

// Block is how a view, whose history this is, shows a block.
func (h *History) Block(v *view.View, t policy.Target) Side {
	return (&compared{v, h}).blockSide(t)
}

// shown is what replaces a block in the model view and in the payload.
type shown struct {
	model, payload *policy.Content
	server         bool
}

func (v *compared) shows(t policy.Target) shown {
	s := shown{model: v.Replacement(t)}
	s.payload, s.server = v.PayloadReplacement(t)
	return s
}

func (s shown) equal(o shown) bool {
	return s.server == o.server && sameTag(s.model, o.model) && sameTag(s.payload, o.payload)
}

// blockText is the text of a block in a view's payload.
func (c *comparison) blockText(v *compared, t policy.Target) string {
	text, err := Text(v.View, t)
	c.fail(err)
	return text
}

// Text is the text of a block as a view sends it; "" where the server deletes it.
func Text(v *view.View, t policy.Target) (string, error) {
	with, on := v.PayloadReplacement(t)
	if on && with == nil {
		return "", nil
	}
	if !on {
		with = v.Replacement(t)
	}
	return v.TextOf(t, with)
}

func (c *comparison) text(v *view.View, id policy.ItemID) string {
	s := ""
	for t := range policy.Targets(v, id) {
		text, err := v.Text(t)
		c.fail(err)
		if r := v.Replacement(t); text == "" && r != nil && r.Tokens > 0 {
			text = "(a placeholder of " + strconv.Itoa(r.Tokens) + " tokens)"
		}
		if s != "" {
			s += "\n"
		}
		s += text
	}
	return s
}

// describe returns the name, role and content of a message.
func describe(v *view.View, id policy.ItemID) MessageDiff {
	m := MessageDiff{ID: ItemName(v.Conversation(), id), Item: id, Role: v.Role(id).String()}
	if s := v.Synthetic(id); s != nil {
		m.About = s.Label
		return m
	}
	raw := v.Message(id)
	m.Line, m.About = raw.Line, About(v.Conversation(), raw)
	return m
}

// About describes a recorded message in a few words: its class, or the tools that it calls or answers.
func About(conv *session.Conversation, m *session.Message) string {
	var parts []string
	for b := range m.Blocks {
		bl := &m.Blocks[b]
		switch {
		case bl.Kind == jsonl.KindToolUse:
			parts = append(parts, bl.Name)
		case bl.Kind == jsonl.KindToolResult:
			parts = append(parts, "result of "+cmp.Or(conv.ToolName(bl.ID), bl.ID))
		case m.Role == session.Assistant || bl.Kind == jsonl.KindImage || bl.Kind == jsonl.KindDocument:
			parts = append(parts, bl.Type)
		}
	}
	switch {
	case m.Lost:
		return "lost " + strings.Join(parts, ", ")
	case m.Is(session.Earlier):
		return "earlier history"
	case m.Class == session.ClassAttachment:
		return "attachment " + m.Attachment
	case m.Role == session.User && m.Class != session.ClassToolResult:
		parts = append([]string{m.Class.String()}, parts...)
	}
	return strings.Join(parts, ", ")
}
