package session

import (
	"cmp"
	"slices"
	"sort"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// boundary records a compact_boundary line on the path.
func (c *chain) boundary(i int) {
	n := c.node(i)
	n.mark(lineUsed)
	if len(c.Messages) == 0 {
		return // what was compacted is in no line: the summary is all the history there is
	}
	compact := n.compact
	c.typed()
	c.begin(Boundary{
		UUID: n.uuid, Line: n.line, Trigger: compact.Trigger, PreTokens: compact.PreTokens, PostTokens: compact.PostTokens,
		Time: n.time, Version: n.version, Before: len(c.Messages), Summary: -1, Preserved: c.preserved(compact, n.line),
		Usage: recordedUsage(compact.Usage), Precomputed: compact.Precomputed, KeptFirst: c.keptFirst(i),
	})
	if len(compact.Order) > 0 {
		c.ordered = append(c.ordered, ordered{len(c.Boundaries) - 1, compact.Order})
	}
}

// lostKept warns of what a boundary line says was kept and no line has.
func (ld *loader) lostKept(n *node) {
	first := ""
	lost := 0
	uuids := n.compact.kept()
	slices.Sort(uuids)
	for _, uuid := range slices.Compact(uuids) {
		if _, ok := ld.lineOf(uuid); !ok && uuid != "" && !ld.removed[uuid] {
			first = cmp.Or(first, uuid)
			lost++
		}
	}
	if lost > 0 {
		ld.warn(CodeLostPreserved, n.line, "of what the compaction kept, %d messages are not in the file, %.60q first", lost, first)
	}
}

// keptFirst reports whether what boundary i keeps stands before its summary, which is then of what followed: the client
// names the boundary itself as the place of what is kept, and not the summary.
func (c *chain) keptFirst(i int) bool {
	anchor, ok := c.lineOf(c.node(i).compact.anchor())
	return ok && anchor == i
}

// ordered is the order that a boundary line gives, as uuids.
type ordered struct {
	boundary int // index into Boundaries
	uuids    []string
}

// keptOrder resolves the orders of what boundaries keep, once all messages are there.
func (c *chain) keptOrder() {
	for _, o := range c.ordered {
		b := &c.Boundaries[o.boundary]
		for _, uuid := range o.uuids {
			if at, ok := c.messageOf(uuid); ok {
				b.Order = append(b.Order, at)
			}
		}
	}
}

// begin adds a boundary, which the lines of its compaction may follow.
func (c *chain) begin(b Boundary) {
	c.Boundaries = append(c.Boundaries, b)
	c.after = &c.Boundaries[len(c.Boundaries)-1]
}

// summary records a compact summary: that of the boundary above it, or, in the 1.0.x form without boundaries, a
// separate compaction.
func (c *chain) summary(i int, at int) {
	n := c.node(i)
	if c.after != nil && c.after.Summary < 0 {
		c.after.Summary = at
		return
	}
	c.typed()
	trigger := "auto"
	if c.manualFollows(i) {
		trigger = "manual"
	}
	c.begin(Boundary{UUID: n.uuid, Line: n.line, Trigger: trigger, Time: n.time, Version: n.version, Before: at, Summary: at})
}

// manualFollows reports whether the /compact command is a child of a summary.
func (c *chain) manualFollows(i int) bool {
	for _, k := range c.node(i).under {
		if n := c.node(k); n.opening == opensCompact || n.opening == opensCaveat && c.ofCompact(k) {
			return true
		}
	}
	return false
}

// ofCompact reports whether a line is the caveat, command line or output of /compact.
func (c *chain) ofCompact(i int) bool {
	n := c.node(i)
	switch n.opening {
	case opensCaveat:
		for _, k := range c.node(i).under {
			if c.node(k).opening == opensCompact {
				return true
			}
		}
	case opensOutput:
		return n.parent >= 0 && c.node(n.parent).opening == opensCompact
	}
	return n.opening == opensCompact
}

// typed marks the lines of a /compact command right before its boundary.
func (c *chain) typed() {
	for k := len(c.Messages) - 1; k >= 0; k-- {
		m := &c.Messages[k]
		if i, ok := c.lineOf(m.UUID); !ok || !c.ofCompact(i) {
			return
		}
		m.RecordOnly = true
	}
}

// preserved resolves the messages a boundary kept verbatim, in order.
func (c *chain) preserved(m *compactMeta, line int) []int {
	var out []int
	seen := map[int]bool{}
	switch {
	case m.PreservedMessages != nil && len(m.PreservedMessages.UUIDs) > 0:
		for _, u := range m.PreservedMessages.UUIDs {
			if at, ok := c.messageOf(u); ok && !seen[at] {
				seen[at] = true
				out = append(out, at)
			}
		}
	case m.PreservedSegment != nil:
		from, okFrom := c.messageOf(m.PreservedSegment.HeadUUID)
		to, okTo := c.messageOf(m.PreservedSegment.TailUUID)
		if !okFrom || !okTo {
			return nil
		}
		if c.kept += int64(max(to-from, 0)); c.kept > c.limits.Entries {
			c.loader.warn(CodeLostPreserved, line, foreign.KeptTooMuch)
			return nil
		}
		for at := from; at <= to; at++ {
			if m := &c.Messages[at]; !m.RecordOnly && (c.ownFormat() || m.Class != ClassSummary) {
				out = append(out, at)
			}
		}
	}
	return out
}

func (c *chain) microcompaction(i int) {
	n := c.node(i)
	n.mark(lineUsed)
	micro := n.micro
	c.Micro = append(c.Micro, Microcompaction{
		Line: n.line, Trigger: micro.Trigger, PreTokens: micro.PreTokens, TokensSaved: micro.TokensSaved,
		ToolIDs: micro.ToolIDs, Before: len(c.Messages),
	})
}

// requestAfter is the number of the first request answered at or after a message, or one more.
func (conv *Conversation) requestAfter(at int) int {
	return 1 + sort.Search(len(conv.Requests), func(i int) bool { return conv.Requests[i].Message >= at })
}
