package session

import "github.com/ctxkit/ctxkit/jsonl"

// Block is a content block and its line. Its lengths are always known; its text is read from the file by
// Conversation.Text.
type Block struct {
	jsonl.ContentBlock
	Line    int      // from 1
	Offload *Offload // for a tool_result: the file with its full text; nil: not offloaded, or the file does not exist
	Sent    Sent     // for an attachment: how it was sent, as its line records
	Row     int32    // number of its line or record, from 1: a document can be one line
}

// Sent describes how an attachment was sent, as its line records it.
type Sent struct {
	Recorded bool  // the block's value is the text as sent
	System   bool  // sent in the system role; in the user role for models and clients without system messages
	Beside   bool  // not merged into the tool result before it
	Turns    Turns // for a recorded prompt snapshot: whether the model accepts system messages
}

// Turns is whether the model accepts messages of the system role between the others, as a recorded snapshot of the
// system prompt and the tools says.
type Turns uint8

const (
	TurnsUnknown Turns = iota // no snapshot says
	TurnsSystem               // it accepts messages of the system role
	TurnsUser                 // it does not: such texts are sent in the user role
)

// Whole returns the length of the block's text in the raw history: of the full text for an offloaded tool_result, else
// of the recorded text.
func (b *Block) Whole() jsonl.Metrics {
	if b.Offload != nil {
		return b.Offload.Text
	}
	return b.Text
}
