package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/ctxkit/ctxkit/replay/backtest"
)

// backtestCSV is one row a session.
func backtestCSV(w io.Writer, r *backtest.Result) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{
		"session", "agent", "file", "model", "client_version", "clients", "policy", "requests", "window", "fitted",
		"recorded", "hits", "lost", "lost_hits", "alarms", "free_alarms", "manual",
		"micro_recorded", "micro_same", "micro_unrecorded", "micro_confirmed", "micro_alarms",
		"usage_requests", "read_within_5", "read_within_1", "read_mape", "write_mape", "input_mape", "breaks", "named", "right_kind", "right_amount", "other_causes", "unexplained", "only_simulated",
		"read_recorded", "read_simulated", "write_recorded", "write_simulated", "input_recorded", "input_simulated",
		"all_right_kind", "all_right_amount",
	}); err != nil {
		return err
	}
	for _, s := range r.Sessions {
		one := backtest.Sum(s.Policy, []*backtest.Session{s})
		c, m, u := &one.Compactions[0], &one.Micro[0], &s.Usage
		if s.Fit != nil {
			c = &one.Compactions[len(one.Compactions)-1]
		}
		row := []string{csvText(s.Session), csvText(s.Agent), csvText(s.File), csvText(s.Model), csvText(s.Version), s.Clients, csvText(s.Policy)}
		row = append(row, strconv.Itoa(s.Requests), strconv.Itoa(s.Window), strconv.FormatBool(s.Fit != nil))
		for _, n := range []int{
			c.Recorded, c.Hits, c.Lost, c.LostHits, c.Alarms, c.Free.Alarms, c.Manual, m.Recorded, m.Same, m.Unrecorded, m.Confirmed, m.Alarms,
			u.Requests, u.Near, u.Close,
		} {
			row = append(row, strconv.Itoa(n))
		}
		row = append(row, exact(u.Read.MAPE), exact(u.Write.MAPE), exact(u.Input.MAPE))
		for _, n := range []int{u.Broken, u.Named, u.Kind, u.Amount, u.Others, u.Unexplained, u.FalseAlarms} {
			row = append(row, strconv.Itoa(n))
		}
		for _, f := range u.Classes() {
			row = append(row, strconv.Itoa(f.Recorded), strconv.Itoa(f.Simulated))
		}
		row = append(row, strconv.Itoa(u.AllKind), strconv.Itoa(u.AllAmount))
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// backtestBreaksCSV is one row a break.
func backtestBreaksCSV(w io.Writer, worst []backtest.Break) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"session", "agent", "file", "line", "request", "in_record", "cause", "left", "read", "simulated", "right_kind", "right_amount"}); err != nil {
		return err
	}
	for i := range worst {
		b := &worst[i]
		row := []string{
			csvText(b.Session), csvText(b.Agent), csvText(b.File), strconv.Itoa(b.Line), strconv.Itoa(b.Request), strconv.FormatBool(b.Recorded), string(b.Cause),
			strconv.Itoa(b.Left), strconv.Itoa(b.Read), strconv.Itoa(b.Simulated), strconv.FormatBool(b.Kind), strconv.FormatBool(b.Amount),
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
