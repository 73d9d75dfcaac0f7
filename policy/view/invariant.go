package view

import (
	"fmt"
	"slices"

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
	v     *View
	found []Violation
	standing
	thinking map[policy.Target]int32   // by thinking block: the tool loop in which it was checked
	thought  []policy.Target           // its keys, in order
	answers  []answer                  // in order
	changed  map[int32][]policy.Target // by tool loop: changed thinking blocks, some of them checked again since
	room     []calls                   // not used yet
	none     *calls                    // what is before a message that answers nothing: nothing is added to it
}

// standing is where a pass stands.
type standing struct {
	any     bool
	loop    bool // this user message answers tool calls
	role    session.Role
	last    policy.ItemID
	loops   int32  // tool loops that are over
	called  int32  // of calls, on the way back
	thought int32  // of apiCheck.thought
	answers int32  // of apiCheck.answers
	calls   *calls // tool_uses of this assistant message
	before  *calls // those of the message before this user message
}

// answer is a call that was answered.
type answer struct {
	of *calls
	i  int
}

// calling makes room for the calls of a message.
func (c *apiCheck) calling() *calls {
	const several = 128
	if len(c.room) == 0 {
		c.room = make([]calls, several)
	}
	next := &c.room[0]
	c.room = c.room[1:]
	return next
}

// stands is where the pass stands now, to go back to.
func (c *apiCheck) stands() standing {
	s := c.standing
	s.called, s.thought, s.answers = int32(len(c.calls.list)), int32(len(c.thought)), int32(len(c.answers))
	return s
}

// back goes back to where the pass stood before an item.
func (c *apiCheck) back(to standing) {
	for _, a := range c.answers[to.answers:] {
		a.of.list[a.i].answered = false
	}
	for _, t := range c.thought[to.thought:] {
		delete(c.thinking, t)
	}
	c.answers, c.thought = c.answers[:to.answers], c.thought[:to.thought]
	c.standing = to
	c.calls.cut(int(to.called))
}

// calls are the tool_uses of one message, in order.
type calls struct {
	list  []toolCall
	at    map[string]int // by id, where there are many
	first [1]toolCall    // of the list, mostly all of it
}

// fewCalls is how many calls are searched without a map.
const fewCalls = 8

// find is the index of the call with that id in the list.
func (c *calls) find(id string) (int, bool) {
	if c.at != nil {
		i, ok := c.at[id]
		return i, ok
	}
	i := slices.IndexFunc(c.list, func(call toolCall) bool { return call.id == id })
	return i, i >= 0
}

// cut takes back what was added behind the first n calls.
func (c *calls) cut(n int) {
	if c.at != nil {
		for _, call := range c.list[n:] {
			delete(c.at, call.id)
		}
	}
	c.list = c.list[:n]
}

func (c *calls) add(call toolCall) {
	if c.list == nil {
		c.list = c.first[:0]
	}
	c.list = append(c.list, call)
	switch n := len(c.list); {
	case c.at != nil:
		c.at[call.id] = n - 1
	case n > fewCalls:
		c.at = make(map[string]int, 2*n)
		for i := range c.list {
			c.at[c.list[i].id] = i
		}
	}
}

type toolCall struct {
	id       string
	item     policy.ItemID
	answered bool
}

// roomy makes room for one more element. A long slice grows to twice its length, where append makes it a quarter longer
// and copies it more often.
func roomy[T any](list []T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(len(list), 16))
	}
	return list
}

func (c *apiCheck) report(id policy.ItemID, rule Invariant, format string, args ...any) {
	c.found = append(c.found, Violation{id, rule, fmt.Sprintf(format, args...)})
}

func (c *apiCheck) item(id policy.ItemID) {
	blocks := c.v.Blocks(id)
	if m := c.v.Message(id); m != nil && m.Role == session.Assistant && len(m.Blocks) == 0 {
		return // a request that failed or was aborted: it wrote nothing, and nothing is sent again
	}
	if blocks == 0 {
		c.report(id, NoEmptyContent, "a message without content")
		return
	}
	if c.v.Tag(id) == nil && c.v.SentBlocks(id) == 0 {
		return
	}
	role := c.v.Role(id)
	switch {
	case !c.any:
		c.any, c.role = true, role
		if role != session.User {
			c.report(id, FirstIsUser, "the first message is the assistant's")
		}
	case role != c.role:
		c.turn()
		c.role = role
	}
	c.last = id
	for b := range blocks {
		c.block(policy.Target{Item: id, Block: b}, role)
	}
}

// turn ends a message.
func (c *apiCheck) turn() {
	if c.role == session.Assistant {
		c.before, c.calls = c.calls, c.calling()
		return
	}
	c.unanswered()
	if !c.loop {
		c.loops++
	}
	c.before, c.loop = c.none, false
}

// unanswered reports the calls that this user message, or one that ends here, does not answer.
func (c *apiCheck) unanswered() {
	for _, call := range c.before.list {
		if !call.answered {
			c.report(call.item, UseHasResult, "the tool_use %s has no result in the message after it", call.id)
		}
	}
}

func (c *apiCheck) block(t policy.Target, role session.Role) {
	raw, with := c.v.Raw(t), c.v.Replacement(t)
	switch kind := c.v.Kind(t); {
	case with != nil && with.Gone:
	case kind == jsonl.KindText:
		c.text(t)
	case raw == nil:
	case kind == jsonl.KindToolUse && role == session.Assistant:
		if _, twice := c.calls.find(raw.ID); twice {
			c.report(t.Item, ResultFollowsUse, "two calls in one message have the id %s", raw.ID)
			return
		}
		c.calls.add(toolCall{id: raw.ID, item: t.Item})
	case kind == jsonl.KindToolResult:
		c.loop = true
		c.answer(t.Item, raw.ID, role)
	case kind == jsonl.KindThinking || kind == jsonl.KindRedactedThinking:
		c.thinking[t] = c.loops
		c.thought = append(roomy(c.thought), t)
		if with != nil {
			c.changed[c.loops] = append(c.changed[c.loops], t)
		}
	}
}

func (c *apiCheck) text(t policy.Target) {
	if r := c.v.Replacement(t); c.v.Length(t).UTF16 == 0 && (r == nil || r.Tokens == 0) && !c.earlier(t.Item) {
		c.report(t.Item, NoEmptyContent, "an empty text")
	}
}

func (c *apiCheck) answer(item policy.ItemID, id string, role session.Role) {
	i, asked := c.before.find(id)
	switch {
	case role != session.User || !asked:
		c.report(item, ResultFollowsUse, "the tool_result of %s has no tool_use in the message before it", id)
	case c.before.list[i].answered:
		c.report(item, ResultFollowsUse, "the tool_use %s has two results", id)
	default:
		c.before.list[i].answered = true
		c.answers = append(roomy(c.answers), answer{c.before, i})
	}
}

// earlier reports whether an item represents history that is not in the file.
func (c *apiCheck) earlier(id policy.ItemID) bool {
	m := c.v.Message(id)
	return m != nil && m.Earlier
}
