package report

import (
	"bytes"
	"io"
	"slices"
	"strings"
)

// A table fits its line by the first of these that is enough:
//
//  1. Flex columns wrap and Cut columns are cut, each down to its least width: Min, and no narrower than its widest
//     name.
//  2. Titles of several words take several lines.
//  3. The columns of the highest Drop are left out, one after another; a line below the table names them.
//  4. The first column has a line of its own, above the rest of its row.
//  5. Rows are records: a line for each column.
//
// A name or an id is never broken, unless it is longer than a whole line. White space of any length is one space.

const (
	gap       = 2  // spaces between two columns
	indented  = 2  // spaces before the rest of a row whose first column has a line of its own
	leastFold = 12 // width of a first column that is worth a line of its own
	leastFlex = 16 // width of a Flex or Cut column, where it says nothing else
	longWord  = 44 // a longer word without a place to break is not a name: it may be broken
)

// fitted is how a grid fits its line.
type fitted struct {
	shown  []int // columns, in their order
	widths []int // of these
	wrap   bool  // titles take several lines
	fold   bool  // the first column has a line of its own
	stack  bool  // rows are records; shown are all columns
}

// fit chooses how the grid fits its line.
func (g *grid) fit() fitted {
	all := make([]int, len(g.columns))
	for i := range all {
		all[i] = i
	}
	least := make([]int, len(all))
	wrapped := make([]int, len(all))
	natural := make([]int, len(all))
	for i, c := range g.columns {
		cells := 0
		word := 0
		for _, r := range g.rows {
			cells = max(cells, min(width(r[i]), 2*g.width))
			if c.Flex {
				word = max(word, widestPiece(r[i]))
			}
		}
		if c.Flex || c.Cut {
			least[i] = min(cells, max(word, either(c.Min > 0, c.Min, leastFlex)))
		} else {
			least[i] = cells
		}
		title := width(c.Title)
		wrapped[i] = max(least[i], widestWord(c.Title), min(title, narrowestLine))
		least[i] = max(least[i], title)
		natural[i] = max(cells, title)
	}
	fits := func(shown, widths []int, w int) bool {
		total := gap * (len(shown) - 1)
		for _, i := range shown {
			total += widths[i]
		}
		return total <= w
	}
	if fits(all, least, g.width) {
		return fitted{shown: all, widths: g.spread(all, least, natural, g.width)}
	}
	if shown := g.dropped(all, func(shown []int) bool { return fits(shown, wrapped, g.width) }); shown != nil {
		return fitted{shown: shown, widths: g.spread(shown, wrapped, natural, g.width), wrap: true}
	}
	w := g.width - indented
	if shown := g.dropped(all, func(shown []int) bool { return fits(shown[1:], wrapped, w) }); shown != nil && natural[0] >= leastFold && least[0] <= g.width {
		return fitted{shown: shown, widths: append([]int{min(natural[0], g.width)}, g.spread(shown[1:], wrapped, natural, w)...), wrap: true, fold: true}
	}
	return fitted{shown: all, stack: true}
}

// dropped leaves out the columns of the highest Drop until the rest fits; nil: it never does.
func (g *grid) dropped(all []int, fits func(shown []int) bool) []int {
	shown := slices.Clone(all)
	for !fits(shown) {
		most := -1
		for at, i := range shown {
			if d := g.columns[i].Drop; at > 0 && d > 0 && (most < 0 || d >= g.columns[shown[most]].Drop) {
				most = at
			}
		}
		if most < 0 {
			return nil
		}
		shown = slices.Delete(shown, most, most+1)
	}
	return shown
}

// spread gives each column its natural width and takes from the widest that may be narrower until they fit.
func (g *grid) spread(shown, least, natural []int, w int) []int {
	ws := make([]int, len(shown))
	total := gap * (len(shown) - 1)
	for at, i := range shown {
		ws[at] = either(g.columns[i].Flex || g.columns[i].Cut, max(least[i], min(natural[i], w)), least[i])
		total += ws[at]
	}
	for ; total > w; total-- {
		widest := -1
		for at, i := range shown {
			if ws[at] > least[i] && (widest < 0 || ws[at] > ws[widest]) {
				widest = at
			}
		}
		if widest < 0 {
			break
		}
		ws[widest]--
	}
	return ws
}

// widestWord is the width of the widest word of a title.
func widestWord(title string) int {
	widest := 0
	for _, word := range strings.Fields(title) {
		widest = max(widest, width(word))
	}
	return widest
}

// widestPiece is the width of the widest part of a text that a line should not break.
func widestPiece(s string) int {
	widest := 0
	for _, word := range strings.Fields(s) {
		for piece := range pieces(word, "/") {
			if n := width(piece); n <= longWord {
				widest = max(widest, n)
			}
		}
	}
	return widest
}

// hiddenTitles are the columns that are not shown. A title that several columns have is followed by that of the column
// that it belongs to, the last one before it with a title of its own.
func (g *grid) hiddenTitles(f fitted) []string {
	times := map[string]int{}
	for _, c := range g.columns {
		times[c.Title]++
	}
	var names []string
	own := ""
	for i, c := range g.columns {
		name := c.Title
		if times[c.Title] > 1 {
			name += phraseIf(own != "", " (%v)", own)
		} else {
			own = c.Title
		}
		if !slices.Contains(f.shown, i) {
			names = append(names, name)
		}
	}
	return names
}

// text writes the table for a terminal and returns the titles of the columns it leaves out.
func (g *grid) text(w io.Writer, color bool) ([]string, error) {
	for _, cells := range g.rows {
		for i := range cells {
			cells[i] = oneSpaced(cells[i])
		}
	}
	f := g.fit()
	switch {
	case f.stack:
		return nil, g.records(w, color)
	case len(f.shown) == 0:
		return g.hiddenTitles(f), nil
	}
	var first []int // the column on a line of its own
	rest := f.shown
	ws := f.widths
	if f.fold {
		first = f.shown[:1]
		rest = f.shown[1:]
		ws = f.widths[1:]
	}
	names := make([]string, len(rest))
	right := make([]bool, len(rest))
	for at, i := range rest {
		names[at] = g.columns[i].Title
		right[at] = g.right[i]
	}
	head := [][]string{names}
	if f.wrap {
		head = titleLines(names, ws)
	}
	indent := strings.Repeat(" ", len(first)*indented)
	var out bytes.Buffer
	put := func(line string) { out.WriteString(strings.TrimRight(line, " ") + "\n") }
	for _, i := range first {
		put(g.columns[i].Title)
	}
	rules := make([]string, len(ws))
	for i, w := range ws {
		rules[i] = strings.Repeat("─", w)
	}
	for _, line := range append(head, rules) {
		put(indent + aligned(line, ws, right, none, color))
	}
	for n, cells := range g.rows {
		for _, line := range g.lines(cells, first, f.widths[:len(first)]) {
			if len(first) > 0 && line[0] != "" {
				put(g.styles[n].paint(line[0], color))
			}
		}
		for _, line := range g.lines(cells, rest, ws) {
			put(indent + aligned(line, ws, right, g.styles[n], color))
		}
	}
	_, err := w.Write(out.Bytes())
	return g.hiddenTitles(f), err
}

// oneSpaced is a text with one space for all white space in one place: line ends and spaces of any kind, none at the end.
// The spaces that it begins with, as a part of a list does, stay.
func oneSpaced(s string) string {
	text := strings.TrimLeft(s, " ")
	return s[:len(s)-len(text)] + strings.Join(strings.Fields(text), " ")
}

// titleLines divides titles into lines, the last ones at the bottom.
func titleLines(names []string, ws []int) [][]string {
	most := 1
	broken := make([][]string, len(names))
	for i, name := range names {
		broken[i] = wrap(name, ws[i])
		most = max(most, len(broken[i]))
	}
	lines := make([][]string, most)
	for n := range lines {
		lines[n] = make([]string, len(names))
		for i := range names {
			if from := n - (most - len(broken[i])); from >= 0 {
				lines[n][i] = broken[i][from]
			}
		}
	}
	return lines
}

// aligned is a line of painted cells, each as wide as its column.
func aligned(cells []string, ws []int, right []bool, s style, color bool) string {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			pad(&b, gap)
		}
		space := ws[i] - width(c)
		if right[i] {
			pad(&b, space)
		}
		b.WriteString(s.paint(c, color))
		if !right[i] {
			pad(&b, space)
		}
	}
	return b.String()
}

func pad(b *strings.Builder, spaces int) {
	for range spaces {
		b.WriteByte(' ')
	}
}

// lines divides the cells of a row into printed lines: those of Flex columns wrap, others are cut.
func (g *grid) lines(cells []string, shown, ws []int) [][]string {
	out := [][]string{make([]string, len(shown))}
	for at, i := range shown {
		if !g.columns[i].Flex {
			out[0][at] = cut(cells[i], ws[at])
			continue
		}
		for n, line := range wrap(cells[i], ws[at]) {
			if n == len(out) {
				out = append(out, make([]string, len(shown)))
			}
			out[n][at] = line
		}
	}
	return out
}

// records writes each row as a record: a line for each column.
func (g *grid) records(w io.Writer, color bool) error {
	indent := 0
	for _, c := range g.columns {
		indent = max(indent, width(c.Title)+gap)
	}
	indent = min(indent, g.width/2)
	var out bytes.Buffer
	for n, cells := range g.rows {
		st := g.styles[n]
		if n > 0 {
			out.WriteByte('\n')
		}
		for i, c := range g.columns {
			if cells[i] == "" {
				continue
			}
			name := cut(c.Title, indent-gap)
			for _, line := range wrap(cells[i], g.width-indent) {
				out.WriteString(faint.paint(name, color) + strings.Repeat(" ", indent-width(name)) + st.paint(line, color) + "\n")
				name = ""
			}
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}
