package engine

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/internal/account"
)

// request is a main request on its way to its row.
type request struct {
	k          int              // its number, 0-based
	msg        *session.Message // that answers it
	facts      *account.RequestFacts
	used, tail int // the client's own estimate before its edits, and of it what joined since the last response; tokens
	row        account.Request
}

// Request takes main request k (0-based) from the conversation to its row. Each step is in the file that its name says.
func (e *Engine) Request(k int) {
	q := e.openRequest(k)
	e.manualStages(q)
	e.recordedEdits(q)
	e.estimateRequest(q)
	e.requestStages(q)
	e.weighRequest(q)
	e.fail(e.account.MainRequest(q.facts, e.view, &q.row))
	e.refuse(q)
	e.observe(q)
	e.checkRequest(q)
	e.closeRequest(q)
}

// openRequest begins a request.
func (e *Engine) openRequest(k int) *request {
	return &request{k: k, msg: e.conv.Response(k), facts: e.facts(k)}
}

// facts are the input of the account for request k (0-based).
func (e *Engine) facts(k int) *account.RequestFacts {
	r := e.record
	msg := e.conv.Response(k)
	f := &account.RequestFacts{
		N: k + 1, Response: msg, Now: e.progress.now, Overhead: e.OverheadAt(k), Head: r.Heads[k], Floor: r.Floors[k], Tail: r.Tails[k], TTL: r.TTLs[k],
		Setting: r.Settings[k], Warmings: r.Warmings[k],
	}
	if k == 0 && e.conv.BeginsMidway() && msg.HasUsage {
		f.Earlier = new(r.Usage(msg))
	}
	return f
}

// weighRequest makes the row, with the tokens that are sent and answered.
func (e *Engine) weighRequest(q *request) {
	over := q.facts.Overhead
	if over < 0 {
		e.rows.misfits.add(q.k+1, -over)
	}
	q.row = account.Request{
		N: q.k + 1, UUID: q.msg.UUID, Time: q.msg.Time, Kind: "main", Model: q.msg.Model,
		Raw: max(e.rawAt(q.k), 0), Tokens: max(e.view.Tokens()+e.wholeOverhead(q.k), 0), Payload: max(e.view.PayloadTokens()+over, 0),
		Overhead: max(over, 0), Used: q.used, Messages: e.view.Len(), Events: e.changes.events,
	}
	if e.changes.used > 0 {
		q.row.Used = e.changes.used
	}
	q.row.Output, q.row.Estimated = e.record.Output(e.conv.Requests[q.k].Message, e.counter.Report)
	if q.msg.HasUsage {
		recorded := q.msg.Usage // not converted: see Record.Usage
		q.row.Recorded = account.UsageOf(&recorded)
	}
}

// closeRequest puts the row to the others, and notes the response that stages know of.
func (e *Engine) closeRequest(q *request) {
	e.view.Sent()
	e.changes = requestChanges{events: []int{}}
	e.rows.requests = append(e.rows.requests, q.row)
	e.restarts.sum += e.restarts.unread
	e.weights = append(e.weights, e.view.ClientPayloadTokens())
	last := policy.Response{Message: policy.ItemID(e.conv.Requests[q.k].Message), Time: q.msg.End, StopReason: q.msg.StopReason}
	if q.msg.HasUsage {
		last.Known = true
		e.progress.reported = q.k + 1
		// The total is counterfactual; how it is split is simulated.
		u := e.record.Usage(q.msg)
		if u.Context() > e.window(q.k) {
			e.windows.exceeded++
		}
		last.Usage = account.Scaled(q.row.Cache.Split, max(u.Context()+e.difference(q.k), 0))
		last.Usage.Output = u.Output
		last.Usage.Thinking = u.Thinking
	}
	e.progress.last = last
}
