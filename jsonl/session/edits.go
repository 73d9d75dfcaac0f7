package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// Types of lines outside the chain that record edits of the context.
const (
	typeCommit      = foreign.TypeCollapsed
	typeSnapshot    = "marble-origami-snapshot"
	typeReplacement = foreign.TypeReplaced
)

// mark keeps such a line until the chain is built.
func (ld *loader) mark(e *jsonl.Entry) {
	m := mark{line: e.Line, at: len(ld.nodes), agent: e.AgentID}
	var err error
	switch e.Type {
	case typeCommit:
		err = json.Unmarshal(e.Raw, &m.commit)
	case typeSnapshot:
		err = json.Unmarshal(e.Raw, &m.snapshot)
	case typeReplacement:
		var l struct {
			replacedLine
			Replacements []replacedLine `json:"replacements"`
		}
		err = json.Unmarshal(e.Raw, &l)
		if m.replaced = l.Replacements; len(m.replaced) == 0 {
			m.replaced = []replacedLine{l.replacedLine}
		}
	}
	if err != nil {
		ld.warn(CodeMetadata, e.Line, "a %s is partly unreadable: the readable part is used", e.Type)
	}
	ld.marks = append(ld.marks, m)
}

// marks resolves the references of the marks of this conversation. It runs after requests are numbered and tools are
// indexed.
func (c *chain) marks() {
	conv := c.Conversation
	at, before := 0, 0 // c.order[:at] have been seen
	collapsed := map[string]int{}
	replaced := map[string]int{}
	for i := range c.loader.marks {
		m := &c.loader.marks[i]
		if m.used || m.agent != "" && m.agent != c.agent() {
			continue
		}
		for ; at < len(c.order) && c.order[at] < m.at; at++ {
			if k, ok := c.byLine(c.order[at]); ok {
				before = max(before, k+1)
			}
		}
		for before < len(conv.Messages) && conv.Messages[before].Lost {
			before++
		}
		switch {
		case m.commit != nil:
			m.used = c.commit(m, before, collapsed)
		case m.snapshot != nil:
			m.used = true
			c.snapshot(m, before, collapsed)
		default:
			m.used = c.replacements(m, before, replaced)
		}
	}
	slices.SortStableFunc(conv.Replaced, func(a, b Replacement) int { return cmp.Compare(a.Before, b.Before) })
}

// agent is the id of the conversation's agent, "" for a main conversation.
func (c *chain) agent() string {
	if c.Agent != "" {
		return c.Agent
	}
	return c.ownAgent(c.order)
}

func (c *chain) warn(line int, format string, args ...any) {
	c.notes.add(&c.Warnings, "", line, format, args...)
}

// messageOf is the index of the message of the line with this uuid.
func (c *chain) messageOf(uuid string) (int, bool) {
	i, ok := c.lineOf(uuid)
	if !ok {
		return 0, false
	}
	at, ok := c.byLine(i)
	return at, ok && at < len(c.Messages)
}

// span resolves a span of messages between two messages or placeholders of earlier collapses. It is widened to whole
// rounds, so that no tool_result is separated from its call.
func (c *chain) span(first, last string, before int, collapsed map[string]int) (from, to int, err error) {
	end := func(uuid string, of func(*Collapse) int) (int, error) {
		if k, ok := collapsed[uuid]; ok {
			return of(&c.Collapses[k]), nil
		}
		if at, ok := c.messageOf(uuid); ok && at < before {
			return at, nil
		}
		return 0, fmt.Errorf("no message before it has the uuid %q", uuid)
	}
	if from, err = end(first, func(s *Collapse) int { return s.From }); err == nil {
		to, err = end(last, func(s *Collapse) int { return s.To })
	}
	switch {
	case err != nil:
		return 0, 0, err
	case to < from:
		return 0, 0, fmt.Errorf("it ends at %q, before its start", last)
	}
	if from, to = c.widen(from, to); to >= before {
		return 0, 0, fmt.Errorf("a tool call in it has no result yet")
	}
	return from, to, nil
}

func (c *chain) commit(m *mark, before int, collapsed map[string]int) bool {
	l := m.commit
	from, to, err := c.span(l.FirstArchivedUUID, l.LastArchivedUUID, before, collapsed)
	if err != nil {
		c.warn(m.line, "the span of collapse %q cannot be resolved: %v: line set aside", l.CollapseID, err)
		return false
	}
	content := l.SummaryContent
	if content == "" && l.Summary != "" {
		content = fmt.Sprintf("<collapsed id=%q>%s</collapsed>", l.CollapseID, l.Summary)
	}
	if content == "" {
		c.warn(m.line, "collapse %q has no summary: line set aside", l.CollapseID)
		return false
	}
	if k, again := collapsed[l.SummaryUUID]; again && l.SummaryUUID != "" {
		if s := &c.Collapses[k]; s.From == from && s.To == to && s.Content == content {
			return true // repeated after the session was resumed
		}
		c.warn(m.line, "an earlier collapse has the summary %q: line set aside", l.SummaryUUID)
		return false
	}
	if l.SummaryUUID != "" {
		collapsed[l.SummaryUUID] = len(c.Collapses)
	}
	c.Collapses = append(c.Collapses, Collapse{
		ID: l.CollapseID, Line: m.line, From: from, To: to, Content: content, Summary: l.Summary, Before: before, Request: c.requestAfter(before),
	})
	return true
}

func (c *chain) snapshot(m *mark, before int, collapsed map[string]int) {
	s := CollapseSnapshot{Line: m.line, Before: before, Request: c.requestAfter(before)}
	for _, l := range m.snapshot.Staged {
		from, to, err := c.span(l.StartUUID, l.EndUUID, before, collapsed)
		if err != nil {
			c.warn(m.line, "a staged span cannot be resolved: %v: it is left out", err)
			continue
		}
		s.Staged = append(s.Staged, Staged{From: from, To: to, Summary: l.Summary, Risk: l.Risk})
	}
	c.Snapshots = append(c.Snapshots, s)
}

// replacements records the decisions of one line. In Claude Code the first on a result is final.
func (c *chain) replacements(m *mark, before int, replaced map[string]int) (used bool) {
	for _, l := range m.replaced {
		id := cmp.Or(l.ToolUseID, l.ToolUse)
		text := cmp.Or(l.Replacement, l.Content)
		at, block, ok := c.resultOf(id)
		switch {
		case id == "" || !ok:
			c.warn(m.line, "a replacement for the result of %q, which is not in the conversation: it is left out", id)
			continue
		case text == "":
			c.warn(m.line, "a replacement for the result of %q without a text: it is left out", id)
			continue
		}
		used = true
		if k, again := replaced[id]; again && c.ownFormat() {
			if c.Replaced[k].Text != text {
				c.warn(m.line, "the result of %q has an earlier replacement by another text, which is used", id)
			}
			continue
		}
		replaced[id] = len(c.Replaced)
		from := max(before, at+1)
		c.Replaced = append(c.Replaced, Replacement{
			Line: m.line, ToolID: id, Message: at, Block: block, Text: text, Before: from, Request: c.requestAfter(from),
		})
	}
	return used
}
