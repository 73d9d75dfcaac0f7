package policy

import (
	"iter"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// View is what a stage sees of the model view and the payload, read only. Package policy/view implements it and applies
// the edits that stages propose. A stage must not modify slices that methods of the View return. Methods with Client in
// their names count tokens as the client estimates them; all others use the counter of the replay.
type View interface {
	// Conversation returns the recorded conversation.
	Conversation() *session.Conversation
	// Items calls yield with each item of the view, from the oldest to the newest.
	Items(yield func(ItemID) bool)
	// Backward calls yield with each item of the view, from the newest to the oldest.
	Backward(yield func(ItemID) bool)
	// IDs returns the items of the view, oldest first, in a new slice.
	IDs() []ItemID
	// Len returns the number of items of the view.
	Len() int
	// Last returns the newest item of the view. The second result is false if the view is empty.
	Last() (ItemID, bool)
	// Has reports whether an item is in the view.
	Has(id ItemID) bool
	// Arrived returns every item that ever joined the view, in the order of joining.
	Arrived() []ItemID
	// Joined returns the number n of messages of the conversation, Messages[:n], that have either joined the view or
	// been left out of it.
	Joined() int
	// Results returns every tool_result that has joined since the view was last rebuilt, in the order of the view. The
	// slice is valid until the next edit.
	Results() []Result
	// Epoch returns how often the view has been rebuilt. An index into Results is valid only while Epoch stays the
	// same.
	Epoch() int
	// Edits returns every edit that has been applied, in order.
	Edits() []Edit

	// Tokens returns the tokens of the model view, without the overhead.
	Tokens() int
	// ClientTokens is like Tokens, with the client's estimates.
	ClientTokens() int
	// PayloadTokens returns the tokens of the payload, without the overhead.
	PayloadTokens() int
	// ClientPayloadTokens is like PayloadTokens, with the client's estimates.
	ClientPayloadTokens() int
	// Weight returns the tokens of an item in the model view.
	Weight(id ItemID) int
	// ClientWeight is like Weight, with the client's estimate.
	ClientWeight(id ItemID) int
	// PayloadWeight returns the tokens of an item in the payload.
	PayloadWeight(id ItemID) int
	// ClientPayloadWeight is like PayloadWeight, with the client's estimate.
	ClientPayloadWeight(id ItemID) int
	// BlockTokens returns the tokens of a block in the model view.
	BlockTokens(t Target) int
	// Length returns the lengths of the text that a block has in the model view.
	Length(t Target) jsonl.Metrics

	// Message returns the recorded message of an item, or nil for a message that a policy added.
	Message(id ItemID) *session.Message
	// Synthetic returns the message of an item that a policy added, or nil for a recorded message.
	Synthetic(id ItemID) *Synthetic
	// Role returns the role in which an item is sent.
	Role(id ItemID) session.Role
	// Blocks returns the number of blocks of an item.
	Blocks(id ItemID) int
	// Kind returns the recorded kind of a block.
	Kind(t Target) jsonl.Kind
	// Raw returns the recorded block, or nil for a block of a message that a policy added.
	Raw(t Target) *session.Block
	// Replacement returns the content that an edit put in the place of a block in the model view, or nil if there is
	// none.
	Replacement(t Target) *Content
	// Tag returns the text that an edit appended to the last block of a message, or nil if there is none.
	Tag(id ItemID) *Content
	// PayloadReplacement reports whether a payload-only edit changed a block. The content is what replaces the block;
	// it is nil if nothing does.
	PayloadReplacement(t Target) (*Content, bool)
	// CacheEdits returns the cache edits that are in force.
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
