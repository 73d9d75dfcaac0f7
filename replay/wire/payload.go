package wire

import (
	"strings"

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
	last := -1
	for _, m := range Breakpoints(pol, len(b.Messages)) {
		if b.Messages[m].mark() {
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

// Breakpoints are the messages of n, ascending, that a policy's client marks
// for the prompt cache at their last block.
func Breakpoints(pol *policy.Policy, n int) []int {
	if hasStage(pol, "opencode_") {
		_, at := opencode.CacheBreakpoints(0, n)
		return at
	}
	if n == 0 {
		return nil
	}
	return []int{n - 1}
}

// mark puts a cache breakpoint on the last block that can carry one: thinking
// and empty texts cannot.
func (m *Message) mark() bool {
	for i := len(m.Blocks) - 1; i >= 0; i-- {
		b := &m.Blocks[i]
		switch b.Type {
		case "thinking", "redacted_thinking", "cache_edits":
			continue
		}
		if b.Type == "text" && string(b.JSON) == string(textBlock("")) {
			continue
		}
		b.CacheControl = true
		return true
	}
	return false
}

// cacheEdits puts the cache edits made so far first into the messages that
// carry them. An edit stays as long as its carrier and its target do.
func (b *Body) cacheEdits(v *policy.View) {
	byCarrier := map[policy.ItemID][]cacheDelete{}
	edits := v.Edits()
	for i := range edits {
		e := &edits[i]
		if e.Kind != policy.KindCacheEdit || !v.Has(e.Carrier) || !v.Has(e.Target.Item) {
			continue
		}
		if raw := v.Raw(e.Target); raw != nil && raw.ID != "" {
			byCarrier[e.Carrier] = append(byCarrier[e.Carrier], cacheDelete{"delete", raw.ID})
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
	if hasStage(pol, "microcompact_cached") {
		return true
	}
	edits := v.Edits()
	for i := range edits {
		if edits[i].Kind == policy.KindCacheEdit {
			return true
		}
	}
	return false
}

func hasStage(pol *policy.Policy, prefix string) bool {
	for i := range pol.Stages {
		if strings.HasPrefix(pol.Stages[i].Definition.Name, prefix) {
			return true
		}
	}
	return false
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
