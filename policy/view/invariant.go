package view

import (
	"fmt"
	"sort"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Invariant names a rule that a list of messages has to keep.
type Invariant string

// The rules of the API and of policies (docs/internals/model.md, "Invariants").
const (
	FirstIsUser         Invariant = "first_is_user"         // the first message is the user's
	LastIsUser          Invariant = "last_is_user"          // a request ends in no recorded response
	ResultFollowsUse    Invariant = "result_follows_use"    // a tool_result answers a tool_use of the message just before, once
	UseHasResult        Invariant = "use_has_result"        // a tool_use before the last message is answered in the message just after
	NoEmptyContent      Invariant = "no_empty_content"      // no message and no text is empty
	LastThinkingWhole   Invariant = "last_thinking_whole"   // the thinking of the last tool loop is as it was
	SummaryOrTail       Invariant = "summary_or_tail"       // nothing is in view that a summary in view covers or repeats
	DecisionsSticky     Invariant = "decisions_are_sticky"  // what was replaced stays replaced by the same, what was left stays
	ThinkingKeepsPrefix Invariant = "thinking_keeps_prefix" // nothing before a thinking block is edited by the client (models with preserved thinking)
)

// Violation is a way in which a view is not what the Messages API takes.
type Violation struct {
	Item    policy.ItemID
	Rule    Invariant
	Message string // one sentence
}

// apiCheck is a pass over the messages of a view. It can go back to where it stood before an item.
type apiCheck struct {
	*View
	found []Violation
	standing
	calls    []toolCall              // of the assistant's messages, in order
	callAt   map[string]int          // by id: the last of the calls with it
	answers  []int                   // indexes into calls of those that are answered, in the order of the answers
	thinking []checkedThinking       // in order
	changed  map[int][]policy.Target // by tool loop: changed thinking blocks, some of them checked again since; nil: none
}

// standing is where a pass stands.
type standing struct {
	any   bool
	loop  bool // this user message answers tool calls
	role  session.Role
	last  policy.ItemID
	loops int  // tool loops that are over
	own   int  // apiCheck.calls[own:] belong to this message
	to    span // the calls of the message before, which this one is to answer

	called, answered, thought int // lengths of calls, answers and thinking, on the way back
}

// span is a part of a list.
type span struct{ from, end int }

// toolCall is a tool_use.
type toolCall struct {
	id       string
	item     policy.ItemID
	answered bool
	before   int // the last call with the same id before it, -1: none
}

// checkedThinking is a thinking block, and the tool loop in which it was checked.
type checkedThinking struct {
	target policy.Target
	loop   int
}

// stands is where the pass stands now, to go back to.
func (c *apiCheck) stands() standing {
	s := c.standing
	s.called = len(c.calls)
	s.answered = len(c.answers)
	s.thought = len(c.thinking)
	return s
}

// back goes back to where the pass stood before an item.
func (c *apiCheck) back(to standing) {
	for _, i := range c.answers[to.answered:] {
		c.calls[i].answered = false
	}
	for i := len(c.calls) - 1; i >= to.called; i-- {
		if call := &c.calls[i]; call.before >= 0 {
			c.callAt[call.id] = call.before
		} else {
			delete(c.callAt, call.id)
		}
	}
	c.calls = c.calls[:to.called]
	c.answers = c.answers[:to.answered]
	c.thinking = c.thinking[:to.thought]
	c.standing = to
}

// thinkingAt finds the check of a thinking block. Those of one item follow each other, and items are in view order.
func (c *apiCheck) thinkingAt(t policy.Target) (loop int, ok bool) {
	p := c.posOf(t.Item)
	if p < 0 {
		return 0, false
	}
	i := sort.Search(len(c.thinking), func(i int) bool {
		o := c.thinking[i].target
		q := c.posOf(o.Item)
		return q > p || q == p && o.Block >= t.Block
	})
	if i == len(c.thinking) || c.thinking[i].target != t {
		return 0, false
	}
	return c.thinking[i].loop, true
}

func (c *apiCheck) report(id policy.ItemID, rule Invariant, format string, args ...any) {
	c.found = append(c.found, Violation{id, rule, fmt.Sprintf(format, args...)})
}

func (c *apiCheck) item(id policy.ItemID) {
	blocks := c.Blocks(id)
	if m := c.Message(id); m != nil && m.Role == session.Assistant && len(m.Blocks) == 0 {
		return // a request that failed or was aborted: it wrote nothing, and nothing is sent again
	}
	if blocks == 0 {
		c.report(id, NoEmptyContent, "a message without content")
		return
	}
	if c.Tag(id) == nil && c.SentBlocks(id) == 0 {
		return
	}
	role := c.Role(id)
	switch {
	case !c.any:
		c.any = true
		c.role = role
		if role != session.User {
			c.report(id, FirstIsUser, "the first message is the assistant's")
		}
	case role != c.role:
		c.turn()
		c.role = role
	}
	c.last = id
	for b := range blocks {
		t := policy.BlockOf(id, b)
		c.block(t, c.Kind(t), c.Raw(t), c.Replacement(t), role)
	}
}

// turn ends a message.
func (c *apiCheck) turn() {
	if n := len(c.calls); c.role == session.Assistant {
		c.to = span{c.own, n}
		c.own = n
		return
	}
	c.unanswered()
	if !c.loop {
		c.loops++
	}
	c.to = span{}
	c.loop = false
}

// unanswered reports the calls that this user message, or one that ends here, does not answer.
func (c *apiCheck) unanswered() {
	for _, call := range c.calls[c.to.from:c.to.end] {
		if !call.answered {
			c.report(call.item, UseHasResult, "the tool_use %s has no result in the message after it", call.id)
		}
	}
}

// block checks a block of a kind: raw as recorded, nil where it is made up, and with what took its place, nil for nothing.
func (c *apiCheck) block(t policy.Target, kind jsonl.Kind, raw *session.Block, with *policy.Content, role session.Role) {
	switch {
	case with != nil && with.Gone:
	case kind == jsonl.KindText:
		c.text(t)
	case raw == nil:
	case kind == jsonl.KindToolUse && role == session.Assistant:
		id := raw.ID
		before, ok := c.callAt[id]
		if ok && before >= c.own {
			c.report(t.Item, ResultFollowsUse, "two calls in one message have the id %s", id)
			return
		}
		if !ok {
			before = -1
		}
		c.callAt[id] = len(c.calls)
		c.calls = append(c.calls, toolCall{id: id, item: t.Item, before: before})
	case kind == jsonl.KindToolResult:
		c.loop = true
		c.answer(t.Item, raw.ID, role)
	case kind == jsonl.KindThinking || kind == jsonl.KindRedactedThinking:
		c.thinking = append(c.thinking, checkedThinking{t, c.loops})
		if with != nil {
			c.change(c.loops, t)
		}
	}
}

// change notes a thinking block that was changed in a tool loop.
func (c *apiCheck) change(loop int, t policy.Target) {
	if c.changed == nil {
		c.changed = map[int][]policy.Target{}
	}
	c.changed[loop] = append(c.changed[loop], t)
}

func (c *apiCheck) text(t policy.Target) {
	if r := c.Replacement(t); c.Length(t).UTF16 == 0 && (r == nil || r.Tokens == 0) && !c.earlier(t.Item) {
		c.report(t.Item, NoEmptyContent, "an empty text")
	}
}

func (c *apiCheck) answer(item policy.ItemID, id string, role session.Role) {
	i, ok := c.callAt[id] // no call behind those that are to be answered has the id
	switch {
	case role != session.User || !ok || i < c.to.from || i >= c.to.end:
		c.report(item, ResultFollowsUse, "the tool_result of %s has no tool_use in the message before it", id)
	case c.calls[i].answered:
		c.report(item, ResultFollowsUse, "the tool_use %s has two results", id)
	default:
		c.calls[i].answered = true
		c.answers = append(c.answers, i)
	}
}

// earlier reports whether an item represents history that is not in the file.
func (c *apiCheck) earlier(id policy.ItemID) bool {
	m := c.Message(id)
	return m != nil && m.Is(session.Earlier)
}
