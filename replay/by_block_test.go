package replay

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

func TestByBlock(t *testing.T) {
	b := newByBlock[int](&session.Conversation{Messages: make([]session.Message, 3)})
	targets := []policy.Target{
		{Item: 0}, {Item: 2}, {Item: 2, Block: 1}, {Item: 2, Block: policy.WholeItem}, {Item: -1}, {Item: -1, Block: 1}, {Item: 0, Block: 1},
	}
	for i, at := range targets {
		if b.get(at) != 0 {
			t.Errorf("%v has a value before one is set", at)
		}
		b.set(at, i+1)
		b.set(at, i+1)
	}
	for i, at := range targets {
		if got := b.get(at); got != i+1 {
			t.Errorf("%v has %d, want %d", at, got, i+1)
		}
	}
	if got := b.get(policy.Target{Item: 1}); got != 0 {
		t.Errorf("a block without a value has %d", got)
	}
}
