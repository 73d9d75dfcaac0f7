package replay

import (
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// tail is the client's estimate of what joined after the response at message
// m and is still in view.
func (e *engine) tail(m int) int {
	n := 0
	arrived := e.view.Arrived()
	for i := len(arrived) - 1; i >= 0; i-- {
		id := arrived[i]
		if id == policy.ItemID(m) {
			break
		}
		if id >= 0 && int(id) < m {
			continue
		}
		if e.view.Has(id) {
			n += e.estimate(id)
		}
	}
	if e.pol.Window.Tail == "after_first" {
		// Newer clients count from the first line of the response: its other
		// blocks once more.
		msg := &e.conv.Messages[m]
		for b := range msg.Blocks {
			if msg.Blocks[b].Line != msg.Line {
				n += tokens.Estimate(&msg.Blocks[b])
			}
		}
	}
	return n
}

// estimate is the client's estimate of an item as it stands in the view.
func (e *engine) estimate(id policy.ItemID) int {
	if id >= 0 && e.conv.Messages[id].Lost {
		return e.r.Cal.Lost[id]
	}
	n := 0
	for b := range e.view.Blocks(id) {
		t := policy.Target{Item: id, Block: b}
		if c := e.view.Replacement(t); c != nil {
			if c.Tokens > 0 {
				n += c.Tokens
			} else {
				n += policy.RoundQuarter(c.Length.UTF16)
			}
			continue
		}
		n += tokens.Estimate(e.view.Raw(t))
	}
	return n
}
