package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Model is the model view as messages: what the client holds and sends. An
// item that is not sent, such as an attachment the client keeps to itself, is
// left out.
func Model(v *view.View) (*Body, error) {
	r := renderer{view: v, conv: v.Conversation(), body: &Body{}}
	for id := range v.Items {
		if err := r.item(id); err != nil {
			return nil, err
		}
	}
	return r.body, nil
}

type renderer struct {
	view *view.View
	conv *session.Conversation
	body *Body
}

// item appends an item to the last message, or as a new one where the role
// changes.
func (r *renderer) item(id policy.ItemID) error {
	var blocks []Block
	for b := range r.view.Blocks(id) {
		block, err := r.block(policy.Target{Item: id, Block: b})
		if err != nil {
			return err
		}
		if block.JSON != nil {
			blocks = append(blocks, block)
		}
	}
	if tag := r.view.Tag(id); tag != nil {
		blocks = tagged(blocks, id, tag.Text)
	}
	blocks = withoutBlanks(blocks)
	if len(blocks) == 0 {
		return nil
	}
	role := r.view.Role(id)
	n := len(r.body.Messages)
	if n == 0 || r.body.Messages[n-1].Role != role {
		r.body.Messages = append(r.body.Messages, Message{Role: role})
		n++
	}
	m := &r.body.Messages[n-1]
	m.Blocks = append(m.Blocks, blocks...)
	return nil
}

// withoutBlanks leaves out texts of white space alone where a message says
// something else too: clients record them between thinking and what follows,
// and the API takes none.
func withoutBlanks(blocks []Block) []Block {
	kept := make([]Block, 0, len(blocks))
	for _, b := range blocks {
		if !blank(&b) {
			kept = append(kept, b)
		}
	}
	if len(kept) == 0 {
		return blocks // a message of nothing else: a finding says so
	}
	return kept
}

func blank(b *Block) bool {
	if b.Type != "text" || len(b.JSON) > maxBlank {
		return false
	}
	var text struct {
		Text string `json:"text"`
	}
	return json.Unmarshal(b.JSON, &text) == nil && strings.TrimSpace(text.Text) == ""
}

// maxBlank is the longest text that is looked at for being blank, as JSON.
const maxBlank = 256

// tagged appends a tag to the last text of a message, or as a text of its own.
func tagged(blocks []Block, id policy.ItemID, tag string) []Block {
	for i := len(blocks) - 1; i >= 0; i-- {
		b := &blocks[i]
		if b.Type != "text" {
			continue
		}
		var was struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(b.JSON, &was) == nil {
			b.JSON = textBlock(was.Text + tag)
			return blocks
		}
	}
	return append(blocks, Block{Source: policy.Target{Item: id, Block: Whole}, Type: "text", JSON: textBlock(tag)})
}

// block renders one block. Its JSON is nil where it is not sent.
func (r *renderer) block(t policy.Target) (Block, error) {
	raw, c := r.view.Raw(t), r.view.Replacement(t)
	if raw == nil {
		return r.content(t, c)
	}
	b := Block{Source: t, Type: raw.Type}
	if raw.Kind == jsonl.KindToolResult || raw.Kind == jsonl.KindToolUse || raw.Kind == jsonl.KindServerToolUse {
		b.ToolUse = raw.ID
	}
	if c == nil && !raw.ReadBack() || c != nil && c.Ref != nil && *c.Ref == t && (c.Stub || !raw.ReadBack()) {
		return b, r.recorded(&b)
	}
	text, err := r.view.Text(t)
	if err != nil {
		return b, err
	}
	if text == "" && c != nil && c.Tokens > 0 {
		text = fmt.Sprintf("[a stand-in of %d tokens]", c.Tokens)
	}
	return b, r.replaced(&b, text)
}

// recorded renders a block as it stands in the file.
func (r *renderer) recorded(b *Block) error {
	t := b.Source
	raw := r.view.Raw(t)
	switch {
	case raw.Kind == jsonl.KindAttachment:
		return r.attachment(b)
	case raw.Span.Len == 0 && raw.Kind == jsonl.KindToolResult:
		b.JSON = appendValue(nil, toolResult{"tool_result", raw.ID, lostText})
		return nil
	case raw.Span.Len == 0:
		b.JSON = textBlock(earlierText)
		return nil
	}
	js, err := r.conv.BlockJSON(int(t.Item), t.Block)
	if err != nil {
		return err
	}
	b.JSON = js
	switch {
	case len(js) > 0 && js[0] == '"': // the content was a bare string
		b.Type, b.JSON = "text", append(append([]byte(`{"type":"text","text":`), js...), '}')
	case len(js) == 0 || js[0] != '{':
		b.Type, b.JSON = "text", textBlock(string(js))
	}
	return nil
}

// The words that stand for what is in no line of the file.
const (
	lostText    = "[lost: the result of this call is in no line of the session]"
	earlierText = "[earlier: what was said before the session's first line is in no line of it]"
)

type toolResult struct {
	Type      string `json:"type"`
	ToolUseID string `json:"tool_use_id"`
	Content   string `json:"content"`
}

// attachment renders what the client sends as a reminder.
func (r *renderer) attachment(b *Block) error {
	b.Type = "text"
	text, err := r.reminder(b.Source)
	if err == nil && text != "" {
		b.JSON = textBlock(text)
	}
	return err
}

// reminder is the recorded text of an attachment, or where the client writes
// words of its own and records none, its name. What it keeps to itself is "".
func (r *renderer) reminder(t policy.Target) (string, error) {
	raw := r.view.Raw(t)
	if raw.Text.UTF16 == 0 {
		return "", nil
	}
	text, err := r.conv.Text(int(t.Item), t.Block)
	if text == "" {
		text = fmt.Sprintf("[%s: the client's words are in no line of the session]", raw.Type)
	}
	return text, err
}

// replaced renders a block whose content is another text than the recorded
// one: all else of it stays.
func (r *renderer) replaced(b *Block, text string) error {
	raw := r.view.Raw(b.Source)
	whole := raw.Value == raw.Span
	switch {
	case raw.Kind == jsonl.KindToolResult && raw.Span.Len == 0:
		b.JSON = appendValue(nil, toolResult{"tool_result", raw.ID, text})
		return nil
	case raw.Kind == jsonl.KindAttachment || raw.Span.Len == 0 || whole:
		b.Type, b.JSON = "text", textBlock(text)
		return nil
	}
	js, err := r.conv.BlockJSON(int(b.Source.Item), b.Source.Block)
	if err != nil {
		return err
	}
	value := appendString(nil, text)
	if raw.Kind == jsonl.KindToolUse || raw.Kind == jsonl.KindServerToolUse {
		value = []byte(text) // the JSON of an input
		if !json.Valid(value) {
			value = []byte("{}")
		}
	}
	b.JSON = splice(js, raw, value)
	return nil
}

// splice puts another value in the place of the one a block's lengths measure.
func splice(js []byte, raw *session.Block, value []byte) []byte {
	out := make([]byte, 0, len(js)+len(value)+16)
	if raw.Value.Len == 0 { // the member is not there
		out = append(out, bytes.TrimRight(js[:len(js)-1], " \t\r\n")...)
		name := map[jsonl.Kind]string{jsonl.KindToolResult: "content", jsonl.KindToolUse: "input", jsonl.KindServerToolUse: "input", jsonl.KindThinking: "thinking", jsonl.KindRedactedThinking: "data"}[raw.Kind]
		if name == "" {
			name = "text"
		}
		out = append(out, `,"`+name+`":`...)
		return append(append(out, value...), '}')
	}
	at := int(raw.Value.Off - raw.Span.Off)
	out = append(out, js[:at]...)
	out = append(out, value...)
	return append(out, js[at+raw.Value.Len:]...)
}

// content renders a block of a message that a policy made.
func (r *renderer) content(t policy.Target, c *policy.Content) (Block, error) {
	b := Block{Source: t, Type: "text"}
	var text string
	var err error
	kind := jsonl.KindText
	if c.Ref != nil {
		kind = r.view.Raw(*c.Ref).Kind
	}
	switch kind {
	case jsonl.KindImage, jsonl.KindDocument:
		b.Type = r.view.Raw(*c.Ref).Type
		b.JSON, err = r.conv.BlockJSON(int(c.Ref.Item), c.Ref.Block)
		return b, err
	case jsonl.KindAttachment:
		if text, err = r.reminder(*c.Ref); text == "" {
			return b, err
		}
	default:
		if text, err = r.view.Text(t); text == "" && c.Tokens > 0 {
			text = fmt.Sprintf("[%s: a stand-in of %d tokens]", r.view.Synthetic(t.Item).Label, c.Tokens)
		}
	}
	b.JSON = textBlock(text)
	return b, err
}

func textBlock(text string) []byte {
	dst := append([]byte(nil), `{"type":"text","text":`...)
	return append(appendString(dst, text), '}')
}
