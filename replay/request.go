package replay

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// OwnRequest is the request of a call that a policy makes itself, such as that for a summary.
type OwnRequest struct {
	Event    int // of the edit with the call
	Stage    string
	Call     policy.Call // with its tokens
	Refused  bool        // it does not fit: the API refuses it
	Overhead int         // tokens of the session's system prompt and tools in it; 0: it has its own
	View     *view.View  // its messages
	System   string
	Without  []policy.Target // blocks of View that are not sent
	Unknown  string          // what is not known of it, a sentence; empty: nothing
}

// UnseenError is the error of [Record.RequestOf] for a call of which only the tokens are known, not the messages.
type UnseenError struct {
	Event int
	Stage string // that makes the call
}

func (e *UnseenError) Error() string {
	return fmt.Sprintf("event %d: the stage %s says which tokens its request has, not which messages", e.Event, e.Stage)
}

// RequestOf replays up to event k and returns the request of its call: of one that fails the refused one, else the
// first. It returns an [UnseenError] where the stage does not know the messages.
func (r *Record) RequestOf(pol *policy.Policy, opt Options, k int) (*OwnRequest, error) {
	e, err := r.prepare(pol, opt)
	if err != nil {
		return nil, err
	}
	defer e.close()
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
	call := cmp.Or(ed.Refused, ed.Call)
	if call == nil {
		return
	}
	q := e.asking
	s, ok := e.requester(stage)
	if !ok {
		e.fail(&UnseenError{q.Event, stage})
		return
	}
	q.Stage, q.Call, q.Refused = stage, *call, ed.Refused != nil
	if q.Call.Prefix == "session" {
		q.Overhead = max(e.context.Overhead, 0)
	}
	q.Call.Input, _ = q.Call.Size(e.view, q.Overhead)
	request, err := s.Request(&e.context, ed)
	if err != nil {
		e.fail(fmt.Errorf("stage %s: %w", stage, err))
		return
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

// requester is the stage of that name if it knows what its calls are sent.
func (e *engine) requester(name string) (policy.Requester, bool) {
	s := e.stageNamed(name)
	if s == nil {
		return nil, false
	}
	r, ok := s.stage.(policy.Requester)
	return r, ok
}

// CallEvents are the events with calls of the policy's own, those that failed included, in order.
func (t *Timeline) CallEvents() []int {
	var list []int
	for _, r := range t.Requests {
		if r.Kind != "main" && len(r.Events) > 0 {
			list = append(list, r.Events[0])
		}
	}
	for i, ev := range t.Events {
		if ev.Kind == policy.KindFail {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// CallEvent is the event with the first call of a policy's own before main request n; with n 0 that of the last call.
// ok is false where there is none.
func (t *Timeline) CallEvent(n int) (event int, ok bool) {
	list := t.CallEvents()
	if n == 0 {
		if len(list) > 0 {
			return list[len(list)-1], true
		}
		return 0, false
	}
	for _, k := range list {
		if at := t.Events[k].Request; at != nil && *at == n || at == nil && n > t.Totals.Requests {
			return k, true
		}
	}
	return 0, false
}
