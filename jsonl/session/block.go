package session

import "github.com/ctxkit/ctxkit/jsonl"

// Block is a content block with its line. Lengths are always known; the text is read from the file on demand
// (Conversation.Text).
type Block struct {
	jsonl.ContentBlock
	Line    int      // 1-based
	Offload *Offload // of a tool_result: the file with its full text, where it was offloaded and the file exists
	Sent    Sent     // of an attachment, as its line says
	Row     int32    // of its line or record, counted from 1: Line can be that of a whole document
}

// Sent is what a line says of how its attachment was sent.
type Sent struct {
	Recorded bool // the line has the words, and the block's value is them
	System   bool // for the system role, which is the user's for models and clients that do not have it
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

// Whole is the length of the block's text in raw history: of an offloaded tool_result whose file exists, that of the
// file; else as recorded.
func (b *Block) Whole() jsonl.Metrics {
	if b.Offload != nil {
		return b.Offload.Text
	}
	return b.Text
}
