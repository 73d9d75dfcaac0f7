package opencode

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// compactions finds the summary of each compaction: OpenCode hides what is before a pair of a compaction's message and
// a response that summarises and is whole.
func (c *converter) compactions() {
	c.summaries = map[int]int{}
	c.paired = map[int]bool{}
	at := map[string]int{} // compaction's messages by id
	for k, m := range c.messages {
		switch {
		case m.Role == "user" && slices.ContainsFunc(m.parts, func(p part) bool { return p.Type == "compaction" }):
			at[m.ID] = k
		case m.summarises() && m.Finish != "" && m.Error == nil:
			if of, ok := at[m.ParentID]; ok {
				if _, twice := c.summaries[of]; !twice {
					c.summaries[of] = k
					c.paired[k] = true
				}
			}
		}
	}
}

// compaction puts the compaction of message k, whose summary is message s; s == k where only that is left of it.
func (c *converter) compaction(k, s int) {
	m := c.messages[k]
	sum := c.messages[s]
	usage := c.steps(sum)[0].usage
	if sum.Finish == "" || sum.Error != nil {
		if usage != nil {
			c.PutCall(sum.unit, foreign.BilledCall{ID: sum.request(0), Kind: "compaction", Model: sum.ModelID, Time: foreign.Millis(sum.Time.Created), Usage: usage})
		}
		sum.aside(c.Writer, "compaction without a summary")
		return
	}
	meta := &foreign.Compact{Trigger: "auto", Usage: usage, Request: sum.request(0), Model: sum.ModelID}
	for i := range m.parts {
		p := &m.parts[i]
		if p.Type != "compaction" {
			continue
		}
		if !p.Auto {
			meta.Trigger = "manual"
		}
		if kept := c.kept(p.Tail, k); len(kept) > 0 {
			meta.Preserved = &foreign.Preserved{UUIDs: kept}
		}
	}
	c.line(m.unit, m.ID, foreign.Line{Type: "system", Subtype: "compact_boundary", Time: foreign.Millis(m.Time.Created), Compact: meta})
	if s != k {
		c.line(m.unit, m.ID+"-asks", foreign.Line{
			Type: "user", Time: foreign.Millis(m.Time.Created), Meta: true, Message: foreign.Said(foreign.Text(compactionText)),
		})
	}
	var texts []string
	for i := range sum.parts {
		switch p := &sum.parts[i]; p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "reasoning":
			c.Aside(p.unit, "reasoning of a summary")
		}
	}
	c.others(sum, "text", "reasoning")
	c.line(sum.unit, sum.ID, foreign.Line{
		Type: "user", Time: foreign.Millis(cmp.Or(sum.Time.Completed, sum.Time.Created)), Summary: true,
		Message: &foreign.Message{Role: "assistant", Content: []foreign.Block{foreign.Text(strings.Join(texts, "\n"))}},
	})
}

// kept are the lines from the message with an id up to message k. Compactions that keep each other's messages multiply
// them: those over the limit of an input's entries keep none.
func (c *converter) kept(id string, k int) (list []string) {
	from, ok := c.places[id]
	if !ok || id == "" || from > k {
		return nil
	}
	list = slices.Concat(c.uuids[from:k]...)
	if c.lines += int64(len(list)); c.lines > c.Limits.Filled().Entries {
		c.Warn(c.messages[k].line, codeMetadata, foreign.KeptTooMuch)
		return nil
	}
	return list
}

// pruning is a prune: results that were cleared between the same two requests.
type pruning struct {
	before int     // index of the message that it is before
	when   float64 // of the first of them
	parts  []*part
}

// prunes finds the prunes by the times at which results were cleared.
func (c *converter) prunes() (list []pruning) {
	type cleared struct {
		of *part
		in int
	}
	var all []cleared
	for k, m := range c.messages {
		for i := range m.parts {
			if p := &m.parts[i]; p.Type == "tool" && p.State.Status == "completed" && p.State.Time.Compacted > 0 {
				all = append(all, cleared{p, k})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b cleared) int { return cmp.Compare(a.of.State.Time.Compacted, b.of.State.Time.Compacted) })
	request := -1
	latest := make([]float64, len(c.messages)) // of the messages up to each: when they began
	response := make([]int, len(c.messages)+1) // from each on: the next response
	response[len(c.messages)] = len(c.messages)
	for k, m := range c.messages {
		latest[k] = max(m.Time.Created, latest[max(k-1, 0)])
	}
	for k := len(c.messages) - 1; k >= 0; k-- {
		if response[k] = response[k+1]; c.messages[k].Role == "assistant" {
			response[k] = k
		}
	}
	for _, x := range all {
		next := max(x.in+1, sort.Search(len(latest), func(k int) bool { return latest[k] > x.of.State.Time.Compacted }))
		if response[next] != request {
			request = response[next]
			list = append(list, pruning{before: next, when: x.of.State.Time.Compacted})
		}
		list[len(list)-1].parts = append(list[len(list)-1].parts, x.of)
	}
	slices.SortStableFunc(list, func(a, b pruning) int { return cmp.Compare(a.before, b.before) })
	return list
}

// prune puts a prune.
func (c *converter) prune(p *pruning) {
	var ids []string
	for _, part := range p.parts {
		ids = append(ids, part.CallID)
	}
	slices.Reverse(ids) // OpenCode marks the newest first
	c.line(p.parts[0].unit, p.parts[0].ID+"-pruned", foreign.Line{
		Type: "system", Subtype: "microcompact_boundary", Time: foreign.Millis(p.when),
		Micro: &foreign.Micro{Trigger: "auto", ToolIDs: ids},
	})
}
