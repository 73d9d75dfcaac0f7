package wire

import (
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Payload is what the client sends under a policy: the model view, its cache
// breakpoints, the cache edits pinned where they were first sent, and the
// server's own edits by their parameters. What the server then clears stays in
// the messages: it is the server that leaves it out.
func Payload(v *view.View, pol *policy.Policy) (*Body, error) {
	b, err := Model(v)
	if err != nil {
		return nil, err
	}
	b.Automatic = pol.Cache.Breakpoints == policy.BreakpointsAutomatic
	if pol.Cache.TTL == longTTL {
		b.TTL = longTTL
	}
	for _, m := range breakpoints(&pol.Cache, len(b.Messages)) {
		b.Messages[m].mark(b.TTL)
	}
	b.cacheEdits(v)
	if editsCache(v, pol) {
		// Only what lies before the last cached message can be named.
		for m := range max(b.lastMarked(), 0) {
			for i := range b.Messages[m].Blocks {
				if bl := &b.Messages[m].Blocks[i]; bl.Type == "tool_result" && bl.ToolUse != "" {
					bl.CacheReference = true
				}
			}
		}
	}
	b.Edits = serverEdits(pol)
	return b, nil
}

// longTTL is a lifetime that has to be asked for; five minutes are the default.
const longTTL = "1h"

// breakpoints are the messages of n, ascending, that a client marks for the
// prompt cache at their last block. Its marks on the system prompt are not in a
// body, and automatic caching is asked for once for the whole of it.
func breakpoints(c *policy.Caching, n int) []int {
	if c.Breakpoints == policy.BreakpointsNone || c.Breakpoints == policy.BreakpointsAutomatic {
		return nil
	}
	var at []int // the last two
	for m := max(n-2, 0); m < n; m++ {
		at = append(at, m)
	}
	return at
}

// mark puts a cache breakpoint on the last block that can carry one: thinking
// and empty texts cannot.
func (m *Message) mark(ttl string) {
	for i := len(m.Blocks) - 1; i >= 0; i-- {
		b := &m.Blocks[i]
		if b.Type == "thinking" || b.Type == "redacted_thinking" || b.Type == "text" && string(b.JSON) == string(textBlock("")) {
			continue
		}
		b.CacheControl = &CacheControl{"ephemeral", ttl}
		return
	}
}

// lastMarked is the last message with a breakpoint, or the last of all.
func (b *Body) lastMarked() int {
	for m := len(b.Messages) - 1; m >= 0; m-- {
		if slices.ContainsFunc(b.Messages[m].Blocks, func(b Block) bool { return b.CacheControl != nil }) {
			return m
		}
	}
	return len(b.Messages) - 1
}

// cacheEdits puts the cache edits that stand first into the messages that carry
// them. What an edit deletes must stand in a message before it: where that is
// part of the same one, the item that carries the edit begins a message of its
// own behind it.
func (b *Body) cacheEdits(v *view.View) {
	byCarrier := map[policy.ItemID][]policy.CacheEdit{}
	for _, c := range v.CacheEdits() {
		if v.Has(c.Carrier) {
			byCarrier[c.Carrier] = append(byCarrier[c.Carrier], c)
		}
	}
	if len(byCarrier) == 0 {
		return
	}
	var out []Message
	for _, msg := range b.Messages {
		next := carrying{Message: Message{Role: msg.Role}}
		for _, bl := range msg.Blocks {
			id := bl.Source.Item
			edits := byCarrier[id]
			delete(byCarrier, id)
			if slices.ContainsFunc(edits, func(c policy.CacheEdit) bool { return next.holds(c.Target.Item) }) {
				out = append(out, next.message(v))
				next = carrying{Message: Message{Role: msg.Role}}
			}
			next.edits = append(next.edits, edits...)
			next.Blocks = append(next.Blocks, bl)
		}
		out = append(out, next.message(v))
	}
	b.Messages = out
}

// carrying is a message that is being put together, and the edits it carries.
type carrying struct {
	Message
	edits []policy.CacheEdit
}

func (c *carrying) holds(item policy.ItemID) bool {
	return slices.ContainsFunc(c.Blocks, func(b Block) bool { return b.Source.Item == item })
}

// message is the message with its edits in front.
func (c *carrying) message(v *view.View) Message {
	var deletes []cacheDelete
	for _, e := range c.edits {
		if raw := v.Raw(e.Target); raw != nil && raw.ID != "" {
			deletes = append(deletes, cacheDelete{"delete", raw.ID})
		}
	}
	if len(deletes) > 0 {
		front := Block{Source: policy.Target{Item: c.edits[0].Carrier, Block: Whole}, Type: "cache_edits", JSON: appendValue(nil, cacheEdits{"cache_edits", deletes})}
		c.Blocks = append([]Block{front}, c.Blocks...)
	}
	return c.Message
}

type cacheEdits struct {
	Type  string        `json:"type"`
	Edits []cacheDelete `json:"edits"`
}

type cacheDelete struct {
	Type      string `json:"type"`
	Reference string `json:"cache_reference"`
}

// editsCache reports whether the client names results for cache edits: from
// its first request on, so that the first edit changes nothing before it.
func editsCache(v *view.View, pol *policy.Policy) bool {
	return len(v.CacheEdits()) > 0 || slices.ContainsFunc(pol.Stages, func(s policy.StageConfig) bool {
		return s.Definition.CacheEdits
	})
}

// serverEdits are the context_management edits of a policy. The one for
// thinking comes first: the API takes no other order.
func serverEdits(pol *policy.Policy) []any {
	var first, rest []any
	for i := range pol.Stages {
		s, ok := pol.Stages[i].Params.(policy.ServerEdit)
		if !ok {
			continue
		}
		if edit, comesFirst := s.ServerEdit(); comesFirst {
			first = append(first, edit)
		} else {
			rest = append(rest, edit)
		}
	}
	return append(first, rest...)
}
