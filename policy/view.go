package policy

import (
	"iter"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// View is what a stage sees of the model view and the payload: read only. The engine's own type (package policy/view)
// implements it and applies the edits that stages propose. Slices belong to the view: a stage does not change them.
type View interface {
	// Conversation is the recorded conversation behind the view.
	Conversation() *session.Conversation
	// Items calls yield with each item in view, in order; Backward from the newest to the oldest.
	Items(yield func(ItemID) bool)
	Backward(yield func(ItemID) bool)
	// IDs is the items in view, in order, as a new slice.
	IDs() []ItemID
	// Len is the number of items in view.
	Len() int
	// Last is the newest item in view.
	Last() (ItemID, bool)
	// Has reports whether an item is in view now.
	Has(id ItemID) bool
	// Arrived is every item that ever joined the view, in the order it did.
	Arrived() []ItemID
	// Joined is how many messages of the conversation have been offered so far.
	Joined() int
	// Results is every tool_result that joined since the last rebuild, in view order. Epoch counts the rebuilds:
	// indexes into Results are valid within one. The slice is valid until the next edit.
	Results() []Result
	Epoch() int
	// Edits is every edit applied so far, in order.
	Edits() []Edit

	// Tokens is the size of the model view without overhead, by the report's counter; PayloadTokens that of the
	// payload. The Client forms count by the counter of the client's own arithmetic.
	Tokens() int
	ClientTokens() int
	PayloadTokens() int
	ClientPayloadTokens() int
	// Weight is the tokens of an item in the model view, PayloadWeight in the payload.
	Weight(id ItemID) int
	ClientWeight(id ItemID) int
	PayloadWeight(id ItemID) int
	ClientPayloadWeight(id ItemID) int
	// BlockTokens is the tokens of a block in the model view, Length the length of its text there.
	BlockTokens(t Target) int
	Length(t Target) jsonl.Metrics

	// Message is the recorded message of an item, nil for a synthetic one; Synthetic the synthetic message, nil for a
	// recorded one.
	Message(id ItemID) *session.Message
	Synthetic(id ItemID) *Synthetic
	Role(id ItemID) session.Role
	// Blocks is the number of blocks of an item.
	Blocks(id ItemID) int
	// Kind is a block's kind as recorded, Raw the recorded block (nil in a synthetic message).
	Kind(t Target) jsonl.Kind
	Raw(t Target) *session.Block
	// Replacement is the content an edit put in a block's place in the model view, nil for none. Tag is the text an
	// edit appended to a message.
	Replacement(t Target) *Content
	Tag(id ItemID) *Content
	// PayloadReplacement reports whether a payload-only edit changed a block, and to what (nil: it was removed).
	PayloadReplacement(t Target) (*Content, bool)
	// CacheEdits lists the cache edits in force, CacheEdited reports one on a block.
	CacheEdits() []CacheEdit
	CacheEdited(t Target) bool
}

// Targets calls yield with the place of each block of an item.
func Targets(v View, id ItemID) iter.Seq[Target] {
	return func(yield func(Target) bool) {
		for b := range v.Blocks(id) {
			if !yield(Target{id, b}) {
				return
			}
		}
	}
}
