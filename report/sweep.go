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
		page:  func(p *page) { sweepPage(p, s) },
		json:  func() any { return sweepJSON(s) },
		csv:   func() *table { return sweepTable(s, true) },
		other: map[Format]func(io.Writer) error{FormatSVG: func(w io.Writer) error { return sweepSVG(w, s) }},
	}).print(w, opt)
}

// axisTitle is the name of a parameter, with its stage if two have that name.
func axisTitle(s *sweep.Grid, i int) string {
	_, name, _ := strings.Cut(s.Axes[i].Key, ".")
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
		phraseIf(len(s.Results) < len(s.Points), " of %v, then interrupted", len(s.Points)) + inputsText(s.Inputs)
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
		t.columns = append(t.columns, column{Title: axisTitle(s, i), Key: a.Key, Max: 20})
	}
	t.columns = append(t.columns, column{Key: "front"})
	shown := map[string]string{}
	for _, f := range slices.Concat(figureTitles, troubles(s.Results)) {
		shown[f.figure] = either(f.point, f.title, "")
	}
	names := compare.Names()
	for _, name := range names {
		t.columns = append(t.columns, column{Key: name, Title: shown[name]})
	}
	t.columns = append(t.columns, column{Title: "front"})
	off := 0
	for i, r := range s.Results {
		cells := []any{s.Policy, s.Sessions}
		for _, v := range s.Points[i] {
			cells = append(cells, number(v))
		}
		cells = append(cells, s.Front[i])
		for f, x := range totals(&r) {
			cells = append(cells, pair{number(figureText(names[f], x)), x})
		}
		off += either(s.Front[i], 0, 1)
		row := t.add(either(s.Front[i], bold, none), append(cells, either(s.Front[i], "*", ""))...)
		row.noTab = off > mostPoints && !s.Front[i] && !all
	}
	return t
}

func sweepPage(p *page, s *sweep.Grid) {
	t := sweepTable(s, p.All)
	p.heading(sweepTitle(s))
	p.table(t)
	hidden := len(slices.DeleteFunc(slices.Clone(t.rows), func(r *row) bool { return !r.noTab }))
	p.hidden(hidden, "point", "json and csv contain them")
	useNotes(p, s.Use)
	p.notes(yellow, sweepNotes(s, &p.Hints))
	p.note(faint, "* on the front: no other point is as good in each of "+strings.Join(frontTitles(s), ", ")+" and better in one")
}

// frontTitles returns the figures that the front is by: those that are known.
func frontTitles(s *sweep.Grid) []string {
	var out []string
	for _, name := range s.By {
		if len(s.Results) == 0 || figure(&s.Results[0], name).Total.Known {
			out = append(out, name)
		}
	}
	return out
}
