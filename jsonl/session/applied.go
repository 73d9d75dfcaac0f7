package session

import (
	"encoding/json"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Applied says what the API left out of a request by context editing. The response to the request reports it.
type Applied struct {
	ToolUses, ToolTokens  int // calls whose results were left out, and the tokens of these results
	Turns, ThinkingTokens int // turns whose thinking was left out, and the tokens of this thinking
}

// applied reads what a line says of it.
func (ld *loader) applied(e *jsonl.Entry) (a Applied) {
	var list struct {
		Edits []struct {
			Type     string
			ToolUses int `json:"cleared_tool_uses"`
			Turns    int `json:"cleared_thinking_turns"`
			Tokens   int `json:"cleared_input_tokens"`
		} `json:"applied_edits"`
	}
	raw := e.Message.ContextManagement
	if len(raw) == 0 {
		return a
	}
	if json.Unmarshal(raw, &list) != nil {
		ld.warn(CodeMetadata, e.Line, "context_management is partly unreadable: the readable part is used")
	}
	for _, edit := range list.Edits {
		switch least, most := min(edit.ToolUses, edit.Turns, edit.Tokens), max(edit.ToolUses, edit.Turns, edit.Tokens); {
		case least < 0 || most > jsonl.MaxUsage:
			ld.warn(CodeMetadata, e.Line, "context_management has an edit by the API of %d tokens: it is not used", edit.Tokens)
		case strings.HasPrefix(edit.Type, "clear_tool_uses_"):
			a.ToolUses = edit.ToolUses
			a.ToolTokens = edit.Tokens
		case strings.HasPrefix(edit.Type, "clear_thinking_"):
			a.Turns = edit.Turns
			a.ThinkingTokens = edit.Tokens
		case !ld.oddKinds[edit.Type]:
			ld.oddKinds[edit.Type] = true
			ld.warn(CodeMetadata, e.Line, "the API made an edit of the context of type %.40s, which is not known: it is not used", edit.Type)
		}
	}
	return a
}

// maxReason is the longest reason of a cache miss that is used, in bytes.
const maxReason = 64

// cacheMiss reads the reason of a cache miss that a line has.
func (ld *loader) cacheMiss(e *jsonl.Entry) string {
	var d struct {
		Reason struct{ Type string } `json:"cache_miss_reason"`
	}
	raw := e.Message.Diagnostics
	if len(raw) > 0 && json.Unmarshal(raw, &d) != nil || len(d.Reason.Type) > maxReason {
		ld.warn(CodeMetadata, e.Line, "diagnostics has a cache_miss_reason that is unreadable: it is not used")
		return ""
	}
	return d.Reason.Type
}

// Compaction returns the index of the block in which the API itself summarized everything before this response; of
// several such blocks, the last. alone is true if the response has no other block. ok is false if there is no such
// block, or if the API failed to summarize.
func (m *Message) Compaction() (block int, alone, ok bool) {
	if !m.requested() {
		return 0, false, false
	}
	alone = true
	for b := range m.Blocks {
		bl := &m.Blocks[b]
		switch {
		case bl.Type != jsonl.TypeCompaction:
			alone = false
		case bl.Text.UTF16 > 0:
			block = b
			ok = true
		}
	}
	return block, alone, ok
}
