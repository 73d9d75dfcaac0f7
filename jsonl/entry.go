// Package jsonl reads session files: one JSON object a line (or, where a line was fused, several), from plain, gzip
// or zstd input, with no line-length limit short of a configurable bound.
//
// The pipeline, in order:
//
//  1. Open detects the compression and returns a Source: a decompressed stream
//     of which any span can be read again.
//  2. Reader splits the stream into objects and returns each as an *Entry, or
//     as a *SyntaxError where the bytes are not JSON. A bad line affects no other.
//  3. Package session builds conversations from entries.
//
// This package decodes the fields of an entry and does not interpret them.
package jsonl

import (
	"fmt"
	"time"
)

// Kind is the kind of a content block; policy.Kind is that of an edit, cache.Kind that of a cause.
type Kind uint8

// The kinds of content blocks. A block of another type is KindUnknown: it is kept.
const (
	KindUnknown Kind = iota
	KindText
	KindThinking
	KindRedactedThinking
	KindToolUse
	KindToolResult
	KindImage
	KindDocument
	KindServerToolUse
	KindToolReference
	KindAttachment // not an API block: the payload of an attachment line
)

// Metrics are the lengths of one text. UTF16 is what JavaScript's String.length reports; Bytes is the length in
// UTF-8; JSON is the UTF-16 length of JSON.stringify of it (quotes and escapes included).
type Metrics struct {
	UTF16, Bytes, JSON int
}

// Add sums two metrics field by field.
func (m Metrics) Add(o Metrics) Metrics {
	return Metrics{m.UTF16 + o.UTF16, m.Bytes + o.Bytes, m.JSON + o.JSON}
}

// Span is a range of bytes of the decompressed file; tokens.Span is one of requests.
type Span struct {
	Off int64
	Len int
}

// Part is one element of a tool_result whose content is an array, as recorded.
type Part struct {
	Kind Kind
	Type string  // as recorded
	Text Metrics // of the text of a text part; zero otherwise
	Span Span    // the element's JSON object
}

// ContentBlock is one element of message.content as recorded; session.Block adds its place. A content that is a plain
// string is one block of KindText.
type ContentBlock struct {
	Type      string // as recorded: "text", "tool_use", or an unknown type
	ID        string // tool_use: its id; tool_result: the tool_use_id it answers
	Name      string // tool_use, server_tool_use: the tool's name
	Kind      Kind
	IsError   bool    // tool_result: is_error
	IsString  bool    // text given as a bare string; tool_result with string content
	Persisted bool    // tool_result: its text contains "<persisted-output>"
	Text      Metrics // text, thinking or string content; for an array content the sum over its text parts
	JSON      Metrics // UTF16/Bytes of the compact JSON of: a tool_use's input, a tool_result's content, the whole block of any kind but text and thinking; JSON field unused
	Parts     []Part  // tool_result with array content; at most 16,384 in an entry
	Signature int     // thinking: length of the signature, bytes
	Span      Span    // the block's own JSON value in the file
	Value     Span    // the JSON value Text or JSON measures: text, thinking, data, content, input, or the block itself
}

// APIMessage is the API message of an entry.
type APIMessage struct {
	ID         string
	Role       string
	Model      string
	StopReason string
	Usage      Usage
	HasUsage   bool
	OddUsage   string         // the unbelievable part of the recorded usage: Usage is then zero, and HasUsage false
	IsString   bool           // content was a bare string
	Content    []ContentBlock // reused by the reader; at most 16,384
	Omitted    int            // number of further blocks, validated only
	Head       string         // the first (at most 256) bytes of the first text, decoded; cut at a rune

	ContextManagement []byte // as recorded: what the API did to the context of the request
	Diagnostics       []byte // as recorded: why the request read less from the cache than the one before had left
}

// Entry is one JSON object of a session file, with its position. The reader reuses it: Raw, the raw fields and
// Message are valid until the next Scan. Strings may be kept.
type Entry struct {
	File   string // name as given, for messages
	Line   int    // 1-based line in the decompressed file
	Part   int    // 0-based index of the object on its line; over 0 only on fused lines
	Offset int64  // of the object in the decompressed file
	Raw    []byte // the object's bytes

	Type              string
	Subtype           string
	UUID              string
	ParentUUID        string // "" for null and for a missing field
	HasParent         bool   // the field is there, null or not
	LogicalParentUUID string
	SessionID         string
	AgentID           string
	Version           string
	CWD               string
	Time              time.Time // zero where it is missing or does not parse

	LeafUUID         string // summary, last-prompt
	RenderedRole     string // of the message that an attachment was sent as
	RecordedTurn     string // of a prompt of another agent: see foreign.Line
	IsSidechain      bool
	IsMeta           bool
	IsCompactSummary bool
	IsAPIError       bool // isApiErrorMessage
	NoRequest        bool
	RenderedBeside   bool // renderedBesideToolResult: it is no part of a result before it

	HasMessage bool
	Message    APIMessage

	// Raw JSON values of rare fields, nil where absent (position: see SpanOf).
	Attachment           []byte
	Rendered             []byte // an attachment as it was sent
	RenderedInTurn       []byte // renderedInHumanTurn: as it was sent where what a person typed is right before it
	RequestID            []byte // of a response
	ToolUseResult        []byte // of a result: what the client says of it
	CompactMetadata      []byte
	MicrocompactMetadata []byte
	SnipMetadata         []byte
	RemovedUUIDs         []byte // of a snip
}

// SyntaxError describes bytes of a line that are not a JSON object. It is a value in the stream, not the end of it.
type SyntaxError struct {
	File   string
	Line   int
	Col    int   // 1-based byte column of the fault, within the bytes or right after them
	Offset int64 // of the first byte
	Len    int   // number of bytes
	Msg    string
}

// Error is the message with its position: file:line:column.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// FileError is an error that names its file, and the line where there is one.
type FileError struct {
	Path string
	Line int // 0: none
	Err  error
}

func (e *FileError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
	}
	return e.Path + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *FileError) Unwrap() error { return e.Err }

// Item is the result of reading one line, or one object of a fused line. It is valid until the next one is read.
type Item struct {
	Kind  ItemKind
	Fused bool         // it is not the first object, or rejected bytes, of its line
	Entry *Entry       // of an ItemEntry, else nil
	Err   *SyntaxError // of an ItemError, else nil
	Line  int          // 1-based
	Span  Span         // the object, the rejected bytes, or a comment or blank line without its newline
}

// ItemKind is the kind of an Item.
type ItemKind uint8

// The kinds of items.
const (
	ItemEntry   ItemKind = iota // Item.Entry is set
	ItemError                   // Item.Err is set
	ItemComment                 // a // comment line
	ItemBlank                   // an empty or white-space line
)
