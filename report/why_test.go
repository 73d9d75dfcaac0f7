package report

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/why"
)

func amount(x float64) price.USD { return price.USD{Nano: int64(x * 1e9), Known: true} }

// breaksSample is the breaks of a conversation, one of each kind, with n refills.
func breaksSample(n int) *why.SessionBreaks {
	s := sampled[*why.SessionBreaks]("breaks")
	for i, reason := range []string{"unavailable", "a_later\x1b[31mb\u202e", "system_changed"} {
		s.Breaks[i+1].InFile.Reason = reason
	}
	s.Bill, s.Refills, s.Compactions = billOf(amount(20)), s.Refills[:n], n+1
	return s
}

// simulatedSample is the same under another policy.
func simulatedSample() *why.SessionBreaks {
	s := breaksSample(0)
	s.Session, s.Agent, s.Policy, s.Recorded = "s-2", "a1", "opencode", false
	s.InRecord = &why.RecordedBreaks{Breaks: 2, Lost: 1000, USD: amount(0.001)}
	for i := range s.Breaks {
		s.Breaks[i].InFile = nil
	}
	for i := range s.Causes {
		s.Causes[i].RecordedBreaks, s.Causes[i].Only = why.RecordedBreaks{}, 0
	}
	s.Total.RecordedBreaks, s.Total.Only = why.RecordedBreaks{}, 0
	unexplained := func(c cache.BreakCause) bool { return c == backtest.Unexplained } // a simulated break has a cause
	s.Breaks = slices.DeleteFunc(s.Breaks, func(b why.CacheBreak) bool { return unexplained(b.Cause) })
	s.Causes = slices.DeleteFunc(s.Causes, func(c why.BreakSum) bool { return unexplained(c.Cause) })
	return s
}

func TestWhy(t *testing.T) {
	empty, never := sampled[*why.SessionBreaks]("breaks-empty"), sampled[*why.SessionBreaks]("breaks-never")
	empty.Bill, never.Bill = &bill.Bill{}, &bill.Bill{}
	unused := simulatedSample()
	unused.Policy, unused.Recorded, unused.InRecord, unused.Usage, unused.Brief, unused.Bill = "recorded", true, nil, 0, bill.Brief{}, &bill.Bill{}
	for name, list := range map[string][]*why.SessionBreaks{
		"one": {breaksSample(12)}, "policy": {simulatedSample()}, "several": {breaksSample(2), simulatedSample(), empty}, "empty": {empty}, "never": {never}, "no-usage": {unused},
	} {
		inFormats(t, "why", "why-"+name, ListFormats, func(w io.Writer, f Format) error {
			return Why(w, list, policy.Use{}, Layout{Format: f, Hints: Hints{All: "--all shows them", Pages: "Name one."}})
		})
	}
}

// TestWhyFit holds that no line is wider than the layout says.
func TestWhyFit(t *testing.T) {
	for _, w := range []int{60, 80, 100, 160} {
		for _, all := range []bool{false, true} {
			var b bytes.Buffer
			must.Do(t, Why(&b, []*why.SessionBreaks{breaksSample(12)}, policy.Use{}, Layout{Width: w, All: all}))
			fits(t, b.String(), w)
		}
	}
}
