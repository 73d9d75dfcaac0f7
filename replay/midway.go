package replay

import (
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// EarlierHistory is what a file that begins in the middle of a conversation shows of what came before. It is known by
// the usage of the first request.
type EarlierHistory struct {
	Tokens int  `json:"tokens,omitempty"` // the placeholder's; 0: no usage is recorded
	Cached *int `json:"cached_tokens"`    // what the first request read from the prompt cache, as recorded; nil: no usage is recorded
}

// earlier is what the file shows of the history before it; nil where it begins with its conversation.
func (e *engine) earlier() *EarlierHistory {
	if !e.conv.BeginsMidway() || len(e.conv.Requests) == 0 {
		return nil
	}
	h := &EarlierHistory{}
	if m := &e.conv.Messages[e.conv.Requests[0].Message]; m.HasUsage {
		read := e.r.usage(m).CacheRead
		h.Tokens, h.Cached = e.r.Cal.Message(0), &read
	}
	return h
}

// seed puts into the cache what the first request of a file that begins mid-conversation read, as recorded: the same
// share of the payload under every policy. What the requests before it wrote beyond that is not known.
func (e *engine) seed(model string, payload int) {
	h := e.earlier()
	if h == nil || h.Cached == nil {
		return
	}
	u := e.r.usage(&e.conv.Messages[e.conv.Requests[0].Message])
	n := 0
	if context := u.Context(); context > 0 {
		n = int(int64(*h.Cached) * int64(payload) / int64(context))
	}
	if n <= 0 {
		return
	}
	position := firstPlace + e.view.Places() - 1
	first := max(position-cache.LookBack+1, systemPlace) // it was read, wherever the client's breakpoints were
	for position > first && payload-e.view.PayloadFrom(position+1-firstPlace) > n {
		position--
	}
	c := e.cache
	if c.unasked() {
		c.auto.Seed(model, n+c.kind.Slack, e.now)
		c.ladder.seed(model, n, e.now)
		return
	}
	c.sim.Seed(cache.Breakpoint{Position: position, Tokens: n, TTL: c.ttl}, model, e.now)
	c.ladder.seed(model, n, e.now)
}

// countHistory finds the stages that compare the whole prompt with a limit. At the first request of a file that begins
// mid-conversation they do not run: what the client counted there is not known, and the request was made. Stages that
// count or judge single results, calls or turns do as elsewhere, by what is in the file.
func (e *engine) countHistory() {
	if !e.conv.BeginsMidway() || len(e.conv.Requests) == 0 {
		return
	}
	at := e.circumstances(0, e.window(0))
	for i := range e.stages {
		e.stages[i].countsHistory = slices.ContainsFunc(e.stages[i].Limits(at).List, func(l policy.Limit) bool {
			return l.Acts && (l.Of == policy.OfContext || l.Of == policy.OfRequest || l.Of == policy.OfMessages)
		})
	}
}

// waits reports whether a stage does not run before request k (0-based).
func (s *running) waits(moment policy.Moment, k int) bool {
	return s.countsHistory && k == 0 && moment&(policy.Prepare|policy.Project) != 0
}
