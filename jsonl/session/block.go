package session

import "github.com/ctxkit/ctxkit/jsonl"

// Block is a content block with its place in the file. The lengths of its text are always known; Conversation.Text
// reads the text itself from the file.
type Block struct {
	jsonl.ContentBlock
	Line    int      // line of the block, from 1
	Offload *Offload // for a tool_result: the file with its full text; nil: the result was not offloaded, or the file does not exist
	Sent    Sent     // for an attachment: how the client sent it, as far as its line records that
	Row     int32    // number of its line or, in a file that is one JSON document, of its record; from 1
}

// Sent says how the client sent an attachment, as far as the attachment's line records that.
type Sent struct {
	Recorded bool  // the value of the block is the text as it was sent
	System   bool  // the attachment was sent in the system role; for models and clients without system messages, in the user role
	Beside   bool  // the attachment was not merged into the tool result directly before it
	Turns    Turns // for a recorded snapshot of the prompt: whether the model accepts system messages
}

// Turns says whether the model accepts messages of the system role between the other messages, as far as a recorded
// snapshot of the system prompt and the tools shows that.
type Turns uint8

const (
	TurnsUnknown Turns = iota // no snapshot shows it
	TurnsSystem               // the model accepts messages of the system role
	TurnsUser                 // the model does not; such texts are sent in the user role
)

// Whole returns the length of the block's text in the raw history: of the full text for an offloaded tool_result, else
// of the recorded text.
func (b *Block) Whole() jsonl.Metrics {
	if b.Offload != nil {
		return b.Offload.Text
	}
	return b.Text
}
