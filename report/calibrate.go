package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/replay"
)

// fitTexts say what the usage counter was fitted on.
var fitTexts = map[replay.Fitting]string{
	replay.FitFirstHalf: "the usage counter is fitted on the first half of each session and scored on the rest, as the others are",
	replay.FitOthers:    "the usage counter is fitted on other inputs than the one it is scored on",
	replay.FitBoth:      "the usage counter is fitted on the other inputs and the first half of each session, and scored on the rest, as the others are",
}

// Calibration prints how far token counters are from what the API reported.
func Calibration(w io.Writer, c *replay.Calibrated, opt Options) error {
	l := &listing{
		table: &Table{Columns: []Column{
			{Title: "clients"}, {Title: "model", Max: 14}, {Title: "counter"}, {Title: "requests", Right: true},
			{Title: "inc p50", Right: true}, {Title: "inc p90", Right: true}, {Title: "next %", Right: true},
			{Title: "free %", Right: true}, {Title: "median", Right: true}, {Title: "bias", Right: true},
		}},
		columns: []string{
			"clients", "model", "counter", "sessions", "requests",
			"increment_mape", "increment_bias", "increment_p50", "increment_p90",
			"next_mape", "next_bias", "next_p50", "next_p90",
			"free_mape", "free_bias", "free_p50", "free_p90", "free_sessions", "free_session_mean", "free_session_median",
		},
		json: c,
	}
	before := replay.CalibratedRow{}
	sessions, requests := 0, 0
	for i := range c.Rows {
		r := &c.Rows[i]
		row := []string{r.Clients, r.Model, r.Counter, strconv.Itoa(r.Sessions), strconv.Itoa(r.Requests)}
		for _, e := range []replay.Error{r.Increment, r.Next, r.Free} {
			row = append(row, exact(e.MAPE), exact(e.Bias), exact(e.P50), exact(e.P90))
		}
		l.rows = append(l.rows, append(row, strconv.Itoa(r.Each.Sessions), exact(r.Each.Mean), exact(r.Each.Median)))
		clients, model, st := r.Clients, shortModel(r.Model), none
		if r.Clients == replay.All {
			sessions, requests = r.Sessions, r.Requests
		}
		if r.Model == replay.All {
			st = bold
		}
		if clients == before.Clients && r.Model == before.Model {
			clients, model = "", ""
		}
		mean, median := "", ""
		if r.Each.Sessions > 0 {
			mean, median = places(r.Each.Mean, 2), places(r.Each.Median, 2)
		}
		l.table.styled(st, clients, model, r.Counter, thousands(r.Requests),
			thousands(int(r.Increment.P50+0.5)), thousands(int(r.Increment.P90+0.5)), places(r.Next.MAPE, 2),
			mean, median, signed(r.Free.Bias))
		before = *r
	}
	l.notes = append(l.notes,
		fmt.Sprintf("%s of %s scored; %s", count(requests, "request"), count(sessions, "session"), fitTexts[c.Fit]),
		"inc: error of what joined since the request before, tokens; next: of the total, given the one before, mean; free: of the total, given the first and those after recorded compactions, mean and median of the sessions with 5 requests or more, and bias over requests")
	return l.print(w, opt)
}

// shortModel is a model's name without vendor and date.
func shortModel(name string) string {
	name = strings.TrimPrefix(name, "claude-")
	if i := strings.LastIndexByte(name, '-'); i > 0 && len(name)-i == 9 && strings.Trim(name[i+1:], "0123456789") == "" {
		name = name[:i]
	}
	return name
}

func exact(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func places(x float64, n int) string { return strconv.FormatFloat(x, 'f', n, 64) }

// signed is a number with its sign; what rounds to nothing has none.
func signed(x float64) string {
	s := places(x, 2)
	switch {
	case s == "0.00" || s == "-0.00":
		return "0.00"
	case x > 0:
		return "+" + s
	}
	return s
}
