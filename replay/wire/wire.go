// Package wire turns the view that a policy leaves at one request into a body for the Messages API. The function Model
// returns the body with the messages only; RequestBody also has cache breakpoints and the context edits that the server
// is asked to make. The function Session returns a view in the form of a session file, which Claude Code can resume. The terms are
// those of package policy.
//
// Blocks have their recorded bytes unless an edit replaced them. No session file holds the session's system prompt or
// its tool definitions. A Body therefore has no tools. It has a System only where it is the body of an own request of
// the policy, such as for a summary, and the system prompt of that request is known.
package wire

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Body is a request body for the Messages API, without tools.
type Body struct {
	Model     string // "": left out
	MaxTokens int    // 0: left out
	System    string // system prompt; "": left out
	Automatic bool   // cache_control of the whole body: the server itself puts the cache breakpoint on the last block
	TTL       string // TTL of that cache breakpoint; "": the server's default
	Edits     []any  // elements of context_management.edits
	Messages  []BodyMessage
}

// BodyMessage is one message of the API. Neighbouring messages with the same role are merged, unless one of them
// carries a cache edit that deletes a block of the other.
type BodyMessage struct {
	Role   session.Role
	Blocks []BodyBlock
}

// Whole is the value of BodyBlock.Source.Block for a block that this package or an edit of the policy added to an item.
// Such a block has no index in its item.
const Whole = -1

// BodyBlock is one content block.
type BodyBlock struct {
	Source         policy.Target // the item and the index of the block in it; for a block that this package or an edit added, the index is Whole
	Type           string        // type in the API: "text", "tool_result" …
	ToolUse        string        // for tool_use and tool_result: the id of the call
	JSON           []byte        // the block as sent, but without cache_control and cache_reference
	CacheControl   *CacheControl // cache breakpoint after this block; nil: none
	CacheReference bool          // the block is sent with a cache_reference, with which a cache edit can name it
}

// CacheControl is the cache_control of a block, which makes the block a cache breakpoint.
type CacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

// Append appends the block's JSON to dst, with CacheControl and CacheReference.
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

// Append appends the message's JSON to dst.
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

// Drop removes the blocks whose Source is in list, and the messages that then have no blocks.
func (b *Body) Drop(list []policy.Target) {
	for i := range b.Messages {
		b.Messages[i].Blocks = slices.DeleteFunc(b.Messages[i].Blocks, func(block BodyBlock) bool { return slices.Contains(list, block.Source) })
	}
	b.Messages = slices.DeleteFunc(b.Messages, func(m BodyMessage) bool { return len(m.Blocks) == 0 })
}

// Append appends the body's JSON to dst, with each message on a line of its own. It returns an error if Edits cannot be
// encoded.
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
