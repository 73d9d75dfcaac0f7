package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/internal/record"
)

// windows are the context windows of requests and what follows from them.
type windows struct {
	sizes    map[windowKey]int // tokens
	limits   map[windowKey]policy.ModelLimits
	ceilings ceilings // what a request may reach
	exceeded int      // requests above the assumed window
}

// newWindows are the windows of a policy's requests, none of them known yet.
func newWindows(pol *policy.Policy) windows {
	return windows{sizes: map[windowKey]int{}, limits: map[windowKey]policy.ModelLimits{}, ceilings: ceilings{policy: pol}}
}

// window is the context window of request k (0-based) under the policy, tokens.
func (e *Engine) window(k int) int { return e.windowUnder(e.policy.Window, k) }

// windowUnder is the context window of request k (0-based) under a policy with this window.
func (e *Engine) windowUnder(w policy.Window, k int) int {
	if w.Context > 0 && e.options.Window == 0 {
		return w.Context
	}
	key := e.windowKey(w, e.conv.Response(k))
	n := e.modelWindow(key)
	if f := e.fitted(); f == nil {
		return n
	} else if key.model == e.conv.Model {
		return f.Window
	} else {
		return min(f.Window, n)
	}
}

// fitted is the window of the recorded session's own user, nil where it is not known or not asked for.
func (e *Engine) fitted() *record.Fit {
	if e.options.Window > 0 || e.options.Model != "" {
		return nil
	}
	return e.record.Fit
}

// modelWindow is the context window by model and client.
func (e *Engine) modelWindow(key windowKey) int {
	n, ok := e.windows.sizes[key]
	if !ok {
		n = e.assumedWindow(key)
		e.windows.sizes[key] = n
	}
	return n
}

// windowKey is what the window of the request that a response answers depends on.
func (e *Engine) windowKey(w policy.Window, m *session.Message) windowKey {
	if m.Window > 0 {
		return windowKey{model: m.Model, recorded: m.Window}
	}
	key := windowKey{model: m.Model, marked: w.Models == policy.ModelsMarked}
	if e.policy.Recorded && e.options.Model == "" {
		key.marked = e.record.Client.At(m.Version).MarkedWindows
	}
	if !key.marked || e.record.Client.Limits != nil {
		key.day = dayOf(m)
	}
	return key
}

// dayOf is the day of a message since 1970; 0: unknown.
func dayOf(m *session.Message) int64 {
	if m.Time.IsZero() {
		return 0
	}
	return m.Time.Unix() / (24 * 60 * 60)
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

// modelLimits are what the model of request k (0-based) takes, where that has a limit next to its window under the policy,
// and writes at most, tokens; 0: no such limit, or not known.
func (e *Engine) modelLimits(k, window int) (input, output int) {
	m := e.conv.Response(k)
	key := windowKey{model: m.Model, day: dayOf(m)}
	l, ok := e.windows.limits[key]
	if !ok {
		l = e.limitsOf(key)
		e.windows.limits[key] = l
	}
	if l.Input > window || e.options.Window > 0 || e.policy.Window.Context > 0 || e.fitted() != nil {
		return 0, l.Output
	}
	return l.Input, l.Output
}

// circumstances are those of request k (0-based) in a window.
func (e *Engine) circumstances(k, window int) policy.Circumstances {
	input, output := e.modelLimits(k, window)
	return policy.Circumstances{
		Window: window, MaxInput: input, MaxOutput: output, Agent: e.conv.Agent, Model: cmp.Or(e.options.Model, e.conv.Response(k).Model),
		Set: e.options.WindowSet || e.fitted() != nil,
	}
}

// limitsOf are a model's limits by the table of the recorded client, else by that of models.
func (e *Engine) limitsOf(key windowKey) policy.ModelLimits {
	m, _, _ := e.record.Table(e.options.Prices).FindLike(cmp.Or(e.options.Model, key.model))
	if l := e.clientLimits(key); l.Context > 0 && e.options.Model == "" && !m.Own {
		return l
	}
	return policy.ModelLimits{Context: m.Context, Input: m.MaxInput, Output: m.MaxOutput}
}

// clientLimits are a model's limits by the table that the recorded client follows; zero: it has none.
func (e *Engine) clientLimits(key windowKey) policy.ModelLimits {
	if e.record.Client.Limits == nil {
		return policy.ModelLimits{}
	}
	return e.record.Client.Limits(e.conv.Provider, key.model, key.time())
}

// DefaultWindow, 200,000 tokens, is the context window assumed for a model if neither it nor a model of its family is
// in the table.
const DefaultWindow = 200000

// largerWindow is the window of models that have one larger than DefaultWindow, tokens. No line marks the requests that
// asked for it.
const largerWindow = 1000000

// assumedWindow is the context window of a request (docs/internals/decisions.md, decision 14): the stated one, or the
// larger one where a recorded context exceeds it and no automatic compaction is recorded: the API refuses what is larger
// than the window.
func (e *Engine) assumedWindow(key windowKey) int {
	stated := e.statedWindow(key)
	most := e.record.Largest[key.model]
	n := stated.tokens
	if e.options.Window > 0 || e.options.Model != "" || stated.own || most <= n || most > largerWindow ||
		slices.ContainsFunc(e.conv.Boundaries, func(b session.Boundary) bool { return b.Trigger == "auto" }) {
		return n
	}
	return largerWindow
}

// statedWindow is a context window and what states it.
type statedWindow struct {
	tokens  int
	own     bool   // the user does, or the policy's client, which takes no larger one
	assumed bool   // nothing does: the model is not in the table
	from    string // what it is then; "": DefaultWindow
}

// statedWindow is the context window that the options, the recorded session, or model and client, give.
func (e *Engine) statedWindow(key windowKey) statedWindow {
	opt := &e.options
	model := cmp.Or(opt.Model, key.model)
	switch {
	case opt.Window > 0:
		return statedWindow{tokens: opt.Window}
	case key.recorded > 0 && opt.Model == "":
		return statedWindow{tokens: key.recorded}
	}
	m, like, _ := e.record.Table(opt.Prices).FindLike(model)
	switch {
	case m.Own:
		return statedWindow{tokens: m.Context, own: true}
	case strings.Contains(model, "[1m]"):
		return statedWindow{tokens: 1000000}
	case key.marked && opt.Model != "":
		return statedWindow{tokens: DefaultWindow}
	}
	if l := e.policy.ModelWindow(model, key.time()); l.Context > 0 {
		return statedWindow{l.Context, true, l.Assumed, l.From}
	}
	if opt.Model == "" {
		known := e.clientLimits(key)
		switch {
		case known.Context > 0 && key.marked:
			return statedWindow{tokens: min(known.Context, DefaultWindow)}
		case known.Context > 0:
			return statedWindow{known.Context, false, known.Assumed, known.From}
		case key.marked:
			return statedWindow{tokens: DefaultWindow}
		}
	}
	n := m.Context
	if opt.Model == "" && key.day > 0 {
		n = m.ContextOn(key.time())
	}
	if n == 0 {
		return statedWindow{tokens: DefaultWindow, assumed: true}
	}
	w := statedWindow{tokens: n, assumed: like}
	if like {
		w.from = "as " + m.ID + " has"
	}
	return w
}

// Assumed warns of windows that nothing states of the models of a recorded session.
func Assumed(r *record.Record, opt Options) []session.Warning {
	pol := RecordedTrack()
	e := &Engine{record: r, conv: r.Conv, policy: pol, options: opt, windows: newWindows(pol)}
	e.warnAssumed()
	return e.rows.warnings
}

// warnAssumed warns of windows that nothing states, where the policy follows them.
func (e *Engine) warnAssumed() {
	if e.policy.Window.Context > 0 || e.options.Window > 0 {
		return
	}
	var list []string
	said := map[string]bool{}
	seen := map[windowKey]bool{}
	for k := range e.conv.Requests {
		m := e.conv.Response(k)
		key := e.windowKey(e.policy.Window, m)
		name := cmp.Or(e.options.Model, m.Model)
		if said[name] || seen[key] || e.fitted() != nil && m.Model == e.conv.Model {
			continue
		}
		seen[key] = true
		w := e.statedWindow(key)
		if !w.assumed || e.window(k) != w.tokens || e.options.Model != "" && !w.own { // UnknownModel says that
			continue
		}
		said[name] = true
		text := modelNames([]string{name}) + ": " + policy.Thousands(w.tokens) + " tokens"
		if w.from != "" {
			text += ", " + w.from
		}
		list = append(list, text)
	}
	if len(list) > 0 {
		e.warn(0, "the window is assumed of models that are not in the table: %s", strings.Join(list, "; ")).Code = CodeWindowAssumed
	}
}
