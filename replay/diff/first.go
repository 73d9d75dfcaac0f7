package diff

import (
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// First is what changed first of what was sent at an earlier request: from
// there on a prompt cache has to be written anew.
type First struct {
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`
	About   string `json:"about"`
	Block   int    `json:"block"` // -1: the whole message
	ToolUse string `json:"tool_use_id,omitempty"`
	Side    Side   `json:"change"`
	Prefix  int    `json:"prefix_tokens"` // before it, overhead not counted: what is still as it was
	Sent    int    `json:"sent_tokens"`   // all that was sent at the earlier request
}

// first finds it, or nil where all that was sent stands as it was. A cache edit
// changes nothing: it is made so that the prefix stays.
func first(earlier, later *view.View, h *History) *First {
	l, r := compared{earlier, nil}, compared{later, h}
	was, is := earlier.IDs(), later.IDs()
	prefix := 0
	for i, id := range was {
		if i >= len(is) || is[i] != id {
			return changed(&r, earlier, id, i, is, prefix)
		}
		for b := range later.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			a, z := l.shows(t), r.shows(t)
			if a.equal(z) || z.server && h.server[t] != nil && h.server[t].Kind == policy.KindCacheEdit {
				continue
			}
			f := name(later, id)
			f.Block, f.Side, f.Prefix, f.Sent = b, r.blockSide(t), prefix, earlier.PayloadTokens()
			if raw := later.Raw(t); raw != nil {
				f.ToolUse = raw.ID
			}
			return f
		}
		if !sameTag(earlier.Tag(id), later.Tag(id)) {
			f := name(later, id)
			f.Block, f.Side, f.Prefix, f.Sent = -1, r.side(id), prefix, earlier.PayloadTokens()
			return f
		}
		prefix += later.PayloadWeight(id)
	}
	return nil
}

// changed is a message that is not where it was: it left, or something stands
// before it.
func changed(r *compared, earlier *view.View, id policy.ItemID, i int, is []policy.ItemID, prefix int) *First {
	f := name(earlier, id)
	f.Block, f.Prefix, f.Sent = -1, prefix, earlier.PayloadTokens()
	f.Side = r.side(id)
	if r.has(id) && i < len(is) {
		f = name(r.View, is[i])
		f.Block, f.Prefix, f.Sent = -1, prefix, earlier.PayloadTokens()
		f.Side = r.side(is[i])
	}
	return f
}

func name(v *view.View, id policy.ItemID) *First {
	m := describe(v, id)
	return &First{Message: m.ID, Line: m.Line, About: m.About}
}
