package replay

import (
	"cmp"
	"sort"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// alike are requests (0-based) from one on and before another whose windows do not differ.
type alike struct{ from, to int }

func (a alike) has(k int) bool { return k >= a.from && k < a.to }

// alikeAt are the requests around request k (0-based) whose responses are of one model, client version and day, and name
// the same window.
func (r *Record) alikeAt(k int) alike {
	i := sort.Search(len(r.differ), func(i int) bool { return int(r.differ[i]) > k })
	a := alike{int(r.differ[i-1]), len(r.Conv.Requests)}
	if i < len(r.differ) {
		a.to = int(r.differ[i])
	}
	return a
}

// differing are the requests (0-based) that are not like the one before them, the first one included.
func differing(conv *session.Conversation) (list []int32) {
	var last *session.Message
	for k := range conv.Requests {
		m := &conv.Messages[conv.Requests[k].Message]
		if last == nil || m.Model() != last.Model() || m.Version() != last.Version() || m.Window() != last.Window() || dayOf(m) != dayOf(last) {
			list = append(list, int32(k))
		}
		last = m
	}
	return list
}

// window is the context window of request k (0-based) under the policy, tokens.
func (e *engine) window(k int) int { return e.windowUnder(e.pol.Window, k) }

// windowUnder is the context window of request k (0-based) under a policy with this window.
func (e *engine) windowUnder(w policy.Window, k int) int {
	if w.Context > 0 && e.opt.Window == 0 {
		return w.Context
	}
	key := e.windowKey(w, &e.conv.Messages[e.conv.Requests[k].Message])
	n := e.modelWindow(key)
	if f := e.fitted(); f == nil {
		return n
	} else if key.model == e.conv.Model {
		return f.Window
	} else {
		return min(f.Window, n)
	}
}

// fitted is the window of the record's own user, nil where it is not known or not asked for.
func (e *engine) fitted() *Fit {
	if e.opt.Window > 0 || e.opt.Model != "" {
		return nil
	}
	return e.r.fit
}

// modelWindow is the context window by model and client.
func (e *engine) modelWindow(key windowKey) int {
	n, ok := e.windows[key]
	if !ok {
		n = e.r.window(key, e.opt)
		e.windows[key] = n
	}
	return n
}

// windowKey is what the window of the request that a response answers depends on.
func (e *engine) windowKey(w policy.Window, m *session.Message) windowKey {
	if m.Window() > 0 {
		return windowKey{model: m.Model(), recorded: m.Window()}
	}
	key := windowKey{model: m.Model(), marked: w.Models == policy.ModelsMarked}
	if e.pol.Recorded && e.opt.Model == "" {
		key.marked = e.r.client.At(m.Version()).MarkedWindows
	}
	if !key.marked || e.r.Client().Limits != nil {
		key.day = dayOf(m)
	}
	return key
}

// dayOf is the day of a message since 1970; 0: unknown.
func dayOf(m *session.Message) int64 {
	if m.Time().IsZero() {
		return 0
	}
	return m.Time().Unix() / (24 * 60 * 60)
}

// windowKey is what the context window of a request depends on.
type windowKey struct {
	model    string
	marked   bool  // the client knows models marked [1m] only
	day      int64 // of the request, since 1970; 0: unknown
	recorded int   // the window itself, where the client recorded it; the day and the mark are then 0
}

// time is the day's first moment; zero: unknown.
func (k windowKey) time() time.Time {
	if k.day == 0 {
		return time.Time{}
	}
	return time.Unix(k.day*24*60*60, 0)
}

// modelLimits are what the model of request k (0-based) takes, where that has a limit beside its window under the policy,
// and writes at most, tokens; 0: no such limit, or not known.
func (e *engine) modelLimits(k, window int) (input, output int) {
	m := &e.conv.Messages[e.conv.Requests[k].Message]
	key := windowKey{model: m.Model(), day: dayOf(m)}
	l, ok := e.limits[key]
	if !ok {
		l = e.r.modelLimits(key, e.opt)
		e.limits[key] = l
	}
	if l.Input > window || e.opt.Window > 0 || e.pol.Window.Context > 0 || e.fitted() != nil {
		return 0, l.Output
	}
	return l.Input, l.Output
}

// circumstances are those of request k (0-based) in a window.
func (e *engine) circumstances(k, window int) policy.Circumstances {
	input, output := e.modelLimits(k, window)
	return policy.Circumstances{Window: window, MaxInput: input, MaxOutput: output, Agent: e.conv.Agent}
}

// modelLimits are a model's limits by the table of the recorded client, else by that of models.
func (r *Record) modelLimits(key windowKey, opt Options) policy.ModelLimits {
	if l := r.clientLimits(key); l.Context > 0 && opt.Model == "" {
		return l
	}
	m, _ := r.table(opt).Find(cmp.Or(opt.Model, key.model))
	return policy.ModelLimits{Context: m.Context, Input: m.MaxInput, Output: m.MaxOutput}
}

// clientLimits are a model's limits by the table that the recorded client goes by; zero: it has none.
func (r *Record) clientLimits(key windowKey) policy.ModelLimits {
	if r.client == nil || r.client.Limits == nil {
		return policy.ModelLimits{}
	}
	return r.client.Limits(r.Conv.Provider, key.model, key.time())
}

// DefaultWindow is the assumed context window of a model that is not in the table, tokens.
const DefaultWindow = 200000

// window is the context window of a request (docs/internals/decisions.md, decision 14).
func (r *Record) window(key windowKey, opt Options) int {
	n := r.statedWindow(key, opt)
	if opt.Window > 0 || opt.Model != "" {
		return n
	}
	return r.shownWindow(key.model, n)
}

// statedWindow is the context window that the options, the record, or model and client, give.
func (r *Record) statedWindow(key windowKey, opt Options) int {
	model := cmp.Or(opt.Model, key.model)
	switch {
	case opt.Window > 0:
		return opt.Window
	case key.recorded > 0 && opt.Model == "":
		return key.recorded
	case strings.Contains(model, "[1m]"):
		return 1000000
	}
	if opt.Model == "" {
		known := r.clientLimits(key).Context
		switch {
		case known > 0 && key.marked:
			return min(known, DefaultWindow)
		case known > 0:
			return known
		case key.marked:
			return DefaultWindow
		}
	}
	m, _ := r.table(opt).Find(model)
	if opt.Model == "" && key.day > 0 {
		return cmp.Or(m.ContextOn(key.time()), DefaultWindow)
	}
	return cmp.Or(m.Context, DefaultWindow)
}
