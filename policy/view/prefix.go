package view

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// ThinkingAfter counts the thinking blocks in view behind the place where an
// edit that was just applied changed what the client sends, and names the
// message of the first: the prefix they were made with is not what is sent.
func (v *View) ThinkingAfter(e *policy.Edit) (n int, first policy.ItemID) {
	from := len(v.items)
	note := func(id policy.ItemID) {
		if p := v.posOf(id); p >= 0 {
			from = min(from, p)
		}
	}
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindTag:
		note(e.Target.Item)
	case policy.KindRemove, policy.KindCollapse:
		for _, id := range e.Items {
			note(id)
		}
	case policy.KindSummarize:
		from = len(e.Lead) - 1
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
