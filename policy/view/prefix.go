package view

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// ThinkingAfter counts the thinking blocks in view behind the first change that an edit just applied made to what the
// client sends, and gives the message of the first of them. The prefix they were made with is no longer sent.
func (v *View) ThinkingAfter(e *policy.Edit) (n int, first policy.ItemID) {
	from := len(v.items)
	var changed []policy.ItemID
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindTag:
		changed = []policy.ItemID{e.Target.Item}
	case policy.KindRemove, policy.KindCollapse:
		changed = e.Items
	case policy.KindSummarize:
		from = len(e.Lead) - 1
	}
	for _, id := range changed {
		if p := v.posOf(id); p >= 0 {
			from = min(from, p)
		}
	}
	for i := len(v.items) - 1; i > from; i-- {
		it := v.items[i]
		m := v.Message(it.id)
		if it.removed() || m == nil {
			continue
		}
		for b := range m.Blocks {
			if k := m.Blocks[b].Kind; k == jsonl.KindThinking || k == jsonl.KindRedactedThinking {
				n, first = n+1, it.id
			}
		}
	}
	return n, first
}
