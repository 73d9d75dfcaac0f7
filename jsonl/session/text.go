package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// UnchangedFile is the beginning of the result of a Read call if the file has not changed since an earlier Read.
const UnchangedFile = "File unchanged since last read"

// unchangedFileLater is the same as Claude Code 2.1.128 and 2.1.139 write it.
const unchangedFileLater = "Wasted call — file unchanged since your last Read"

// IsUnchangedFile reports whether text is a result of a Read call that only says that the file has not changed since an
// earlier Read.
func IsUnchangedFile(text string) bool {
	return strings.HasPrefix(text, UnchangedFile) || strings.HasPrefix(text, unchangedFileLater)
}

// CutLineNumber cuts the line number off a line in a result of Read or of a search tool. Such a line has spaces, the
// number, "→" or a tab, and the text. For a line without a number, ok is false and text is the whole line.
func CutLineNumber[T string | []byte](line T) (n int, text T, ok bool) {
	at := 0
	for at < len(line) && line[at] == ' ' {
		at++
	}
	digits := at
	for ; at < len(line) && line[at] >= '0' && line[at] <= '9'; at++ {
		n = min(n*10+int(line[at]-'0'), maxLineNumber)
	}
	if at > digits {
		for _, mark := range [...]string{"→", "\t"} {
			if len(line)-at >= len(mark) && string(line[at:at+len(mark)]) == mark {
				return n, line[at+len(mark):], true
			}
		}
	}
	return 0, line, false
}

// maxLineNumber is more lines than a file has.
const maxLineNumber = 1 << 30

// blocksOf yields the blocks of a kind with their indexes.
func blocksOf(blocks []Block, kind jsonl.Kind) iter.Seq2[int, *Block] {
	return func(yield func(int, *Block) bool) {
		for b := range blocks {
			if blocks[b].Kind == kind && !yield(b, &blocks[b]) {
				return
			}
		}
	}
}

// toolUse is the place of a tool_use, and its number among the conversation's, from 1.
type toolUse struct{ message, block, number int }

// IndexTools builds the index that ToolName, ToolUse and CallNumber use. Load calls it. If you build a Conversation by
// hand, call IndexTools before these methods, and again after each change of Messages.
func (conv *Conversation) IndexTools() {
	conv.tools = map[string]toolUse{}
	for m := range conv.Messages {
		for b, bl := range blocksOf(conv.Messages[m].Blocks, jsonl.KindToolUse) {
			if _, again := conv.tools[bl.ID]; bl.ID != "" && !again {
				conv.tools[bl.ID] = toolUse{m, b, len(conv.tools) + 1}
			}
		}
	}
}

// ToolName returns the name of the tool that the tool_use block with this id calls, or "".
func (conv *Conversation) ToolName(id string) string {
	if m, b, ok := conv.ToolUse(id); ok {
		return conv.Messages[m].Blocks[b].Name
	}
	return ""
}

// ToolUse returns the place of the tool_use block with this id: the index of its message, and the index of the block in
// the message.
func (conv *Conversation) ToolUse(id string) (message, block int, ok bool) {
	u, ok := conv.tools[id]
	return u.message, u.block, ok
}

// CallNumber returns the number of the tool call that has the same id as bl. Calls are numbered from 1, in order of
// appearance; calls with the same id count once. The result is 0 if there is no such call.
func (conv *Conversation) CallNumber(bl *Block) int { return conv.tools[bl.ID].number }

// Raw reads the JSON value of a block's content from the file: the string of a text block, the content of a
// tool_result, the input of a tool_use.
func (conv *Conversation) Raw(message, block int) ([]byte, error) {
	bl := &conv.Messages[message].Blocks[block]
	return conv.readAgain(bl, bl.Value)
}

// BlockJSON reads the whole JSON object of a block from the file. It returns nil for a placeholder, which the file does
// not contain.
func (conv *Conversation) BlockJSON(message, block int) ([]byte, error) {
	bl := &conv.Messages[message].Blocks[block]
	return conv.readAgain(bl, bl.Span)
}

func (conv *Conversation) readAgain(bl *Block, span jsonl.Span) ([]byte, error) {
	return conv.readWith(func() ([]byte, error) { return conv.Source.ReadSpan(span) }, bl, span)
}

// readWith reads a span of a block's line, nothing where it is empty.
func (conv *Conversation) readWith(read func() ([]byte, error), bl *Block, span jsonl.Span) ([]byte, error) {
	if span.Len == 0 {
		return nil, nil
	}
	raw, err := read()
	if err != nil {
		return nil, &jsonl.FileError{Path: conv.Path, Line: bl.Line, Err: fmt.Errorf("reading a %s block again: %w", bl.Type, err)}
	}
	return raw, nil
}

// WholeText returns the text that a block has in the raw history: for an offloaded tool_result its full text, for other
// blocks the result of Text.
func (conv *Conversation) WholeText(message, block int) (string, error) {
	if conv.Messages[message].Blocks[block].Offload != nil {
		return conv.OffloadText(message, block)
	}
	return conv.Text(message, block)
}

// Text reads the recorded text of a block. This is the text of a text or thinking block, or the text of a tool_result
// (if it has several texts, they are joined by a blank line). For other blocks it is compact JSON, such as the input of
// a tool_use.
func (conv *Conversation) Text(message, block int) (string, error) {
	raw, err := conv.Raw(message, block)
	if err != nil || len(raw) == 0 {
		return "", err
	}
	text, err := conv.text(raw, &conv.Messages[message].Blocks[block])
	return string(text), err
}

// text is the text of a block; it may be a part of raw.
func (conv *Conversation) text(raw []byte, bl *Block) ([]byte, error) {
	switch {
	case raw[0] == '"':
		text, ok := scan.Unquote(raw)
		if !ok {
			return nil, &jsonl.FileError{Path: conv.Path, Line: bl.Line, Err: fmt.Errorf("a %s block is no longer a text: the file has changed since it was loaded", bl.Type)}
		}
		return text, nil
	case bl.Kind == jsonl.KindToolResult && raw[0] == '[':
		return []byte(joinTexts(raw)), nil
	case bl.Kind == jsonl.KindAttachment && bl.Sent.Recorded:
		return []byte(strings.Join(renderedTexts(raw), "\n")), nil
	case bl.Kind == jsonl.KindAttachment:
		return []byte(attachmentText(raw)), nil
	}
	if isCompact(raw) && !hasEscapes(raw) {
		return raw, nil
	}
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return raw, nil
	}
	return plainEscapes(out.Bytes()), nil
}

// BlockReader reads blocks of a conversation into buffers that it reuses. A result is valid until the next call of any
// method. A BlockReader is not safe for concurrent use.
type BlockReader struct {
	conv   *Conversation
	window jsonl.Window
}

// NewBlockReader returns a reader of the conversation's blocks.
func (conv *Conversation) NewBlockReader() *BlockReader { return &BlockReader{conv: conv} }

// Raw is like Conversation.Raw.
func (t *BlockReader) Raw(message, block int) ([]byte, error) {
	bl := &t.conv.Messages[message].Blocks[block]
	return t.conv.readWith(func() ([]byte, error) { return t.window.ReadSpan(t.conv.Source, bl.Value) }, bl, bl.Value)
}

// Text is like Conversation.Text.
func (t *BlockReader) Text(message, block int) ([]byte, error) {
	raw, err := t.Raw(message, block)
	if err != nil {
		return nil, err
	}
	return t.Decode(message, block, raw)
}

// Decode is like BlockReader.Text, but uses raw, which must be the result of BlockReader.Raw for the same block. The
// returned text may share memory with raw.
func (t *BlockReader) Decode(message, block int, raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return t.conv.text(raw, &t.conv.Messages[message].Blocks[block])
}

// WholeText is like Conversation.WholeText.
func (t *BlockReader) WholeText(message, block int) ([]byte, error) {
	if t.conv.Messages[message].Blocks[block].Offload != nil {
		text, err := t.conv.OffloadText(message, block)
		return []byte(text), err
	}
	return t.Text(message, block)
}

// isCompact reports whether no white space is between the tokens of JSON.
func isCompact(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case ' ', '\t', '\r', '\n':
			return false
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		}
	}
	return true
}

// hasEscapes reports whether JSON may have escapes that JSON.stringify does not write.
func hasEscapes(b []byte) bool {
	return bytes.Contains(b, []byte(`\u`)) || bytes.Contains(b, []byte(`\/`))
}

// plainEscapes is JSON with the escapes of JSON.stringify only, as lengths are counted: other writers escape more.
func plainEscapes(b []byte) []byte {
	if !hasEscapes(b) {
		return b
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for len(b) > 0 {
		from := bytes.IndexByte(b, '"')
		if from < 0 {
			break
		}
		to := from + 1
		for b[to] != '"' { // valid JSON: the text ends
			if b[to] == '\\' {
				to++
			}
			to++
		}
		to++
		out.Write(b[:from])
		s, ok := jsonl.Unquote(b[from:to])
		if ok && enc.Encode(s) == nil {
			out.Truncate(out.Len() - 1) // its newline
		} else {
			out.Write(b[from:to])
		}
		b = b[to:]
	}
	out.Write(b)
	return []byte(strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(out.String()))
}

// joinTexts joins the text parts of a content array by a blank line.
func joinTexts(raw []byte) string {
	var parts []any
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	var texts []string
	for _, p := range parts {
		part, _ := p.(map[string]any)
		if text, ok := part["text"].(string); part["type"] == "text" && (ok || part["text"] == nil) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}
