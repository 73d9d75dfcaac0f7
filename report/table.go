package report

import (
	"bytes"
	"encoding/csv"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// lineWidth is the width of the widest printed line, in terminal columns.
const lineWidth = 100

// column is one column of a table. Title heads it in text and Markdown, Key in CSV. A column without a Title is only
// in CSV, one without a Key never is.
type column struct {
	Title, Key string
	Max        int  // widest it may be in text; 0: no limit but lineWidth
	Min        int  // narrowest a Flex column gets where its cells need as much; 0: 8
	Flex       bool // takes the rest of the line and wraps; at most one per table
	Cut        bool // takes the rest of the line and is cut, instead of Flex
}

// titles returns columns for text and Markdown only.
func titles(names ...string) []column {
	columns := make([]column, len(names))
	for i, name := range names {
		columns[i].Title = name
	}
	return columns
}

// keys returns columns for CSV only. The names are separated by spaces.
func keys(names string) []column {
	var columns []column
	for _, name := range strings.Fields(names) {
		columns = append(columns, column{Key: name})
	}
	return columns
}

// row is one row of a table, with one cell per column.
type row struct {
	cells []any
	style style
	noCSV bool // a row for people: a sum or a heading
	noTab bool // a row that text and Markdown leave out
}

// table holds the rows that text, Markdown and CSV print. The type of a cell decides how each format prints it
// (cell.go).
type table struct {
	columns []column
	rows    []*row
}

// newTable returns a table of these columns, in this order.
func newTable(columns ...[]column) *table { return &table{columns: slices.Concat(columns...)} }

// add appends a row. Missing cells at its end are empty.
func (t *table) add(st style, cells ...any) *row {
	r := &row{cells: cells, style: st}
	t.rows = append(t.rows, r)
	return r
}

// last appends a row with one cell, in the last column.
func (t *table) last(st style, cell any) *row {
	return t.add(st, append(make([]any, len(t.columns)-1), cell)...)
}

// grid is what text and Markdown print of a table.
type grid struct {
	columns []column
	width   int    // of the widest line
	right   []bool // by column: it holds numbers
	rows    [][]string
	styles  []style
}

func (t *table) grid() *grid {
	g := &grid{width: lineWidth}
	var at []int
	for i, c := range t.columns {
		if c.Title != "" {
			at, g.columns = append(at, i), append(g.columns, c)
		}
	}
	g.right = make([]bool, len(at))
	for _, r := range t.rows {
		if r.noTab {
			continue
		}
		cells := make([]string, len(at))
		for i, from := range at {
			if from < len(r.cells) {
				cells[i] = Clean(cellText(r.cells[from]))
				g.right[i] = g.right[i] || isNumber(r.cells[from])
			}
		}
		g.rows, g.styles = append(g.rows, cells), append(g.styles, r.style)
	}
	return g
}

// csv writes the table as CSV, with its header if header is set.
func (t *table) csv(w io.Writer, header bool) error {
	out := csv.NewWriter(w)
	write := func(cell func(i int) string) {
		var record []string
		for i, c := range t.columns {
			if c.Key != "" {
				record = append(record, cell(i))
			}
		}
		_ = out.Write(record) // out.Error has it
	}
	if header {
		write(func(i int) string { return t.columns[i].Key })
	}
	for _, r := range t.rows {
		if r.noCSV {
			continue
		}
		write(func(i int) string {
			if i >= len(r.cells) {
				return ""
			}
			return cellCSV(r.cells[i])
		})
	}
	out.Flush()
	return out.Error()
}

const gap = 2 // spaces between two columns

// widths returns the width of each column: what its cells need, within Max. The Flex or Cut column shrinks until the
// table fits into the grid's width.
func (g *grid) widths() []int {
	ws := make([]int, len(g.columns))
	total, flex := gap*(len(ws)-1), -1
	for i, c := range g.columns {
		title := width(c.Title)
		ws[i] = title
		for _, r := range g.rows {
			ws[i] = max(ws[i], width(r[i]))
		}
		if c.Max > 0 {
			ws[i] = min(ws[i], max(c.Max, title))
		}
		if c.Flex || c.Cut {
			flex = i
		}
		total += ws[i]
	}
	if flex >= 0 && total > g.width {
		least := max(width(g.columns[flex].Title), min(g.columns[flex].Min, ws[flex]), 8)
		ws[flex] = max(least, ws[flex]-(total-g.width))
	}
	return ws
}

// text writes the table for a terminal.
func (g *grid) text(w io.Writer, color bool) error {
	ws := g.widths()
	names, aligns, columns := make([]string, len(ws)), make([]tw.Align, len(ws)), tw.NewMapper[int, int]()
	for i, c := range g.columns {
		names[i], aligns[i] = c.Title, either(g.right[i], tw.AlignRight, tw.AlignLeft)
		columns.Set(i, ws[i])
	}
	var buf bytes.Buffer
	tab := newTableWriter(&buf, aligns, columns)
	tab.Header(names)
	for n, cells := range g.rows {
		for _, line := range g.lines(cells, ws) {
			for i := range line {
				line[i] = g.styles[n].paint(line[i], color)
			}
			if err := tab.Append(line); err != nil {
				return err
			}
		}
	}
	if err := tab.Render(); err != nil {
		return err
	}
	for line := range bytes.Lines(buf.Bytes()) {
		if _, err := w.Write(append(bytes.TrimRight(line, " \n"), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// newTableWriter sets every option that the library would otherwise take from LANG, LC_ALL and TERM.
func newTableWriter(w io.Writer, aligns []tw.Align, columns tw.Mapper[int, int]) *tablewriter.Table {
	cell := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Padding:    tw.CellPadding{Global: tw.Padding{Overwrite: true}},
		Alignment:  tw.CellAlignment{PerColumn: aligns},
	}
	space := strings.Repeat(" ", gap)
	return tablewriter.NewTable(w,
		tablewriter.WithConfig(tablewriter.Config{
			Header: cell, Row: cell,
			Behavior: tw.Behavior{TrimSpace: tw.Off, TrimLine: tw.Off, AutoHide: tw.Off},
		}),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithColumnWidths(columns),
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbolCustom("ctxkit").WithColumn(space).WithRow("─").
				WithCenter(space).WithHeaderMid(space),
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.On, BetweenRows: tw.Off, ShowHeader: tw.On},
				Lines:      tw.Lines{ShowHeaderLine: tw.On, ShowTop: tw.Off, ShowBottom: tw.Off},
			},
		})),
	)
}

// lines breaks one row into printed lines: the Flex cell wraps, others are cut.
func (g *grid) lines(cells []string, ws []int) [][]string {
	out := [][]string{make([]string, len(cells))}
	for c, cell := range cells {
		if !g.columns[c].Flex {
			out[0][c] = cut(cell, ws[c])
			continue
		}
		for i, line := range wrap(cell, ws[c]) {
			if i == len(out) {
				out = append(out, make([]string, len(cells)))
			}
			out[i][c] = line
		}
	}
	return out
}

// markdown writes the table as Markdown. No cell can make a column, a link, an image or HTML of its own.
func (g *grid) markdown(b *bytes.Buffer) {
	line := func(cells []string, escape func(string) string) {
		for _, c := range cells {
			b.WriteString("| " + escape(c) + " ")
		}
		b.WriteString("|\n")
	}
	names, rules := make([]string, len(g.columns)), make([]string, len(g.columns))
	for i, c := range g.columns {
		names[i], rules[i] = c.Title, either(g.right[i], "---:", ":---")
	}
	line(names, escapeMarkdown)
	line(rules, func(rule string) string { return rule })
	for _, r := range g.rows {
		line(r, escapeMarkdown)
	}
}
