package session

import (
	"math"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Block is a jsonl.ContentBlock with its place in a conversation, in a third of its memory. Lengths are always known; the
// text is read from the file on demand (Conversation.Text).
type Block struct {
	call  *call // its id and name; nil: it has neither
	more  *more // what few blocks have; nil: none of it
	off   int64 // of the span
	short [lengths]uint16
	file  uint16 // of a tool_use the number of the file that it reads; 0: not known

	Line      int32 // 1-based line of the block
	use       int32 // number of the tool_use with its id, from 1; 0: none
	Kind      jsonl.Kind
	IsError   bool // tool_result: is_error
	IsString  bool // text given as a bare string; tool_result with string content
	Persisted bool // tool_result: its text contains "<persisted-output>"
}

// more is what few blocks have.
type more struct {
	typ     string // as recorded
	parts   []jsonl.Part
	offload *Offload
	sent    Sent
	long    *[lengths]int32 // the lengths of a block, where one is more than its own numbers hold
}

// length is one of a block's lengths.
type length int

const (
	ofSpan      length = iota
	toValue            // from the span's start to the value's
	ofValue            // plus one; 0: there is no value
	ofText             // UTF-16 units
	textBytes          // bytes
	textJSON           // as [jsonl.Metrics] has it
	ofJSON             // UTF-16 units
	jsonBytes          // bytes
	ofSignature        // bytes; of a tool_use 0
	lengths            // how many there are
)

// NewBlock is a block without its place. It keeps the parts. A tool_result has no name, and a tool_use no signature. The
// value lies within the span. Lengths of 2 GiB and more become one byte less than that, a
// value's two.
func NewBlock(b jsonl.ContentBlock) (made Block) {
	made.fill(&b)
	made.call = newCall(&b)
	return made
}

// fill sets what is recorded of the block but its id and name. Its place, and the file it was offloaded to, stay.
func (b *Block) fill(from *jsonl.ContentBlock) {
	b.Kind = from.Kind
	b.IsError, b.IsString, b.Persisted = from.IsError, from.IsString, from.Persisted
	b.off, b.file = from.Span.Off, 0
	all := [lengths]int32{
		ofSpan: bounded(from.Span.Len), ofText: bounded(from.Text.UTF16), textBytes: bounded(from.Text.Bytes), textJSON: bounded(from.Text.JSON),
		ofJSON: bounded(from.JSON.UTF16), jsonBytes: bounded(from.JSON.Bytes),
	}
	if from.Value != (jsonl.Span{}) {
		all[toValue], all[ofValue] = bounded(int(from.Value.Off-from.Span.Off)), bounded(min(from.Value.Len, math.MaxInt32-1))+1
	}
	if from.Kind != jsonl.KindToolUse {
		all[ofSignature] = bounded(from.Signature)
	}
	bits := uint32(0)
	for k, n := range all {
		b.short[k] = uint16(n)
		bits |= uint32(n)
	}
	long := bits > math.MaxUint16
	file := b.Offload()
	if b.more = nil; file != nil || long || from.Type != from.Kind.Type() || len(from.Parts) > 0 {
		b.more = &more{typ: from.Type, parts: from.Parts, offload: file}
	}
	if long {
		kept := all // allocated only here
		b.more.long = &kept
	}
}

// length is one of the block's lengths.
func (b *Block) length(of length) int {
	if b.more != nil && b.more.long != nil {
		return int(b.more.long[of])
	}
	return int(b.short[of])
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
	made := &more{typ: b.Type(), parts: b.Parts(), offload: file}
	if b.more != nil {
		made.long = b.more.long
	}
	b.more = made
}

// Sent is what a line says of how its attachment was sent.
type Sent struct {
	Recorded bool // the line has the words, and the block's value is them
	System   bool // for the system role, which is the user's for models that do not have it
	Beside   bool // it is no part of the result of a tool before it
	Turns    Turns
}

// Turns is whether a snapshot of a prompt says that the model takes messages of the system role between others.
type Turns uint8

// The values of Turns.
const (
	TurnsUnknown Turns = iota
	TurnsSystem
	TurnsUser
)

// Sent is how an attachment was sent, as its line says.
func (b *Block) Sent() Sent {
	if b.more == nil {
		return Sent{}
	}
	return b.more.sent
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
	return jsonl.Metrics{UTF16: b.length(ofText), Bytes: b.length(textBytes), JSON: b.length(textJSON)}
}

// JSON is the length of the compact JSON of a tool_use's input, a tool_result's content, the whole block of any kind but
// text and thinking. Its own field JSON is 0.
func (b *Block) JSON() jsonl.Metrics {
	return jsonl.Metrics{UTF16: b.length(ofJSON), Bytes: b.length(jsonBytes)}
}

// Parts are those of a tool_result with array content.
func (b *Block) Parts() []jsonl.Part {
	if b.more != nil {
		return b.more.parts
	}
	return nil
}

// Signature is the length of a thinking block's signature, bytes; 0 of a tool_use.
func (b *Block) Signature() int { return b.length(ofSignature) }

// Span is the block's own JSON value in the file.
func (b *Block) Span() jsonl.Span { return jsonl.Span{Off: b.off, Len: b.length(ofSpan)} }

// Value is the JSON value that Text or JSON measures: text, thinking, data, content, input, or the block itself.
func (b *Block) Value() jsonl.Span {
	n := b.length(ofValue)
	if n == 0 {
		return jsonl.Span{}
	}
	return jsonl.Span{Off: b.off + int64(b.length(toValue)), Len: n - 1}
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
