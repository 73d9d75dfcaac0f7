package engine

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/internal/account"
	"github.com/ctxkit/ctxkit/replay/internal/record"
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
	Notes      []string       // what is no number of tokens but decides when they act
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
		pol = e.record.Release
		r.LimitsOf = e.record.Release.Name
	}
	limits := pol.Limits(c)
	r.Window = c.Window
	r.Limits = limits.List
	if !e.policy.Recorded {
		r.Notes = limits.Notes
	}
}
