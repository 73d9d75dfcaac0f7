package report

import (
	"bytes"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// lineWidth is how many columns the widest printed line takes.
const lineWidth = 100

// Column is a column of a Table.
type Column struct {
	Title string
	Right bool // numbers stand to the right
	Max   int  // columns it may take; 0: no limit but the line's
	Flex  bool // takes the room that is left and wraps; one column at most
}

// Table is a table for people, as text or as Markdown. Cells are cleaned when
// they are added; the table looks the same wherever it is printed.
type Table struct {
	Columns []Column
	rows    [][]string
	styles  []style
}

// Row adds a row, one cell a column.
func (t *Table) Row(cells ...string) { t.styled(none, cells...) }

func (t *Table) styled(s style, cells ...string) {
	row := make([]string, len(t.Columns))
	for i := range row {
		if i < len(cells) {
			row[i] = Clean(cells[i])
		}
	}
	t.rows = append(t.rows, row)
	t.styles = append(t.styles, s)
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

const gap = 2 // columns between two columns

// widths are the columns' widths: what their cells need, within Max, the
// flexible one filling the line.
func (t *Table) widths() []int {
	ws := make([]int, len(t.Columns))
	total, flex := gap*(len(ws)-1), -1
	for i, c := range t.Columns {
		ws[i] = width(c.Title)
		for _, r := range t.rows {
			ws[i] = max(ws[i], width(r[i]))
		}
		if c.Max > 0 {
			ws[i] = min(ws[i], max(c.Max, width(c.Title)))
		}
		if c.Flex {
			flex = i
		}
		total += ws[i]
	}
	if flex >= 0 && total > lineWidth {
		ws[flex] = max(width(t.Columns[flex].Title), ws[flex]-(total-lineWidth), 8)
	}
	return ws
}

// Text prints the table for a terminal.
func (t *Table) Text(w io.Writer, color bool) error {
	ws := t.widths()
	titles := make([]string, len(t.Columns))
	aligns := make([]tw.Align, len(t.Columns))
	columns := tw.NewMapper[int, int]()
	for i, c := range t.Columns {
		titles[i], aligns[i] = c.Title, tw.AlignLeft
		if c.Right {
			aligns[i] = tw.AlignRight
		}
		columns.Set(i, ws[i])
	}
	var buf bytes.Buffer
	tab := newTableWriter(&buf, aligns, columns)
	tab.Header(titles)
	for n, row := range t.rows {
		for _, line := range t.lines(row, ws) {
			if color {
				t.styles[n].paintAll(line)
			}
			if err := tab.Append(line); err != nil {
				return err
			}
		}
	}
	if err := tab.Render(); err != nil {
		return err
	}
	return writeTrimmed(w, buf.Bytes())
}

// newTableWriter sets everything that the library would otherwise decide from
// its own taste or from LANG, LC_ALL and TERM.
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

// lines breaks one row into printed lines: the flexible column wraps, all
// others are cut.
func (t *Table) lines(row []string, ws []int) [][]string {
	var out [][]string
	at := func(i int) []string {
		for len(out) <= i {
			out = append(out, make([]string, len(row)))
		}
		return out[i]
	}
	at(0)
	for c, cell := range row {
		if !t.Columns[c].Flex {
			out[0][c] = cut(cell, ws[c])
			continue
		}
		for i, line := range wrap(cell, ws[c]) {
			at(i)[c] = line
		}
	}
	return out
}

// writeTrimmed writes text without the spaces at its lines' ends.
func writeTrimmed(w io.Writer, text []byte) error {
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, " \n")
		out.Write(line)
		out.WriteByte('\n')
	}
	_, err := w.Write(out.Bytes())
	return err
}
