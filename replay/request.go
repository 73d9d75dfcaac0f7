package replay

import (
	"cmp"
	"fmt"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// OwnRequest is the request of a call that a policy makes itself, such as that for a summary.
type OwnRequest struct {
	Event    int // of the edit with the call
	Stage    string
	Call     policy.Call // with its tokens
	Overhead int         // tokens of the session's system prompt and tools in it; 0: it has its own
	View     *view.View  // its messages
	System   string
	Without  []policy.Target // blocks of View that are not sent
	Unknown  string          // what is not known of it, a sentence; empty: nothing
}

// RequestOf replays up to event k and returns the request of its call, the first where there are several.
func (r *Record) RequestOf(pol *policy.Policy, opt Options, k int) (*OwnRequest, error) {
	e, err := r.prepare(pol, opt)
	if err != nil {
		return nil, err
	}
	e.asking = &OwnRequest{Event: k}
	if err := e.run(); err != nil {
		return nil, err
	}
	if e.asking.View == nil {
		return nil, fmt.Errorf("event %d makes no call of a model", k)
	}
	return e.asking, nil
}

// ask takes the request of an edit's call, and ends the replay.
func (e *engine) ask(stage string, ed *policy.Edit) {
	e.ended = true
	if ed.Call == nil {
		return
	}
	q := e.asking
	q.Stage, q.Call = stage, *ed.Call
	if q.Call.Prefix == "session" {
		q.Overhead = max(e.context.Overhead, 0)
	}
	q.Call.Input, _ = q.Call.Size(e.view, q.Overhead)
	request := policy.CallRequest{
		Edits: []policy.Edit{policy.Asking("", q.Call.Prompt)}, Unknown: "what the stage leaves out of the messages, or cuts, is not shown",
	}
	for i := range e.stages {
		if s, ok := e.stages[i].stage.(policy.Requester); ok && e.stages[i].Definition.Name == stage {
			var err error
			if request, err = s.Request(&e.context, ed); err != nil {
				e.fail(fmt.Errorf("stage %s: %w", stage, err))
				return
			}
		}
	}
	for _, edit := range request.Edits {
		edit.Stage, edit.Request = stage, cmp.Or(ed.Request, len(e.conv.Requests)+1)
		if _, err := e.view.Apply(edit); err != nil {
			e.fail(err)
			return
		}
	}
	q.View, q.System, q.Without, q.Unknown = e.view, request.System, request.Without, request.Unknown
}

// CallEvent is the event with the first call of a policy's own before main request n; with n 0 that of the last call.
// ok is false where there is none.
func (t *Timeline) CallEvent(n int) (event int, ok bool) {
	for i := range t.Requests {
		if r := &t.Requests[i]; r.Kind != "main" && len(r.Events) > 0 && (n == 0 || r.N == n) {
			event = r.Events[0]
			if ok = true; n > 0 {
				break
			}
		}
	}
	return event, ok
}
