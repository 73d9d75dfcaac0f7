package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// BacktestLayout says how a backtest is printed.
type BacktestLayout struct {
	Layout
	Explain int        // how many cache misses to list instead, the largest errors first
	Use     policy.Use // what the policy's name meant
}

// mostPlacesListed is how many missed compactions and false alarms a page lists.
const mostPlacesListed = 20

// Backtest prints how well a policy predicts the recorded session.
func Backtest(w io.Writer, r *backtest.Scores, opt BacktestLayout) error {
	worst := r.Worst(opt.Explain)
	d := &document{
		page: func(p *page) { backtestPage(p, r, opt.Use) },
		json: func() any {
			return struct {
				*backtest.Scores
				Explain []backtest.Break `json:"explain,omitempty"`
			}{r, worst}
		},
		csv: func() *table { return backtestCSV(r) },
	}
	if opt.Explain > 0 {
		breaks := breakTable(worst)
		d.page = func(p *page) { breakPage(p, r, breaks) }
		d.csv = func() *table { return breaks }
	}
	return d.print(w, opt.Layout)
}

func backtestPage(p *page, r *backtest.Scores, use policy.Use) {
	p.note(bold, fidelityText(r))
	p.section("compactions: "+r.Policy+" against the recorded sessions", compactionTable(r.Compactions))
	p.items(none, errorNotes(r.Compactions))
	p.note(faint, "hits, alarms: predicted on the recorded view before each request. exact, off, most: the policy's count of used tokens against the recorded pre_tokens: how many are equal, mean and largest error in tokens. free, ±1, ±5: how many recorded compactions the policy makes at the same request, or at most 1 or 5 requests off, when it runs from the start without the recorded ones. lost: compactions left out, as the file lacks the last message before them.")
	useNotes(p, use)
	p.places(missNotes(r))
	p.places(fitNotes(r))
	if m := r.Micro[0]; m.Recorded+m.Unrecorded+m.Alarms+m.Unscored > 0 {
		p.section("microcompactions", rowsOf(r.Micro, func(m *backtest.MicroRow, r *microCells) style {
			if m.Recorded > 0 && m.Savings == 0 {
				r.SavingWithin1Percent = number("–")
			}
			return totalStyle(m.Clients)
		}))
		p.note(faint, "saving ±1 %: those that free as many tokens as recorded, within 1 %. unrecorded: without a line in the file, seen by a drop in usage. confirmed: unrecorded ones that the policy makes too.")
		p.places(microNotes(r))
	}
	p.section("input by cache class, % of all input: recorded against simulated", classTable(r.Usage))
	p.note(bold, classText(&r.Usage[0].UsageScore))
	p.section("the same, request by request", usageTable(r.Usage))
	p.note(faint, usageNote)
	if len(r.Causes) > 0 {
		p.section("cache misses", rowsOf(append([]backtest.CauseRow{r.Breaks()}, r.Causes...), func(c *backtest.CauseRow, _ *causeCells) style {
			return totalStyle(string(c.Cause))
		}))
		p.note(faint, "cause: that of the simulated cache miss; unexplained: none is simulated there. right kind: a cache miss is simulated at that request too, and the recorded and the simulated request both read a part of the cache, or both nothing. within 10 %: of these, the simulated read is within 10 % of the recorded one. cached before: tokens that the request before had read and written. read: tokens read from the cache in the recorded session; simulated: tokens read in the simulation. only simulated: cache misses that were not recorded.")
		p.note(faint, before("missed after a sign on the lines, in other recorded sessions: ", markersText(r.Causes)))
	}
	p.section("the cache by author", authorTable(r))
	p.items(none, authorNotes(r.Authors))
	p.section("fidelity", fidelityTable(r.Fidelity))
	if few, _ := r.Unjudged(); len(few) > 0 {
		p.note(faint, "too few: too few cases to judge the measure, whatever its value. Measures are judged from this many samples on: "+leastText(few))
	}
}

// markersText says of the causes that a sign on the lines foretells how often it does.
func markersText(causes []backtest.CauseRow) string {
	var texts []string
	kinds, _ := cache.DefaultKinds() // a damaged table has failed before
	for i := range causes {
		if m := kinds.Marker(session.Product, causes[i].Cause); m != nil {
			texts = append(texts, phrase("%v %v of %v by %v", cache.Cause{Kind: m.Cause}, m.Misses, count(m.Requests, "request"), count(m.Authors, "author")))
		}
	}
	return strings.Join(texts, "; ")
}

// places lists places in sessions, the first of them.
func (p *page) places(notes []string) {
	if hidden := len(notes) - mostPlacesListed; hidden > 0 && !p.All {
		notes = append(notes[:mostPlacesListed:mostPlacesListed], p.Hints.hidden(hidden, "place", "json contains them"))
	}
	p.items(none, notes)
}

// totalStyle makes the row of all clients bold.
func totalStyle(clients string) style { return either(clients == backtest.All, bold, none) }

func compactionTable(rows []backtest.CompactionRow) *table {
	return rowsOf(rows, func(x *backtest.CompactionRow, r *compactionCells) style {
		r.Clients = x.Clients + either(x.Fitted, ", fitted", "")
		if x.Known() > 0 {
			r.Off = int(x.Error + 0.5)
			r.Most = x.Largest
		} else if x.OwnCount > 0 {
			r.Exact = nil
		}
		if x.Lost > 0 {
			r.Lost = number(fmt.Sprintf("%d/%d", x.LostHits, x.Lost))
		}
		return totalStyle(x.Clients)
	})
}

// errorNotes give the median error of the policy's count of used tokens, and how many compactions have none.
func errorNotes(rows []backtest.CompactionRow) (notes []string) {
	for _, r := range rows {
		if r.Clients != backtest.All || r.Recorded == 0 {
			continue
		}
		notes = append(notes, "size of the context at the compaction"+either(r.Fitted, " in fitted windows", "")+": "+joined("; ",
			phraseIf(r.Known() > 0, "median error %v tokens", int(r.Median+0.5)),
			phraseIf(r.OwnCount > 0, "in %v of %v the client compares another figure", r.OwnCount, count(r.Recorded, "compaction")),
			phraseIf(r.Unknown > 0, "no recorded pre_tokens for %v of %v, left out of the error", r.Unknown, count(r.Recorded, "compaction"))))
	}
	return notes
}

func missNotes(r *backtest.Scores) []string {
	var notes []string
	for _, s := range r.Sessions {
		for _, c := range s.Compactions {
			if c.Hit {
				continue
			}
			what := fmt.Sprintf("missed: %s:%d: request %d, client %s: ", s.File, c.Line, c.Request, c.Version)
			if c.Count != nil {
				notes = append(notes, what+countText(c.Count, c.Threshold))
			} else {
				recorded := "no pre_tokens recorded"
				n, known := c.Short() // how far the policy's count of used tokens is from the recorded one
				if known {
					recorded = "pre_tokens " + thousands(c.PreTokens)
				}
				notes = append(notes, phrase("%v%v, used %v%v%v", what, recorded, c.Used, phraseIf(n > 0, " (%v fewer)", n), phraseIf(n < 0, " (%v more)", -n)))
			}
		}
		for _, a := range s.Alarms {
			figures := phrase("used %v, threshold %v", a.Used, a.Threshold)
			if a.Count != nil {
				figures = countText(a.Count, a.Threshold)
			}
			notes = append(notes, fmt.Sprintf("false alarm: %s:%d: request %d%s: %s", s.File, a.Line, a.Request,
				phraseIf(a.Early > 0 && a.Early <= backtest.Near, ", %v before the client compacted", count(a.Early, "request")), figures))
		}
	}
	return notes
}

// countText is a policy's own count before a decision: its parts, how far it is from the threshold, and how wrong a part
// that is estimated would have to be for the other decision.
func countText(parts []policy.Counted, threshold int) string {
	var words []string
	estimated := 0
	for _, p := range parts {
		words = append(words, phrase("%v %v%v", p.Tokens, p.Name, phraseIf(p.Estimated, " (estimated: it is not in the file)")))
		if p.Estimated {
			estimated += p.Tokens
		}
	}
	sum := policy.Sum(parts)
	short := threshold - sum
	text := phrase("%v = %v, %v", strings.Join(words, " + "), sum,
		either(short > 0, phrase("%v fewer than the threshold of %v", short, threshold), phrase("%v over the threshold of %v", -short, threshold)))
	switch {
	case estimated == 0:
		return text
	case short > 0:
		return text + phrase("; with %s more in the estimate it would compact", percent(short, estimated))
	}
	return text + phrase("; with %s less in the estimate it would not", percent(1-short, estimated))
}

func fitNotes(r *backtest.Scores) []string {
	var notes []string
	for _, s := range r.Sessions {
		if s.Other > 0 {
			var kinds []string
			for _, k := range slices.Sorted(maps.Keys(s.OtherKinds)) {
				kinds = append(kinds, phrase("%v %v", s.OtherKinds[k], strings.ReplaceAll(string(k), "_", " ")))
			}
			notes = append(notes, phrase("not scored: %v: %v of another cause than the size of the context: %v", s.File, count(s.Other, "recorded compaction"), strings.Join(kinds, ", ")))
		}
		if s.Fit == nil {
			continue
		}
		notes = append(notes, phrase("fitted: %v: client %v, window %v: %v", s.File, s.Version, s.Fit.Window, either(s.Fit.Agrees,
			phrase("the recorded session allows %v to %v", s.Fit.Least, s.Fit.Most), "no single window explains the recorded session")))
	}
	return notes
}

func microNotes(r *backtest.Scores) (notes []string) {
	for _, s := range r.Sessions {
		for _, a := range s.MicroAlarms {
			notes = append(notes, fmt.Sprintf("false alarm: %s:%d: request %d: %s tokens saved", s.File, a.Line, a.Request, thousands(a.Saved)))
		}
	}
	return notes
}

// authorTable has a row per author, and one for all; none where authors are not compared.
func authorTable(r *backtest.Scores) *table {
	rows := r.Authors
	if u := &r.Usage[0]; len(rows) > 0 {
		rows = append([]backtest.AuthorRow{{Author: backtest.All, Sessions: u.Sessions, UsageScore: u.UsageScore, CostError: u.CostError}}, rows...)
	}
	return rowsOf(rows, func(x *backtest.AuthorRow, r *authorCells) style {
		share := func(part, whole int) number { return number(either(whole > 0, percent(part, whole), "–")) }
		r.Within5Percent = number(percent(x.Near, x.Requests))
		r.NeverMisses = number(percent(x.NaiveNear, x.Requests))
		r.RightKind, r.Within10Percent = share(x.Kind, x.Broken), share(x.Amount, x.Broken)
		r.CostOff = number(either(x.CostError.Sessions > 0, places(x.CostError.Expected, 1)+" %", "no price"))
		return totalStyle(x.Author)
	})
}

// authorNotes say of which authors' sessions a measure fails its bar.
func authorNotes(rows []backtest.AuthorRow) (notes []string) {
	for _, a := range rows {
		var names []string
		for _, m := range backtest.Failed(a.Fidelity) {
			names = append(names, m.Shortfall())
		}
		if len(names) > 0 {
			notes = append(notes, a.Author+": "+strings.Join(names, ", "))
		}
	}
	return notes
}

func fidelityTable(list []backtest.Bar) *table {
	return rowsOf(list, func(m *backtest.Bar, r *fidelityCells) style {
		r.Percent, r.Bar, r.Holds = number(places(m.Value, 2)), number(either(m.Most, "≤ ", "≥ ")+unrounded(m.Bar)), "yes"
		switch {
		case m.Of == 0:
			r.Percent = number("–")
			r.Holds = "–"
		case !m.Judged():
			r.Holds = "too few"
			return faint
		case !m.Holds:
			r.Holds = "no"
			return red
		}
		return none
	})
}

// leastText lists from how many samples on each measure is judged.
func leastText(few []backtest.Bar) string {
	names := map[int][]string{}
	for _, m := range few {
		names[m.Least] = append(names[m.Least], m.Name)
	}
	var texts []string
	for _, least := range slices.Sorted(maps.Keys(names)) {
		texts = append(texts, strings.Join(names[least], ", ")+" "+thousands(least))
	}
	return strings.Join(texts, "; ")
}

// fidelityText summarises how well the simulation predicts the recorded session.
func fidelityText(r *backtest.Scores) string {
	c := &r.Compactions[0]
	m := &r.Micro[0]
	u := &r.Usage[0]
	text := fmt.Sprintf("fidelity: %d of %s at the exact request, %s", c.Hits, count(c.Recorded, "recorded automatic compaction"), count(c.Alarms, "false alarm"))
	for _, f := range r.Compactions {
		if f.Fitted && f.Clients == backtest.All {
			text += fmt.Sprintf(" (in fitted windows %d of %d, %s)", f.Hits, f.Recorded, count(f.Alarms, "false alarm"))
		}
	}
	if n := m.Recorded + m.Unrecorded; n > 0 {
		text += fmt.Sprintf("; %d of %s", m.Same+m.Confirmed, count(n, "microcompaction"))
	}
	text += fmt.Sprintf("; cache read within 5 %% on %s of %s after the first, within 1 %% on %s; write within 5 %% on %s; %d of %s right in kind, "+
		"%d in size, %s", percent(u.Near, u.Requests), count(u.Requests, "request"), percent(u.Close, u.Requests),
		percent(u.WriteNear, u.Requests), u.Kind, count(u.Broken, "cache miss"), u.Amount, count(u.FalseAlarms, "false alarm"))
	if e := r.Usage[0].CostError; e.Sessions > 0 {
		text += phrase("; simulated input cost off by %s %% in total%v", places(e.Sum, 2), phraseIf(places(e.Expected, 2) != places(e.Sum, 2), " (%s %% with the expected cache misses that no line explains)", places(e.Expected, 2))) +
			phraseIf(e.Sessions > 1, ", by %s %% per session (median %s %%)", places(e.Mean, 2), places(e.Median, 2))
	}
	if u.Contradicted > 0 {
		text += phrase("; the cache of %s is not scored: the recorded usage contradicts the content", count(u.Contradicted, "session"))
	}
	return text
}

// classTable has the sums of all requests, as a bill has them.
func classTable(rows []backtest.UsageRow) *table {
	return rowsOf(rows, func(x *backtest.UsageRow, r *classCells) style {
		all := x.Recorded()
		*r = classCells{x.Clients, x.Requests, all,
			portion(x.Read.Recorded, all), portion(x.Read.Simulated, all),
			portion(x.Write.Recorded, all), portion(x.Write.Simulated, all),
			portion(x.Input.Recorded, all), portion(x.Input.Simulated, all)}
		return totalStyle(x.Clients)
	})
}

// classText states the sums of all requests in a sentence.
func classText(u *backtest.UsageScore) string {
	all := u.Recorded()
	if all == 0 {
		return "no request has a recorded usage to compare the simulation with"
	}
	text := phrase("of %v input tokens", all)
	for i, name := range []string{"read from the cache", "written to it", "plain"} {
		f := u.Classes()[i]
		text += phrase(", %s %% were %s (simulated: %s %%)", portion(f.Recorded, all), name, portion(f.Simulated, all))
	}
	return text
}

// portion formats part/whole in percent, with two decimals.
func portion(part, whole int) number {
	return either(whole == 0, "–", number(places(100*float64(part)/float64(whole), 2)))
}

const usageNote = "read ±5 %, ±1 %: requests whose simulated cache read is within 5 % or 1 % of the recorded one. off: mean absolute error of a request, in tokens. MAPE: mean absolute error in percent of the recorded figure of each request. " +
	"A request writes little compared with what it reads, so an error of a few hundred tokens makes a high MAPE of written. " +
	"Plain input is the few tokens that the client sends after its last cache breakpoint."

func usageTable(rows []backtest.UsageRow) *table {
	return rowsOf(rows, func(x *backtest.UsageRow, r *usageCells) style {
		off := func(f *backtest.InputFigure) any {
			if x.Requests == 0 {
				return number("–")
			}
			return (f.Off + x.Requests/2) / x.Requests
		}
		mean := func(f *backtest.InputFigure) any { return either[any](f.Scored > 0, decimal{f.MAPE, 2}, number("–")) }
		*r = usageCells{x.Clients, x.Requests, number(percent(x.Near, x.Requests)), number(percent(x.Close, x.Requests)),
			off(&x.Read), mean(&x.Read), off(&x.Write), mean(&x.Write), off(&x.Input), mean(&x.Input)}
		return totalStyle(x.Clients)
	})
}

// backtestCSV has a row per session.
func backtestCSV(r *backtest.Scores) *table {
	t := newTable(keys("session agent file model client_version clients policy requests window fitted"),
		keys("recorded hits lost lost_hits alarms free_alarms manual unknown_pre_tokens micro_recorded micro_same micro_unrecorded micro_confirmed micro_alarms"),
		keys("usage_requests read_within_5 read_within_1 write_within_5 read_mape write_mape input_mape breaks right_kind right_amount unexplained"),
		keys("only_simulated read_recorded read_simulated write_recorded write_simulated input_recorded input_simulated input_cost_recorded_usd input_cost_simulated_usd"))
	for _, s := range r.Sessions {
		one := backtest.Sum(s.Policy, []*backtest.SessionScore{s})
		c := &one.Compactions[0]
		m := &one.Micro[0]
		u := &s.Usage
		if s.Fit != nil {
			c = &one.Compactions[len(one.Compactions)-1]
		}
		t.add(none, s.Session, s.Agent, s.File, s.Model, s.Version, s.Clients, s.Policy, s.Requests, s.Window, s.Fit != nil,
			c.Recorded, c.Hits, c.Lost, c.LostHits, c.Alarms, c.Free.Alarms, c.Manual, c.Unknown, m.Recorded, m.Same, m.Unrecorded, m.Confirmed, m.Alarms,
			u.Requests, u.Near, u.Close, u.WriteNear, u.Read.MAPE, u.Write.MAPE, u.Input.MAPE, u.Broken, u.Kind, u.Amount, u.Unexplained,
			u.FalseAlarms, u.Read.Recorded, u.Read.Simulated, u.Write.Recorded, u.Write.Simulated, u.Input.Recorded, u.Input.Simulated,
			u.Cost.Recorded, u.Cost.Simulated)
	}
	return t
}

// breakTable has a row per cache miss.
func breakTable(worst []backtest.Break) *table {
	return rowsOf(worst, func(b *backtest.Break, r *breakCells) style {
		r.BrokeIn, r.Off, r.Where = "both", b.Off(), fmt.Sprintf("%s:%d", b.File, b.Line)
		switch {
		case !b.Recorded:
			r.BrokeIn = "simulation"
		case b.Cause == backtest.Unexplained:
			r.BrokeIn = "record"
			return yellow
		}
		return none
	})
}

func breakPage(p *page, r *backtest.Scores, breaks *table) {
	p.heading("cache misses, the largest error first")
	u := &r.Usage[0]
	p.note(bold, phrase("%v of %v listed: %v recorded (%v unexplained), %v only in the simulation",
		len(breaks.rows), count(u.Broken+u.FalseAlarms, "cache miss"), u.Broken, u.Unexplained, u.FalseAlarms))
	p.table(breaks)
	p.note(faint, "left: what the request before had read and written; read: recorded; simulated: read by the simulation of the recorded track; all in tokens. docs/internals/model.md describes the causes; json has each break in words.")
}
