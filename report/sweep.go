package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/replay/compare"
)

// FormatSVG is a picture.
const FormatSVG Format = "svg"

// SweepFormats are the formats a sweep can be printed in.
var SweepFormats = []Format{FormatTable, FormatJSON, FormatCSV, FormatMarkdown, FormatSVG}

// mostPoints is how many points off the front a table shows.
const mostPoints = 40

// sweepColumns are the figures of a point that a table shows.
var sweepColumns = []struct{ figure, title string }{
	{"model_peak", "peak"}, {"model_mean", "mean"}, {"payload_input", "sent"}, {"cost_usd", "USD"}, {"compactions", "comp"},
	{"cleared_results", "clrd"}, {"misses", "miss"}, {"bound_misses", "bound"}, {"violations", "viol"},
}

// Sweep prints the points of a sweep.
func Sweep(w io.Writer, s *compare.Sweep, opt Options) error {
	switch opt.Format {
	case FormatTable, "":
		return sweepPage(&textPage{w: w, color: opt.Color}, s, opt)
	case FormatMarkdown:
		return sweepPage(&markdownPage{w: w}, s, opt)
	case FormatJSON:
		return WriteJSON(w, sweepJSON(s))
	case FormatCSV:
		return sweepCSV(w, s)
	case FormatSVG:
		return sweepSVG(w, s)
	}
	return fmt.Errorf("format %q: want one of %v", opt.Format, SweepFormats)
}

// axisTitle is the parameter's own name where that says which.
func axisTitle(s *compare.Sweep, i int) string {
	_, name, _ := strings.Cut(s.Axes[i].Key, ".")
	for j := range s.Axes {
		if _, other, _ := strings.Cut(s.Axes[j].Key, "."); j != i && other == name {
			return s.Axes[i].Key
		}
	}
	return name
}

// sweepTitle says what was swept, over what, and how far it came.
func sweepTitle(s *compare.Sweep) string {
	title := fmt.Sprintf("%s over %s: %s", s.Policy, count(s.Sessions, "session"), count(len(s.Results), "point"))
	if len(s.Results) < len(s.Points) {
		title += " of " + thousands(len(s.Points)) + ", then interrupted"
	}
	return title + inputsText(s.Inputs)
}

// sweepNotes say what does not hold for all sessions.
func sweepNotes(s *compare.Sweep, hints Hints) []string {
	var notes []string
	for i, n := range s.Applied {
		if n < s.Sessions {
			notes = append(notes, fmt.Sprintf("%s: varied in %d of %s; the other sessions' policies do not have it", s.Axes[i].Key, n, count(s.Sessions, "session")))
		}
	}
	notes = append(notes, unpricedNotes(s.Unpriced, hints)...)
	return append(notes, emptyNotes(s.Inputs.Empty)...)
}

func sweepPage(p page, s *compare.Sweep, opt Options) error {
	p.heading(sweepTitle(s))
	t := &Table{}
	for i := range s.Axes {
		t.Columns = append(t.Columns, Column{Title: axisTitle(s, i), Right: true, Max: 20})
	}
	for _, c := range sweepColumns {
		t.Columns = append(t.Columns, Column{Title: c.title, Right: true})
	}
	t.Columns = append(t.Columns, Column{Title: "front"})
	hidden, off := 0, 0
	for i := range s.Results {
		st, mark := none, ""
		if s.Front[i] {
			st, mark = bold, "*"
		} else if off++; off > mostPoints && !opt.All {
			hidden++
			continue
		}
		row := append([]string{}, s.Points[i]...)
		for _, c := range sweepColumns {
			row = append(row, figureText(c.figure, figure(&s.Results[i], c.figure).Total))
		}
		t.styled(st, append(row, mark)...)
	}
	p.table(t)
	if hidden > 0 {
		p.note(faint, opt.Hints.hidden(count(hidden, "more point"), "json and csv hold them"))
	}
	for _, note := range sweepNotes(s, opt.Hints) {
		p.note(yellow, note)
	}
	p.note(faint, "* no other point is as good in each of "+strings.Join(frontTitles(s), ", ")+" and better in one")
	return p.end()
}

func frontTitles(s *compare.Sweep) []string {
	var out []string
	for _, name := range s.By {
		if len(s.Results) == 0 || compare.Known(figure(&s.Results[0], name).Total) {
			out = append(out, name)
		}
	}
	return out
}

type sweptJSON struct {
	Schema   string         `json:"schema"`
	Policy   string         `json:"policy"`
	Sessions int            `json:"sessions"`
	Inputs   int            `json:"inputs"`
	Failed   int            `json:"failed_inputs"`
	Empty    []sourceJSON   `json:"without_requests,omitempty"`
	Unpriced []unpricedJSON `json:"unpriced,omitempty"`
	Vary     []axisJSON     `json:"vary"`
	Wanted   int            `json:"points_wanted"` // more than there are where the work was interrupted
	FrontBy  []string       `json:"front_by"`
	Points   []pointJSON    `json:"points"`
}

type axisJSON struct {
	Key      string   `json:"key"`
	Values   []string `json:"values"`
	Sessions int      `json:"sessions"` // whose policy has it
}

type pointJSON struct {
	Set    map[string]string  `json:"set"`
	Totals map[string]float64 `json:"totals"`
	Front  bool               `json:"front"`
}

func sweepJSON(s *compare.Sweep) sweptJSON {
	out := sweptJSON{Schema: compare.SweepSchema, Policy: s.Policy, Sessions: s.Sessions, Inputs: s.Inputs.Given, Failed: s.Inputs.Failed, Empty: sourcesJSON(s.Inputs.Empty), Unpriced: unpricedModelsJSON(s.Unpriced),
		Wanted: len(s.Points), FrontBy: frontTitles(s), Vary: []axisJSON{}, Points: []pointJSON{}}
	for i, a := range s.Axes {
		out.Vary = append(out.Vary, axisJSON{a.Key, a.Values, s.Applied[i]})
	}
	for i := range s.Results {
		p := pointJSON{Set: map[string]string{}, Totals: map[string]float64{}, Front: s.Front[i]}
		for j, v := range s.Points[i] {
			p.Set[s.Axes[j].Key] = v
		}
		for f, name := range compare.Names() {
			put(p.Totals, name, s.Results[i].Figures[f].Total)
		}
		out.Points = append(out.Points, p)
	}
	return out
}

func sweepCSV(w io.Writer, s *compare.Sweep) error {
	out := csv.NewWriter(w)
	columns := []string{"policy", "sessions"}
	for _, a := range s.Axes {
		columns = append(columns, a.Key)
	}
	if err := out.Write(append(append(columns, "front"), compare.Names()...)); err != nil {
		return err
	}
	for i := range s.Results {
		row := []string{csvText(s.Policy), strconv.Itoa(s.Sessions)}
		for _, v := range s.Points[i] {
			row = append(row, csvText(v))
		}
		row = append(row, strconv.FormatBool(s.Front[i]))
		for _, f := range s.Results[i].Figures {
			row = append(row, exactOrNone(f.Total))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
