package openclaw

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// openclawImage is how many characters an image counts.
const openclawImage = 8000

// imageRemoved replaces an image of a result that is trimmed.
const imageRemoved = "[image removed during context pruning]"

// openclawChars is the number of characters of an item: of its texts, its thinking with signatures and the JSON of
// its calls' inputs, and 8,000 for each image.
func openclawChars(v policy.View, id policy.ItemID) int {
	n := 0
	for t := range policy.Targets(v, id) {
		raw := v.Raw(t)
		c := v.Replacement(t)
		switch kind := v.Kind(t); {
		case kind == jsonl.KindToolResult && raw != nil:
			n += resultChars(v, t)
		case kind == jsonl.KindImage:
			n += openclawImage
		case c != nil && c.Tokens > 0:
			n += 4 * c.Tokens
		case kind == jsonl.KindToolUse && c == nil:
			n += raw.JSON.UTF16
		case kind == jsonl.KindThinking && raw != nil:
			n += v.Length(t).UTF16 + raw.Signature
		default:
			n += v.Length(t).UTF16
		}
	}
	return n
}

func resultChars(v policy.View, t policy.Target) int {
	if c := v.Replacement(t); c != nil && c.Tokens > 0 {
		return 4 * c.Tokens
	}
	return v.Length(t).UTF16 + openclawImage*measure.Images(v, t)
}

// trim is what is left of a result that is too long: a beginning, an end and a note. Images become text, also in a
// result that is not too long. Nil means that the result stays as it is.
func (s *cacheTTLPrune) trim(c *policy.Context, t policy.Target) (*policy.Content, error) {
	v := c.View
	pictures := measure.Images(v, t) > 0
	length := joinedChars(v, t)
	short := length <= s.SoftMaxChars || s.SoftHeadChars+s.SoftTailChars >= length
	if short && !pictures {
		return nil, nil
	}
	text, err := c.Texts.Text(t)
	if err != nil {
		return nil, fmt.Errorf("reading a tool result: %w", err)
	}
	joined := measure.JoinParts(v, t, text, imageRemoved)
	if !short {
		joined = measure.FirstUnits(joined, s.SoftHeadChars) + "\n...\n" + measure.LastUnits(joined, s.SoftTailChars) +
			fmt.Sprintf("\n\n[Tool result trimmed: kept first %d chars and last %d chars of %d chars.]", s.SoftHeadChars, s.SoftTailChars, length)
	}
	content := policy.NewContent(jsonl.KindToolResult, joined)
	content.Partial = true
	return &content, nil
}

// joinedChars is the length of measure.JoinParts, in UTF-16 units.
func joinedChars(v policy.View, t policy.Target) int {
	return v.Length(t).UTF16 + len(imageRemoved)*measure.Images(v, t) + max(len(measure.ResultParts(v, t))-1, 0)
}
