package claude

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// percent matches what JavaScript's parseFloat reads at the start of a text.
var percent = pattern.New(`^[ \t\n\r\v\f\x{a0}\x{feff}]*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)`)

// ParsePercent reads a percent override as JavaScript's parseFloat does ("80x" is 80) and accepts 0 < p <= 100.
func ParsePercent(s string) (float64, bool) {
	m := percent().FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	p, err := strconv.ParseFloat(m[1], 64)
	if err != nil || p <= 0 || p > 100 {
		return 0, false
	}
	return p, true
}

// Window holds the parameters of Claude Code's thresholds, tokens. They are in the window block of a policy with a
// stage that reads them.
type Window struct {
	OutputReserve  int    `yaml:"output_reserve" doc:"kept free for the model's answer where there is neither a reserve_cap nor a max_output" unit:"tokens" min:"0"`
	ReserveCap     int    `yaml:"reserve_cap" doc:"when over 0 the reserve is min(model's max output, this)" unit:"tokens" min:"0"`
	MaxOutput      int    `yaml:"max_output" doc:"CLAUDE_CODE_MAX_OUTPUT_TOKENS: replaces the model's max output, and without a reserve_cap output_reserve; 0: the model's" unit:"tokens" min:"0"`
	Buffer         int    `yaml:"buffer" doc:"auto-compact threshold = effective window - this" unit:"tokens" min:"0"`
	WarningOffset  int    `yaml:"warning_offset" doc:"warning threshold = base - this" unit:"tokens" min:"0"`
	BlockingOffset int    `yaml:"blocking_offset" doc:"blocking limit = blocking_from - this" unit:"tokens" min:"0"`
	BlockingFrom   string `yaml:"blocking_from" doc:"what the blocking limit is counted from: the context window; the effective window, with auto_compact_window in it; or the model's own, which is the context window less the reserve" enum:"window,effective,model"`
	CompactWindow  int    `yaml:"auto_compact_window" doc:"CLAUDE_CODE_AUTO_COMPACT_WINDOW, or the setting autoCompactWindow: automatic compaction uses this window where it is smaller; auto: the context window" unit:"tokens" min:"1" zero:"auto"`
	LeastWindow    int    `yaml:"auto_compact_least" doc:"a smaller auto_compact_window is raised to this" unit:"tokens" min:"0"`
	NoMillion      bool   `yaml:"disable_1m" doc:"CLAUDE_CODE_DISABLE_1M_CONTEXT: a context window of 1,000,000 counts as 200,000"`
	PctOverride    string `yaml:"pct_override" doc:"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: percent of the effective window, parsed as JavaScript's parseFloat; empty: none"`
	BlockingLimit  int    `yaml:"blocking_limit" doc:"CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE; 0: none" unit:"tokens" min:"0"`
	Blocking       string `yaml:"blocking" doc:"when a request that reaches the blocking limit is not sent: whenever it was not compacted, or only where automatic compaction is off" enum:"uncompacted,auto_off"`
	AutoCompact    bool   `yaml:"auto_compact" doc:"whether automatic compaction is on: the thresholds are offsets from it"`

	Reactive  bool     `yaml:"reactive" doc:"automatic compaction waits until the API refuses a prompt as too long, and no request is blocked, unless a window was set (auto_compact_window, or fitted to the session) or the model is one of proactive"`
	Proactive []string `yaml:"proactive" doc:"models that compact at the threshold although reactive is on: a part of the name, where the window is below 1,000,000; million: all with 1,000,000 that they have without [1m]; unknown: all that are not named claude"`
}

// DefaultWindow returns that of 2.1.19: 32,000 tokens are reserved for the answer.
func DefaultWindow() Window {
	return Window{
		OutputReserve: 32000, Buffer: 13000, WarningOffset: 20000, BlockingOffset: 3000, BlockingFrom: "window", LeastWindow: 100000,
		Blocking: "uncompacted", AutoCompact: true, Proactive: []string{},
	}
}

// sharedWindow returns the parameters that stages share through the window block.
func sharedWindow() *policy.Shared {
	w := DefaultWindow()
	return &policy.Shared{Name: "claude", Params: &w, Check: checkPercent, Limits: windowLimits, Lint: lintWindow}
}

// checkPercent refuses a pct_override that is no percentage.
func checkPercent(params any) (string, error) {
	s := params.(*Window).PctOverride
	if _, ok := ParsePercent(s); ok || s == "" {
		return "", nil
	}
	return "pct_override", &policy.Error{Msg: strict.Quote(s) + " is no percentage", Hint: "give a number over 0 and up to 100, or \"\" for none"}
}

// windowOf returns the shared parameters of a stage's policy.
func windowOf(s *policy.StageConfig) *Window {
	if w, ok := s.Shared.(*Window); ok {
		return w
	}
	w := DefaultWindow()
	return &w
}

// limitsOf returns the thresholds that a stage compares with.
func limitsOf(l *policy.StageLimits) Thresholds {
	return windowOf(l.Stage).Resolve(l.Circumstances)
}

// windowLimits adds the limits that follow from the window alone.
func windowLimits(params any, c policy.Circumstances, l *policy.Limits) {
	w := params.(*Window)
	n := policy.Thousands
	t := w.Resolve(c)
	if t.Auto <= 0 {
		l.Note("the output reserve and the buffer leave nothing of the window: every request is above the thresholds")
	}
	reserve := "policy: window.output_reserve"
	switch {
	case w.MaxOutput > 0 && w.ReserveCap > 0:
		reserve = fmt.Sprintf("min(%s %s, window.reserve_cap %s)", c.Name("window.max_output"), n(w.MaxOutput), n(w.ReserveCap))
	case w.MaxOutput > 0:
		reserve = c.Name("window.max_output")
	case w.ReserveCap > 0 && c.MaxOutput > 0:
		reserve = fmt.Sprintf("min(largest output %s, window.reserve_cap %s)", n(c.MaxOutput), n(w.ReserveCap))
		if c.OutputFrom != "" {
			reserve += ": " + c.OutputFrom
		}
	case w.ReserveCap > 0:
		reserve = "policy: window.reserve_cap; the model's largest output is not known"
	}
	base := "effective window: auto-compact is off, " + c.Name("window.auto_compact")
	if t.On {
		base = "auto-compact threshold"
	}
	from := map[string]string{"window": "context window", "effective": "effective window", "model": "context window - output reserve"}[w.BlockingFrom]
	blocking := fmt.Sprintf("%s - %s (window.blocking_offset)", from, n(w.BlockingOffset))
	if w.BlockingLimit > 0 {
		blocking = c.Name("window.blocking_limit")
	}
	l.Add(policy.Limit{Name: "output reserve", Tokens: t.Reserve, From: reserve})
	window := "context window"
	if w.NoMillion && c.Window >= largestWindow {
		window = fmt.Sprintf("%s: %s", c.Name("window.disable_1m"), n(standardContext))
	}
	own := w.compactWindow()
	if own > 0 && own < c.Window {
		window = fmt.Sprintf("%s %s", c.Name("window.auto_compact_window"), n(own))
		l.Note("%s holds automatic compaction alone: the context window stays as it is", c.Name("window.auto_compact_window"))
	}
	if own > w.CompactWindow {
		l.Note("%s: %s is raised to %s (window.auto_compact_least)", c.Name("window.auto_compact_window"), n(w.CompactWindow), n(own))
	}
	if c.OutputFrom != "" && c.Window > standardContext && c.Model != "" && !millionUnmarked(c.Model) { // no session shows its window
		l.Note("the client takes %s to have 200,000 tokens unless its name is marked [1m]; this window holds for a marked name", c.Model)
	}
	l.Add(policy.Limit{Name: "effective window", Tokens: t.Effective, From: window + " - output reserve"})
	if t.Warning > 0 {
		l.Add(policy.Limit{Name: "warning threshold", Label: "warn", Operator: ">=", Tokens: t.Warning, Of: policy.OfContext,
			From: fmt.Sprintf("%s - %s (window.warning_offset); the client warns the user", base, n(w.WarningOffset))})
		if w.BlockingFrom != "model" { // the name is gone from 2.1.122 on
			l.Add(policy.Limit{Name: "error threshold", Operator: ">=", Tokens: t.Warning, Of: policy.OfContext, From: "the warning threshold, by another name"})
		}
	} else {
		l.Note("no warning: %s - %s (window.warning_offset) leaves nothing", base, n(w.WarningOffset))
	}
	acts := (w.Blocking == "uncompacted" || !t.On) && !t.Reactive
	switch {
	case acts:
		blocking += "; a request that was not compacted is not sent"
	case t.Reactive:
		blocking += "; not in force while automatic compaction waits for the API to refuse: " + c.Name("window.reactive")
	default:
		blocking += "; not while automatic compaction is on: " + c.Name("window.blocking")
	}
	l.Add(policy.Limit{Name: "blocking limit", Operator: ">=", Tokens: t.Blocking, Of: policy.OfContext, Acts: acts,
		Blocks: acts && !isCompactor(c.Agent), From: blocking})
}

// lintWindow reports what is questionable in the window of a policy.
func lintWindow(c *policy.Check) {
	w := windowOf(c.Stage)
	t := w.Resolve(policy.Circumstances{Window: c.Window(), Set: true})
	if t.Effective <= 0 {
		key := "window.output_reserve"
		if w.ReserveCap > 0 {
			key = "window.reserve_cap"
		}
		c.Add(policy.RuleWindow, key, "reserve less", "%d of %d tokens are reserved, nothing is left to use", t.Reserve, c.Window())
	}
	if compact := c.Has("autocompact"); compact != nil && compactsAt(compact) && t.Blocking < t.Auto {
		key := "window.blocking_offset"
		hint := "make it smaller, or the buffer larger"
		if w.BlockingLimit > 0 {
			key = "window.blocking_limit"
			hint = "make it, or the buffer, larger"
		}
		c.Add(policy.RuleWindow, key, hint, "requests are blocked at %d, before they are compacted at %d", t.Blocking, t.Auto)
	}
	if w.BlockingLimit > c.Window() && c.FixedWindow() {
		c.Add(policy.RuleWindow, "window.blocking_limit", "make it smaller", "%d is more than the window of %d", w.BlockingLimit, c.Window())
	}
	c.Unused("window.output_reserve", w.ReserveCap > 0 || w.MaxOutput > 0, "window.reserve_cap or window.max_output gives the reserve")
	c.Unused("window.blocking_offset", w.BlockingLimit > 0, "window.blocking_limit gives the limit")
	c.Unused("window.auto_compact_window", c.FixedWindow() && w.CompactWindow >= c.Window() && !w.Reactive, "the context window is no larger")
	c.Unused("window.proactive", len(w.Proactive) > 0 && !w.Reactive, "window.reactive is off")
	c.Unused("window.pct_override", w.overrideIdle(c), "the buffer of %d alone sets the threshold lower", w.Buffer)
}

// overrideIdle reports whether the buffer alone gives a lower threshold than the percentage, in a small window and in
// a large one.
func (w *Window) overrideIdle(c *policy.Check) bool {
	free := *w
	free.PctOverride = ""
	same := func(window int) bool {
		at := policy.Circumstances{Window: window}
		return free.Resolve(at).Auto == w.Resolve(at).Auto
	}
	return w.PctOverride != "" && same(c.Window()) && same(c.LargestWindow())
}

// thresholds returns those of the request before which a stage runs.
func thresholds(c *policy.Context) Thresholds {
	if r, ok := c.Shared.(interface {
		Resolve(c policy.Circumstances) Thresholds
	}); ok {
		return r.Resolve(policy.Circumstances{Window: c.Window, MaxOutput: c.MaxOutput, Model: c.Model, Set: c.WindowSet})
	}
	return Thresholds{}
}

// millionUnmarked reports whether the client takes a model with a larger window to have it without the mark: of Anthropic's
// all do from claude-opus-4-7 on, of others none.
func millionUnmarked(model string) bool {
	return strings.Contains(model, "[1m]") || strings.Contains(model, "claude") && !strings.Contains(model, "-4-6")
}

// isModel reports whether the id of a model has a name in it, with nothing behind that makes it another version: opus-5-5 is
// not opus-5, opus-5-20261101 is.
func isModel(id, name string) bool {
	_, behind, ok := strings.Cut(id, name)
	if behind != "" && behind[0] == '-' {
		version, _, _ := strings.Cut(behind[1:], "-")
		_, err := strconv.Atoi(version)
		return ok && (err != nil || len(version) > 2)
	}
	return ok
}

// Thresholds are the limits that a window and its parameters give, tokens. Stages compare with them by >=.
type Thresholds struct {
	Reserve, Effective, Auto, Base, Warning, Blocking int

	Percent  float64
	On       bool // automatic compaction
	Reactive bool // it waits until the API refuses a prompt
}

// Resolve computes the thresholds in given circumstances. Sources: analyses of the bundled clients of Claude Code 2.1.19 and
// 2.1.x, and the code of 2.1.12 to 2.1.332 (testdata/facts.tsv).
func (w *Window) Resolve(c policy.Circumstances) Thresholds {
	if w.NoMillion && c.Window >= largestWindow {
		c.Window = standardContext
	}
	reserve := w.OutputReserve
	maxOutput := c.MaxOutput
	if w.MaxOutput > 0 {
		reserve = w.MaxOutput
		maxOutput = w.MaxOutput
	}
	if w.ReserveCap > 0 {
		reserve = min(w.ReserveCap, cmp.Or(max(maxOutput, 0), w.ReserveCap))
	}
	t := Thresholds{Reserve: reserve, On: w.AutoCompact, Reactive: w.AutoCompact && w.Reactive && !w.proactive(c)}
	t.Effective = min(c.Window, cmp.Or(w.compactWindow(), c.Window)) - reserve
	t.Auto = t.Effective - w.Buffer
	if p, ok := ParsePercent(w.PctOverride); ok {
		// The source divides by 100 first, in float64: 35 % of 168,000 is 58,799, not 58,800.
		t.Percent = p
		t.Auto = min(int(math.Floor(float64(t.Effective)*(p/100))), t.Auto)
	}
	t.Base = t.Effective
	if w.AutoCompact {
		t.Base = t.Auto
	}
	t.Warning = t.Base - w.WarningOffset
	from := map[string]int{"window": c.Window, "effective": t.Effective, "model": c.Window - reserve}[w.BlockingFrom]
	t.Blocking = cmp.Or(w.BlockingLimit, from-w.BlockingOffset)
	return t
}

// compactWindow is the window that was set for automatic compaction, as the client raises it; 0: none.
func (w *Window) compactWindow() int {
	if w.CompactWindow == 0 {
		return 0
	}
	return max(w.CompactWindow, w.LeastWindow)
}

// proactive reports whether automatic compaction comes at its threshold, and does not wait for the API to refuse a prompt.
func (w *Window) proactive(c policy.Circumstances) bool {
	return w.CompactWindow > 0 || c.Set || slices.ContainsFunc(w.Proactive, func(which string) bool {
		switch which {
		case "million":
			return c.Window >= largestWindow && !strings.Contains(c.Model, "[1m]")
		case "unknown":
			return c.Model != "" && !strings.Contains(c.Model, "claude")
		}
		return isModel(c.Model, which) && c.Window < largestWindow
	})
}
