package diff

import (
	"cmp"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// describe returns the name, role and content of a message.
func describe(v *view.View, id policy.ItemID) MessageDiff {
	m := MessageDiff{ID: ItemName(v.Conversation(), id), Role: v.Role(id).String()}
	if s := v.Synthetic(id); s != nil {
		m.About = s.Label
		return m
	}
	raw := v.Message(id)
	m.Line, m.About = int(raw.Line), About(v.Conversation(), raw)
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
	case m.Earlier:
		return "earlier history"
	case m.Class == session.ClassAttachment:
		return "attachment " + m.Attachment
	case m.Role == session.User && m.Class != session.ClassToolResult:
		parts = append([]string{m.Class.String()}, parts...)
	}
	return strings.Join(parts, ", ")
}
