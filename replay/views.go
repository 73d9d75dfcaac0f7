package replay

import (
	"errors"
	"fmt"
	"iter"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// EachView replays and calls yield with the view as it is sent at each main
// request n, and at the end of the file once more, with the number a further
// request would have. The view is the replay's own and good during the call;
// where yield returns false the replay ends there. Without a policy the views
// are those of the raw history.
func (r *Record) EachView(pol *policy.Policy, opt Options, yield func(n int, v *view.View) bool) error {
	if pol == nil {
		return r.eachRaw(opt, yield)
	}
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

// EachPair calls yield with the views under two policies at each request, as
// EachView does.
func (r *Record) EachPair(a, b *policy.Policy, opt Options, yield func(n int, a, b *view.View) bool) error {
	var failed error
	next, stop := iter.Pull(func(yield func(*view.View) bool) {
		failed = r.EachView(a, opt, func(_ int, v *view.View) bool { return yield(v) })
	})
	defer stop()
	err := r.EachView(b, opt, func(n int, v *view.View) bool {
		other, ok := next()
		return ok && yield(n, other, v)
	})
	return errors.Join(failed, err)
}

// ViewAt is the view as it is sent at main request n; at one more than there
// are, the view at the end of the file. Without a policy it is that of the raw
// history.
func (r *Record) ViewAt(pol *policy.Policy, opt Options, n int) (*view.View, error) {
	if pol == nil {
		return r.RawAt(opt, n)
	}
	var at *view.View
	err := r.EachView(pol, opt, func(k int, v *view.View) bool {
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
func (r *Record) RawAt(opt Options, n int) (*view.View, error) {
	v, err := r.rawView(opt)
	if err == nil {
		joinRaw(v, before(r.Conv, n))
	}
	return v, err
}

func (r *Record) eachRaw(opt Options, yield func(n int, v *view.View) bool) error {
	v, err := r.rawView(opt)
	if err != nil {
		return err
	}
	for n := range len(r.Conv.Requests) + 1 {
		joinRaw(v, before(r.Conv, n+1))
		if !yield(n+1, v) {
			break
		}
	}
	return nil
}

// rawView is an empty view with the counters that the options choose.
func (r *Record) rawView(opt Options) (*view.View, error) {
	e, err := r.prepare(&policy.Policy{Name: "raw", Window: policy.DefaultWindow(), Cache: policy.DefaultCaching()}, opt)
	if err != nil {
		return nil, err
	}
	return e.view, nil
}

// LineAt is the line on which the response to main request n stands: what was
// sent stands above it. 0 where there is no such request.
func (r *Record) LineAt(n int) int {
	if n < 1 || n > len(r.Conv.Requests) {
		return 0
	}
	return int(r.Conv.Messages[r.Conv.Requests[n-1].Message].Line)
}

// ModelAt is the model that main request n asks, or the last one for the end,
// and its largest output in tokens, the client's default where the model is not
// known.
func (r *Record) ModelAt(opt Options, n int) (model string, maxOutput int) {
	if k := min(n, len(r.Conv.Requests)) - 1; k >= 0 {
		model = r.Conv.Messages[r.Conv.Requests[k].Message].Model
	}
	if opt.Model != "" {
		model = opt.Model
	}
	m, _ := r.models.Find(model)
	if maxOutput = m.MaxOutput; maxOutput == 0 {
		maxOutput = defaultMaxOutput
	}
	return model, maxOutput
}

// defaultMaxOutput is what clients ask for where they say nothing else (analysis
// of Claude Code 2.1.19).
const defaultMaxOutput = 32000
