package replay

import (
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
	n := k + 1
	ev := Event{
		N: len(e.events), Request: &n, Stage: stageAPI, Kind: kind, Detail: map[string]int{"over": over}, Targets: []EventTarget{},
		Before: row.Payload, After: row.Payload, Reason: c.reason(kind, used, row.Payload, over),
	}
	if kind == policy.KindBlock {
		ev.Stage = stageClient
	}
	e.events = append(policy.Roomy(e.events), ev)
	e.pending = append(e.pending, ev.N)
	row.Events = e.pending
}

// reason says why a request would have had no answer. It is made in one piece: a policy may have one for every request.
func (c *ceiling) reason(kind policy.EditKind, used, payload, over int) string {
	var room [160]byte
	text := room[:0]
	if kind == policy.KindBlock {
		text = policy.AppendThousands(append(text, "used "...), used)
		text = append(append(append(text, " >= "...), c.block.Name...), ' ')
		return string(append(policy.AppendThousands(text, c.block.Tokens), ": the client would not send it"...))
	}
	text = policy.AppendThousands(append(text, "a payload of "...), payload)
	text = policy.AppendThousands(append(text, " tokens in a window of "...), c.window)
	text = policy.AppendThousands(append(text, ", "...), over)
	return string(append(text, " too many: the API would refuse it"...))
}
