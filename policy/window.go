package policy

import (
	"math"
	"regexp"
	"strconv"
)

// Window is a policy's limits: the `window` block of its YAML. All figures
// are tokens. The zero value of a pointer field means "the default of the
// source the policy reproduces".
type Window struct {
	Context        int    `yaml:"context" doc:"context window; auto: 200,000 for clients before 2.1.78, else the model's" unit:"tokens" min:"0" zero:"auto"`
	OutputReserve  int    `yaml:"output_reserve" doc:"kept free for the model's answer where there is neither a reserve_cap nor a max_output" unit:"tokens" min:"0"`
	ReserveCap     int    `yaml:"reserve_cap" doc:"when over 0 the reserve is min(model's max output, this)" unit:"tokens" min:"0"`
	MaxOutput      int    `yaml:"max_output" doc:"CLAUDE_CODE_MAX_OUTPUT_TOKENS: stands for the model's max output, and without a reserve_cap for output_reserve; 0: the model's" unit:"tokens" min:"0"`
	Buffer         int    `yaml:"buffer" doc:"auto-compact threshold = effective window - this" unit:"tokens" min:"0"`
	WarningOffset  int    `yaml:"warning_offset" doc:"warning threshold = base - this" unit:"tokens" min:"0"`
	BlockingOffset int    `yaml:"blocking_offset" doc:"blocking limit = window - this" unit:"tokens" min:"0"`
	PctOverride    string `yaml:"pct_override" doc:"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: percent of the effective window, parsed as JavaScript's parseFloat; empty: none"`
	BlockingLimit  int    `yaml:"blocking_limit" doc:"CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE; 0: none" unit:"tokens" min:"0"`
	AutoCompact    bool   `yaml:"auto_compact" doc:"whether automatic compaction is on: thresholds are counted from it"`
	Overhead       int    `yaml:"overhead" doc:"system prompt and tools; auto: from the first request's usage, else 18,800" unit:"tokens" min:"0" zero:"auto"`
	Tail           string `yaml:"tail" doc:"from where the heuristic tail is counted: after the last line of the last response, or after its first" enum:"after_last,after_first"`
}

// DefaultWindow is v2.1.19's: 200,000 with 32,000 reserved.
func DefaultWindow() Window {
	return Window{
		OutputReserve: 32000, Buffer: 13000, WarningOffset: 20000, BlockingOffset: 3000,
		AutoCompact: true, Tail: "after_last",
	}
}

// Thresholds are the figures a window comes to, in tokens. All comparisons
// against them are >=.
type Thresholds struct {
	Window    int     `json:"window"`
	Reserve   int     `json:"output_reserve"`
	Effective int     `json:"effective"`
	Auto      int     `json:"auto_compact"`
	Base      int     `json:"base"`
	Warning   int     `json:"warning"`
	Error     int     `json:"error"`
	Blocking  int     `json:"blocking"`
	Percent   float64 `json:"pct_override,omitempty"`
	On        bool    `json:"auto_compact_on"`
}

// Resolve works out the thresholds for a context window of context tokens and
// a model whose largest output is maxOutput tokens (0: unknown). Claude Code
// 2.1.19 and 2.1.x: analyses of the bundled clients.
func (w Window) Resolve(context, maxOutput int) Thresholds {
	if w.Context > 0 {
		context = w.Context
	}
	reserve := w.OutputReserve
	if w.MaxOutput > 0 {
		reserve, maxOutput = w.MaxOutput, w.MaxOutput
	}
	if w.ReserveCap > 0 {
		reserve = w.ReserveCap
		if maxOutput > 0 && maxOutput < reserve {
			reserve = maxOutput
		}
	}
	t := Thresholds{Window: context, Reserve: reserve, Effective: context - reserve, On: w.AutoCompact}
	t.Auto = t.Effective - w.Buffer
	if p, ok := ParsePercent(w.PctOverride); ok {
		// The source divides by 100 first, in float64: 35 % of 168,000 is
		// 58,799, not 58,800.
		t.Percent = p
		t.Auto = min(int(math.Floor(float64(t.Effective)*(p/100))), t.Auto)
	}
	t.Base = t.Effective
	if w.AutoCompact {
		t.Base = t.Auto
	}
	t.Warning = t.Base - w.WarningOffset
	t.Error = t.Warning
	t.Blocking = context - w.BlockingOffset
	if w.BlockingLimit > 0 {
		t.Blocking = w.BlockingLimit
	}
	return t
}

// PercentLeft is max(0, round((base - used) / base x 100)), half up.
func (t Thresholds) PercentLeft(used int) int {
	if t.Base <= 0 {
		return 0
	}
	return max(0, int(math.Floor(float64(t.Base-used)/float64(t.Base)*100+0.5)))
}

// percent is what JavaScript's parseFloat reads at the start of a text.
var percent = regexp.MustCompile(`^[ \t\n\r\v\f\x{a0}\x{feff}]*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)`)

// ParsePercent reads a percent override as JavaScript's parseFloat does
// ("80x" is 80) and accepts 0 < p <= 100.
func ParsePercent(s string) (float64, bool) {
	m := percent.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	p, err := strconv.ParseFloat(m[1], 64)
	if err != nil || !(p > 0 && p <= 100) {
		return 0, false
	}
	return p, true
}
