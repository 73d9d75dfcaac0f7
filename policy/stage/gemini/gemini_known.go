package gemini

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// size is the size of texts: quarters of a token, and characters beyond ASCII.
type size struct{ quarters, others int }

func (s *size) add(o size) {
	s.quarters += o.quarters
	s.others += o.others
}

// tokens is a size in tokens.
func (e estimate) tokens(s size) float64 {
	return e.ascii(s.quarters) + e.other*float64(s.others)
}

// measured is about the size of a text by its lengths: other characters are taken to have three bytes.
func measured(l jsonl.Metrics) size {
	others := min((l.Bytes-l.UTF16+1)/2, l.UTF16)
	if l.UTF16 > geminiFullText {
		others = 0
	}
	return size{l.UTF16 - others, others}
}

// textSize is about the size of a text that a stage puts in.
func textSize(c *policy.Content) size {
	if c.Tokens > 0 {
		return size{quarters: 4 * c.Tokens}
	}
	return measured(c.Length)
}

// size is about the source's estimate of an item.
func (e estimate) size(g measure.GenAI, id policy.ItemID) (sum size) {
	v := g.View
	for t := range policy.Targets(v, id) {
		raw := v.Raw(t)
		c := v.Replacement(t)
		switch kind := v.Kind(t); {
		case c != nil && c.Tokens > 0:
			sum.add(textSize(c))
		case kind == jsonl.KindThinking || kind == jsonl.KindRedactedThinking:
		case kind == jsonl.KindImage:
			sum.quarters += 4 * geminiImage
		case raw != nil && kind == jsonl.KindToolResult && !e.points:
			sum.quarters += responseSize(g, t)
		case raw != nil && (kind == jsonl.KindToolResult || kind == jsonl.KindToolUse):
			sum.quarters += g.Part(t)
		default:
			sum.add(measured(v.Length(t)))
		}
	}
	return sum
}

// responseSize is the size of a functionResponse, in quarters of a token.
func responseSize(g measure.GenAI, t policy.Target) int {
	return len(g.View.Conversation().ToolName(g.View.Raw(t).ID)) + g.Response(t)
}
