package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay/interval"
)

// cell is one value of a table: as its CSV file has it, and as it is shown.
type cell struct {
	raw, shown string
	value      float64
	known      bool
	number     bool
}

// blank is a value that is not known.
var blank = cell{shown: "–", number: true}

func text(s string) cell { return cell{raw: s, shown: s, known: true} }

func count(n int) cell { return whole(float64(n)) }

// whole is a number without decimals.
func whole(x float64) cell { return number(x, 0) }

// number has so many decimals.
func number(x float64, decimals int) cell {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return blank
	}
	raw := fmt.Sprintf("%.*f", decimals, x)
	if strings.Trim(raw, "-0.") == "" {
		raw = strings.TrimPrefix(raw, "-")
	}
	return cell{raw: raw, shown: grouped(raw), value: x, known: true, number: true}
}

// share is a part of a whole, shown in percent.
func share(x float64) cell { return percent(x, "%.1f %%") }

// change is a difference by what it is compared with, shown in percent with its sign.
func change(x float64) cell { return percent(x, "%+.1f %%") }

func percent(x float64, format string) cell {
	c := number(x, 4)
	if c.known {
		c.shown = strings.Replace(fmt.Sprintf(format, zero(100*x, 0.05)), "-", "−", 1)
		if strings.HasPrefix(c.shown, "+0.0 ") {
			c.shown = c.shown[1:]
		}
	}
	return c
}

// zero is x, or 0 where it is shown as 0, so that it has no sign of less than it shows.
func zero(x, half float64) float64 {
	if math.Abs(x) < half {
		return 0
	}
	return x
}

// millions is a number of tokens.
func millions(x float64) cell {
	c := whole(x)
	if c.known {
		c.shown = grouped(fmt.Sprintf("%.1f", x/1e6))
	}
	return c
}

// grouped puts commas between thousands.
func grouped(raw string) string {
	sign, digits := "", raw
	if strings.HasPrefix(raw, "-") {
		sign, digits = "−", raw[1:]
	}
	head, tail, dot := strings.Cut(digits, ".")
	var b strings.Builder
	for i, r := range head {
		if i > 0 && (len(head)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	if dot {
		return sign + b.String() + "." + tail
	}
	return sign + b.String()
}

// bounds are the cells of a change with its interval.
func bounds(i interval.Interval) []cell {
	if !i.Value.Known {
		return []cell{blank, blank, blank}
	}
	list := []cell{change(i.Value.Float())}
	if !i.Lower.Known {
		return append(list, blank, blank)
	}
	return append(list, change(i.Lower.Float()), change(i.Upper.Float()))
}

// column is a column of a table: its name in the CSV file and in templates, and its title.
type column struct{ key, title string }

// table is rows by the name in their first column.
type table struct {
	name string
	cols []column
	rows [][]cell
}

func newTable(name string, cols ...column) *table { return &table{name: name, cols: cols} }

func (t *table) add(cells ...cell) {
	if len(cells) != len(t.cols) {
		panic(fmt.Sprintf("%s: %d cells in %d columns", t.name, len(cells), len(t.cols)))
	}
	t.rows = append(t.rows, cells)
}

// at is the cell in a row and a column.
func (t *table) at(row, col string) (cell, error) {
	k := slices.IndexFunc(t.cols, func(c column) bool { return c.key == col })
	for _, r := range t.rows {
		if r[0].raw == row && k >= 0 {
			return r[k], nil
		}
	}
	return blank, fmt.Errorf("table %s has no row %q with %q", t.name, row, col)
}

// markdown is the table with a link to its CSV file.
func (t *table) markdown() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	titles, rules := make([]string, len(t.cols)), make([]string, len(t.cols))
	for i, c := range t.cols {
		titles[i], rules[i] = c.title, "---"
		if slices.ContainsFunc(t.rows, func(r []cell) bool { return r[i].number }) {
			rules[i] = "--:"
		}
	}
	line(titles)
	line(rules)
	for _, r := range t.rows {
		shown := make([]string, len(r))
		for i, c := range r {
			shown[i] = strings.ReplaceAll(c.shown, "|", "\\|")
		}
		line(shown)
	}
	fmt.Fprintf(&b, "\n[%s.csv](%s.csv)", t.name, t.name)
	return b.String()
}

// csv writes the table as its CSV file.
func (t *table) csv(out io.Writer) error {
	w := csv.NewWriter(out)
	line := make([]string, len(t.cols))
	for i, c := range t.cols {
		line[i] = c.key
	}
	if err := w.Write(line); err != nil {
		return err
	}
	for _, r := range t.rows {
		for i, c := range r {
			line[i] = c.raw
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}
