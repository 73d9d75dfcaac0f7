package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
)

// The stage names on events that no stage makes.
const (
	stageAPI    = "api"    // would refuse the request
	stageClient = "client" // would not send it
)

// ceiling is what a main request may reach, tokens.
type ceiling struct {
	window int          // of the payload, by the report's counter: the API refuses more
	block  policy.Limit // of the client's own estimate: it sends no request that reaches it; zero: there is none
}

// ceilings are the ceilings of a policy's requests, by what the window depends on.
type ceilings struct {
	policy *policy.Policy
	by     map[windowKey]*ceiling
}

// ceiling is that of request k (0-based). What the recorded session shows to have gone through an assumed window fits: the
// window is larger than assumed.
func (e *Engine) ceiling(c *ceilings, k int) *ceiling {
	m := e.conv.Response(k)
	key := e.windowKey(c.policy.Window, m)
	limit := c.by[key]
	if limit == nil {
		window := e.windowUnder(c.policy.Window, k)
		limit = &ceiling{window: window}
		if e.options.Window == 0 && c.policy.Window.Context == 0 && e.options.Model == "" {
			limit.window = max(e.modelWindow(key), e.record.Largest[m.Model])
		}
		limits := c.policy.Limits(e.circumstances(k, window))
		for _, l := range limits.List {
			if l.Blocks && (limit.block.Tokens == 0 || l.Tokens < limit.block.Tokens) {
				limit.block = l
			}
		}
		if c.by == nil {
			c.by = map[windowKey]*ceiling{}
		}
		c.by[key] = limit
	}
	return limit
}

// exceeded is why a request with a payload, or the client's estimate of it, would have had no answer, and by how many
// tokens; the empty kind where it would.
func (c *ceiling) exceeded(used, payload int, compacted bool) (kind policy.EditKind, over int) {
	switch {
	case c.block.Tokens > 0 && used >= c.block.Tokens && !compacted:
		return policy.KindBlock, used - c.block.Tokens
	case payload > c.window:
		return policy.KindRefuse, payload - c.window
	}
	return "", 0
}

// refuse makes an event of a request if it would have had no answer. What the recorded session sent was answered by its
// own model, and is judged under another one only. The replay goes on as if it had had the recorded one
// (docs/internals/decisions.md, decision 20).
func (e *Engine) refuse(q *request) {
	if e.policy.Recorded && cmp.Or(e.options.Model, q.msg.Model) == q.msg.Model || q.k == 0 && e.conv.BeginsMidway() {
		return
	}
	exceeded := func(of *ceilings) (c *ceiling, kind policy.EditKind, over int) {
		c = e.ceiling(of, q.k)
		kind, over = c.exceeded(q.row.Used, q.row.Payload, e.changes.compacted)
		return c, kind, over
	}
	c, kind, over := exceeded(&e.windows.ceilings)
	e.shadows = slices.DeleteFunc(e.shadows, func(s *shadow) bool {
		_, other, by := exceeded(&s.ceilings)
		return other != kind || by != over
	})
	if kind == "" {
		return
	}
	ev := c.event(kind, q.row.Used, q.row.Payload, over)
	ev.N = len(e.rows.events)
	ev.Request = new(q.k + 1)
	e.rows.events = append(e.rows.events, ev)
	e.changes.events = append(e.changes.events, ev.N)
	q.row.Events = e.changes.events
}

// event says what request would have had no answer, and why.
func (c *ceiling) event(kind policy.EditKind, used, payload, over int) Event {
	ev := Event{Stage: stageAPI, Kind: kind, Before: payload, After: payload, Detail: map[string]int{"over": over}, Targets: []EventTarget{}}
	if kind == policy.KindBlock {
		ev.Stage = stageClient
		ev.Reason = fmt.Sprintf("used %s >= %s %s: the client would not send it", policy.Thousands(used), c.block.Name, policy.Thousands(c.block.Tokens))
		return ev
	}
	ev.Reason = fmt.Sprintf("a payload of %s tokens in a window of %s, %s too many: the API would refuse it",
		policy.Thousands(payload), policy.Thousands(c.window), policy.Thousands(over))
	return ev
}
