package engine

import (
	"cmp"
	"fmt"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/internal/record"
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
	Output   int             // the largest answer that it allows, tokens; 0: as the session's requests
	Without  []policy.Target // blocks of View that are not sent
	Unknown  string          // what is not known of it, a sentence; empty: nothing
}

// UnseenError is the error of [RequestOf] for a call of which only the tokens are known, not the messages.
type UnseenError struct {
	Event int
	Stage string // that makes the call
}

// Error names the event and the stage.
func (e *UnseenError) Error() string {
	return fmt.Sprintf("event %d: the stage %s says which tokens its request has, not which messages", e.Event, e.Stage)
}

// RequestOf replays up to event k and returns the request of its call: of one that fails the refused one, else the
// first. It returns an [UnseenError] where the stage does not know the messages.
func RequestOf(r *record.Record, pol *policy.Policy, opt Options, k int) (*OwnRequest, error) {
	e, err := New(r, pol, opt)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	e.observers.asking = &OwnRequest{Event: k}
	if err := e.Run(); err != nil {
		return nil, err
	}
	if e.observers.asking.View == nil {
		return nil, fmt.Errorf("event %d makes no call of a model", k)
	}
	return e.observers.asking, nil
}

// ask takes the request of an edit's call, and ends the replay. The stage ran in a context, nil where there is no stage.
func (e *Engine) ask(ed *policy.Edit, c *policy.Context) {
	e.observers.ended = true
	call := cmp.Or(ed.Refused, ed.Call)
	if call == nil {
		return
	}
	q := e.observers.asking
	var s policy.Requester
	if of := e.stages.named(ed.Stage); of != nil {
		s, _ = of.stage.(policy.Requester)
	}
	if s == nil {
		e.fail(&UnseenError{q.Event, ed.Stage})
		return
	}
	q.Stage = ed.Stage
	q.Call = *call
	q.Refused = ed.Refused != nil
	if q.Call.Prefix == "session" {
		q.Overhead = max(c.Overhead, 0)
	}
	q.Call.Input, _ = q.Call.Size(e.view, q.Overhead)
	request, err := s.Request(c, ed)
	if err != nil {
		e.fail(fmt.Errorf("stage %s: %w", ed.Stage, err))
		return
	}
	for _, edit := range request.Edits {
		edit.Stage = ed.Stage
		edit.Request = cmp.Or(ed.Request, len(e.conv.Requests)+1)
		if _, err := e.view.Apply(edit); err != nil {
			e.fail(err)
			return
		}
	}
	q.View = e.view
	q.System = request.System
	q.Output = request.MaxOutput
	q.Without = request.Without
	q.Unknown = request.Unknown
}
