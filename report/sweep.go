package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/sweep"
)

// mostPoints is how many points off the Pareto front a table shows.
const mostPoints = 40

// Sweep prints the points of a sweep.
func Sweep(w io.Writer, s *sweep.Grid, opt Layout) error {
	return (&document{
		page: func(p *page) { sweepPage(p, s) },
		json: func() any { return sweepJSON(s) },
		csv:  func() *table { return sweepTable(s, true) },
		other: map[Format]func(io.Writer) error{
			FormatSVG:  func(w io.Writer) error { return sweepSVG(w, s) },
			FormatHTML: func(w io.Writer) error { return sweepHTML(w, s, opt) },
		},
	}).print(w, opt)
}

// axisTitle is the name of a parameter, with its stage if two have that name.
func axisTitle(s *sweep.Grid, i int) string {
	name := s.Axes[i].Key[strings.Index(s.Axes[i].Key, ".")+1:]
	for j := range s.Axes {
		if _, other, _ := strings.Cut(s.Axes[j].Key, "."); j != i && other == name {
			return s.Axes[i].Key
		}
	}
	return name
}

// sweepTitle names the policy and counts sessions and points.
func sweepTitle(s *sweep.Grid) string {
	return phrase("%v over %v: %v", s.Policy, sessionsText(s.Sessions), count(len(s.Results), "point")) +
		phraseIf(len(s.Results) < len(s.Points), " of %v, then interrupted", len(s.Points)) +
		phraseIf(s.Interrupted && len(s.Results) == len(s.Points), ", then interrupted") +
		phraseIf(s.Apart, ", without all subagents of the session") + inputsText(s.Inputs)
}

// sweepNotes lists what applies to some sessions only.
func sweepNotes(s *sweep.Grid, hints *Hints) []string {
	var notes []string
	for i, n := range s.Applied {
		if n < len(s.Sessions) {
			notes = append(notes, fmt.Sprintf("%s: varied in %d of %s; the policies of the others do not have it", s.Axes[i].Key, n, count(len(s.Sessions), "session")))
		}
	}
	notes = append(notes, unpricedNotes(s.Sessions, hints)...)
	return append(notes, emptyNotes(s.Inputs.Empty)...)
}

// sweepTable has a row per point. Text shows the points of the Pareto front and the first others.
func sweepTable(s *sweep.Grid, all bool) *table {
	t := newTable(keys("policy sessions"))
	for i, a := range s.Axes {
		t.columns = append(t.columns, axisColumn(axisTitle(s, i), a.Key))
	}
	t.columns = append(t.columns, column{Key: "front"})
	shown := map[string]figureTitle{}
	rows := pointRows(s)
	for _, f := range slices.Concat(figureTitles, troubles(s.Results)) {
		f.title = either(f.point, f.title, "")
		shown[f.figure] = f
	}
	names := compare.Names()
	for _, name := range names {
		t.columns = append(t.columns, shown[name].column(name))
	}
	t.columns = append(t.columns, slices.Concat(columnsOf[frontCells](), keys("billed_usd billed_at_least cache_fits"))...)
	off := 0
	money := s.Money()
	for i := range rows {
		cells := []any{s.Policy, len(s.Sessions)}
		for _, v := range s.Points[i] {
			cells = append(cells, number(v))
		}
		cells = append(cells, s.Front[i])
		over := totals(&s.Results[i])
		for f, x := range totals(&rows[i]) {
			if slices.ContainsFunc(troubleTitles, func(t figureTitle) bool { return t.figure == names[f] }) {
				x = over[f]
			}
			cells = append(cells, pair{number(phraseIf(names[f] == "cost_usd" && x.Known, "%v", money.CacheFit.Mark()) + figureText(names[f], x)), over[f]})
		}
		off += either(s.Front[i], 0, 1)
		row := t.add(either(s.Front[i], bold, none), append(cells, pointMark(s, i), money.CostUSD, money.AtLeast > 0, money.CacheFit.Holds())...)
		row.noTab = off > mostPoints && !s.Front[i] && !all
	}
	return t
}

func sweepPage(p *page, s *sweep.Grid) {
	t := sweepTable(s, p.All)
	p.heading(sweepTitle(s))
	best := bestTexts(s)
	p.note(bold, best[0])
	p.notes(none, best[1:])
	p.table(t)
	hidden := len(slices.DeleteFunc(slices.Clone(t.rows), func(r *row) bool { return !r.noTab }))
	p.hidden(hidden, "point", "json and csv contain them")
	p.note(none, moneyText(s.Money(), false))
	useNotes(p, s.Use)
	p.notes(yellow, sweepNotes(s, &p.Hints))
	p.note(none, unseenText(&s.Against))
	p.notes(none, flagTexts(&s.Against, &p.Hints, compare.FlagRebuilt))
	p.note(yellow, sameText(s))
	bounds := 0
	for i := range s.Results {
		bounds += either(s.Results[i].Bound, 1, 0)
	}
	if len(s.Against.Sessions) < len(s.Sessions) {
		p.note(none, phrase("Sums are over the %v of %v in which %v is feasible, faults over all; csv and json have all sums over all.",
			len(s.Against.Sessions), count(len(s.Sessions), "session"), s.Against.Policies[0].Name))
	}
	if bounds > 0 {
		p.note(yellow, phrase("%v %v: the API would have refused requests, or a rule of it is broken: a lower bound, not on the Pareto front.", pointBound, count(bounds, "point")))
	}
	if len(s.By) == 1 {
		p.note(yellow, "Nothing here counts what is needed again: the point that forgets most is on the Pareto front.")
	}
	var by []string
	for _, figure := range s.By {
		by = append(by, titleOf(figure))
	}
	p.note(faint, "* on the Pareto front: no other point has less of one figure ("+strings.Join(by, ", ")+") without more of another. "+cacheNote(s.Cache))
}

// bestTexts name the best point, compare it with the policy as it is, and say what the choice is worth in other sessions.
func bestTexts(s *sweep.Grid) []string {
	if s.Best < 0 {
		return []string{"No point could have run: there is no best."}
	}
	if n := len(s.Same); n > 1 && slices.Max(s.Same) == 0 {
		return []string{phrase("All %v points have the same figures: there is no best.", n), conclusion(&s.Against, 1)}
	}
	h := &s.HoldOut
	row := &s.Against.Policies[1+s.Best]
	texts := []string{
		phrase("Best, by %v: %v (%v).", titleOf(s.By[0]), row.Name, figureText(s.By[0], row.Figures[s.Against.Judged].Total)+either(s.By[0] == "cost_usd", " USD", " tokens sent")),
		conclusion(&s.Against, 1+s.Best) +
			phraseIf(h.Draws > 0, " The best on half of the %v comes to %v %% on the other half (median of %v draws; more than %v in %v of them).", count(h.Projects, "project"), signedPercent(h.Median), h.Draws, s.Policy, h.Worse) +
			phraseIf(h.Higher > 0, " %v is higher in %v.", row.Name, count(h.Higher, "project")),
	}
	for _, g := range s.Groups {
		where := either(g.Window > 0, "windows of "+thousands(g.Window)+" tokens", "the project "+lastElement(g.Project))
		texts = append(texts, phrase("In %v (%v), %v is best: %v %%, and %v %v %%.", where, count(g.Sessions, "session"),
			s.Against.Policies[1+g.Best].Name, signedPercent(g.Share), row.Name, signedPercent(g.Overall)))
	}
	return texts
}

// sameText names the parameters that change nothing, and counts the points that are the same as one before.
func sameText(s *sweep.Grid) string {
	var inert []string
	for i, a := range s.Axes {
		if s.Inert[i] {
			inert = append(inert, a.Key)
		}
	}
	repeated := 0
	for i, first := range s.Same {
		repeated += either(first < i, 1, 0)
	}
	return phraseIf(len(inert) > 0, "Changes nothing in these sessions: %v. ", strings.Join(inert, ", ")) +
		phraseIf(repeated > 0, "%v %v: all figures are those of a point before.", pointSame, count(repeated, "point"))
}

// pointBound marks a point that is a bound, pointSame one without a difference from a point before.
const (
	pointBound = "!"
	pointSame  = "="
)

// pointMark is the mark of a point.
func pointMark(s *sweep.Grid, point int) string {
	return either(s.Results[point].Bound, pointBound, either(s.Same[point] < point, pointSame, either(s.Front[point], "*", "")))
}

// pointRows are the rows of points with their figures over the sessions that count.
func pointRows(s *sweep.Grid) []compare.PolicyRow {
	rows := slices.Clone(s.Results)
	for i := range rows {
		rows[i].Figures = rows[i].Common
	}
	return rows
}
