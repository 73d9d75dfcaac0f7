package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/sweep"
)

// mostPoints is how many points off the front a table shows.
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
	return phrase("%v over %v: %v", s.Policy, count(s.Sessions, "session"), count(len(s.Results), "point")) +
		phraseIf(len(s.Results) < len(s.Points), " of %v, then interrupted", len(s.Points)) +
		phraseIf(s.Interrupted && len(s.Results) == len(s.Points), ", then interrupted") + inputsText(s.Inputs)
}

// sweepNotes lists what applies to some sessions only.
func sweepNotes(s *sweep.Grid, hints *Hints) []string {
	var notes []string
	for i, n := range s.Applied {
		if n < s.Sessions {
			notes = append(notes, fmt.Sprintf("%s: varied in %d of %s; the policies of the others do not have it", s.Axes[i].Key, n, count(s.Sessions, "session")))
		}
	}
	notes = append(notes, unpricedNotes(s.Unpriced, hints)...)
	return append(notes, emptyNotes(s.Inputs.Empty)...)
}

// sweepTable has a row per point. Text shows the points of the front and the first others.
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
	t.columns = append(t.columns, columnsOf[frontCells]()...)
	off := 0
	for i := range rows {
		cells := []any{s.Policy, s.Sessions}
		for _, v := range s.Points[i] {
			cells = append(cells, number(v))
		}
		cells = append(cells, s.Front[i])
		over := totals(&s.Results[i])
		for f, x := range totals(&rows[i]) {
			if slices.ContainsFunc(troubleTitles, func(t figureTitle) bool { return t.figure == names[f] }) {
				x = over[f]
			}
			cells = append(cells, pair{number(phraseIf(names[f] == "cost_usd", "%v", s.Money.CacheFit.Mark()) + figureText(names[f], x)), over[f]})
		}
		off += either(s.Front[i], 0, 1)
		row := t.add(either(s.Front[i], bold, none), append(cells, pointMark(s, i))...)
		row.noTab = off > mostPoints && !s.Front[i] && !all
	}
	return t
}

func sweepPage(p *page, s *sweep.Grid) {
	t := sweepTable(s, p.All)
	p.heading(sweepTitle(s))
	p.note(bold, bestText(s))
	p.table(t)
	hidden := len(slices.DeleteFunc(slices.Clone(t.rows), func(r *row) bool { return !r.noTab }))
	p.hidden(hidden, "point", "json and csv contain them")
	p.note(none, moneyText(s.Money, false))
	useNotes(p, s.Use)
	p.notes(yellow, sweepNotes(s, &p.Hints))
	bounds := 0
	for i := range s.Results {
		bounds += either(s.Bound(i), 1, 0)
	}
	if s.Common > 0 && s.Common < s.Sessions {
		p.note(none, phrase("Sums are over the %v of %v in which every point%v is feasible, faults over all; csv and json have all sums over all.",
			s.Common, count(s.Sessions, "session"), phraseIf(bounds > 0, " but those marked %v", pointBound)))
	}
	p.note(yellow, someInfeasible(s))
	if bounds > 0 {
		p.note(yellow, phrase("%v %v: the API would have refused requests, or a rule of it is broken: a bound, not on the front.", pointBound, count(bounds, "point")))
	}
	if bounds > 0 && bounds == len(s.Results) {
		p.note(yellow, "No point could have run: there is no front.")
	}
	if len(s.Results) > 0 && !slices.Contains(frontTitles(s), s.By[len(s.By)-1]) {
		p.note(yellow, "Nothing here counts what is needed again: the point that forgets most is on the front.")
	}
	p.note(faint, "* on the front: no other point is as good in each of "+strings.Join(frontTitles(s), ", ")+" and better in one. "+cacheNote(s.Cache))
}

// bestText names the best point by each figure that the front is by.
func bestText(s *sweep.Grid) string {
	var list []string
	rows := pointRows(s)
	for _, name := range frontTitles(s) {
		best := -1
		for i := range rows {
			if !s.Bound(i) && (best < 0 || figure(&rows[i], name).Total.Cmp(figure(&rows[best], name).Total) < 0) {
				best = i
			}
		}
		if best < 0 {
			return ""
		}
		var values []string
		for i, v := range s.Points[best] {
			values = append(values, axisTitle(s, i)+"="+v)
		}
		title := name
		if at := slices.IndexFunc(figureTitles, func(f figureTitle) bool { return f.figure == name }); at >= 0 {
			title = figureTitles[at].title
		}
		list = append(list, phrase("%v by %v (%v)", strings.Join(values, ", "), title, figureText(name, figure(&rows[best], name).Total)))
	}
	return phraseIf(len(list) > 0, "Best: %v.", strings.Join(list, "; "))
}

// pointBound marks a point that is a bound, pointPartly one that is infeasible in a few sessions.
const (
	pointBound  = "!"
	pointPartly = "~"
)

// pointMark is the mark of a point: of the front, of a bound, of one that is infeasible in a few sessions.
func pointMark(s *sweep.Grid, point int) string {
	if s.Bound(point) {
		return pointBound
	}
	return either(s.Front[point], "*", "") + either(s.Results[point].Infeasible > 0, pointPartly, "")
}

// someInfeasible names the points that are infeasible in some sessions and no bound, with what is refused over all.
func someInfeasible(s *sweep.Grid) string {
	var names []string
	for i := range s.Results {
		r := &s.Results[i]
		if r.Infeasible == 0 || s.Bound(i) {
			continue
		}
		refused := int(figure(r, "refused").Total.N)
		names = append(names, phrase("%v in %v", strings.Join(s.Points[i], ", "), thousands(r.Infeasible))+phraseIf(refused > 0, " (%v refused)", count(refused, "request")))
	}
	return strings.Join(someNamed(phrase("%v infeasible, in some of the %v: ", pointPartly, count(s.Sessions, "session")), names, ""), "")
}

// pointRows are the rows of points with their figures over the sessions that count.
func pointRows(s *sweep.Grid) []compare.PolicyRow {
	rows := slices.Clone(s.Results)
	for i := range rows {
		rows[i].Figures = s.Figures(&rows[i])
	}
	return rows
}

// frontTitles returns the figures that the front is by: those that are known.
func frontTitles(s *sweep.Grid) []string {
	var out []string
	for _, name := range s.By {
		if rows := pointRows(s); len(rows) == 0 || figure(&rows[0], name).Total.Known {
			out = append(out, name)
		}
	}
	return out
}
