package wire

import (
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/opencode"
)

// Payload is what the client sends under a policy: the model view, its cache
// breakpoints, the cache edits pinned where they were first sent, and the
// server's own edits by their parameters. What the server then clears stays in
// the messages: it is the server that leaves it out.
func Payload(v *policy.View, pol *policy.Policy) (*Body, error) {
	b, err := Model(v)
	if err != nil {
		return nil, err
	}
	b.cacheEdits(v)
	b.Automatic = pol.Cache.Breakpoints == policy.BreakpointsAutomatic
	if pol.Cache.TTL == longTTL {
		b.TTL = longTTL
	}
	last := len(b.Messages) - 1
	for _, m := range breakpoints(&pol.Cache, len(b.Messages)) {
		if b.Messages[m].mark(b.TTL) {
			last = m
		}
	}
	if editsCache(v, pol) {
		// Only what lies before the last cached message can be named.
		for m := range max(last, 0) {
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
	switch c.Breakpoints {
	case policy.BreakpointsNone, policy.BreakpointsAutomatic:
		return nil
	case policy.BreakpointsOpenCode:
		_, at := opencode.CacheBreakpoints(0, n)
		return at
	}
	var at []int // the last two
	for m := max(n-2, 0); m < n; m++ {
		at = append(at, m)
	}
	return at
}

// mark puts a cache breakpoint on the last block that can carry one: thinking
// and empty texts cannot.
func (m *Message) mark(ttl string) bool {
	for i := len(m.Blocks) - 1; i >= 0; i-- {
		b := &m.Blocks[i]
		switch b.Type {
		case "thinking", "redacted_thinking", "cache_edits":
			continue
		}
		if b.Type == "text" && string(b.JSON) == string(textBlock("")) {
			continue
		}
		b.CacheControl = &CacheControl{"ephemeral", ttl}
		return true
	}
	return false
}

// cacheEdits puts the cache edits made so far first into the messages that
// carry them. An edit stays as long as its carrier and its target do.
func (b *Body) cacheEdits(v *policy.View) {
	byCarrier := map[policy.ItemID][]cacheDelete{}
	for _, c := range v.CacheEdits() {
		if raw := v.Raw(c.Target); raw != nil && raw.ID != "" && v.Has(c.Carrier) {
			byCarrier[c.Carrier] = append(byCarrier[c.Carrier], cacheDelete{"delete", raw.ID})
		}
	}
	if len(byCarrier) == 0 {
		return
	}
	for m := range b.Messages {
		msg := &b.Messages[m]
		var deletes []cacheDelete
		seen := policy.ItemID(0)
		first := policy.ItemID(0)
		for i := range msg.Blocks {
			id := msg.Blocks[i].Source.Item
			if i > 0 && id == seen {
				continue
			}
			seen = id
			if d := byCarrier[id]; len(d) > 0 {
				if deletes == nil {
					first = id
				}
				deletes = append(deletes, d...)
			}
		}
		if len(deletes) > 0 {
			block := Block{Source: policy.Target{Item: first, Block: Whole}, Type: "cache_edits", JSON: appendValue(nil, cacheEdits{"cache_edits", deletes})}
			msg.Blocks = append([]Block{block}, msg.Blocks...)
		}
	}
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
func editsCache(v *policy.View, pol *policy.Policy) bool {
	return len(v.CacheEdits()) > 0 || slices.ContainsFunc(pol.Stages, func(s policy.StageConfig) bool {
		return s.Definition.Name == "microcompact_cached"
	})
}

// serverEdits are the context_management edits of a policy. The one for
// thinking comes first: the API takes no other order.
func serverEdits(pol *policy.Policy) []any {
	var first, rest []any
	for i := range pol.Stages {
		s, ok := pol.Stages[i].Params.(policy.ServerEdit)
		switch {
		case !ok:
		case pol.Stages[i].Definition.Name == "clear_thinking":
			first = append(first, s.ServerEdit())
		default:
			rest = append(rest, s.ServerEdit())
		}
	}
	return append(first, rest...)
}
