package report

import (
	"fmt"

	"github.com/ctxkit/ctxkit/replay/backtest"
)

// classTable has the sums of all requests: what a bill goes by.
func classTable(rows []backtest.UsageRow) *Table {
	t := &Table{Columns: []Column{{Title: "clients"}}}
	for _, title := range []string{"requests", "input tokens", "read", "simulated", "written", "simulated", "plain", "simulated"} {
		t.Columns = append(t.Columns, Column{Title: title, Right: true})
	}
	for i := range rows {
		r := &rows[i]
		st, all := none, r.Recorded()
		if r.Clients == backtest.All {
			st = bold
		}
		row := []string{r.Clients, thousands(r.Requests), thousands(all)}
		for _, f := range r.Classes() {
			row = append(row, portion(f.Recorded, all), portion(f.Simulated, all))
		}
		t.styled(st, row...)
	}
	return t
}

// classText is what the sums come to, in one sentence.
func classText(u *backtest.Usage) string {
	all := u.Recorded()
	if all == 0 {
		return "no request has a usage that could be held against the simulation"
	}
	text := fmt.Sprintf("of %s tokens of input", thousands(all))
	for i, name := range []string{"read from the cache", "written to it", "plain"} {
		f := u.Classes()[i]
		text += fmt.Sprintf(", %s %% were %s (simulated: %s %%)", portion(f.Recorded, all), name, portion(f.Simulated, all))
	}
	return text
}

// portion is part of whole in %, with two decimals; a dash where there is no whole.
func portion(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return places(100*float64(part)/float64(whole), 2)
}

const usageNote = "read ±5 %, ±1 %: requests whose simulated read is so near. off: mean absolute error of a request, tokens; MAPE: the mean of the errors each in % of its own request's figure. " +
	"A request writes little beside what it reads, so that a few hundred tokens are a high MAPE of what is written. " +
	"Plain input is a few tokens a request that the client leaves behind its last mark; the simulation counts them as written, which makes a MAPE of 100 % of nearly nothing"

func usageTable(rows []backtest.UsageRow) *Table {
	t := &Table{Columns: []Column{{Title: "clients"}}}
	for _, title := range []string{"requests", "read ±5 %", "read ±1 %", "read off", "MAPE", "written off", "MAPE", "plain off", "MAPE"} {
		t.Columns = append(t.Columns, Column{Title: title, Right: true})
	}
	for i := range rows {
		r := &rows[i]
		st := none
		if r.Clients == backtest.All {
			st = bold
		}
		row := []string{r.Clients, thousands(r.Requests), percent(r.Near, r.Requests), percent(r.Close, r.Requests)}
		for _, f := range r.Classes() {
			off, mean := "–", "–"
			if r.Requests > 0 {
				off = thousands((f.Off + r.Requests/2) / r.Requests)
			}
			if f.Scored > 0 {
				mean = places(f.MAPE, 2)
			}
			row = append(row, off, mean)
		}
		t.styled(st, row...)
	}
	return t
}
