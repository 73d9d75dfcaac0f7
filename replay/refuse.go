package replay

import (
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
	pol *policy.Policy
	by  map[windowKey]*ceiling
	of  alike    // the last request, and those like it
	at  *ceiling // of them
}

// ceiling is that of request k (0-based). What the record shows to have gone through an assumed window fits: the
// window is larger than assumed.
func (e *engine) ceiling(c *ceilings, k int) *ceiling {
	if c.of.has(k) {
		return c.at
	}
	m := &e.conv.Messages[e.conv.Requests[k].Message]
	key := e.windowKey(c.pol.Window, m)
	at := c.by[key]
	if at == nil {
		window := e.windowUnder(c.pol.Window, k)
		at = &ceiling{window: window}
		if e.opt.Window == 0 && c.pol.Window.Context == 0 && e.opt.Model == "" {
			at.window = max(e.modelWindow(key), e.r.largest[m.Model()])
		}
		limits := c.pol.Limits(e.circumstances(k, window))
		for _, l := range limits.List {
			if l.Blocks && (at.block.Tokens == 0 || l.Tokens < at.block.Tokens) {
				at.block = l
			}
		}
		if c.by == nil {
			c.by = map[windowKey]*ceiling{}
		}
		c.by[key] = at
	}
	c.of, c.at = e.r.alikeAt(k), at
	return at
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

// unanswered makes an event of main request k (0-based) if it would have had no answer. What the record sent was
// answered by its own model, and is judged under another one only. The replay goes on as if it had had the recorded one
// (docs/internals/decisions.md, decision 20).
func (e *engine) unanswered(k, used int, row *Request) {
	c := e.ceiling(&e.ceilings, k)
	kind, over := c.exceeded(used, row.Payload, e.compacted)
	e.shadows = slices.DeleteFunc(e.shadows, func(s *shadow) bool {
		other, by := e.ceiling(&s.ceilings, k).exceeded(used, row.Payload, e.compacted)
		return other != kind || by != over
	})
	if kind == "" {
		return
	}
	e.pending = append(e.pending, len(e.events))
	row.Events = e.pending
	ev := c.event(kind, used, row.Payload, over)
	ev.N, ev.Request = len(e.events), new(k+1)
	e.events = append(e.events, ev)
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
