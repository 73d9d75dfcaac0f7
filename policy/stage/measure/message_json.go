package measure

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// JsonLength is the length of JSON.stringify of the messages in view, in UTF-16 units.
type JsonLength struct{ ItemSums }

// Total is the length of the whole list, brackets and commas included.
func (l *JsonLength) Total() int {
	return l.Sum + len("[]") + max(len(l.Items)-1, 0)
}

// Follow updates the length by what changed in the view.
func (l *JsonLength) Follow(v policy.View) {
	l.Of = wholeMessageJSON
	l.ItemSums.Follow(v)
}

// wholeMessageJSON is the length of one message: {"role":…,"content":…}.
func wholeMessageJSON(v policy.View, id policy.ItemID) int {
	n := len(`{"role":"","content":}`) + len(v.Role(id).String())
	blocks := v.Blocks(id)
	tag := v.Tag(id)
	if blocks == 1 && tag == nil { // content that is a string
		t := policy.Target{Item: id}
		switch raw := v.Message(id); {
		case raw == nil:
			return n + ContentJSON(v.Replacement(t))
		case raw.Blocks[0].Kind == jsonl.KindText && raw.Blocks[0].IsString:
			return n + v.Length(t).JSON
		}
	}
	n += len("[]") + max(blocks-1, 0)
	for b := range blocks {
		n += blockJSON(v, policy.BlockOf(id, b))
	}
	if tag != nil {
		n += len(`,{"type":"text","text":}`) + ContentJSON(tag)
	}
	return n
}

// ContentJSON is the length of a text a policy put in, as a JSON string; one that is only a number of tokens counts
// four characters each.
func ContentJSON(c *policy.Content) int {
	if c.Tokens > 0 {
		return 4*c.Tokens + len(`""`)
	}
	return c.Length.JSON
}

// blockJSON is the length of one block. An attachment counts as a text block.
func blockJSON(v policy.View, t policy.Target) int {
	raw := v.Raw(t)
	c := v.Replacement(t)
	if raw == nil {
		return len(`{"type":"text","text":}`) + ContentJSON(c)
	}
	text := raw.Whole().JSON
	if c != nil {
		text = ContentJSON(c)
	}
	switch raw.Kind {
	case jsonl.KindToolResult:
		n := len(`{"type":"tool_result","tool_use_id":"","content":}`) + len(raw.ID)
		if raw.IsError {
			n += len(`,"is_error":true`)
		}
		if c == nil && !raw.IsString && raw.Offload == nil {
			return n + raw.JSON.UTF16
		}
		return n + text
	case jsonl.KindToolUse, jsonl.KindServerToolUse:
		n := len(`{"type":"","id":"","name":"","input":}`) + len(raw.Type) + len(raw.ID) + len(raw.Name)
		if c != nil {
			return n + c.Length.UTF16
		}
		return n + raw.JSON.UTF16
	case jsonl.KindThinking:
		return len(`{"type":"thinking","thinking":,"signature":""}`) + text + raw.Signature
	case jsonl.KindText, jsonl.KindAttachment:
		return len(`{"type":"text","text":}`) + text
	}
	return max(raw.JSON.UTF16, raw.Span.Len)
}
