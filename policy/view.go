package policy

import (
	"iter"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// View is what a stage sees of the model view and the payload, read only. Package policy/view implements it and applies
// the edits that stages propose. A stage must not modify the slices that it returns.
type View interface {
	// Conversation returns the recorded conversation.
	Conversation() *session.Conversation
	// Items calls yield with each item in view, from the oldest to the newest.
	Items(yield func(ItemID) bool)
	// Backward calls yield with each item in view, from the newest to the oldest.
	Backward(yield func(ItemID) bool)
	// IDs returns the items in view, in order, as a new slice.
	IDs() []ItemID
	// Len returns the number of items in view.
	Len() int
	// Last returns the newest item in view; false where there is none.
	Last() (ItemID, bool)
	// Has reports whether an item is in view.
	Has(id ItemID) bool
	// Arrived returns every item that ever joined the view, in the order in which they joined.
	Arrived() []ItemID
	// Joined returns how many messages of the conversation have joined so far, or were left out: Messages[:n].
	Joined() int
	// Results returns every tool_result that joined since the view was last rebuilt, in view order. The slice is valid
	// until the next edit.
	Results() []Result
	// Epoch returns the number of times that the view was rebuilt. Indexes into Results are valid within one epoch.
	Epoch() int
	// Edits returns every edit applied so far, in order.
	Edits() []Edit

	// Tokens returns the tokens of the model view without overhead, by the counter of the replay.
	Tokens() int
	// ClientTokens is like Tokens, as the client counts.
	ClientTokens() int
	// PayloadTokens returns the tokens of the payload without overhead, by the counter of the replay.
	PayloadTokens() int
	// ClientPayloadTokens is like PayloadTokens, as the client counts.
	ClientPayloadTokens() int
	// Weight returns the tokens of an item in the model view, by the counter of the replay.
	Weight(id ItemID) int
	// ClientWeight is like Weight, as the client counts.
	ClientWeight(id ItemID) int
	// PayloadWeight returns the tokens of an item in the payload, by the counter of the replay.
	PayloadWeight(id ItemID) int
	// ClientPayloadWeight is like PayloadWeight, as the client counts.
	ClientPayloadWeight(id ItemID) int
	// BlockTokens returns the tokens of a block in the model view, by the counter of the replay.
	BlockTokens(t Target) int
	// Length returns the lengths of a block's text in the model view.
	Length(t Target) jsonl.Metrics

	// Message returns the recorded message of an item; nil for a synthetic one.
	Message(id ItemID) *session.Message
	// Synthetic returns the synthetic message of an item; nil for a recorded one.
	Synthetic(id ItemID) *Synthetic
	// Role returns the role in which an item is sent.
	Role(id ItemID) session.Role
	// Blocks returns the number of blocks of an item.
	Blocks(id ItemID) int
	// Kind returns the recorded kind of a block.
	Kind(t Target) jsonl.Kind
	// Raw returns the recorded block; nil in a synthetic message.
	Raw(t Target) *session.Block
	// Replacement returns the content that an edit put in a block's place in the model view; nil: none.
	Replacement(t Target) *Content
	// Tag returns the text that an edit appended to a message; nil: none.
	Tag(id ItemID) *Content
	// PayloadReplacement reports whether a payload-only edit changed a block. The content is what replaces it; nil:
	// nothing.
	PayloadReplacement(t Target) (*Content, bool)
	// CacheEdits returns the cache edits in force.
	CacheEdits() []CacheEdit
	// CacheEdited reports whether a cache edit of a block is in force.
	CacheEdited(t Target) bool
}

// Targets returns an iterator over the blocks of an item.
func Targets(v View, id ItemID) iter.Seq[Target] {
	return func(yield func(Target) bool) {
		for b := range v.Blocks(id) {
			if !yield(Target{id, b}) {
				return
			}
		}
	}
}
