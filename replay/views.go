package replay

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// EachView replays and calls yield with the view that is sent at each main request n, and once more at the end of the
// file, with the number of a further request. The view is valid during the call; the replay ends where yield returns
// false. Without a policy the views are those of the raw history.
func (r *Record) EachView(pol *policy.Policy, opt Options, yield func(n int, v *view.View) bool) error {
	if pol == nil {
		return r.eachRaw(opt, yield)
	}
	e, err := r.prepare(pol, opt)
	if err != nil {
		return err
	}
	defer e.close()
	e.each = yield
	if err := e.run(); err != nil {
		return err
	}
	if !e.ended {
		yield(len(r.Conv.Requests)+1, e.view)
	}
	return nil
}

// EachPair calls yield with the views under two policies at each request, as EachView does.
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

// ViewAt is the view that is sent at main request n; at one more than there are, the view at the end of the file.
// Without a policy it is the raw history before request n, nothing compacted.
func (r *Record) ViewAt(pol *policy.Policy, opt Options, n int) (*view.View, error) {
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

// eachRaw calls yield with the raw history before each request, by the counters of the options.
func (r *Record) eachRaw(opt Options, yield func(n int, v *view.View) bool) error {
	e, err := r.prepare(&policy.Policy{Name: "raw", Window: policy.DefaultWindow(), Cache: policy.DefaultCaching()}, opt)
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

// LineAt is the line of the response to main request n; what was sent is above it. 0 where there is no such request.
func (r *Record) LineAt(n int) int {
	if n < 1 || n > len(r.Conv.Requests) {
		return 0
	}
	return int(r.Conv.Messages[r.Conv.Requests[n-1].Message].Line)
}

// defaultMaxOutput is the max_tokens of clients without a setting (analysis of Claude Code 2.1.19).
const defaultMaxOutput = 32000

// ModelAt is the model of main request n, or of the last one for the end, and its largest output in tokens, the
// client's default where the model is not known.
func (r *Record) ModelAt(opt Options, n int) (model string, maxOutput int) {
	if k := min(n, len(r.Conv.Requests)) - 1; k >= 0 {
		model = r.Conv.Messages[r.Conv.Requests[k].Message].Model()
	}
	model = cmp.Or(opt.Model, model)
	m, _ := r.models.Find(model)
	return model, cmp.Or(m.MaxOutput, defaultMaxOutput)
}

// RequestAt returns the main request that a person names: a number, "last", "peak" (the largest payload; of several
// the first), "end" (one more than the last) or "event:K" (the request of event K). A session without requests has
// only "end".
func (t *Timeline) RequestAt(at string) (int, error) {
	if n, ok, err := RequestNumber(at, t.Totals.Requests); ok || err != nil {
		return n, err
	}
	end := t.Totals.Requests + 1
	if at == "peak" {
		best, n := -1, end
		for _, r := range t.Main() {
			if r.Payload > best {
				best, n = r.Payload, r.N
			}
		}
		return n, nil
	}
	i, err := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(at, eventPrefix), "#"))
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no event: write event:K, K as in the list of events", at)
	case i < 0 || i >= len(t.Events):
		return 0, fmt.Errorf("there is no event %d: policy %s has %d, counted from 0", i, t.Policy, len(t.Events))
	case t.Events[i].Request == nil:
		return end, nil
	}
	return min(*t.Events[i].Request, end), nil
}

const eventPrefix = "event:"

// RequestNumber is Timeline.RequestAt of a session of so many requests; ok is false for "peak" and "event:K", which take a
// replay.
func RequestNumber(at string, requests int) (n int, ok bool, err error) {
	switch {
	case at == "end":
		return requests + 1, true, nil
	case at == "last":
		return max(requests, 1), true, nil
	case at == "peak" || strings.HasPrefix(at, eventPrefix):
		return 0, false, nil
	}
	n, err = strconv.Atoi(at)
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("%q is no request: write a number, last, peak, end or event:K", at)
	case n < 1 || n > requests:
		return 0, false, fmt.Errorf("there is no request %d: the session has %d", n, requests)
	}
	return n, true, nil
}

// OverheadAt is the overhead of main request n, in tokens, or of the last one for the end.
func (t *Timeline) OverheadAt(n int) int {
	over := 0
	for _, r := range t.Main() {
		if r.N <= n {
			over = r.Overhead
		}
	}
	return over
}
