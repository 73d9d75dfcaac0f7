package session

import (
	"math"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Block is a jsonl.ContentBlock with its place in a conversation, in less than half of its memory. Lengths are always
// known; the text is read from the file on demand (Conversation.Text).
type Block struct {
	call      *call // its id and name; nil: it has neither
	more      *more // what few blocks have; nil: none of it
	off       int64 // of the span
	length    int32
	value     int32 // of the value, from off
	valueLen  int32 // of the value; -1: there is none
	utf16     int32 // of the text
	bytes     int32
	json      int32
	jsonUTF16 int32 // of the JSON
	jsonBytes int32
	signature int32 // its length; of a tool_use the number of the file that it reads, 0: not known

	Line      int32 // 1-based line of the block
	use       int32 // number of the tool_use with its id, from 1; 0: none
	Kind      jsonl.Kind
	IsError   bool // tool_result: is_error
	IsString  bool // text given as a bare string; tool_result with string content
	Persisted bool // tool_result: its text contains "<persisted-output>"
}

// more is what few blocks have.
type more struct {
	typ     string // as recorded, where the kind does not say it
	parts   []jsonl.Part
	offload *Offload
}

// NewBlock is a block without its place. It keeps the parts. A tool_result has no name, and a tool_use no signature. The
// value lies within the span. Lengths of 2 GiB and more become one byte less than that.
func NewBlock(b jsonl.ContentBlock) (made Block) {
	made.fill(&b)
	made.call = newCall(&b)
	return made
}

// fill sets what is recorded of the block but its id and name. Its place, and the file it was offloaded to, stay.
func (b *Block) fill(from *jsonl.ContentBlock) {
	b.Kind = from.Kind
	b.IsError, b.IsString, b.Persisted = from.IsError, from.IsString, from.Persisted
	b.off, b.length = from.Span.Off, bounded(from.Span.Len)
	b.value, b.valueLen = bounded(int(from.Value.Off-from.Span.Off)), bounded(from.Value.Len)
	if from.Value == (jsonl.Span{}) {
		b.value, b.valueLen = 0, -1
	}
	b.utf16, b.bytes, b.json = bounded(from.Text.UTF16), bounded(from.Text.Bytes), bounded(from.Text.JSON)
	b.jsonUTF16, b.jsonBytes = bounded(from.JSON.UTF16), bounded(from.JSON.Bytes)
	if b.signature = 0; from.Kind != jsonl.KindToolUse {
		b.signature = bounded(from.Signature)
	}
	file := b.Offload()
	if b.more = nil; file != nil || from.Type != from.Kind.Type() || len(from.Parts) > 0 {
		b.more = &more{typ: from.Type, parts: from.Parts, offload: file}
	}
}

// Change changes what is recorded of a block, which is nobody else's yet. Its place stays.
func (b *Block) Change(change func(c *jsonl.ContentBlock)) {
	c := jsonl.ContentBlock{
		Type: b.Type(), ID: b.ID(), Name: b.Name(), Kind: b.Kind, IsError: b.IsError, IsString: b.IsString, Persisted: b.Persisted,
		Text: b.Text(), JSON: b.JSON(), Parts: b.Parts(), Signature: b.Signature(), Span: b.Span(), Value: b.Value(),
	}
	change(&c)
	b.fill(&c)
	b.call = newCall(&c)
}

// ReadFrom gives a block, which is nobody else's yet, the file with its full text.
func (b *Block) ReadFrom(file *Offload) {
	b.more = &more{typ: b.Type(), parts: b.Parts(), offload: file}
}

func bounded(n int) int32 { return int32(min(n, math.MaxInt32)) }

// ID is the id of a tool_use; of a tool_result the tool_use_id it answers.
func (b *Block) ID() string {
	if b.call == nil {
		return ""
	}
	return b.call.id
}

// Name is the tool's name of a tool_use or a server_tool_use. A tool_result has none.
func (b *Block) Name() string {
	if b.call == nil || b.call.name == nil || b.Kind == jsonl.KindToolResult {
		return ""
	}
	return *b.call.name
}

// Type is the type as recorded: "text", "tool_use", or an unknown one.
func (b *Block) Type() string {
	if b.more != nil {
		return b.more.typ
	}
	return b.Kind.Type()
}

// Text is the length of the text, thinking or string content; for an array content the sum over its text parts.
func (b *Block) Text() jsonl.Metrics {
	return jsonl.Metrics{UTF16: int(b.utf16), Bytes: int(b.bytes), JSON: int(b.json)}
}

// JSON is the length of the compact JSON of a tool_use's input, a tool_result's content, the whole block of any kind but
// text and thinking. Its own field JSON is 0.
func (b *Block) JSON() jsonl.Metrics {
	return jsonl.Metrics{UTF16: int(b.jsonUTF16), Bytes: int(b.jsonBytes)}
}

// Parts are those of a tool_result with array content.
func (b *Block) Parts() []jsonl.Part {
	if b.more != nil {
		return b.more.parts
	}
	return nil
}

// Signature is the length of a thinking block's signature, bytes; 0 of a tool_use.
func (b *Block) Signature() int {
	if b.Kind == jsonl.KindToolUse {
		return 0
	}
	return int(b.signature)
}

// Span is the block's own JSON value in the file.
func (b *Block) Span() jsonl.Span { return jsonl.Span{Off: b.off, Len: int(b.length)} }

// Value is the JSON value that Text or JSON measures: text, thinking, data, content, input, or the block itself.
func (b *Block) Value() jsonl.Span {
	if b.valueLen < 0 {
		return jsonl.Span{}
	}
	return jsonl.Span{Off: b.off + int64(b.value), Len: int(b.valueLen)}
}

// Offload is the file with the full text of a tool_result, where it was offloaded and the file exists.
func (b *Block) Offload() *Offload {
	if b.more != nil {
		return b.more.offload
	}
	return nil
}

// Whole is the length of the block's text in raw history: of an offloaded tool_result whose file exists, that of the
// file; else as recorded.
func (b *Block) Whole() jsonl.Metrics {
	if file := b.Offload(); file != nil {
		return file.Text
	}
	return b.Text()
}

// ReadBack reports whether the block is an offloaded tool_result whose file exists.
func (b *Block) ReadBack() bool { return b.Offload() != nil }
