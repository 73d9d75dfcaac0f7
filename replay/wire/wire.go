// Package wire turns the conversation that a policy leaves at one request into a body for the Messages API: Model gives
// the messages, Payload adds cache marks and edits for the API. It also writes a view as a session file, from which the
// client goes on.
//
// Blocks have their recorded bytes unless an edit replaced them. No transcript holds the system prompt and the tool
// definitions, so no body has them.
package wire

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Body is a request body without the system prompt and the tools.
type Body struct {
	Model     string // "" leaves it out
	MaxTokens int    // 0 leaves it out
	System    string // "" leaves it out
	Automatic bool   // cache_control of the whole body: the server marks the last block itself
	TTL       string // of Automatic; "" is the server's default
	Edits     []any  // context_management.edits, as the API takes them
	Messages  []BodyMessage
}

// BodyMessage is one message of the API. Adjacent messages of one role are merged, unless one carries an edit of the
// other.
type BodyMessage struct {
	Role   session.Role
	Blocks []BodyBlock
}

// Whole is the index in Source.Block of a block that is no block of its item.
const Whole = -1

// BodyBlock is one content block.
type BodyBlock struct {
	Source         policy.Target // the item and the block it shows; Block is Whole for what the payload or an edit added
	Type           string        // as the API names it: "text", "tool_result" …
	ToolUse        string        // tool_use and tool_result: the id of the call
	JSON           []byte        // as sent, without the two marks below
	CacheControl   *CacheControl // the prefix up to and with this block is cached; nil: no breakpoint
	CacheReference bool          // the block can be named by a cache edit
}

// CacheControl is a breakpoint of the prompt cache.
type CacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

// Append appends the block's JSON, marks included.
func (b *BodyBlock) Append(dst []byte) []byte {
	if b.CacheControl == nil && !b.CacheReference {
		return append(dst, b.JSON...)
	}
	dst = append(dst, bytes.TrimRight(b.JSON[:len(b.JSON)-1], " \t\r\n")...)
	if b.CacheReference {
		dst = appendValue(append(dst, `,"cache_reference":`...), b.ToolUse)
	}
	if b.CacheControl != nil {
		dst = appendValue(append(dst, `,"cache_control":`...), b.CacheControl)
	}
	return append(dst, '}')
}

// Append appends the message's JSON.
func (m *BodyMessage) Append(dst []byte) []byte {
	dst = append(dst, `{"role":"`+m.Role.String()+`","content":[`...)
	for i := range m.Blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = m.Blocks[i].Append(dst)
	}
	return append(dst, `]}`...)
}

// Drop leaves blocks out, and messages of which nothing is left.
func (b *Body) Drop(list []policy.Target) {
	for i := range b.Messages {
		b.Messages[i].Blocks = slices.DeleteFunc(b.Messages[i].Blocks, func(block BodyBlock) bool { return slices.Contains(list, block.Source) })
	}
	b.Messages = slices.DeleteFunc(b.Messages, func(m BodyMessage) bool { return len(m.Blocks) == 0 })
}

// Append appends the body's JSON, with one message per line.
func (b *Body) Append(dst []byte) ([]byte, error) {
	dst = append(dst, "{\n"...)
	member := func(name string, value any) {
		dst = append(appendValue(append(dst, `"`+name+`":`...), value), ",\n"...)
	}
	if b.Model != "" {
		member("model", b.Model)
	}
	if b.MaxTokens > 0 {
		member("max_tokens", b.MaxTokens)
	}
	if b.System != "" {
		member("system", b.System)
	}
	if b.Automatic {
		member("cache_control", CacheControl{"ephemeral", b.TTL})
	}
	if len(b.Edits) > 0 {
		edits, err := json.Marshal(b.Edits)
		if err != nil {
			return nil, err
		}
		member("context_management", map[string]json.RawMessage{"edits": edits})
	}
	dst = append(dst, `"messages":[`...)
	for i := range b.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '\n')
		dst = b.Messages[i].Append(dst)
	}
	return append(dst, "\n]}\n"...), nil
}

// appendValue appends the JSON of a value. The value must have one.
func appendValue(dst []byte, v any) []byte {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
