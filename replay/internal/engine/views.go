package engine

import (
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/internal/record"
)

// EachView replays and calls yield with the view that is sent at each main request n, and once more at the end of the
// file, with the number of a further request. The view is valid during the call; the replay ends where yield returns
// false. Without a policy each view is the whole raw history before the request.
func EachView(r *record.Record, pol *policy.Policy, opt Options, yield func(n int, v *view.View) bool) error {
	if pol == nil {
		return eachRaw(r, opt, yield)
	}
	e, err := New(r, pol, opt)
	if err != nil {
		return err
	}
	defer e.Close()
	e.observers.each = yield
	if err := e.Run(); err != nil {
		return err
	}
	if !e.observers.ended {
		yield(len(r.Conv.Requests)+1, e.view)
	}
	return nil
}

// eachRaw calls yield with the raw history before each request, by the counters of the options.
func eachRaw(r *record.Record, opt Options, yield func(n int, v *view.View) bool) error {
	e, err := New(r, &policy.Policy{Name: "raw", Window: policy.DefaultWindow(), Cache: policy.DefaultCaching()}, opt)
	if err != nil {
		return err
	}
	for n := range len(r.Conv.Requests) + 1 {
		joinRaw(e.view, before(r.Conv, n+1))
		if !yield(n+1, e.view) {
			break
		}
	}
	return nil
}
