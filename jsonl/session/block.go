package session

import "github.com/ctxkit/ctxkit/jsonl"

// Block is a content block with its line. Lengths are always known; the text is read from the file on demand
// (Conversation.Text).
type Block struct {
	jsonl.ContentBlock
	Line    int      // 1-based
	Offload *Offload // of a tool_result: the file with its full text, where it was offloaded and the file exists
}

// Whole is the length of the block's text in raw history: of an offloaded tool_result whose file exists, that of the
// file; else as recorded.
func (b *Block) Whole() jsonl.Metrics {
	if b.Offload != nil {
		return b.Offload.Text
	}
	return b.Text
}
