package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// peer is tablewriter's table without borders, each column as wide as is said: nothing is taken from LANG, LC_ALL and TERM.
func peer(w io.Writer, aligns []tw.Align, columns tw.Mapper[int, int]) *tablewriter.Table {
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

// Tables whose lines need not be broken are as tablewriter lays them, of columns as wide as a grid makes them.
func TestTextAsTablewriter(t *testing.T) {
	texts := []string{"", "a", "12,345", "é", "e\u0301t\u0301", "漢字", "👩‍👩‍👧", "→ −3.5 %", "opencode_compaction", "two words", "two  spaces\u00a0and\n\n  a line", "  indented"}
	for shape := range 200 {
		columns := make([]column, 1+shape%7)
		for i := range columns {
			columns[i] = column{Title: "title " + texts[1+(shape+i)%9]}
		}
		tab := newTable(columns)
		for n := range 1 + shape%5 {
			cells := make([]any, len(columns))
			for i := range cells {
				cells[i] = either[any]((shape+i)%3 == 0, 7919*n, texts[(shape*n+3*i)%len(texts)])
			}
			tab.add(either(n == 0, bold, none), cells...)
		}
		g := tab.grid(400)
		if _, err := g.text(io.Discard, false); err != nil { // leaves one space in the place of several
			t.Fatal(err)
		}
		f := g.fit()
		if f.fold || f.stack || f.wrap {
			t.Fatalf("shape %d does not fit", shape)
		}
		names, aligns, widths := make([]string, len(f.shown)), make([]tw.Align, len(f.shown)), tw.NewMapper[int, int]()
		for at, i := range f.shown {
			names[at], aligns[at] = g.columns[i].Title, either(g.right[i], tw.AlignRight, tw.AlignLeft)
			widths.Set(at, f.widths[at])
		}
		for _, color := range []bool{false, true} {
			var laid bytes.Buffer
			other := peer(&laid, aligns, widths)
			other.Header(names)
			for n, cells := range g.rows {
				line := make([]string, len(f.shown))
				for at, i := range f.shown {
					line[at] = g.styles[n].paint(cells[i], color)
				}
				must.Do(t, other.Append(line))
			}
			must.Do(t, other.Render())
			var want strings.Builder
			for line := range strings.Lines(laid.String()) {
				want.WriteString(strings.TrimRight(line, " \n") + "\n")
			}
			var got bytes.Buffer
			must.Get(g.text(&got, color))(t)
			must.Equal(t, got.String(), want.String(), shape, color)
		}
	}
}
