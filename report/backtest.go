package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/replay/backtest"
)

// BacktestOptions say how a backtest is printed.
type BacktestOptions struct {
	Options
	Explain int // how many of the worst breaks of the cache are listed
}

// mostPlacesTold is how many misses and false alarms a page names.
const mostPlacesTold = 20

// Backtest prints a policy held against the record.
func Backtest(w io.Writer, r *backtest.Result, opt BacktestOptions) error {
	switch opt.Format {
	case FormatTable, "":
		return backtestPage(&textPage{w: w, color: opt.Color}, r, opt)
	case FormatMarkdown:
		return backtestPage(&markdownPage{w: w}, r, opt)
	case FormatJSON:
		return WriteJSON(w, struct {
			*backtest.Result
			Explain []backtest.Break `json:"explain,omitempty"`
		}{r, r.Worst(opt.Explain)})
	case FormatCSV:
		if opt.Explain > 0 {
			return backtestBreaksCSV(w, r.Worst(opt.Explain))
		}
		return backtestCSV(w, r)
	}
	return fmt.Errorf("format %q: want one of %v", opt.Format, ListFormats)
}

func backtestPage(p page, r *backtest.Result, opt BacktestOptions) error {
	if opt.Explain > 0 {
		worst := r.Worst(opt.Explain)
		p.heading("breaks of the cache, the furthest off first")
		p.table(explainTable(worst))
		u := &r.Usage[0]
		p.note(none, fmt.Sprintf("%s of %s listed; %s in the record, of which %s unexplained, and %s in the simulation alone",
			thousands(len(worst)), thousands(u.Broken+u.FalseAlarms), count(u.Broken, "break"), thousands(u.Unexplained), thousands(u.FalseAlarms)))
		p.note(faint, "left: what the request before had read and written; read: recorded; simulated: read by the simulation of the recorded track; tokens. docs/model.md has the causes; json has each in words")
		return p.end()
	}
	p.heading(fmt.Sprintf("compactions: %s against the record", r.Policy))
	p.table(compactionTable(r.Compactions))
	if notes := missNotes(r); len(notes) > 0 {
		p.items(none, cutNotes(notes, opt.Options))
	}
	if notes := fitNotes(r); len(notes) > 0 {
		p.items(none, cutNotes(notes, opt.Options))
	}
	if m := r.Micro[0]; m.Recorded+m.Unrecorded+m.Alarms+m.Unscored > 0 {
		p.heading("microcompactions")
		p.table(microTable(r.Micro))
	}
	p.heading("input by cache class, % of all input: recorded against simulated")
	p.table(classTable(r.Usage))
	p.note(bold, classText(&r.Usage[0].Usage))
	p.heading("the same, request by request")
	p.table(usageTable(r.Usage))
	p.note(faint, usageNote)
	if len(r.Causes) > 0 {
		p.heading("breaks of the cache")
		p.table(causeTable(r))
		p.note(faint, "right kind, within 10 %: of the breaks in the record; named: of these, the ones the simulation puts down to a compaction, an edit, the lifetime (ttl) or a model switch; left: what the request before had read and written, read, simulated: sums, tokens; only simulated: the record reads on")
	}
	p.heading("fidelity")
	p.table(fidelityTable(r.Fidelity))
	if few, _ := r.Unjudged(); len(few) > 0 {
		p.note(faint, "few: said and not judged: "+leastText(few))
	}
	p.note(bold, fidelityText(r))
	p.note(faint, "hits, alarms: decided on the recorded view, before each request; exact, off, most: the policy's count of used tokens against the recorded pre_tokens; free, ±1, ±5: replayed freely, and how many requests off; lost: the last message is not in the file")
	return p.end()
}

func clientsTitle(row *backtest.CompactionRow) string {
	if row.Fitted {
		return row.Clients + ", fitted"
	}
	return row.Clients
}

func compactionTable(rows []backtest.CompactionRow) *Table {
	t := &Table{Columns: []Column{{Title: "clients"}}}
	for _, title := range []string{"sessions", "recorded", "hits", "misses", "alarms", "exact", "off", "most", "free", "±1", "±5", "lost"} {
		t.Columns = append(t.Columns, Column{Title: title, Right: true})
	}
	for i := range rows {
		r := &rows[i]
		st, off, most, lost := none, "", "", ""
		if r.Clients == backtest.All {
			st = bold
		}
		if r.Recorded > 0 {
			off, most = thousands(int(r.Error+0.5)), thousands(r.Largest)
		}
		if r.Lost > 0 {
			lost = fmt.Sprintf("%d/%d", r.LostHits, r.Lost)
		}
		t.styled(st, clientsTitle(r), thousands(r.Sessions), thousands(r.Recorded), thousands(r.Hits), thousands(r.Misses), thousands(r.Alarms),
			thousands(r.Exact), off, most, thousands(r.Free.Exact), thousands(r.Free.One), thousands(r.Free.Five), lost)
	}
	return t
}

func missNotes(r *backtest.Result) []string {
	var notes []string
	for _, s := range r.Sessions {
		for i := range s.Compactions {
			if c := &s.Compactions[i]; !c.Hit {
				notes = append(notes, fmt.Sprintf("miss: %s:%d: request %d, client %s: pre_tokens %s, used %s", s.File, c.Line, c.Request, c.Version, thousands(c.PreTokens), shortText(c)))
			}
		}
		for _, a := range s.Alarms {
			notes = append(notes, fmt.Sprintf("false alarm: %s:%d: request %d: used %s, threshold %s", s.File, a.Line, a.Request, thousands(a.Used), thousands(a.Threshold)))
		}
	}
	return notes
}

// shortText is the policy's arithmetic at a miss, and what it lacks.
func shortText(c *backtest.Compaction) string {
	text := thousands(c.Used)
	switch n := c.Short(); {
	case n > 0:
		text += ", " + thousands(n) + " short"
	case n < 0:
		text += ", " + thousands(-n) + " over"
	}
	return text
}

func fitNotes(r *backtest.Result) []string {
	var notes []string
	for _, s := range r.Sessions {
		if s.Fit == nil {
			continue
		}
		note := fmt.Sprintf("fitted: %s: client %s, window %s: the record allows %s to %s", s.File, s.Version, thousands(s.Fit.Window), thousands(s.Fit.Least), thousands(s.Fit.Most))
		if !s.Fit.Agrees {
			note = fmt.Sprintf("fitted: %s: client %s, window %s: no one window explains the record", s.File, s.Version, thousands(s.Fit.Window))
		}
		notes = append(notes, note)
	}
	return notes
}

func cutNotes(notes []string, opt Options) []string {
	if hidden := len(notes) - mostPlacesTold; hidden > 0 && !opt.All {
		return append(notes[:mostPlacesTold:mostPlacesTold], opt.Hints.hidden(strconv.Itoa(hidden)+" more", "json holds them"))
	}
	return notes
}

func microTable(rows []backtest.MicroRow) *Table {
	t := &Table{Columns: []Column{{Title: "clients"}}}
	for _, title := range []string{"recorded", "hits", "same results", "saving ±1 %", "unrecorded", "confirmed", "alarms"} {
		t.Columns = append(t.Columns, Column{Title: title, Right: true})
	}
	for i := range rows {
		r := &rows[i]
		st := none
		if r.Clients == backtest.All {
			st = bold
		}
		t.styled(st, r.Clients, thousands(r.Recorded), thousands(r.Hits), thousands(r.Same), thousands(r.Close), thousands(r.Unrecorded), thousands(r.Confirmed), thousands(r.Alarms))
	}
	return t
}

func causeTable(r *backtest.Result) *Table {
	t := &Table{Columns: []Column{{Title: "cause"}}}
	for _, title := range []string{"breaks", "right kind", "within 10 %", "left", "read", "simulated", "only simulated"} {
		t.Columns = append(t.Columns, Column{Title: title, Right: true})
	}
	row := func(st style, name string, r *backtest.CauseRow) {
		t.styled(st, name, thousands(r.Breaks), thousands(r.Kind), thousands(r.Amount), thousands(r.Left), thousands(r.Read), thousands(r.Simulated), thousands(r.Only))
	}
	all, named := r.Breaks(false), r.Breaks(true)
	row(bold, backtest.All, &all)
	row(bold, "named", &named)
	for i := range r.Causes {
		row(none, string(r.Causes[i].Cause), &r.Causes[i])
	}
	return t
}

func fidelityTable(list []backtest.Measure) *Table {
	t := &Table{Columns: []Column{{Title: "measure"}, {Title: "%", Right: true}, {Title: "of", Right: true}, {Title: "bar", Right: true}, {Title: "holds"}, {Title: "what", Flex: true}}}
	for _, m := range list {
		st, value, holds, bar := none, places(m.Value, 2), "yes", "≥ "
		if m.Most {
			bar = "≤ "
		}
		switch {
		case m.Of == 0:
			value, holds = "–", "–"
		case !m.Judged():
			st, holds = faint, "few"
		case !m.Holds:
			st, holds = red, "no"
		}
		t.styled(st, m.Name, value, thousands(m.Of), bar+exact(m.Bar), holds, m.About)
	}
	return t
}

// leastText says from how many on measures are judged.
func leastText(few []backtest.Measure) string {
	var counts []int
	for _, m := range few {
		counts = append(counts, m.Least)
	}
	slices.Sort(counts)
	var texts []string
	for _, least := range slices.Compact(counts) {
		var names []string
		for _, m := range few {
			if m.Least == least {
				names = append(names, m.Name)
			}
		}
		texts = append(texts, fmt.Sprintf("%s from %s on", strings.Join(names, ", "), thousands(least)))
	}
	return strings.Join(texts, "; ")
}

// fidelityText is how true the simulation is, in one sentence.
func fidelityText(r *backtest.Result) string {
	c, m, u := &r.Compactions[0], &r.Micro[0], &r.Usage[0]
	text := fmt.Sprintf("fidelity: %d of %s at the exact request, %s", c.Hits, count(c.Recorded, "recorded automatic compaction"), count(c.Alarms, "false alarm"))
	for i := range r.Compactions {
		if f := &r.Compactions[i]; f.Fitted && f.Clients == backtest.All {
			text += fmt.Sprintf(" (in fitted windows %d of %d, %s)", f.Hits, f.Recorded, count(f.Alarms, "false alarm"))
		}
	}
	if n := m.Recorded + m.Unrecorded; n > 0 {
		text += fmt.Sprintf("; %d of %s", m.Same+m.Confirmed, count(n, "microcompaction"))
	}
	text += fmt.Sprintf("; cache read within 5 %% on %s of %s, within 1 %% on %s", percent(u.Near, u.Requests), count(u.Requests, "request"), percent(u.Close, u.Requests))
	text += fmt.Sprintf("; %s of %s of the cache have a cause", thousands(u.Broken-u.Unexplained), count(u.Broken, "break"))
	return text + fmt.Sprintf("; right within 10 %%: %d of all %d, %d of the %d named", u.AllAmount, u.Broken, u.Amount, u.Named)
}

func explainTable(worst []backtest.Break) *Table {
	t := &Table{Columns: []Column{
		{Title: "request", Right: true}, {Title: "broke in"}, {Title: "cause"}, {Title: "left", Right: true}, {Title: "read", Right: true},
		{Title: "simulated", Right: true}, {Title: "off", Right: true}, {Title: "where", Flex: true},
	}}
	for i := range worst {
		b := &worst[i]
		st, where := none, "both"
		switch {
		case !b.Recorded:
			where = "simulation"
		case b.Cause == backtest.Unexplained:
			st, where = yellow, "record"
		}
		t.styled(st, thousands(b.Request), where, string(b.Cause), thousands(b.Left), thousands(b.Read), thousands(b.Simulated), thousands(b.Off()), fmt.Sprintf("%s:%d", b.File, b.Line))
	}
	return t
}
