package engine

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/internal/record"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// blocks returns the blocks of an item as the Messages API takes them.
func (e *Engine) blocks(id policy.ItemID) ([]policy.SentBlock, error) {
	blocks, err := wire.Item(e.view, id)
	list := make([]policy.SentBlock, len(blocks))
	for i, b := range blocks {
		list[i] = policy.SentBlock{Source: b.Source, Type: b.Type, ID: b.ToolUse, JSON: b.JSON}
	}
	return list, err
}

// Summary returns the recorded summary that a compaction at request n may reuse, and its boundary.
func (e *Engine) Summary(n int) (policy.Content, int, bool) {
	for i := range e.conv.Boundaries {
		b := &e.conv.Boundaries[i]
		if b.Summary < 0 || !readable(&e.conv.Messages[b.Summary]) || b.Request < n-lateBy || b.Request < n && e.summaries[i] {
			continue // a boundary shortly before, with a summary that is not reused yet: the policy is a little late
		}
		if e.summaries[i] {
			break
		}
		bl := &e.conv.Messages[b.Summary].Blocks[0]
		return policy.Content{Kind: bl.Kind, Length: bl.Text, Ref: &policy.Target{Item: policy.ItemID(b.Summary)}}, i, true
	}
	return policy.Content{}, -1, false
}

// TypicalSummary is as large as the median of the recorded summaries, and has the words of the last one before request n.
func (e *Engine) TypicalSummary(n int) policy.Content {
	c := policy.Content{Kind: jsonl.KindText, Tokens: policy.DefaultSummaryTokens}
	var sizes []int
	for i := range e.conv.Boundaries {
		if b := &e.conv.Boundaries[i]; b.Summary >= 0 && e.record.Summary[i] > 0 {
			sizes = append(sizes, e.record.Summary[i])
			if b.Request <= n && readable(&e.conv.Messages[b.Summary]) {
				c.Words = &policy.Target{Item: policy.ItemID(b.Summary)}
			}
		}
	}
	if slices.Sort(sizes); len(sizes) > 0 {
		c.Tokens = sizes[len(sizes)/2]
	}
	return c
}

// readable reports whether a recorded summary is a text that any model could be sent, and is not encrypted.
func readable(m *session.Message) bool {
	return len(m.Blocks) > 0 && m.Blocks[0].Kind == jsonl.KindText
}

// SessionMemory returns the session's own summary file.
func (e *Engine) SessionMemory() (text string, ok bool, err error) {
	if !e.conv.HasMemory {
		return "", false, nil
	}
	text, err = e.conv.MemoryText()
	return text, err == nil, err
}

// lateBy is the number of requests after a recorded boundary in which a policy's compaction still reuses its summary.
const lateBy = 10

// Reinjected returns what the client sent after recorded boundary i next to the summary: recorded attachments, and an
// item for what is on no line.
func (e *Engine) Reinjected(i int) []policy.Synthetic {
	var out []policy.Synthetic
	for _, a := range e.conv.Boundaries[i].Attached {
		m := &e.conv.Messages[a]
		if m.Class == session.ClassMeta && a == e.conv.Boundaries[i].Summary-1 && e.conv.Messages[a+1].Role == session.Assistant {
			continue // the question that the summary, which is an answer, follows
		}
		s := policy.Synthetic{Role: m.Role.String(), Label: "recorded " + cmp.Or(m.Attachment, m.Class.String()), Attached: true}
		for b := range m.Blocks {
			ref := policy.BlockOf(a, b)
			s.Contents = append(s.Contents, policy.Content{Kind: m.Blocks[b].Kind, Length: m.Blocks[b].Text, Ref: &ref})
		}
		out = append(out, s)
	}
	if n := e.record.Reinject[i]; n > 0 {
		out = append(out, record.Reinjection(n))
	}
	return out
}
