package diff

import "github.com/ctxkit/ctxkit/policy"

// First is the first change of what was sent at an earlier request: from there on the prompt cache must be written
// again.
type First struct {
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`
	About   string `json:"about"`
	Block   int    `json:"block"` // -1: the whole message
	ToolUse string `json:"tool_use_id,omitempty"`
	Side    Side   `json:"change"`
	Prefix  int    `json:"prefix_tokens"` // unchanged tokens before it, without overhead
	Sent    int    `json:"sent_tokens"`   // all that was sent at the earlier request
}

// first returns the first change, or nil if everything that was sent is the same. A cache edit is no change: it keeps
// the prefix valid.
func first(l, r *compared) *First {
	now, prefix := r.IDs(), 0
	change := func(in *compared, id policy.ItemID, block int, side Side) *First {
		m := describe(in.View, id)
		return &First{
			Message: m.ID, Line: m.Line, About: m.About, Block: block, Side: side,
			Prefix: prefix, Sent: l.PayloadTokens(),
		}
	}
	for i, id := range l.IDs() {
		switch {
		case i < len(now) && now[i] == id:
		case i < len(now) && r.has(id): // another message is before it
			return change(r, now[i], -1, r.side(now[i]))
		default:
			return change(l, id, -1, r.side(id))
		}
		for b := range r.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			a, z, server := l.shows(t), r.shows(t), r.history.Server[t]
			if a.equal(z) || z.server && server != nil && server.Kind == policy.KindCacheEdit {
				continue
			}
			f := change(r, id, b, r.blockSide(t))
			if raw := r.Raw(t); raw != nil {
				f.ToolUse = raw.ID
			}
			return f
		}
		if !sameTag(l.Tag(id), r.Tag(id)) {
			return change(r, id, -1, r.side(id))
		}
		prefix += r.PayloadWeight(id)
	}
	return nil
}
