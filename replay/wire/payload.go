package wire

import (
	"bytes"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// RequestBody returns the request body that the client sends under a policy. It has the messages of the model view, the
// cache breakpoints, the cache edits in the messages that carry them, and the edits that the server is asked to make
// (context_management). The body still contains the content that the server clears after it has received the request.
// It returns an error if the session's file cannot be read.
func RequestBody(v *view.View, pol *policy.Policy) (*Body, error) {
	b, err := Model(v)
	if err != nil {
		return nil, err
	}
	b.Mark(v, pol, len(b.Messages))
	b.cacheEdits(v)
	if editsCache(v, pol) {
		// An edit can only name what is before the last cached message.
		for m := range max(b.lastMarked(), 0) {
			for i := range b.Messages[m].Blocks {
				bl := &b.Messages[m].Blocks[i]
				bl.CacheReference = isResult(*bl)
			}
		}
	}
	b.Edits = serverEdits(pol)
	return b, nil
}

// IndexOf returns the index of the first message that has a block of an item, or -1.
func (b *Body) IndexOf(id policy.ItemID) int {
	return slices.IndexFunc(b.Messages, func(m BodyMessage) bool {
		return slices.ContainsFunc(m.Blocks, func(bl BodyBlock) bool { return bl.Source.Item == id })
	})
}

// Mark puts the cache breakpoints of a policy into the first n messages, as if the body had no other messages.
func (b *Body) Mark(v *view.View, pol *policy.Policy, n int) {
	b.Automatic = pol.Cache.Breakpoints == policy.BreakpointsAutomatic
	if pol.Cache.TTL == longTTL {
		b.TTL = longTTL
	}
	if last := n - 1; last > 0 && b.Messages[last].Role == session.System && !session.FrameOf(sender(v)).MarksSystem {
		n = last
	}
	for _, m := range breakpoints(pol.Cache.Marks(v.Conversation().Product, sender(v)), n) {
		b.Messages[m].mark(b.TTL)
	}
}

// longTTL is the TTL that a request must name; five minutes are the default.
const longTTL = "1h"

// breakpoints lists the messages of n, ascending, that a client with such marks marks at their last block. A
// body does not have its marks on the system prompt, and automatic caching is one setting of the whole body.
func breakpoints(marks string, n int) []int {
	last := 2
	switch marks {
	case policy.BreakpointsNone, policy.BreakpointsAutomatic:
		return nil
	case policy.BreakpointsLast:
		last = 1
	}
	var at []int
	for m := max(n-last, 0); m < n; m++ {
		at = append(at, m)
	}
	return at
}

// mark puts a cache breakpoint on the last block that can carry one: thinking and empty texts cannot.
func (m *BodyMessage) mark(ttl string) {
	for i := len(m.Blocks) - 1; i >= 0; i-- {
		b := &m.Blocks[i]
		empty := b.Type == "text" && bytes.Equal(b.JSON, textBlock(""))
		if b.Type != "thinking" && b.Type != "redacted_thinking" && !empty {
			b.CacheControl = &CacheControl{"ephemeral", ttl}
			return
		}
	}
}

// lastMarked returns the index of the last message with a breakpoint, or of the last message.
func (b *Body) lastMarked() int {
	for m := len(b.Messages) - 1; m >= 0; m-- {
		if slices.ContainsFunc(b.Messages[m].Blocks, func(b BodyBlock) bool { return b.CacheControl != nil }) {
			return m
		}
	}
	return len(b.Messages) - 1
}

// cacheEdits puts each cache edit into the message that carries it. What it deletes must be in an earlier message: if
// both are in one, the item that carries the edit begins a separate message. No result is parted from its call so: a
// message with results from there on stays one, and what is deleted in it is named in it.
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
	var out []BodyMessage
	for _, msg := range b.Messages {
		next := carrying{BodyMessage: BodyMessage{Role: msg.Role}}
		for i, bl := range msg.Blocks {
			id := bl.Source.Item
			edits := byCarrier[id]
			delete(byCarrier, id)
			if slices.ContainsFunc(edits, next.holds) {
				if slices.ContainsFunc(msg.Blocks[i:], isResult) {
					next.name(edits)
				} else {
					out = append(out, next.message(v))
					next = carrying{BodyMessage: BodyMessage{Role: msg.Role}}
				}
			}
			next.edits = append(next.edits, edits...)
			next.Blocks = append(next.Blocks, bl)
		}
		out = append(out, next.message(v))
	}
	b.Messages = out
}

// carrying is a message under construction and the edits it carries.
type carrying struct {
	BodyMessage
	edits []policy.CacheEdit
}

// holds reports whether the message holds what an edit deletes.
func (c *carrying) holds(e policy.CacheEdit) bool {
	return slices.ContainsFunc(c.Blocks, func(b BodyBlock) bool { return b.Source.Item == e.Target.Item })
}

// name gives the results that edits delete the references by which they are named.
func (c *carrying) name(edits []policy.CacheEdit) {
	for _, e := range edits {
		for i := range c.Blocks {
			if bl := &c.Blocks[i]; bl.Source.Item == e.Target.Item && isResult(*bl) {
				bl.CacheReference = true
			}
		}
	}
}

func isResult(b BodyBlock) bool { return b.Type == "tool_result" && b.ToolUse != "" }

// message returns the message with its edits before it.
func (c *carrying) message(v *view.View) BodyMessage {
	type cacheDelete struct {
		Type      string `json:"type"`
		Reference string `json:"cache_reference"`
	}
	var deletes []cacheDelete
	for _, e := range c.edits {
		if raw := v.Raw(e.Target); raw != nil && raw.ID != "" {
			deletes = append(deletes, cacheDelete{"delete", raw.ID})
		}
	}
	if len(deletes) > 0 {
		front := BodyBlock{Source: policy.BlockOf(c.edits[0].Carrier, Whole), Type: "cache_edits"}
		front.JSON = appendValue(nil, struct {
			Type  string        `json:"type"`
			Edits []cacheDelete `json:"edits"`
		}{front.Type, deletes})
		c.Blocks = append([]BodyBlock{front}, c.Blocks...)
	}
	return c.BodyMessage
}

// editsCache reports whether the client names results for cache edits. It does so from its first request on, so that
// the first edit changes nothing before it.
func editsCache(v *view.View, pol *policy.Policy) bool {
	return len(v.CacheEdits()) > 0 || slices.ContainsFunc(pol.Stages, func(s policy.StageConfig) bool {
		return s.Definition.CacheEdits
	})
}

// serverEdits lists the context_management edits of a policy. The one for thinking is first: the API accepts no other
// order.
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
