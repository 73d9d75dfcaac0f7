package replay

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// blockKey is the target of an edit of a block.
type blockKey struct{ item, block int32 }

func keyOf(t policy.Target) blockKey { return blockKey{int32(t.Item), int32(t.Block)} }

func (k blockKey) target() policy.Target {
	return policy.Target{Item: policy.ItemID(k.item), Block: int(k.block)}
}

// byBlock holds a value for blocks of a view. Most blocks that a policy edits are the first of a recorded message.
type byBlock[T any] struct {
	messages int
	first    []T // by message; nil until one is set
	others   map[blockKey]T
}

func newByBlock[T any](conv *session.Conversation) byBlock[T] {
	return byBlock[T]{messages: len(conv.Messages)}
}

// get is the value of a block of the conversation or of a made message, zero where none was set.
func (b *byBlock[T]) get(t policy.Target) (v T) {
	switch {
	case t.Block != 0 || t.Item < 0:
		v = b.others[keyOf(t)]
	case b.first != nil:
		v = b.first[t.Item]
	}
	return v
}

func (b *byBlock[T]) set(t policy.Target, v T) {
	switch {
	case t.Block == 0 && t.Item >= 0:
		if b.first == nil {
			b.first = make([]T, b.messages)
		}
		b.first[t.Item] = v
	case b.others == nil:
		b.others = map[blockKey]T{keyOf(t): v}
	default:
		b.others[keyOf(t)] = v
	}
}
