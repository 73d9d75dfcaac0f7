package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/ctxkit/ctxkit/replay/backtest"
)

// fitTexts say which requests the usage counter was fitted on.
var fitTexts = map[backtest.Fitting]string{
	backtest.FitFirstHalf: "the usage counter is fitted on the first half of each session; all counters are scored on the second half",
	backtest.FitOthers:    "the usage counter is fitted on the inputs it is not scored on",
	backtest.FitBoth:      "the usage counter is fitted on the other inputs and the first half of each session; all counters are scored on the second half",
}

// Calibration prints how far token counters are from what the API reported.
func Calibration(w io.Writer, c *backtest.Calibrated, opt Layout) error {
	t := newTable([]column{{Title: "clients", Key: "clients"}, {Title: "model", Key: "model", Max: 14}, {Title: "counter", Key: "counter"}, {Key: "sessions"},
		{Title: "requests", Key: "requests"}}, keys("increment_mape increment_bias"),
		[]column{{Title: "inc p50", Key: "increment_p50"}, {Title: "inc p90", Key: "increment_p90"}, {Title: "next %", Key: "next_mape"}},
		keys("next_bias next_p50 next_p90 free_mape free_bias free_p50 free_p90 free_sessions"),
		[]column{{Title: "free %", Key: "free_session_mean"}, {Title: "median", Key: "free_session_median"}}, titles("bias"))
	before := backtest.CalibratedRow{}
	sessions, requests := 0, 0
	for _, r := range c.Rows {
		clients, model := r.Clients, shortModel(r.Model)
		if r.Clients == backtest.All {
			sessions, requests = r.Sessions, r.Requests
		}
		if clients == before.Clients && r.Model == before.Model {
			clients, model = "", ""
		}
		mean, median := any(decimal{r.Each.Mean, 2}), any(decimal{r.Each.Median, 2})
		if r.Each.Sessions == 0 {
			mean, median = pair{"", r.Each.Mean}, pair{"", r.Each.Median}
		}
		inc, next, free := &r.Increment, &r.Next, &r.Free
		t.add(either(r.Model == backtest.All, bold, none), pair{clients, r.Clients}, pair{model, r.Model}, r.Counter, r.Sessions, r.Requests,
			inc.MAPE, inc.Bias, pair{int(inc.P50 + 0.5), inc.P50}, pair{int(inc.P90 + 0.5), inc.P90}, decimal{next.MAPE, 2}, next.Bias, next.P50, next.P90,
			free.MAPE, free.Bias, free.P50, free.P90, r.Each.Sessions, mean, median, signed(free.Bias))
		before = r
	}
	return listing(t, c,
		fmt.Sprintf("%s of %s scored; %s", count(requests, "request"), count(sessions, "session"), fitTexts[c.Fit]),
		"inc: error of the tokens added since the request before, in tokens. next: mean error of the total, given the total before. "+
			"free: mean error of the total, given only the first total and those after recorded compactions; by session of 5 requests or more. bias: of free, over requests.").print(w, opt)
}

// shortModel returns a model's name without vendor and date.
func shortModel(name string) string {
	name = strings.TrimPrefix(name, "claude-")
	if i := strings.LastIndexByte(name, '-'); i > 0 && len(name)-i == 9 && strings.Trim(name[i+1:], "0123456789") == "" {
		name = name[:i]
	}
	return name
}

// signed formats a number with its sign; what rounds to zero has none.
func signed(x float64) number {
	if s := fmt.Sprintf("%+.2f", x); s != "+0.00" && s != "-0.00" {
		return number(s)
	}
	return "0.00"
}
