package report

import (
	"fmt"
	"io"
	"strconv"

	"github.com/ctxkit/ctxkit/policy"
)

// ThresholdsSchema is the version of the JSON form of Thresholds.
const ThresholdsSchema = "ctxkit.thresholds/v1"

// Thresholds are the limits that apply to a model, a window and a policy, with
// where each figure comes from.
type Thresholds struct {
	Schema string            `json:"schema"`
	Policy string            `json:"policy"`
	Source string            `json:"source"`
	Model  string            `json:"model,omitempty"`
	Limits policy.Thresholds `json:"limits"`
	Rows   []ThresholdRow    `json:"rows"`
}

// ThresholdRow is one figure, in tokens.
type ThresholdRow struct {
	Name   string  `json:"name"`
	Tokens int     `json:"tokens"`
	Share  float64 `json:"share_of_window"` // percent
	From   string  `json:"from"`
}

// NewThresholds explains a policy's limits. windowFrom and outputFrom say
// where the context window and the model's largest output come from.
func NewThresholds(p *policy.Policy, model string, maxOutput int, windowFrom, outputFrom string, t policy.Thresholds) Thresholds {
	w := p.Window
	out := Thresholds{Schema: ThresholdsSchema, Policy: p.Name, Source: p.Source, Model: model, Limits: t}
	add := func(name string, n int, from string) {
		share := 0.0
		if t.Window > 0 {
			share = float64(int(float64(n)/float64(t.Window)*1000+0.5)) / 10
		}
		out.Rows = append(out.Rows, ThresholdRow{name, n, share, from})
	}
	add("context window", t.Window, windowFrom)
	reserve := "policy: window.output_reserve"
	if w.ReserveCap > 0 {
		reserve = fmt.Sprintf("min(largest output %s, window.reserve_cap %s): %s", thousands(maxOutput), thousands(w.ReserveCap), outputFrom)
		if maxOutput == 0 {
			reserve = "policy: window.reserve_cap; the model's largest output is not known"
		}
	}
	add("output reserve", t.Reserve, reserve)
	add("effective window", t.Effective, "context window - output reserve")
	auto := fmt.Sprintf("effective window - %s (window.buffer)", thousands(w.Buffer))
	if t.Percent > 0 {
		auto = fmt.Sprintf("min(floor(effective window x %g/100) by window.pct_override, effective window - %s)", t.Percent, thousands(w.Buffer))
	}
	add("auto-compact threshold", t.Auto, auto)
	base := "auto-compact is off: the effective window"
	if t.On {
		base = "auto-compact is on: its threshold"
	}
	add("base", t.Base, base)
	add("warning threshold", t.Warning, fmt.Sprintf("base - %s (window.warning_offset)", thousands(w.WarningOffset)))
	add("error threshold", t.Error, "the same as the warning threshold")
	blocking := fmt.Sprintf("context window - %s (window.blocking_offset)", thousands(w.BlockingOffset))
	if w.BlockingLimit > 0 {
		blocking = "window.blocking_limit"
	}
	add("blocking limit", t.Blocking, blocking)
	return out
}

// PrintThresholds prints them as a listing.
func PrintThresholds(w io.Writer, t Thresholds, opt Options) error {
	l := &listing{
		table: &Table{Columns: []Column{
			{Title: "figure"}, {Title: "tokens", Right: true}, {Title: "of window", Right: true}, {Title: "where it comes from", Flex: true},
		}},
		notes:   []string{"policy " + t.Policy + " (" + t.Source + "); all comparisons are used >= threshold"},
		columns: []string{"figure", "tokens", "share_of_window", "from"},
		json:    t,
	}
	for _, r := range t.Rows {
		share := strconv.FormatFloat(r.Share, 'f', 1, 64)
		l.table.Row(r.Name, thousands(r.Tokens), share+" %", r.From)
		l.rows = append(l.rows, []string{r.Name, strconv.Itoa(r.Tokens), share, r.From})
	}
	return l.print(w, opt)
}
