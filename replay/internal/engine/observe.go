package engine

import (
	"cmp"

	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/trace"
)

// observers are those next to Options that look on at a replay, each of them nil for none.
type observers struct {
	tracer *trace.Tracer                  // with Options.Trace
	each   func(n int, v *view.View) bool // called with each view, false ends the replay
	decide func(k int, args runArgs)      // called before the stages of each request
	asking *OwnRequest                    // the request to stop at
	ended  bool
}

// observe shows a request to those that look on.
func (e *Engine) observe(q *request) {
	o := &e.observers
	n := q.k + 1
	if e.options.Observe != nil {
		e.options.Observe(n, e.view)
	}
	if e.options.Stop != nil {
		if err := e.options.Stop(); err != nil {
			e.fail(err)
		}
	}
	e.send(SentRequest{Request: &q.row, Start: cmp.Or(e.progress.now, q.msg.Time), End: q.msg.End, Stop: q.msg.StopReason})
	if o.tracer != nil {
		o.tracer.See(n, e.view)
	}
	if o.each != nil && !o.each(n, e.view) {
		o.ended = true
	}
}

// send calls Options.Send with a request.
func (e *Engine) send(q SentRequest) {
	if e.options.Send == nil {
		return
	}
	sent := q
	sent.View, sent.Model, sent.Head = e.view, cmp.Or(e.options.Model, q.Request.Model), e.account.Head()
	e.options.Send(&sent)
}
