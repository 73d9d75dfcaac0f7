package report

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// defaultWidth is the width of the widest printed line where the layout names none, in terminal columns.
const defaultWidth = 100

// column is one column of a table. Title heads it in text and Markdown, Key in CSV. A column without a Title is only
// in CSV, one without a Key never is. fit.go has the rules by which Drop, Flex and Cut fit a table to a line.
type column struct {
	Title, Key string
	About      string // what its cells say, for help; in one line, without a period
	Drop       int    // of a table that is too wide, the columns of the highest Drop are left out first; 0: never
	Min        int    // a Flex or Cut column does not get narrower; 0: 16
	Flex       bool   // takes the rest of the line and wraps between words; no name in it is broken
	Cut        bool   // takes the rest of the line and is cut
}

// keys returns columns for CSV only. The names are separated by spaces.
func keys(names string) []column {
	var columns []column
	for _, name := range strings.Fields(names) {
		columns = append(columns, column{Key: name})
	}
	return columns
}

// columnsOf returns the columns of a row type, one for each of its fields: the tag col is the Title, csv the Key, and
// about, drop and min are About, Drop and Min; fit says whether the column wraps or is cut. An embedded struct stands for
// its own fields. A field without a tag csv has the Key that its JSON form has.
// What a tag of says, filler has.
func columnsOf[T any]() []column { return fieldColumns(reflect.TypeFor[T]()) }

func fieldColumns(row reflect.Type) []column {
	var columns []column
	for f := range row.Fields() {
		if f.Anonymous {
			columns = append(columns, fieldColumns(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		number := func(key string) int {
			n, _ := strconv.Atoi(f.Tag.Get(key))
			return n
		}
		columns = append(columns, column{
			Title: f.Tag.Get("col"), Key: cmp.Or(f.Tag.Get("csv"), name), About: f.Tag.Get("about"), Drop: number("drop"), Min: number("min"),
			Flex: f.Tag.Get("fit") == "wrap", Cut: f.Tag.Get("fit") == "cut",
		})
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

// tableOf returns a table of the columns of a row type.
func tableOf[T any]() *table { return newTable(columnsOf[T]()) }

// column is the column with a title.
func (t *table) column(title string) *column {
	return &t.columns[slices.IndexFunc(t.columns, func(c column) bool { return c.Title == title })]
}

// put appends a row of the type that the table has its columns from.
func (t *table) put(st style, cells any) *row {
	return t.add(st, fieldCells(reflect.ValueOf(cells))...)
}

// fieldCells are the values of the fields that fieldColumns lists.
func fieldCells(row reflect.Value) []any {
	var cells []any
	for f, v := range row.Fields() {
		if f.Anonymous {
			cells = append(cells, fieldCells(v)...)
		} else {
			cells = append(cells, v.Interface())
		}
	}
	return cells
}

// filler returns what sets the fields of a row that have a tag of, each to the field of an S that the tag names by its
// path: Cache.Read. Where a pointer on the path is nil, the field stays as it is.
func filler[R, S any]() func(row *R, from *S) {
	var to, source [][]int
	for _, f := range reflect.VisibleFields(reflect.TypeFor[R]()) {
		if path := f.Tag.Get("of"); path != "" {
			to, source = append(to, f.Index), append(source, fieldIndex(reflect.TypeFor[S](), path))
		}
	}
	return func(row *R, from *S) {
		for i := range to {
			v, err := reflect.Indirect(reflect.ValueOf(from).Elem()).FieldByIndexErr(source[i])
			if err != nil {
				continue // a pointer is nil
			}
			field := reflect.ValueOf(row).Elem().FieldByIndex(to[i])
			if field.Kind() == reflect.Pointer && v.Kind() != reflect.Pointer {
				v = v.Addr()
			}
			field.Set(v.Convert(field.Type()))
		}
	}
}

// fieldIndex is the index of the field that a path names.
func fieldIndex(of reflect.Type, path string) (index []int) {
	for name := range strings.SplitSeq(path, ".") {
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		f, ok := of.FieldByName(name)
		if !ok {
			panic(path + ": no such field: " + of.String())
		}
		index = append(index, f.Index...)
		of = f.Type
	}
	return index
}

// rowsOf returns a table with a row for each of a list. own sets the fields of a row that have no tag of, and chooses its
// style; nil: there is nothing to set.
func rowsOf[R, S any](list []S, own func(from *S, row *R) style) *table {
	t := tableOf[R]()
	fill := filler[R, S]()
	for i := range list {
		var row R
		st := none
		if fill(&row, &list[i]); own != nil {
			st = own(&list[i], &row)
		}
		t.put(st, row)
	}
	return t
}

// add appends a row. Missing cells at its end are empty.
func (t *table) add(st style, cells ...any) *row {
	r := &row{cells: cells, style: st}
	t.rows = append(t.rows, r)
	return r
}

// last appends a row with one cell, in the last column.
func (t *table) last(st style, cell any) {
	t.add(st, append(make([]any, len(t.columns)-1), cell)...)
}

// in moves the times of a table, and the titles that name their zone, from UTC to another zone; nil: they stay.
func (t *table) in(zone *time.Location) *table {
	if zone == nil {
		return t
	}
	for i := range t.columns {
		t.columns[i].Title = strings.Replace(t.columns[i].Title, "UTC", strings.Replace(zone.String(), "Local", "local", 1), 1)
	}
	for _, r := range t.rows {
		for i := range r.cells {
			if c, ok := r.cells[i].(clock); ok {
				r.cells[i] = clock{c.In(zone), c.layout}
			}
		}
	}
	return t
}

// grid is what text and Markdown print of a table.
type grid struct {
	columns []column
	width   int    // of the widest line
	right   []bool // by column: it holds numbers
	rows    [][]string
	styles  []style
}

// grid returns the rows for people, without the columns that say nothing in any of them.
func (t *table) grid(width int) *grid {
	g := &grid{width: width}
	var at []int
	for i, c := range t.columns {
		if c.Title != "" && slices.ContainsFunc(t.rows, func(r *row) bool {
			return !r.noTab && i < len(r.cells) && cellText(r.cells[i]) != ""
		}) {
			at = append(at, i)
			g.columns = append(g.columns, c)
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
		g.rows = append(g.rows, cells)
		g.styles = append(g.styles, r.style)
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

// markdown writes the table as Markdown. No cell can make a column, a link, an image or HTML of its own.
func (g *grid) markdown(b *bytes.Buffer) {
	line := func(cells []string, escape func(string) string) {
		for _, c := range cells {
			b.WriteString("| " + escape(c) + " ")
		}
		b.WriteString("|\n")
	}
	names := make([]string, len(g.columns))
	rules := make([]string, len(g.columns))
	for i, c := range g.columns {
		names[i] = c.Title
		rules[i] = either(g.right[i], "---:", ":---")
	}
	line(names, escapeMarkdown)
	line(rules, func(rule string) string { return rule })
	for _, r := range g.rows {
		line(r, escapeMarkdown)
	}
}
