package replay

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// timeline makes the result of a replay.
func (e *engine) timeline() *Timeline {
	conv := e.conv
	t := &Timeline{
		Schema: Schema, Session: conv.SessionID, Agent: conv.Agent, File: conv.Path, Title: conv.Title, Policy: e.pol.Name,
		Chosen: e.pol.Chosen, Truth: e.pol.Truth, Score: e.pol.Score, Counter: e.counter, Cache: cmp.Or(e.opt.Cache, CacheOwn), Model: cmp.Or(e.opt.Model, conv.Model), Version: conv.Version,
		Stages: []string{}, Requests: e.requests, Events: e.events, Findings: e.checks.findings,
		Lines: Lines{Read: conv.Lines.Read, Used: conv.Lines.Used, Fused: conv.Lines.Fused, SetAside: map[string]int{}},
	}
	t.Converted, t.Earlier, t.Caches = e.r.conversion(), e.earlier(), e.cache.automatic()
	for i := range e.stages {
		t.Stages = append(t.Stages, e.stages[i].Definition.Name)
		if w := e.stages[i].when; w != nil {
			t.Conditions = append(t.Conditions, w.use)
		}
	}
	for r, n := range conv.Lines.SetAside {
		t.Lines.SetAside[string(r)] = n
	}
	e.widest(t)
	if e.above > 0 {
		e.warn(0, "the recorded context exceeds the assumed window at %d of %d requests", e.above, len(conv.Requests)).Code = CodeWindowExceeded
	}
	if u := &e.unfit; u.requests > 0 {
		e.warn(e.r.LineAt(u.first), "the recorded usage does not fit the content at %d of %d requests, at request %d first: the lines weigh up to %d tokens more than it says; no figure is let fall below 0",
			u.requests, len(conv.Requests), u.first, u.most).Code = CodeUsageUnfit
	}
	if w := UnknownModel(e.r.table(e.opt), e.opt); w != nil {
		e.warn(0, "%s", w.Message).Code = w.Code
	}
	for _, kind := range []FindingKind{FindingViolation, FindingTranscript, FindingPreserved} {
		if n := e.checks.count[kind]; n > maxWarned {
			e.warn(0, "%d more findings of kind %s: json holds them", n-maxWarned, kind)
		}
	}
	if t.unpriced = e.cache.unpriced(); len(t.unpriced) > 0 {
		e.warn(0, "no price is known for %s: those requests are counted in tokens only", modelNames(t.unpriced)).Code = CodeNoPrice
	}
	if names := e.cache.unknown(); len(names) > 0 {
		e.warn(0, "how the provider of %s caches is not known: those requests read nothing", modelNames(names)).Code = CodeNoCache
	}
	placeholders, characters, err := wire.Placeholders(e.view)
	if err != nil {
		e.warn(0, "the client's words that no line has are not counted: %v", err)
	}
	t.Warnings = append(append([]session.Warning{}, conv.Warnings...), e.warnings...)
	t.Totals.NotReadBack = e.notRead.sum
	t.Totals.Placeholders, t.Totals.PlaceholderTokens = placeholders, (characters+3)/4
	t.total()
	t.Totals.Cleared, t.Totals.ClearedTokens = e.cleared.results(), e.cleared.tokens
	t.Totals.Violations = e.checks.count[FindingViolation]
	t.Totals.Transcript = e.checks.count[FindingTranscript]
	t.Totals.Preserved = e.checks.count[FindingPreserved]
	return t
}

// UnknownModel is the warning of a model of the options that is not in the table; nil where it is, or there is none.
func UnknownModel(table *price.Table, opt Options) *session.Warning {
	if opt.Model == "" {
		return nil
	}
	if _, known := table.Find(opt.Model); known {
		return nil
	}
	window := fmt.Sprintf("its window is taken to be %s tokens and its largest output is assumed", policy.Thousands(DefaultWindow))
	if opt.Window > 0 {
		window = "its largest output is assumed"
	}
	return &session.Warning{Code: CodeModelUnknown, Message: fmt.Sprintf("the model %q is not in the table: %s, and tokens are those of the recorded model", opt.Model, window)}
}

// widest sets the largest window of a request, and the limits of the policy's stages in it. It warns where the window
// changes with the client or the model.
func (e *engine) widest(t *Timeline) {
	at := policy.Circumstances{Window: e.pol.Window.Context}
	if len(e.conv.Requests) == 0 && (at.Window == 0 || e.opt.Window > 0) {
		at.Window = e.r.window(windowKey{}, e.opt)
	}
	if f := e.fitted(); e.pol.Window.Context == 0 {
		t.Fit = f
	}
	last := 0
	for _, first := range e.r.differ {
		k := int(first)
		m := &e.conv.Messages[e.conv.Requests[k].Message]
		window := e.window(k)
		if last != 0 && window != last {
			by := m.Model
			if m.Version != "" {
				by = "client " + m.Version + ", " + by
			}
			e.warn(m.Line, "from request %d on the window is taken to be %d tokens, not %d (%s)", k+1, window, last, by)
		}
		if last == 0 || window > at.Window {
			at = e.circumstances(k, window)
		}
		if key := e.windowKey(e.pol.Window, m); window == largerWindow && e.pol.Window.Context == 0 && t.Fit == nil && e.opt.Window == 0 && e.opt.Model == "" && e.r.statedWindow(key, e.opt) < window {
			t.Shown = e.r.largest[m.Model]
		}
		last = window
	}
	t.AutoOff = e.autoOff()
	pol := e.pol
	if pol.Recorded && e.r.release != nil {
		pol, t.LimitsOf = e.r.release, e.r.release.Name
	}
	t.Window, t.Limits = at.Window, pol.Limits(at).List
}

// total sums the requests and events up.
func (t *Timeline) total() {
	tot, models := &t.Totals, 0 // tokens of the model views of main requests
	for i := range t.Requests {
		r := &t.Requests[i]
		tot.Calls++
		tot.ModelInput += r.Tokens
		tot.Payload += r.Payload
		tot.Output += r.Output
		tot.Cache.Add(r.Cache.Split)
		tot.CostUSD.Add(r.CostUSD)
		if r.CostParts != nil {
			tot.CostParts = cmp.Or(tot.CostParts, &CostParts{})
			tot.CostParts.Add(r.CostParts)
		}
		if !r.CostUSD.Known {
			tot.Unpriced++
		}
		if r.Kind != "main" {
			tot.OwnInput += r.Payload
			tot.OwnOutput += r.Output
			continue
		}
		tot.Requests++
		tot.RawInput += r.Raw
		models += r.Tokens
		tot.RawPeak = max(tot.RawPeak, r.Raw)
		tot.ModelPeak = max(tot.ModelPeak, r.Tokens)
		tot.PayloadPeak = max(tot.PayloadPeak, r.Payload)
	}
	tot.Events = len(t.Events)
	if tot.Requests > 0 {
		tot.ModelMean = (models + tot.Requests/2) / tot.Requests
		tot.PayloadMean = (tot.Payload - tot.OwnInput + tot.Requests/2) / tot.Requests
	}
	tot.Saved = tot.RawInput - tot.NotReadBack - (tot.Payload - tot.OwnInput)
	run := 0 // compactions in a row that freed next to nothing
	for _, ev := range t.Events {
		switch ev.Kind {
		case policy.KindSummarize:
			tot.Compactions++
			if ev.Before <= leastFreed*ev.Saved {
				run = 0
				continue
			}
			run++
			tot.Thrash++
			tot.ThrashRun = max(tot.ThrashRun, run)
		case policy.KindFail:
			tot.Failed++
		case policy.KindRefuse:
			tot.Refused++
		case policy.KindBlock:
			tot.Refused++
			tot.Blocked++
		}
	}
}

// leastFreed: a compaction that frees less than this part of what it read, a tenth, counts as thrash.
const leastFreed = 10

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

// CheckValid checks the invariants of a timeline. It returns the first one that is broken.
func (t *Timeline) CheckValid() error {
	if t.Schema != Schema {
		return fmt.Errorf("schema is %q, not %q", t.Schema, Schema)
	}
	sum := t.Lines.Used
	for _, n := range t.Lines.SetAside {
		sum += n
	}
	if sum != t.Lines.Read {
		return fmt.Errorf("%d lines read, %d used or set aside", t.Lines.Read, sum)
	}
	main, err := t.checkRequests()
	if err != nil {
		return err
	}
	for i, ev := range t.Events {
		if ev.N != i {
			return fmt.Errorf("event %d has n %d", i, ev.N)
		}
		if n := ev.Request; n != nil && (*n < 1 || *n > main+1) {
			return fmt.Errorf("event %d belongs to request %d of %d", i, *n, main)
		}
	}
	if t.Totals.Requests != main {
		return fmt.Errorf("totals count %d main requests, there are %d", t.Totals.Requests, main)
	}
	return nil
}

// The codes of warnings that a caller may have advice for.
const (
	CodeWindowExceeded session.Code = "window-exceeded" // the recorded context does not fit the assumed window
	CodeUsageUnfit     session.Code = "usage-unfit"     // the recorded usage is less than the content weighs
	CodeModelUnknown   session.Code = "model-unknown"   // the model of the options is not in the table
	CodeNoPrice        session.Code = "no-price"        // a model has no price
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
