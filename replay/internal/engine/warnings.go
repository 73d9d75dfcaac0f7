package engine

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/price"
)

// warn adds a warning at a line of the session, 0 for none. The caller may set its code before the next warning.
func (e *Engine) warn(line int, format string, args ...any) *session.Warning {
	e.rows.warnings = append(e.rows.warnings, session.Warning{File: e.conv.Path, Line: line, Message: fmt.Sprintf(format, args...)})
	return &e.rows.warnings[len(e.rows.warnings)-1]
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
	opt := e.options
	opt.Window = cmp.Or(opt.Window, e.policy.ModelWindow(opt.Model, time.Time{}).Context)
	if w := UnknownModel(e.record.Table(opt.Prices), opt); w != nil {
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
	if names := e.account.UncutReads(); len(names) > 0 {
		e.warn(0, "no price is known for cached input of %s: it is counted as uncached input", modelNames(names)).Code = CodeNoPrice
	}
	cached, uncached := e.account.Shown()
	if len(cached) > 0 {
		e.warn(0, "how the provider of %s caches is not known, but the session has recorded cached input: it is simulated as automatic, in blocks of one token", modelNames(cached)).Code = CodeCacheShown
	}
	if len(uncached) > 0 {
		e.warn(0, "no request to %s has recorded cached input: the simulation caches none of it either", modelNames(uncached)).Code = CodeCacheShown
	}
	if names := e.account.Unknown(); len(names) > 0 {
		e.warn(0, "how the provider of %s caches is not known: those requests read nothing", modelNames(names)).Code = CodeNoCache
	}
}

// UnknownModel returns a warning where opt.Model is set and not in table, else nil.
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

// add counts request n, which exceeds something by some tokens.
func (x *excess) add(n, tokens int) {
	if x.requests++; x.requests == 1 {
		x.first = n
	}
	x.most = max(x.most, tokens)
}

// The codes of warnings that a caller may have advice for.
const (
	CodeWindowExceeded session.Code = "window-exceeded" // a recorded context is larger than the assumed window
	CodeWindowAssumed  session.Code = "window-assumed"  // nothing states the context window, which is assumed
	CodeUsageUnfit     session.Code = "usage-unfit"     // the recorded usage is less than the tokens of the recorded content
	CodeModelUnknown   session.Code = "model-unknown"   // Options.Model is not in the table of models
	CodeNoPrice        session.Code = "no-price"        // a model has no price
	CodeCacheShown     session.Code = "cache-shown"     // only the recorded usage shows that the provider caches the model's prompts
	CodeNoCache        session.Code = "no-cache"        // nothing tells how the model's prompts are cached
)

// modelNames lists models for people, the first of many. A response without one has a model that is not recorded.
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
