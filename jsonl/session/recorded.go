package session

// boundary notes a compact_boundary line on the path.
func (c *chain) boundary(i int32) {
	n := &c.ld.nodes[i]
	c.ld.used[i] = true
	b := Boundary{
		UUID: n.uuid, Line: int(n.line), Trigger: n.compact.Trigger, PreTokens: n.compact.PreTokens, PostTokens: n.compact.PostTokens,
		Time: n.time, Version: n.version, Before: len(c.conv.Messages), Summary: -1,
	}
	b.Preserved = c.preserved(n.compact)
	c.conv.Boundaries = append(c.conv.Boundaries, b)
	c.after = &c.conv.Boundaries[len(c.conv.Boundaries)-1]
}

// summary notes a compact summary. Under a boundary it is that boundary's; the
// 1.0.x form has none, and the summary itself is the compaction.
func (c *chain) summary(i int32, at int) {
	n := &c.ld.nodes[i]
	if c.after != nil && c.after.Summary < 0 && c.after.Before == at {
		c.after.Summary = at
		return
	}
	trigger := "auto"
	if c.manualFollows(i) {
		trigger = "manual"
	}
	c.conv.Boundaries = append(c.conv.Boundaries, Boundary{
		UUID: n.uuid, Line: int(n.line), Trigger: trigger, Time: n.time, Version: n.version, Before: at, Summary: at,
	})
	c.after = &c.conv.Boundaries[len(c.conv.Boundaries)-1]
}

// manualFollows reports whether /compact's own lines stand under a summary.
func (c *chain) manualFollows(i int32) bool {
	for depth := 0; depth < 4; depth++ {
		next := int32(-1)
		for _, k := range c.ld.nodes[i].children {
			if n := &c.ld.nodes[k]; n.kind == nodeUser && isCompactCommand(n) {
				if n.class == ClassCommand {
					return true
				}
				next = k
			}
		}
		if next < 0 {
			return false
		}
		i = next
	}
	return false
}

// preserved resolves the messages a boundary kept verbatim, in order.
func (c *chain) preserved(m *compactMeta) []int {
	var out []int
	seen := map[int]bool{}
	add := func(uuid string) {
		if i, ok := c.ld.byUUID[uuid]; ok {
			if at, ok := c.byLine[i]; ok && !seen[at] {
				seen[at] = true
				out = append(out, at)
			}
		}
	}
	switch {
	case m.PreservedMessages != nil && len(m.PreservedMessages.UUIDs) > 0:
		for _, u := range m.PreservedMessages.UUIDs {
			add(u)
		}
	case m.PreservedSegment != nil:
		head, okH := c.ld.byUUID[m.PreservedSegment.HeadUUID]
		tail, okT := c.ld.byUUID[m.PreservedSegment.TailUUID]
		if !okH || !okT {
			return nil
		}
		from, okF := c.byLine[head]
		to, okTo := c.byLine[tail]
		if !okF || !okTo {
			return nil
		}
		for at := from; at <= to; at++ {
			if !c.conv.Messages[at].RecordOnly {
				out = append(out, at)
			}
		}
	}
	return out
}

func (c *chain) microcompaction(i int32) {
	n := &c.ld.nodes[i]
	c.ld.used[i] = true
	c.conv.Micro = append(c.conv.Micro, Microcompaction{
		UUID: n.uuid, Line: int(n.line), Trigger: n.micro.Trigger, PreTokens: n.micro.PreTokens, TokensSaved: n.micro.TokensSaved,
		ToolIDs: n.micro.ToolIDs, Attachments: n.micro.Attachments, Time: n.time, Version: n.version, Before: len(c.conv.Messages),
	})
}

// requestAfter is the number of the first request whose response stands at or
// after message at, or len(Requests)+1.
func (conv *Conversation) requestAfter(at int) int {
	lo, hi := 0, len(conv.Requests)
	for lo < hi {
		mid := (lo + hi) / 2
		if conv.Requests[mid].Message < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo + 1
}
