package engine

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// estimateRequest sets the client's own estimate of a request.
func (e *Engine) estimateRequest(q *request) { q.used, q.tail = e.used() }

// used is the client's own estimate before the next request, tokens: the total of the last response, by how much that
// request differs from the recorded one, plus the estimate of what came after it, which is tail
// (docs/internals/decisions.md, decision 2). Right after a compaction there is no response to count from: then it is
// the estimate of the whole list times 4/3, rounded up.
func (e *Engine) used() (used, tail int) {
	if e.changes.compacted {
		n := 0
		for id := range e.view.Items {
			n += e.estimate(id)
		}
		return policy.WholeList(n), n
	}
	if j := e.progress.reported - 1; j >= 0 {
		usage := e.record.Usage(e.conv.Response(j))
		m := e.conv.Requests[j].Message
		tail = e.tail(m)
		total := usage.Total() + e.difference(j)
		if e.policy.Window.Answer == "whole" && !e.lostAfter(m) {
			output, _ := e.record.Output(m, e.counter.Report)
			total += output - usage.Output
		}
		return max(total, 0) + tail, tail
	}
	over := e.record.Unreported()
	if k := len(e.weights); e.overhead >= 0 || k < len(e.record.Overhead) {
		over = e.OverheadAt(k)
	}
	return max(over+e.view.ClientPayloadTokens(), 0), 0
}

// lostAfter reports whether the answer at message m is followed by a lost result: that weighs what the client counted and
// no line has, the rest of the answer, too.
func (e *Engine) lostAfter(m int) bool {
	rest := e.conv.Messages[m+1:]
	next := slices.IndexFunc(rest, func(m session.Message) bool { return m.Lost || m.Role == session.Assistant })
	return next >= 0 && rest[next].Lost
}

// difference is how much larger request k is than the recorded one, by the client's count: its messages, and an overhead
// that was given in place of the recorded one.
func (e *Engine) difference(k int) int {
	n := e.weights[k] - e.record.Weight[k] + e.record.OverheadOf(k, e.policy.Recorded) - e.record.Overhead[k]
	if cmp.Or(e.options.Overhead, e.policy.Window.Overhead).Given {
		n += e.overhead - e.record.OverheadOf(k, e.policy.Recorded)
	}
	return n
}

// trailing is the sum of tail over the items that had arrived when it was last asked for.
type trailing struct{ message, edits, counted, tokens int }

// tail is the client's estimate of what joined after the response at message m and is still in view, tokens.
func (e *Engine) tail(m int) int {
	t := &e.trailing
	arrived := e.view.Arrived()
	edits := len(e.view.Edits())
	if t.message != m || t.edits != edits {
		*t = trailing{message: m, edits: edits, counted: len(arrived)}
		for t.counted > 0 && arrived[t.counted-1] != policy.ItemID(m) {
			t.counted--
		}
	}
	for _, id := range arrived[t.counted:] {
		if (id < 0 || int(id) > m) && e.view.Has(id) {
			t.tokens += e.estimate(id)
		}
	}
	t.counted = len(arrived)
	n := t.tokens
	if e.policy.Window.Tail == "after_first" {
		// Newer clients count from the first line of the response: its other blocks a second time.
		blocks := e.conv.Messages[m].Blocks
		for b := range blocks {
			if blocks[b].Row != blocks[0].Row {
				n += tokens.Estimate(&blocks[b])
			}
		}
	}
	return n
}

// estimate is the client's estimate of an item in the view, tokens.
func (e *Engine) estimate(id policy.ItemID) int {
	if id >= 0 && e.conv.Messages[id].Lost {
		return e.record.Cal.Lost[int(id)]
	}
	if id >= 0 && e.conv.Messages[id].Is(session.Uncounted) {
		return 0
	}
	n := 0
	for t := range policy.Targets(e.view, id) {
		if c := e.view.Replacement(t); c == nil {
			n += tokens.Estimate(e.view.Raw(t))
		} else if c.Tokens > 0 {
			n += c.Tokens
		} else {
			n += policy.RoundQuarter(c.Length.UTF16)
		}
	}
	return n
}
