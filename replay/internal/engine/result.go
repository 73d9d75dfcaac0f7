package engine

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/internal/account"
	"github.com/ctxkit/ctxkit/replay/internal/record"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/trace"
)

// ReplayResult is what a replay has made, after the last message.
type ReplayResult struct {
	Record     *record.Record // in the tokens of the model that answers
	Counter    record.ReplayCounter
	View       *view.View // the last one
	Account    *account.Account
	Stages     []string
	Conditions []ConditionUse
	Window     int            // the largest of a request, tokens
	Fit        *record.Fit    // the window is fitted to the recorded compactions
	Shown      int            // the largest recorded context, where the window follows from it, tokens
	Limits     []policy.Limit // at which the policy's stages act, in Window
	LimitsOf   string         // of the recorded track: the release whose limits these are
	AutoOff    *AutoOff
	Requests   []account.Request
	Events     []Event
	Findings   []RequestFinding
	Counts     map[FindingKind]int // of findings
	Warnings   []session.Warning
	Cleared    int          // tool_results that stay cleared
	Freed      int          // tokens that edits of single blocks removed from the payload
	Unread     int          // tokens that a restarted client did not read back, over main requests
	Trace      *trace.Trace // with Options.Trace
}

// Result is what the replay has made, after the last message.
func (e *Engine) Result() (*ReplayResult, error) {
	r := &ReplayResult{
		Record: e.record, Counter: e.counter, View: e.view, Account: e.account, Stages: []string{}, AutoOff: e.autoOff(),
		Requests: e.rows.requests, Events: e.rows.events, Findings: e.checks.findings, Counts: e.checks.count,
		Cleared: e.clearance.results(), Freed: e.clearance.tokens, Unread: e.restarts.sum,
	}
	for i := range e.stages.list {
		r.Stages = append(r.Stages, e.stages.list[i].Definition.Name)
		if w := e.stages.list[i].when; w != nil {
			r.Conditions = append(r.Conditions, w.use)
		}
	}
	e.widest(r)
	e.warnAtEnd()
	r.Warnings = append(append([]session.Warning{}, e.conv.Warnings...), e.rows.warnings...)
	if e.observers.tracer == nil {
		return r, nil
	}
	var main []category.Beyond
	for i := range r.Requests {
		if q := &r.Requests[i]; q.Kind == "main" {
			main = append(main, category.Beyond{Tokens: q.Overhead, Recorded: q.Recorded != nil})
		}
	}
	var err error
	if r.Trace, err = e.observers.tracer.Trace(main); err != nil {
		err = fmt.Errorf("%s: %w", e.conv.Path, err)
	}
	return r, err
}

// widest sets the largest window of a request, and the limits of the policy's stages in it. It warns where the window
// changes with the client or the model.
func (e *Engine) widest(r *ReplayResult) {
	c := policy.Circumstances{Window: e.policy.Window.Context}
	if len(e.conv.Requests) == 0 && (c.Window == 0 || e.options.Window > 0) {
		c.Window = e.assumedWindow(windowKey{})
	}
	if e.policy.Window.Context == 0 {
		r.Fit = e.fitted()
	}
	last := 0
	for k := range e.conv.Requests {
		m := e.conv.Response(k)
		window := e.window(k)
		if last != 0 && window != last {
			by := m.Model
			if m.Version != "" {
				by = "client " + m.Version + ", " + by
			}
			e.warn(m.Line, "from request %d on the window is taken to be %d tokens, not %d (%s)", k+1, window, last, by)
		}
		if last == 0 || window > c.Window {
			c = e.circumstances(k, window)
		}
		if key := e.windowKey(e.policy.Window, m); window == largerWindow && e.policy.Window.Context == 0 && r.Fit == nil && e.options.Window == 0 && e.options.Model == "" && e.statedWindow(key).tokens < window {
			r.Shown = e.record.Largest[m.Model]
		}
		last = window
	}
	pol := e.policy
	if pol.Recorded && e.record.Release != nil {
		pol, r.LimitsOf = e.record.Release, e.record.Release.Name
	}
	r.Window, r.Limits = c.Window, pol.Limits(c).List
}

// warnAtEnd warns of what concerns the whole replay.
func (e *Engine) warnAtEnd() {
	requests := len(e.conv.Requests)
	if n := e.windows.exceeded; n > 0 {
		e.warn(0, "the recorded context exceeds the assumed window at %d of %d requests", n, requests).Code = CodeWindowExceeded
	}
	e.warnAssumed()
	if u := &e.rows.misfits; u.requests > 0 {
		e.warn(e.conv.Response(u.first-1).Line, "the recorded usage does not fit the content at %d of %d requests, at request %d first: the lines weigh up to %d tokens more than it says; no figure is let fall below 0",
			u.requests, requests, u.first, u.most).Code = CodeUsageUnfit
	}
	if w := UnknownModel(e.record.Table(e.options.Prices), e.options); w != nil {
		e.warn(0, "%s", w.Message).Code = w.Code
	}
	for _, kind := range []FindingKind{FindingViolation, FindingTranscript, FindingPreserved} {
		if n := e.checks.count[kind]; n > maxWarned {
			e.warn(0, "%d more findings of kind %s: json holds them", n-maxWarned, kind)
		}
	}
	if names := e.account.Unpriced(); len(names) > 0 {
		e.warn(0, "no price is known for %s: those requests are counted in tokens only", modelNames(names)).Code = CodeNoPrice
	}
	if names := e.account.Shown(); len(names) > 0 {
		e.warn(0, "how the provider of %s caches is not known, but the record has cached input: it is simulated as automatic, in blocks of one token", modelNames(names)).Code = CodeCacheShown
	}
	if names := e.account.Unknown(); len(names) > 0 {
		e.warn(0, "how the provider of %s caches is not known: those requests read nothing", modelNames(names)).Code = CodeNoCache
	}
}

// UnknownModel is the warning of a model of the options that is not in the table; nil where it is, or there is none.
func UnknownModel(table *price.Table, opt Options) *session.Warning {
	if opt.Model == "" {
		return nil
	}
	if _, known := table.Find(opt.Model); known {
		return nil
	}
	like, _, ok := table.FindLike(opt.Model)
	window := fmt.Sprintf("its window is taken to be %s tokens and its largest output is assumed", policy.Thousands(cmp.Or(like.Context, DefaultWindow)))
	if opt.Window > 0 {
		window = "its largest output is assumed"
	}
	if ok {
		window += ", as " + like.ID + " has them"
	}
	return &session.Warning{Code: CodeModelUnknown, Message: fmt.Sprintf("the model %q is not in the table: %s, and tokens are those of the recorded model", opt.Model, window)}
}

// excess counts requests that exceed something.
type excess struct {
	requests int
	first    int // n of the first of them
	most     int // the largest excess, tokens
}

func (x *excess) add(n, tokens int) {
	if x.requests++; x.requests == 1 {
		x.first = n
	}
	x.most = max(x.most, tokens)
}

// The codes of warnings that a caller may have advice for.
const (
	CodeWindowExceeded session.Code = "window-exceeded" // the recorded context does not fit the assumed window
	CodeWindowAssumed  session.Code = "window-assumed"  // nothing states the window
	CodeUsageUnfit     session.Code = "usage-unfit"     // the recorded usage is less than the content weighs
	CodeModelUnknown   session.Code = "model-unknown"   // the model of the options is not in the table
	CodeNoPrice        session.Code = "no-price"        // a model has no price
	CodeCacheShown     session.Code = "cache-shown"     // that a model is cached is known from the record alone
	CodeNoCache        session.Code = "no-cache"        // how a model is cached is not known
)

// modelNames lists models for people, the first of many. A response without one is of a model that is not recorded.
func modelNames(models []string) string {
	const most = 8
	names := make([]string, 0, most+1)
	for _, model := range models[:min(len(models), most)] {
		name := strconv.Quote(model)
		if model == "" {
			name = "a model that is not recorded"
		}
		names = append(names, name)
	}
	list := strings.Join(names, ", ")
	if n := len(models) - most; n > 0 {
		list += fmt.Sprintf(" and %d more", n)
	}
	return list
}
