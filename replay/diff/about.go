package diff

import (
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// describe names a message, its role and what is in it.
func describe(v *view.View, id policy.ItemID) Message {
	m := Message{ID: ItemName(v.Conversation(), id), Role: v.Role(id).String()}
	if s := v.Synthetic(id); s != nil {
		m.About = s.Label
		return m
	}
	raw := v.Message(id)
	m.Line = int(raw.Line)
	m.About = About(v.Conversation(), raw)
	return m
}

// About says what a recorded message is in a few words: its class, or the tools
// it calls or answers.
func About(conv *session.Conversation, m *session.Message) string {
	var parts []string
	for b := range m.Blocks {
		bl := &m.Blocks[b]
		switch {
		case bl.Kind == jsonl.KindToolUse:
			parts = append(parts, bl.Name)
		case bl.Kind == jsonl.KindToolResult:
			name := conv.ToolName(bl.ID)
			if name == "" {
				name = bl.ID
			}
			parts = append(parts, "result of "+name)
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
