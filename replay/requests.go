package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// RequestAt returns the number of the main request that name stands for: a number, "last", "peak" (the request with the
// largest payload; the first of several), "end" (one more than the last number) or "event:K" (the request of event K,
// or "end" for an event after the last request). For a session without requests only "end" is valid.
func (t *Timeline) RequestAt(name string) (int, error) {
	if n, ok, err := RequestNumber(name, t.Totals.Requests); ok || err != nil {
		return n, err
	}
	end := t.Totals.Requests + 1
	if name == "peak" {
		best := -1
		n := end
		for _, r := range t.Main() {
			if r.Payload > best {
				best = r.Payload
				n = r.N
			}
		}
		return n, nil
	}
	i, err := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(name, eventPrefix), "#"))
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no event: write event:K, K as in the list of events", name)
	case i < 0 || i >= len(t.Events):
		return 0, fmt.Errorf("there is no event %d: policy %s has %d, counted from 0", i, t.Policy, len(t.Events))
	case t.Events[i].Request == nil:
		return end, nil
	}
	return min(*t.Events[i].Request, end), nil
}

const eventPrefix = "event:"

// RequestNumber resolves name as Timeline.RequestAt does, for a session with the given number of main requests, but
// without a replay. ok is false for "peak" and "event:K", which need a replay. ok is false and err is set for a name
// that is wrong.
func RequestNumber(name string, requests int) (n int, ok bool, err error) {
	switch {
	case name == "end":
		return requests + 1, true, nil
	case name == "last":
		return max(requests, 1), true, nil
	case name == "peak" || strings.HasPrefix(name, eventPrefix):
		return 0, false, nil
	}
	n, err = strconv.Atoi(name)
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("%q is no request: write a number, last, peak, end or event:K", name)
	case n < 1 || n > requests:
		return 0, false, fmt.Errorf("there is no request %d: the session has %d", n, requests)
	}
	return n, true, nil
}

// OverheadAt returns the overhead of main request n, in tokens. If n is larger than the number of main requests, it
// returns the overhead of the last one.
func (t *Timeline) OverheadAt(n int) int {
	over := 0
	for _, r := range t.Main() {
		if r.N <= n {
			over = r.Overhead
		}
	}
	return over
}

// CallEvents returns the indexes in Events of all events for which the policy made an own request, including those
// whose own request failed.
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

// CallEvent returns the index in Events of the first event between main requests n-1 and n for which the policy made an
// own request. With n 0 it returns the index of the last such event of the replay. ok is false if there is none.
func (t *Timeline) CallEvent(n int) (event int, ok bool) {
	list := t.CallEvents()
	if n == 0 {
		if len(list) > 0 {
			return list[len(list)-1], true
		}
		return 0, false
	}
	for _, k := range list {
		if request := t.Events[k].Request; request != nil && *request == n || request == nil && n > t.Totals.Requests {
			return k, true
		}
	}
	return 0, false
}

// FindingsAt returns those findings of main requests 1 to n that still hold in v, which must be the view of main
// request n.
func (t *Timeline) FindingsAt(n int, v *view.View) (list []RequestFinding) {
	for _, broken := range view.NewChecker(v).CheckRequest() {
		i := slices.IndexFunc(t.Findings, func(f RequestFinding) bool {
			return f.Request <= n && f.Rule == broken.Rule && f.Text == broken.Message && (broken.Item < 0 || f.Message == v.Message(broken.Item).UUID)
		})
		if i >= 0 {
			list = append(list, t.Findings[i])
		}
	}
	return list
}
