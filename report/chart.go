package report

import (
	"math"
	"strings"
)

// Chart sizes: label, plot and threshold names fill lineWidth columns.
const (
	chartLabel  = 7  // "  240K " before the plot, its axis included
	chartPlot   = 80 // columns of the plot
	chartRows   = 12 // rows of the plot
	chartSteps  = 8  // heights a block can have within one row
	chartLegend = lineWidth - chartLabel - chartPlot - 1
)

// chart draws two series over requests: model, and raw above it, with
// horizontal lines at thresholds and marks under the axis.
type chart struct {
	raw, model []int
	marks      []byte // one a request, 0: none
	lines      []chartLine
	clipped    bool // set by draw: raw leaves the picture
}

// chartLine is a named horizontal line. Of two that fall on one row the
// first is drawn.
type chartLine struct {
	name  string
	value int
}

// glyphs are what a chart is drawn with.
type glyphs struct {
	full, raw, line   rune
	part              []rune // heights 1..chartSteps-1 of a column's top
	axis, tick, floor rune
	corner            rune
}

var (
	unicodeGlyphs = glyphs{
		full: '█', raw: '░', line: '┄', part: []rune("▁▂▃▄▅▆▇"),
		axis: '│', tick: '┤', floor: '─', corner: '└',
	}
	asciiGlyphs = glyphs{
		full: '#', raw: '.', line: '-', part: []rune("   ####"),
		axis: '|', tick: '+', floor: '-', corner: '+',
	}
)

// cell is one character of the plot and what it shows.
type cell struct {
	r  rune
	st style
}

// draw gives the chart's lines. The same data gives the same lines always.
func (c *chart) draw(g glyphs, color bool) []string {
	n := len(c.model)
	if n == 0 {
		return nil
	}
	top := c.top()
	c.clipped = c.rawPeak() > top
	grid := make([][chartPlot]cell, chartRows) // grid[0] is the lowest row
	for y := range grid {
		for x := range grid[y] {
			grid[y][x].r = ' '
		}
	}
	var marks [chartPlot]byte
	for x := range chartPlot {
		from, to := bucket(x, n)
		model, raw := 0, 0
		for i := from; i < to; i++ {
			model, raw = max(model, c.model[i]), max(raw, c.raw[i])
			// Where one request is wider than a column the mark stands once.
			if c.marks[i] != 0 && (x == 0 || n >= chartPlot || firstColumn(i, n) == x) {
				marks[x] = stronger(marks[x], c.marks[i])
			}
		}
		drawColumn(grid, x, steps(raw, top), steps(model, top), g)
	}
	legends := c.thresholds(grid, top, g)
	var out []string
	for y := chartRows - 1; y >= 0; y-- {
		label, axis := "", g.axis
		if (y+1)%3 == 0 {
			label, axis = short((y+1)*top/chartRows), g.tick
		}
		line := strings.Repeat(" ", chartLabel-2-len(label)) + label + " " + string(axis) + paintCells(grid[y][:], color)
		if legends[y] != "" {
			line += " " + legends[y]
		}
		out = append(out, line)
	}
	out = append(out, "    0 "+string(g.corner)+strings.Repeat(string(g.floor), chartPlot))
	if m := strings.TrimRight(markLine(marks[:]), " "); m != "" {
		out = append(out, strings.Repeat(" ", chartLabel)+m)
	}
	return append(out, strings.Repeat(" ", chartLabel)+requestAxis(n))
}

func (c *chart) rawPeak() int {
	most := 0
	for _, n := range c.raw {
		most = max(most, n)
	}
	return most
}

// top is the chart's highest value: round, and above a threshold where that
// is not far. Where raw would make the model view unreadably low, raw leaves
// the picture.
func (c *chart) top() int {
	most := 1
	for _, n := range c.model {
		most = max(most, n)
	}
	for _, l := range c.lines {
		most = max(most, l.value)
	}
	const readable = 4
	if raw := c.rawPeak(); raw > readable*most {
		most *= 2
	} else {
		most = c.fitting(raw)
	}
	size := int(math.Pow10(int(math.Log10(float64(most)))))
	for _, m := range []int{10, 12, 16, 20, 24, 32, 40, 48, 60, 80, 100} {
		if t := size * m / 10; t >= most && t > 0 {
			return max(t, chartRows)
		}
	}
	return max(most, chartRows)
}

// fitting is the highest value to show where raw fits in.
func (c *chart) fitting(raw int) int {
	most := max(raw, 1)
	for _, n := range c.model {
		most = max(most, n)
	}
	for _, l := range c.lines {
		if l.value > most && l.value <= most+most/2 {
			most = l.value
		}
	}
	return most
}

// bucket is the range of requests that column x stands for.
func bucket(x, n int) (from, to int) {
	from, to = x*n/chartPlot, (x+1)*n/chartPlot
	return from, max(to, from+1)
}

// firstColumn is the first column of request i, where n < chartPlot.
func firstColumn(i, n int) int { return (i*chartPlot + n - 1) / n }

// steps is the height of value in eighths of a row.
func steps(value, top int) int {
	if value <= 0 {
		return 0
	}
	return min(max(1, (value*chartRows*chartSteps+top/2)/top), chartRows*chartSteps)
}

func drawColumn(grid [][chartPlot]cell, x, raw, model int, g glyphs) {
	for y := range grid {
		bottom := y * chartSteps
		switch {
		case model >= bottom+chartSteps:
			grid[y][x] = cell{g.full, cyan}
		case model > bottom:
			grid[y][x] = cell{g.part[model-bottom-1], cyan}
		case raw >= bottom+chartSteps/2:
			grid[y][x] = cell{g.raw, faint}
		}
	}
}

// thresholds draws the lines behind the bars and gives the names beside them,
// by row.
func (c *chart) thresholds(grid [][chartPlot]cell, top int, g glyphs) [chartRows]string {
	var legends [chartRows]string
	for _, l := range c.lines {
		if l.value <= 0 || l.value > top {
			continue
		}
		y := min(l.value*chartRows/top, chartRows-1)
		if legends[y] != "" {
			continue
		}
		legends[y] = cut(l.name+" "+short(l.value), chartLegend)
		for x := range grid[y] {
			if r := grid[y][x].r; r == ' ' || r == g.raw {
				grid[y][x] = cell{g.line, yellow}
			}
		}
	}
	return legends
}

// stronger is the mark that stays where two fall on one column.
func stronger(a, b byte) byte {
	if a == markCompaction || b == 0 {
		return a
	}
	return b
}

func markLine(marks []byte) string {
	out := make([]byte, len(marks))
	for i, m := range marks {
		out[i] = ' '
		if m != 0 {
			out[i] = m
		}
	}
	return string(out)
}

// requestAxis names the first, a middle and the last request.
func requestAxis(n int) string {
	last := thousands(n)
	if n == 1 {
		return "request 1"
	}
	line := []byte(strings.Repeat(" ", chartPlot))
	copy(line, "request 1")
	if middle := (n + 1) / 2; n > 4 {
		at := (middle - 1) * chartPlot / n
		if at > 12 {
			copy(line[at:], thousands(middle))
		}
	}
	copy(line[chartPlot-len(last):], last)
	return string(line)
}

// paintCells joins the cells of a row, one style a run of them.
func paintCells(cells []cell, color bool) string {
	var b strings.Builder
	for i := 0; i < len(cells); {
		j := i
		var run strings.Builder
		for ; j < len(cells) && cells[j].st == cells[i].st; j++ {
			run.WriteRune(cells[j].r)
		}
		b.WriteString(cells[i].st.paint(run.String(), color))
		i = j
	}
	return strings.TrimRight(b.String(), " ")
}
