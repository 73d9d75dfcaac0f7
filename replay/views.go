package replay

import (
	"fmt"

	"github.com/ctxkit/ctxkit/policy"
)

// EachView replays and calls yield with the view as it is sent at each main
// request n, and at the end of the file once more, with the number a further
// request would have. The view is the replay's own and good during the call;
// where yield returns false the replay ends there.
func (r *Record) EachView(pol *policy.Policy, opt Options, yield func(n int, v *policy.View) bool) error {
	e, err := r.prepare(pol, opt)
	if err != nil {
		return err
	}
	e.each = yield
	if err := e.run(); err != nil {
		return err
	}
	if !e.ended {
		yield(len(r.Conv.Requests)+1, e.view)
	}
	return nil
}

// ViewAt is the view as it is sent at main request n; at one more than there
// are, the view at the end of the file.
func (r *Record) ViewAt(pol *policy.Policy, opt Options, n int) (*policy.View, error) {
	var at *policy.View
	err := r.EachView(pol, opt, func(k int, v *policy.View) bool {
		if k == n {
			at = v
		}
		return at == nil
	})
	if err == nil && at == nil {
		err = fmt.Errorf("there is no request %d: the session has %d", n, len(r.Conv.Requests))
	}
	return at, err
}

// RawAt is the raw history before main request n: all that was said up to
// there, nothing compacted; at one more than there are requests, all of it.
func (r *Record) RawAt(n int) *policy.View {
	v := policy.NewView(r.Conv, r.Cal, nil)
	joinRaw(v, before(r.Conv, n))
	return v
}
