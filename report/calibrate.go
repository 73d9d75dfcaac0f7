package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// fitTexts say which requests the usage counter was fitted on.
var fitTexts = map[backtest.Fitting]string{
	backtest.FitFirstHalf: "the usage counter is fitted on the first half of each session; all counters are scored on the second half",
	backtest.FitOthers:    "the usage counter is fitted on the inputs it is not scored on",
	backtest.FitBoth:      "the usage counter is fitted on the other inputs and the first half of each session; all counters are scored on the second half",
}

// Calibration prints how far token counters are from what the API reported.
func Calibration(w io.Writer, c *backtest.Calibrated, opt Layout) error {
	before := &backtest.CalibratedRow{}
	sessions := 0
	requests := 0
	t := rowsOf(c.Rows, func(x *backtest.CalibratedRow, r *counterCells) style {
		if x.Clients == backtest.All {
			sessions = x.Sessions
			requests = x.Requests
		}
		r.Clients, r.Model = x.Clients, pair{shortModel(x.Model), x.Model}
		if x.Clients == before.Clients && x.Model == before.Model {
			r.Clients = pair{"", x.Clients}
			r.Model = pair{"", x.Model}
		}
		rounded := func(f float64) pair { return pair{int(f + 0.5), f} }
		r.IncP50, r.IncP90, r.NextPercent = rounded(x.Increment.P50), rounded(x.Increment.P90), decimal{x.Next.MAPE, 2}
		r.FreePercent, r.Median, r.Bias = decimal{x.Each.Mean, 2}, decimal{x.Each.Median, 2}, signed(x.Free.Bias)
		if x.Each.Sessions == 0 {
			r.FreePercent = pair{"", x.Each.Mean}
			r.Median = pair{"", x.Each.Median}
		}
		before = x
		return totalStyle(x.Model)
	})
	return listing(calibrationAnswer(c), t, c,
		phrase("%s of %s scored; %s", count(requests, "request"), count(sessions, "session"), fitTexts[c.Fit]),
		"inc: error of the tokens added since the request before, in tokens. next: mean error of the total, given the total before. "+
			"free: mean error of the total, given only the first total and those after recorded compactions and after restarts as another client version; by session of 5 requests or more. bias: of free, over requests.").print(w, opt)
}

// calibrationAnswer is the error of the usage counter over sessions, in a sentence; "" where none is long enough.
func calibrationAnswer(c *backtest.Calibrated) string {
	for _, r := range c.Rows {
		if e := r.Each; r.Clients == backtest.All && r.Counter == tokens.NameUsage && e.Sessions > 0 {
			return fmt.Sprintf("Free-running error of the usage counter, over %s: mean %.2f %%, median %.2f %%.",
				count(e.Sessions, "session"), e.Mean, e.Median)
		}
	}
	return ""
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
