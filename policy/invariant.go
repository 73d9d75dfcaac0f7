package policy

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Violation is a way in which a view is not what the Messages API takes.
type Violation struct {
	Item    ItemID
	Message string // one sentence
}

// CheckAPI checks the model view against what the API asks of a list of
// messages, adjacent messages of one role taken as one:
//
//   - the first is the user's;
//   - every tool_result answers a tool_use of the message just before, once;
//   - every tool_use is answered in the message just after, unless it stands in
//     the last;
//   - no message and no text is empty;
//   - the thinking of the last tool loop is as it was.
//
// What the server does to the payload is its own affair. What is not sent (an
// attachment that the client keeps to itself) is passed over. It looks at every
// message: it is for tests and for --strict.
func CheckAPI(v *View) []Violation {
	c := apiCheck{v: v}
	for id := range v.Items {
		c.item(id)
	}
	if c.any {
		c.turn() // calls of the last message may be open
	}
	for _, t := range c.thinking {
		if t.changed {
			c.report(t.item, "thinking of the last tool loop was changed")
		}
	}
	return c.found
}

type apiCheck struct {
	v        *View
	found    []Violation
	any      bool
	role     session.Role
	calls    calls // tool_uses of this assistant message
	before   calls // those of the message before this user message
	loop     bool  // this user message answers tool calls
	thinking []thought
}

// calls are the tool_uses of one message, in order.
type calls struct {
	list []toolCall
	at   map[string]int // by id
}

type toolCall struct {
	id       string
	item     ItemID
	answered bool
}

type thought struct {
	item    ItemID
	changed bool
}

func (c *apiCheck) report(id ItemID, format string, args ...any) {
	c.found = append(c.found, Violation{id, fmt.Sprintf(format, args...)})
}

func (c *apiCheck) item(id ItemID) {
	blocks := c.v.Blocks(id)
	if blocks == 0 {
		c.report(id, "a message without content")
		return
	}
	sent := c.v.Tag(id) != nil
	for b := range blocks {
		sent = sent || c.sent(Target{id, b})
	}
	if !sent {
		return
	}
	role := c.v.Role(id)
	switch {
	case !c.any:
		c.any, c.role = true, role
		if role != session.User {
			c.report(id, "the first message is the assistant's")
		}
	case role != c.role:
		c.turn()
		c.role = role
	}
	for b := range blocks {
		c.block(Target{id, b}, role)
	}
}

// sent reports whether a block goes to the API.
func (c *apiCheck) sent(t Target) bool {
	return c.v.Kind(t) != jsonl.KindAttachment || c.v.Length(t).UTF16 > 0
}

// turn ends a message.
func (c *apiCheck) turn() {
	if c.role == session.Assistant {
		c.before, c.calls = c.calls, calls{}
		return
	}
	for _, call := range c.before.list {
		if !call.answered {
			c.report(call.item, "the tool_use %s has no result in the message after it", call.id)
		}
	}
	if !c.loop {
		c.thinking = c.thinking[:0]
	}
	c.before, c.loop = calls{}, false
}

func (c *apiCheck) block(t Target, role session.Role) {
	raw := c.v.Raw(t)
	switch kind := c.v.Kind(t); {
	case kind == jsonl.KindText:
		if r := c.v.Replacement(t); c.v.Length(t).UTF16 == 0 && (r == nil || r.Tokens == 0) && !c.earlier(t.Item) {
			c.report(t.Item, "an empty text")
		}
	case raw == nil:
	case kind == jsonl.KindToolUse && role == session.Assistant:
		if _, twice := c.calls.at[raw.ID]; twice {
			c.report(t.Item, "two calls in one message have the id %s", raw.ID)
			return
		}
		if c.calls.at == nil {
			c.calls.at = map[string]int{}
		}
		c.calls.at[raw.ID] = len(c.calls.list)
		c.calls.list = append(c.calls.list, toolCall{id: raw.ID, item: t.Item})
	case kind == jsonl.KindToolResult:
		c.loop = true
		c.answer(t.Item, raw.ID, role)
	case kind == jsonl.KindThinking || kind == jsonl.KindRedactedThinking:
		c.thinking = append(c.thinking, thought{t.Item, c.v.Replacement(t) != nil})
	}
}

func (c *apiCheck) answer(item ItemID, id string, role session.Role) {
	i, asked := c.before.at[id]
	switch {
	case role != session.User || !asked:
		c.report(item, "the tool_result of %s has no tool_use in the message before it", id)
	case c.before.list[i].answered:
		c.report(item, "the tool_use %s has two results", id)
	default:
		c.before.list[i].answered = true
	}
}

// earlier reports whether an item stands for history that is not in the file.
func (c *apiCheck) earlier(id ItemID) bool {
	m := c.v.Message(id)
	return m != nil && m.Earlier
}
