package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
)

// UnchangedFile opens the result of a Read that shows nothing, because an earlier
// one is still good.
const UnchangedFile = "File unchanged since last read"

type toolUse struct{ message, block int32 }

// IndexTools notes where each tool_use stands. Loading does it; a conversation
// put together by hand needs it before ToolName and ToolUse know anything.
func (conv *Conversation) IndexTools() {
	conv.tools = map[string]toolUse{}
	for m := range conv.Messages {
		for b := range conv.Messages[m].Blocks {
			if bl := &conv.Messages[m].Blocks[b]; bl.Kind == jsonl.KindToolUse && bl.ID != "" {
				if _, dup := conv.tools[bl.ID]; !dup {
					conv.tools[bl.ID] = toolUse{int32(m), int32(b)}
				}
			}
		}
	}
}

// ToolName is the name of the tool a tool_use id called, or "".
func (conv *Conversation) ToolName(id string) string {
	if u, ok := conv.tools[id]; ok {
		return conv.Messages[u.message].Blocks[u.block].Name
	}
	return ""
}

// ToolUse is where a tool_use stands: message and block index.
func (conv *Conversation) ToolUse(id string) (message, block int, ok bool) {
	u, ok := conv.tools[id]
	return int(u.message), int(u.block), ok
}

// Raw fetches the JSON value a block's lengths measure: a string literal, the
// content array of a tool_result, the input of a tool_use.
func (conv *Conversation) Raw(message, block int) ([]byte, error) {
	bl := &conv.Messages[message].Blocks[block]
	if bl.Value.Len == 0 {
		return nil, nil
	}
	raw, err := conv.Sources[bl.File].ReadSpan(bl.Value)
	if err != nil {
		return nil, &jsonl.FileError{Path: conv.Path, Line: int(bl.Line), Err: fmt.Errorf("reading a %s block again: %w", bl.Type, err)}
	}
	return raw, nil
}

// BlockJSON fetches a block as it was recorded: its own JSON value, every
// member of it. A block that stands on no line has none.
func (conv *Conversation) BlockJSON(message, block int) ([]byte, error) {
	bl := &conv.Messages[message].Blocks[block]
	if bl.Span.Len == 0 {
		return nil, nil
	}
	raw, err := conv.Sources[bl.File].ReadSpan(bl.Span)
	if err != nil {
		return nil, &jsonl.FileError{Path: conv.Path, Line: int(bl.Line), Err: fmt.Errorf("reading a %s block again: %w", bl.Type, err)}
	}
	return raw, nil
}

// WholeText is the text of a block as raw history has it: of a tool_result
// that was offloaded and is read back, that of the file; else Text.
func (conv *Conversation) WholeText(message, block int) (string, error) {
	if conv.Messages[message].Blocks[block].Offload != nil {
		return conv.OffloadText(message, block)
	}
	return conv.Text(message, block)
}

// Text fetches the recorded text of a block: of a text or thinking block, of a
// tool_result (texts of an array joined by a blank line), the compact JSON of
// a tool_use's input or of anything else.
func (conv *Conversation) Text(message, block int) (string, error) {
	raw, err := conv.Raw(message, block)
	if err != nil || len(raw) == 0 {
		return "", err
	}
	bl := &conv.Messages[message].Blocks[block]
	switch {
	case raw[0] == '"':
		s, ok := jsonl.Unquote(raw)
		if !ok {
			return "", &jsonl.FileError{Path: conv.Path, Line: int(bl.Line), Err: fmt.Errorf("a %s block does not read as text any more: did the file change?", bl.Type)}
		}
		return s, nil
	case bl.Kind == jsonl.KindToolResult && raw[0] == '[':
		return joinTexts(raw), nil
	case bl.Kind == jsonl.KindAttachment:
		return attachmentText(raw), nil
	}
	var buf bytes.Buffer
	if json.Compact(&buf, raw) != nil {
		return string(raw), nil
	}
	return buf.String(), nil
}

// joinTexts joins the text parts of a content array by a blank line.
func joinTexts(raw []byte) string {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	var texts []string
	for _, p := range parts {
		var t struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if json.Unmarshal(p, &t) == nil && t.Type == "text" {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// spanIn is where part, a piece of whole, first stands in it, or -1.
func spanIn(whole, part []byte) int {
	if len(part) == 0 {
		return -1
	}
	return bytes.Index(whole, part)
}
