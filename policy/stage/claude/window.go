package claude

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

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
	BlockingOffset int    `yaml:"blocking_offset" doc:"blocking limit = window - this" unit:"tokens" min:"0"`
	CompactWindow  int    `yaml:"auto_compact_window" doc:"CLAUDE_CODE_AUTO_COMPACT_WINDOW: automatic compaction goes by this window where it is smaller; auto: by the context window" unit:"tokens" min:"1" zero:"auto"`
	PctOverride    string `yaml:"pct_override" doc:"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: percent of the effective window, parsed as JavaScript's parseFloat; empty: none"`
	BlockingLimit  int    `yaml:"blocking_limit" doc:"CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE; 0: none" unit:"tokens" min:"0"`
	Blocking       string `yaml:"blocking" doc:"when a request that reaches the blocking limit is not sent: whenever it was not compacted, or only where automatic compaction is off" enum:"uncompacted,auto_off"`
	AutoCompact    bool   `yaml:"auto_compact" doc:"whether automatic compaction is on: the thresholds are offsets from it"`
}

// DefaultWindow returns that of 2.1.19: 32,000 tokens are reserved for the answer.
func DefaultWindow() Window {
	return Window{OutputReserve: 32000, Buffer: 13000, WarningOffset: 20000, BlockingOffset: 3000, Blocking: "uncompacted", AutoCompact: true}
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
func limitsOf(s *policy.StageConfig, c policy.Circumstances) Thresholds {
	return windowOf(s).Resolve(c.Window, c.MaxOutput)
}

// windowLimits adds the limits that follow from the window alone.
func windowLimits(params any, c policy.Circumstances, l *policy.Limits) {
	w, n := params.(*Window), policy.Thousands
	t := w.Resolve(c.Window, c.MaxOutput)
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
	blocking := fmt.Sprintf("context window - %s (window.blocking_offset)", n(w.BlockingOffset))
	if w.BlockingLimit > 0 {
		blocking = c.Name("window.blocking_limit")
	}
	l.Add(policy.Limit{Name: "output reserve", Tokens: t.Reserve, From: reserve})
	window := "context window"
	if w.CompactWindow > 0 && w.CompactWindow < c.Window {
		window = fmt.Sprintf("%s %s", c.Name("window.auto_compact_window"), n(w.CompactWindow))
		l.Note("%s holds automatic compaction alone: the context window and the blocking limit stay as they are", c.Name("window.auto_compact_window"))
	}
	l.Add(policy.Limit{Name: "effective window", Tokens: t.Effective, From: window + " - output reserve"})
	l.Add(policy.Limit{Name: "warning threshold", Label: "warn", Operator: ">=", Tokens: t.Warning, Of: policy.OfContext,
		From: fmt.Sprintf("%s - %s (window.warning_offset); the client warns the user", base, n(w.WarningOffset))})
	acts := w.Blocking == "uncompacted" || !t.On
	if acts {
		blocking += "; a request that was not compacted is not sent"
	} else {
		blocking += "; not while automatic compaction is on: " + c.Name("window.blocking")
	}
	l.Add(policy.Limit{Name: "blocking limit", Operator: ">=", Tokens: t.Blocking, Of: policy.OfContext, Acts: acts,
		Blocks: acts && !isCompactor(c.Agent), From: blocking})
}

// lintWindow reports what is questionable in the window of a policy.
func lintWindow(c *policy.Check) {
	w := windowOf(c.Stage)
	t := w.Resolve(c.Window(), 0)
	if t.Effective <= 0 {
		key := "window.output_reserve"
		if w.ReserveCap > 0 {
			key = "window.reserve_cap"
		}
		c.Add(policy.RuleWindow, key, "reserve less", "%d of %d tokens are reserved, nothing is left to use", t.Reserve, c.Window())
	}
	if compact := c.Has("autocompact"); compact != nil && compactsAt(compact) && t.Blocking < t.Auto {
		key, hint := "window.blocking_offset", "make it smaller, or the buffer larger"
		if w.BlockingLimit > 0 {
			key, hint = "window.blocking_limit", "make it, or the buffer, larger"
		}
		c.Add(policy.RuleWindow, key, hint, "requests are blocked at %d, before they are compacted at %d", t.Blocking, t.Auto)
	}
	if w.BlockingLimit > c.Window() && c.FixedWindow() {
		c.Add(policy.RuleWindow, "window.blocking_limit", "make it smaller", "%d is more than the window of %d", w.BlockingLimit, c.Window())
	}
	c.Unused("window.output_reserve", w.ReserveCap > 0, "window.reserve_cap gives the reserve")
	c.Unused("window.output_reserve", w.ReserveCap == 0 && w.MaxOutput > 0, "window.max_output gives the reserve")
	c.Unused("window.blocking_offset", w.BlockingLimit > 0, "window.blocking_limit gives the limit")
	c.Unused("window.auto_compact_window", c.FixedWindow() && w.CompactWindow >= c.Window(), "the context window is no larger")
	c.Unused("window.pct_override", w.overrideIdle(c), "the buffer of %d alone sets the threshold lower", w.Buffer)
}

// overrideIdle reports whether the buffer alone gives a lower threshold than the percentage, in a small window and in
// a large one.
func (w *Window) overrideIdle(c *policy.Check) bool {
	free := *w
	free.PctOverride = ""
	same := func(window int) bool { return free.Resolve(window, 0).Auto == w.Resolve(window, 0).Auto }
	return w.PctOverride != "" && same(c.Window()) && same(c.LargestWindow())
}

// thresholds returns those of the request before which a stage runs.
func thresholds(c *policy.Context) Thresholds {
	if r, ok := c.Shared.(interface {
		Resolve(context, maxOutput int) Thresholds
	}); ok {
		return r.Resolve(c.Window, c.MaxOutput)
	}
	return Thresholds{}
}

// Thresholds are the limits that a window and its parameters give, tokens. Stages compare with them by >=.
type Thresholds struct {
	Reserve, Effective, Auto, Base, Warning, Blocking int

	Percent float64
	On      bool // automatic compaction
}

// Resolve computes the thresholds for a context window of context tokens and a model whose largest output is
// maxOutput tokens (0: unknown). Source: analyses of the bundled clients of Claude Code 2.1.19 and 2.1.x.
func (w *Window) Resolve(context, maxOutput int) Thresholds {
	reserve := w.OutputReserve
	if w.MaxOutput > 0 {
		reserve, maxOutput = w.MaxOutput, w.MaxOutput
	}
	if w.ReserveCap > 0 {
		reserve = min(w.ReserveCap, cmp.Or(max(maxOutput, 0), w.ReserveCap))
	}
	t := Thresholds{Reserve: reserve, Blocking: cmp.Or(w.BlockingLimit, context-w.BlockingOffset), On: w.AutoCompact}
	t.Effective = min(context, cmp.Or(w.CompactWindow, context)) - reserve
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
	return t
}
