package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Period is a length of time that costs are summed up over.
type Period string

// Periods are those that a Layout can have.
var Periods = []Period{"day", "week", "month"}

// of is the name of the period of a time in a zone: 2026-01-31, 2026-W05 or 2026-01.
func (p Period) of(t time.Time, zone *time.Location) string {
	if p == "week" && !t.IsZero() {
		year, week := t.In(cmp.Or(zone, time.UTC)).ISOWeek()
		return fmt.Sprintf("%d-W%02d", year, week)
	}
	return timeText(t, either(p == "day", time.DateOnly, "2006-01"), zone)
}

// PeriodSum is what was billed in a period.
type PeriodSum struct {
	Period   string    `json:"period"` // "": of calls without a time
	Sessions int       `json:"sessions"`
	Calls    int       `json:"calls"`
	Tokens   int       `json:"tokens"` // input and output
	USD      price.USD `json:"cost_usd,omitzero"`
	AtLeast  bool      `json:"cost_at_least,omitempty"`
}

// billedPeriods sums up the calls of bills by period, each call once.
func billedPeriods(lists [][]bill.Entry, opt *Layout) []PeriodSum {
	sessions := map[string]int{}
	calls := map[string][]bill.Call{}
	for _, list := range lists {
		in := map[string]bool{}
		for _, e := range list {
			in[opt.By.of(e.Time, opt.Zone)] = true
		}
		for period := range in {
			sessions[period]++
		}
	}
	for _, c := range bill.OfEntries(lists...).List {
		period := opt.By.of(c.Time, opt.Zone)
		calls[period] = append(calls[period], c)
	}
	var sums []PeriodSum
	for _, period := range slices.Sorted(maps.Keys(calls)) {
		var l bill.Ledger
		l.Add(&bill.Bill{List: calls[period]})
		b := l.Bill()
		s := PeriodSum{period, sessions[period], b.Calls, 0, b.CostUSD, b.AtLeast()}
		for i := range b.List {
			s.Tokens += b.List[i].Tokens()
		}
		sums = append(sums, s)
	}
	return sums
}

// sessionsBy prints what sessions were billed by period.
func sessionsBy(w io.Writer, list []SessionItem, bills [][]bill.Entry, opt Layout) error {
	sums := billedPeriods(bills, &opt)
	t := rowsOf(sums, func(s *PeriodSum, r *periodCells) style {
		r.Period, r.USD = orDash(s.Period), pair{billCell(s.USD, s.AtLeast, 2), s.USD}
		return none
	})
	b := bill.OfEntries(bills...)
	answer := count(len(list), "session") + phraseIf(b.CostUSD.Known, ", billed %v", billedAs(b, usdText(b.CostUSD)))
	return listing(answer, t, object{{"schema", SessionsSchema}, {"sessions", list}, {"periods", notNil(sums)}},
		joined(" ", phraseIf(b.AtLeast(), "at least: %v.", shortText(b, nil)), copiesText(b.Copies))).print(w, opt)
}

// requestPeriods sums up the requests of a replay by period; nil where the layout has none.
func requestPeriods(tl *replay.Timeline, opt *Layout) map[string]bill.Sum {
	if opt.By == "" {
		return nil
	}
	sums := map[string]bill.Sum{}
	at := time.Time{}
	for i := range tl.Requests {
		r := &tl.Requests[i]
		if !r.Time.IsZero() { // a policy's own request is sent where the one before it was
			at = r.Time
		}
		period := opt.By.of(at, opt.Zone)
		sum := sums[period]
		sum.Add(r.Sum())
		sums[period] = sum
	}
	return sums
}

// costPeriod is what the requests of a period cost.
type costPeriod struct {
	Period   string   `json:"period"` // "": of requests without a time
	Sessions int      `json:"sessions"`
	Sum      bill.Sum `json:"sum"`
}

// costPeriods adds up the periods of sessions.
func costPeriods(list []SessionCost) []costPeriod {
	sums := map[string]costPeriod{}
	for i := range list {
		for period, one := range list[i].periods {
			s := sums[period]
			s.Period = period
			s.Sessions += 1
			s.Sum.Add(one)
			sums[period] = s
		}
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b costPeriod) int { return strings.Compare(a.Period, b.Period) })
}

func costPeriodTable(list []costPeriod) *table {
	return rowsOf(list, func(s *costPeriod, r *costPeriodCells) style {
		r.Period = orDash(s.Period)
		r.Written = s.Sum.Input.Write5m + s.Sum.Input.Write1h
		return none
	})
}
