package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Model returns the model view as the messages of a body. It leaves out items that are not sent, such as an attachment
// that only the client uses. It returns an error if the session's file cannot be read.
func Model(v *view.View) (*Body, error) {
	r := renderer{View: v, conv: v.Conversation(), body: &Body{}}
	messages := r.messages()
	if repeated := repeatedUpTo(v); repeated > 0 {
		messages = &repeating{framer: messages, upTo: repeated}
	}
	for id := range v.Items {
		blocks, err := r.blocks(id)
		if err != nil {
			return nil, err
		}
		if len(blocks) > 0 {
			messages.add(id, v.Role(id), blocks)
		}
	}
	messages.flush()
	return r.body, nil
}

// Item returns the blocks that an item has in the model view; none if the item is not sent. It returns an error if the
// session's file cannot be read.
func Item(v *view.View, id policy.ItemID) ([]BodyBlock, error) {
	r := renderer{View: v, conv: v.Conversation()}
	return r.blocks(id)
}

type renderer struct {
	*view.View
	conv  *session.Conversation
	body  *Body
	shown bool // what the model is shown: with what a policy has the server clear
}

// messages makes the messages of a body, as the client that recorded the session does.
func (r *renderer) messages() framer {
	if r.conv.Product == session.Product {
		return newClaudeFrame(r)
	}
	return plainFrame{r}
}

// framer makes messages of what is added to it, all of it once flush is called.
type framer interface {
	add(id policy.ItemID, role session.Role, blocks []BodyBlock)
	flush()
}

// plainFrame makes one message of adjacent content of one role.
type plainFrame struct{ *renderer }

func (f plainFrame) add(_ policy.ItemID, role session.Role, blocks []BodyBlock) { f.say(role, blocks) }
func (f plainFrame) flush()                                                     {}

// repeatedUpTo is the first message whose results are not sent a second time, by a client that was resumed; 0: none are.
func repeatedUpTo(v *view.View) (upTo policy.ItemID) {
	for _, s := range v.Conversation().Restarts {
		if s.Repeats && s.Before <= v.Joined() {
			upTo = policy.ItemID(s.Before)
		}
	}
	return upTo
}

// repeating sends the results before a message twice: those of a response, then all of them again.
type repeating struct {
	framer
	upTo    policy.ItemID
	results []BodyBlock // of the last response
	last    policy.ItemID
}

func (f *repeating) add(id policy.ItemID, role session.Role, blocks []BodyBlock) {
	if id >= 0 && id < f.upTo && isResult(blocks[0]) {
		f.results = append(f.results, blocks...)
		f.last = id
	} else {
		f.again()
	}
	f.framer.add(id, role, blocks)
}

func (f *repeating) flush() {
	f.again()
	f.framer.flush()
}

func (f *repeating) again() {
	if len(f.results) > 0 {
		f.framer.add(f.last, session.User, f.results)
		f.results = nil
	}
}

// blocks renders an item.
func (r *renderer) blocks(id policy.ItemID) (blocks []BodyBlock, err error) {
	for t := range policy.Targets(r.View, id) {
		if r.isReminder(t) {
			sent, err := r.reminders(t)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, sent...)
			continue
		}
		block, err := r.block(t)
		if err != nil {
			return nil, err
		}
		if block.JSON != nil {
			blocks = append(blocks, block)
		}
	}
	if tag := r.Tag(id); tag != nil {
		blocks = tagged(blocks, id, tag.Text)
	}
	return withoutBlanks(blocks), nil
}

// say appends blocks to the last message, or as a new one where the role changes.
func (r *renderer) say(role session.Role, blocks []BodyBlock) {
	n := len(r.body.Messages)
	if n == 0 || r.body.Messages[n-1].Role != role {
		r.body.Messages = append(r.body.Messages, BodyMessage{Role: role})
		n++
	}
	m := &r.body.Messages[n-1]
	m.Blocks = append(m.Blocks, blocks...)
}

// maxBlank is the length of the longest text block, in bytes of JSON, that can be blank.
const maxBlank = 256

// withoutBlanks leaves out texts of white space alone, unless the message has nothing else: clients record them
// between thinking and what follows, and the API refuses them.
func withoutBlanks(blocks []BodyBlock) []BodyBlock {
	kept := slices.DeleteFunc(slices.Clone(blocks), func(b BodyBlock) bool {
		if len(b.JSON) > maxBlank {
			return false
		}
		text, ok := b.text()
		return ok && strings.TrimSpace(text) == ""
	})
	if len(kept) == 0 {
		return blocks // a finding reports this message
	}
	return kept
}

// text returns the text of a text block.
func (b *BodyBlock) text() (text string, ok bool) {
	var block struct {
		Text string `json:"text"`
	}
	if b.Type != "text" || json.Unmarshal(b.JSON, &block) != nil {
		return "", false
	}
	return block.Text, true
}

// tagged appends a tag to the last text of a message, or as a separate text.
func tagged(blocks []BodyBlock, id policy.ItemID, tag string) []BodyBlock {
	for i := len(blocks) - 1; i >= 0; i-- {
		if text, ok := blocks[i].text(); ok {
			blocks[i].JSON = textBlock(text + tag)
			return blocks
		}
	}
	return append(blocks, BodyBlock{Source: policy.BlockOf(id, Whole), Type: "text", JSON: textBlock(tag)})
}

// block renders one block. Its JSON is nil if it is not sent.
func (r *renderer) block(t policy.Target) (BodyBlock, error) {
	raw := r.Raw(t)
	c := r.Replacement(t)
	if raw == nil {
		return r.content(t, c)
	}
	if with, on := r.PolicyReplacement(t); r.shown && on {
		if c = with; c == nil {
			c = &policy.Content{Gone: true}
		}
		if c.Gone && raw.Kind == jsonl.KindToolResult && r.CacheEdited(t) { // its call stays, which needs a result
			return BodyBlock{Source: t, Type: raw.Type, ToolUse: raw.ID, JSON: resultBlock(raw.ID, clearedText)}, nil
		}
	}
	if c != nil && c.Gone {
		return BodyBlock{}, nil
	}
	b := BodyBlock{Source: t, Type: raw.Type}
	switch raw.Kind {
	case jsonl.KindToolResult, jsonl.KindToolUse, jsonl.KindServerToolUse:
		b.ToolUse = raw.ID
	}
	if c == nil && raw.Offload == nil || c != nil && c.Ref != nil && *c.Ref == t && (c.Stub || raw.Offload == nil) {
		return b, r.recorded(&b, raw)
	}
	text, err := r.TextOf(t, c)
	if err != nil {
		return b, err
	}
	if text == "" && c != nil && c.Tokens > 0 {
		text = fmt.Sprintf("[a placeholder of %d tokens]", c.Tokens)
	}
	return b, r.replaced(&b, raw, text)
}

// Texts of blocks that no line of the file holds, or that the server deletes.
const (
	lostText    = "[lost: the result of this call is in no line of the session]"
	clearedText = "[cleared: the server deletes the result of this call]"
	earlierText = "[earlier: what was said before the session's first line is in no line of it]"
)

// recorded renders a block as the file has it.
func (r *renderer) recorded(b *BodyBlock, raw *session.Block) error {
	switch {
	case raw.Kind == jsonl.KindAttachment:
		text, err := r.reminder(b.Source)
		b.Type = "text"
		if err == nil && text != "" {
			b.JSON = textBlock(text)
		}
		return err
	case raw.Span.Len == 0 && raw.Kind == jsonl.KindToolResult:
		b.JSON = resultBlock(raw.ID, lostText)
		return nil
	case raw.Span.Len == 0:
		b.JSON = textBlock(earlierText)
		return nil
	}
	js, err := r.conv.BlockJSON(int(b.Source.Item), b.Source.Block)
	switch {
	case err != nil:
		return err
	case len(js) > 0 && js[0] == '"': // the content was a bare string
		b.Type, b.JSON = "text", slices.Concat([]byte(`{"type":"text","text":`), js, []byte("}"))
	case len(js) == 0 || js[0] != '{':
		b.Type, b.JSON = "text", textBlock(string(js))
	default:
		b.JSON = js
	}
	return nil
}

// reminder returns the recorded text of an attachment. If the client sends a text that it does not record, it returns
// the name; for an attachment that is not sent, "".
func (r *renderer) reminder(t policy.Target) (string, error) {
	raw := r.Raw(t)
	if raw.Text.UTF16 == 0 {
		return "", nil
	}
	text, err := r.conv.Text(int(t.Item), t.Block)
	if text == "" {
		text = fmt.Sprintf("[%s: the client's words are in no line of the session]", raw.Type)
	}
	return text, err
}

// replaced renders a block with another text in the place of the recorded one.
func (r *renderer) replaced(b *BodyBlock, raw *session.Block, text string) error {
	switch {
	case raw.Kind == jsonl.KindToolResult && raw.Span.Len == 0:
		b.JSON = resultBlock(raw.ID, text)
		return nil
	case raw.Kind == jsonl.KindAttachment || raw.Span.Len == 0 || raw.Value == raw.Span:
		b.Type, b.JSON = "text", textBlock(text)
		return nil
	}
	js, err := r.conv.BlockJSON(int(b.Source.Item), b.Source.Block)
	if err != nil {
		return err
	}
	value := appendValue(nil, text)
	if raw.Kind == jsonl.KindToolUse || raw.Kind == jsonl.KindServerToolUse {
		value = []byte(text) // the JSON of an input
		if !json.Valid(value) {
			value = []byte("{}")
		}
	}
	b.JSON = splice(js, raw, value)
	return nil
}

// valueNames are the members of blocks that hold their text; "text" if not listed.
var valueNames = map[jsonl.Kind]string{
	jsonl.KindToolResult: "content", jsonl.KindToolUse: "input", jsonl.KindServerToolUse: "input",
	jsonl.KindThinking: "thinking", jsonl.KindRedactedThinking: "data",
}

// splice replaces the value that a block's lengths measure, or adds it.
func splice(js []byte, raw *session.Block, value []byte) []byte {
	if raw.Value.Len == 0 { // the member is missing
		name := cmp.Or(valueNames[raw.Kind], "text")
		js = bytes.TrimRight(js[:len(js)-1], " \t\r\n")
		return slices.Concat(js, []byte(`,"`+name+`":`), value, []byte("}"))
	}
	at := int(raw.Value.Off - raw.Span.Off)
	return slices.Concat(js[:at], value, js[at+raw.Value.Len:])
}

// content renders a block of a message that a policy made.
func (r *renderer) content(t policy.Target, c *policy.Content) (b BodyBlock, err error) {
	b = BodyBlock{Source: t, Type: "text"}
	kind := jsonl.KindText
	if c.Ref != nil {
		kind = r.Raw(*c.Ref).Kind
	}
	text := ""
	switch kind {
	case jsonl.KindImage, jsonl.KindDocument:
		b.Type = r.Raw(*c.Ref).Type
		b.JSON, err = r.conv.BlockJSON(int(c.Ref.Item), c.Ref.Block)
		return b, err
	case jsonl.KindAttachment:
		if text, err = r.reminder(*c.Ref); text == "" {
			return b, err
		}
	default:
		if text, err = r.Text(t); text == "" && c.Tokens > 0 {
			made := r.Synthetic(t.Item)
			if text = fmt.Sprintf("[%s: a placeholder of %d tokens]", made.Label, c.Tokens); made.Attached {
				text = fmt.Sprintf("[placeholder for %s: %d tokens, on no line of the session]", made.Label, c.Tokens)
			}
		}
	}
	b.JSON = textBlock(text)
	return b, err
}

func textBlock(text string) []byte {
	return append(appendValue([]byte(`{"type":"text","text":`), text), '}')
}

func resultBlock(id, text string) []byte {
	return appendValue(nil, struct {
		Type      string `json:"type"`
		ToolUseID string `json:"tool_use_id"`
		Content   string `json:"content"`
	}{"tool_result", id, text})
}
