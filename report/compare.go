package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/ctxkit/ctxkit/replay/compare"
)

// comparedColumns are the figures a table of policies shows.
var comparedColumns = []struct{ figure, title string }{
	{"model_peak", "peak"}, {"model_mean", "mean"}, {"payload_input", "sent"}, {"cache_read", "read"}, {"cache_write", "write"},
	{"uncached", "rest"}, {"cost_usd", "USD"}, {"compactions", "comp"}, {"cleared_results", "clrd"}, {"cleared_tokens", "tokens"},
	{"misses", "miss"}, {"bound_misses", "bound"}, {"violations", "viol"},
}

// Comparisons prints policies side by side, one comparison a group; in counts
// what all of them were read from.
func Comparisons(w io.Writer, groups []compare.Comparison, in compare.Inputs, opt Options) error {
	switch opt.Format {
	case FormatTable, "":
		return comparePages(&textPage{w: w, color: opt.Color}, groups, in, opt)
	case FormatMarkdown:
		return comparePages(&markdownPage{w: w}, groups, in, opt)
	case FormatJSON:
		return WriteJSON(w, compareJSON(groups, in, opt.Hints))
	case FormatCSV:
		return compareCSV(w, groups)
	}
	return fmt.Errorf("format %q: want one of %v", opt.Format, ListFormats)
}

func comparePages(p page, groups []compare.Comparison, in compare.Inputs, opt Options) error {
	for i := range groups {
		c := &groups[i]
		title := count(len(c.Sessions), "session")
		if c.Group != "" {
			title = c.Group + ": " + title
		}
		p.heading(title + inputsText(in))
		p.table(compareTotals(c))
		if len(c.Policies) > 1 {
			p.heading("against " + c.Policies[0].Name)
			p.table(compareDifferences(c))
		}
		if len(c.Sessions) > 1 {
			p.heading("by session: total, median, 90th percentile, and in how many of them the policy alone is best")
			p.table(compareSpread(c, opt.All))
			if !opt.All {
				p.note(faint, opt.Hints.hidden(count(neitherFigures(), "more figure")+", by which no policy is better,", "json holds them"))
			}
			if len(c.Sessions) < compare.Few {
				p.note(yellow, fmt.Sprintf("medians and percentiles rest on %s only", count(len(c.Sessions), "session")))
			}
		}
		if c.Differ >= 0 {
			p.note(none, differText(c))
			if lines := commandLines(c, opt.Hints); len(lines) > 0 {
				p.picture(lines)
			}
		}
		for _, note := range append(unpricedNotes(compare.UnpricedModels(c.Sessions), opt.Hints), lostNotes(c, opt.Hints)...) {
			p.note(yellow, note)
		}
	}
	for _, note := range emptyNotes(in.Empty) {
		p.note(yellow, note)
	}
	p.note(faint, "peak, mean: tokens of the model view, overhead included; sent: tokens of all requests, compactions included, of which read from the cache, written to it, and the rest; comp: compactions; clrd, tokens: results cleared, and their tokens; miss: taken away too early; bound: no choice of blocks within the same budget misses fewer; viol: breaks of the API's rules")
	return p.end()
}

// figure is the spread of a figure, or of the sum of two: what was written to
// the cache.
func figure(p *compare.Policy, name string) compare.Spread {
	names := compare.Names()
	if name == "cache_write" {
		a, b := figure(p, "cache_write_5m"), figure(p, "cache_write_1h")
		return compare.Spread{Total: a.Total + b.Total, Median: math.NaN(), P90: math.NaN()}
	}
	return p.Figures[slices.Index(names, name)]
}

func compareColumns() []Column {
	columns := []Column{{Title: "policy", Flex: true}}
	for _, c := range comparedColumns {
		columns = append(columns, Column{Title: c.title, Right: true})
	}
	return columns
}

func compareTotals(c *compare.Comparison) *Table {
	t := &Table{Columns: compareColumns()}
	for i := range c.Policies {
		p := &c.Policies[i]
		row := []string{p.Name}
		for _, col := range comparedColumns {
			row = append(row, figureText(col.figure, figure(p, col.figure).Total))
		}
		t.Row(row...)
	}
	return t
}

func compareDifferences(c *compare.Comparison) *Table {
	t := &Table{Columns: compareColumns()}
	first := &c.Policies[0]
	for i := 1; i < len(c.Policies); i++ {
		p := &c.Policies[i]
		row := []string{p.Name}
		for _, col := range comparedColumns {
			row = append(row, differenceText(col.figure, figure(first, col.figure).Total, figure(p, col.figure).Total))
		}
		t.Row(row...)
	}
	return t
}

// compareSpread is a block a figure: those by which one policy can be better
// than another; or all.
func compareSpread(c *compare.Comparison, all bool) *Table {
	t := &Table{Columns: []Column{
		{Title: "figure"}, {Title: "policy", Flex: true}, {Title: "total", Right: true}, {Title: "median", Right: true}, {Title: "p90", Right: true}, {Title: "best", Right: true},
	}}
	for f, figure := range compare.Figures() {
		if figure.Better == compare.Neither && !all {
			continue
		}
		name := figure.Name
		for i := range c.Policies {
			s := c.Policies[i].Figures[f]
			best := ""
			if figure.Better != compare.Neither {
				best = strconv.Itoa(s.Wins)
			}
			t.Row(name, c.Policies[i].Name, figureText(figure.Name, s.Total), quantileText(figure.Name, s.Median), quantileText(figure.Name, s.P90), best)
			name = ""
		}
	}
	return t
}

// neitherFigures is how many figures do not say which policy is better.
func neitherFigures() int {
	n := 0
	for _, f := range compare.Figures() {
		if f.Better == compare.Neither {
			n++
		}
	}
	return n
}

// quantileText is a value between two sessions': a small count has a decimal
// where it needs one.
func quantileText(name string, x float64) string {
	if name != "cost_usd" && math.Abs(x) < 100 && x != math.Round(x) {
		return places(x, 1)
	}
	return figureText(name, x)
}

// figureText is a value for a narrow column: a dash where it is not known.
func figureText(name string, x float64) string {
	switch {
	case !compare.Known(x):
		return "–"
	case name == "cost_usd" && math.Abs(x) < 9999.995:
		return places(x, 2)
	case math.Abs(x) < 9999.5:
		return thousands(int(math.Round(x)))
	case math.Abs(x) < 99950:
		return places(x/1e3, 1) + "k"
	case math.Abs(x) < 999500:
		return places(x/1e3, 0) + "k"
	case math.Abs(x) < 999.95e6:
		return places(x/1e6, 1) + "M"
	}
	return places(x/1e9, 1) + "G"
}

// differenceText is how far b is from a: in percent, or as a number where a is
// small or nothing.
func differenceText(name string, a, b float64) string {
	switch d := b - a; {
	case !compare.Known(a) || !compare.Known(b):
		return "–"
	case d == 0:
		return "0"
	case name == "cost_usd" && a == 0 || name != "cost_usd" && math.Abs(a) < 100:
		s := figureText(name, d)
		if d > 0 {
			s = "+" + s
		}
		return s
	case math.Abs(d/a) < 0.0995:
		return fmt.Sprintf("%+.1f%%", 100*d/a)
	default:
		return fmt.Sprintf("%+.0f%%", 100*d/a)
	}
}

// compareCSV is one row a session and policy.
func compareCSV(w io.Writer, groups []compare.Comparison) error {
	out := csv.NewWriter(w)
	columns := append([]string{"group", "session", "agent", "file", "model", "client_version", "project", "policy"}, compare.Names()...)
	if err := out.Write(columns); err != nil {
		return err
	}
	for i := range groups {
		c := &groups[i]
		for _, s := range c.Sessions {
			for p, v := range s.Values {
				row := []string{c.Group, s.Session, s.Agent, s.File, s.Model, s.Version, s.Project, c.Policies[p].Name}
				for i := range row {
					row[i] = csvText(row[i])
				}
				for _, x := range v {
					row = append(row, exactOrNone(x))
				}
				if err := out.Write(row); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

func exactOrNone(x float64) string {
	if !compare.Known(x) {
		return ""
	}
	return exact(x)
}
