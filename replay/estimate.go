package replay

import (
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// tail is the client's estimate of what joined after the response at message m and is still in view, tokens.
func (e *engine) tail(m int) int {
	n := 0
	for _, id := range slices.Backward(e.view.Arrived()) {
		if id == policy.ItemID(m) {
			break
		}
		if (id < 0 || int(id) > m) && e.view.Has(id) {
			n += e.estimate(id)
		}
	}
	if e.pol.Window.Tail == "after_first" {
		// Newer clients count from the first line of the response: its other blocks a second time.
		msg := &e.conv.Messages[m]
		for b := range msg.Blocks {
			if msg.Blocks[b].Line != msg.Line {
				n += tokens.Estimate(&msg.Blocks[b])
			}
		}
	}
	return n
}

// estimate is the client's estimate of an item in the view, tokens.
func (e *engine) estimate(id policy.ItemID) int {
	if id >= 0 && e.conv.Messages[id].Lost {
		return e.r.Cal.Lost[id]
	}
	n := 0
	for b := range e.view.Blocks(id) {
		t := policy.Target{Item: id, Block: b}
		if c := e.view.Replacement(t); c == nil {
			n += tokens.Estimate(e.view.Raw(t))
		} else if c.Tokens > 0 {
			n += c.Tokens
		} else {
			n += policy.RoundQuarter(c.Length.UTF16)
		}
	}
	return n
}
