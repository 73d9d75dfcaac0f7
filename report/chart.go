package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Chart sizes: label, plot and the names of lines fill a line.
const (
	chartLabel  = 7  // "  240K " before the plot, its axis included
	chartRows   = 12 // rows of the plot, where no option sets it
	chartSteps  = 8  // heights a block can have within one row
	chartLegend = 12 // the names of lines, behind the plot and a space
)

// chart draws two series over requests: model, and raw above it, with horizontal lines and marks under the axis.
type chart struct {
	raw, model []int
	marks      []byte // by request, 0: none
	lines      []chartLine
	rows       int    // of the plot
	cursor     int    // index of the request that is marked on the axis; -1: none
	axis       string // below the plot; "": the numbers of requests
	clipped    bool   // set by draw: raw is higher than the chart
}

// chartLine is a named horizontal line. Of two on one row the first is drawn.
type chartLine struct {
	name  string
	value int
}

// glyphs are what a chart is drawn with.
type glyphs struct {
	full, raw, line   rune
	part              []rune // heights 1..chartSteps-1 of a column's top
	axis, tick, floor rune
	corner, cursor    rune
}

var (
	unicodeGlyphs = glyphs{'█', '░', '┄', []rune("▁▂▃▄▅▆▇"), '│', '┤', '─', '└', '▲'}
	asciiGlyphs   = glyphs{'#', '.', '-', []rune("   ####"), '|', '+', '-', '+', '^'}
)

// cell is one character of the plot and its style.
type cell struct {
	r  rune
	st style
}

// draw returns the lines of the chart, of at most w columns.
func (c *chart) draw(g glyphs, w int, color bool) []string {
	n := len(c.model)
	if n == 0 {
		return nil
	}
	plot := max(w-chartLabel-chartLegend-1, 20)
	top := c.top()
	c.clipped = slices.Max(c.raw) > top
	grid := make([][]cell, c.rows) // grid[0] is the lowest row
	for y := range grid {
		grid[y] = make([]cell, plot)
	}
	marks := []byte(strings.Repeat(" ", plot))
	for x := range plot {
		from := x * n / plot
		to := max((x+1)*n/plot, from+1)
		for i := from; i < to; i++ {
			// A request wider than a column has its mark at its first column.
			if c.marks[i] != 0 && (n >= plot || (i*plot+n-1)/n == x) {
				marks[x] = stronger(marks[x], c.marks[i])
			}
		}
		model := c.steps(slices.Max(c.model[from:to]), top)
		raw := c.steps(slices.Max(c.raw[from:to]), top)
		for y := range grid {
			grid[y][x] = g.cell(model-y*chartSteps, raw-y*chartSteps)
		}
	}
	legends := make([]string, c.rows)
	for _, l := range c.lines {
		if y := min(l.value*c.rows/top, c.rows-1); l.value > 0 && l.value <= top && legends[y] == "" {
			legends[y] = " " + cut(l.name+" "+short(l.value), chartLegend)
			g.drawLine(grid[y])
		}
	}
	var out []string
	for y := c.rows - 1; y >= 0; y-- {
		label := ""
		axis := g.axis
		if (y+1)%3 == 0 {
			label = short((y + 1) * top / c.rows)
			axis = g.tick
		}
		out = append(out, strings.Repeat(" ", chartLabel-2-len(label))+label+" "+string(axis)+paintCells(grid[y], color)+legends[y])
	}
	indent := strings.Repeat(" ", chartLabel)
	floor := []rune(strings.Repeat(string(g.floor), plot))
	if c.cursor >= 0 && c.cursor < n {
		floor[min((c.cursor*plot+n-1)/n, plot-1)] = g.cursor
	}
	out = append(out, "    0 "+string(g.corner)+string(floor))
	if m := strings.TrimRight(string(marks), " "); m != "" {
		out = append(out, indent+m)
	}
	return append(out, indent+cmp.Or(c.axis, requestAxis(n, plot)))
}

// cell returns a cell of the plot, for the steps that model and raw have above the bottom of its row.
func (g *glyphs) cell(model, raw int) cell {
	switch {
	case model >= chartSteps:
		return cell{g.full, cyan}
	case model > 0:
		return cell{g.part[model-1], cyan}
	case raw >= chartSteps/2:
		return cell{g.raw, faint}
	}
	return cell{r: ' '}
}

// drawLine draws a horizontal line behind the model view.
func (g *glyphs) drawLine(row []cell) {
	for x := range row {
		if r := row[x].r; r == ' ' || r == g.raw {
			row[x] = cell{g.line, yellow}
		}
	}
}

// top returns the chart's highest value: round, and above a line that is at most half higher than the data. Raw is
// cut off if it would make the model view unreadably low.
func (c *chart) top() int {
	const readable = 4
	raw := slices.Max(c.raw)
	fitting := max(raw, slices.Max(c.model), 1)
	highest := max(slices.Max(c.model), 1)
	for _, l := range c.lines {
		highest = max(highest, l.value)
		if l.value > fitting && l.value <= fitting+fitting/2 {
			fitting = l.value
		}
	}
	most := either(raw > readable*highest, 2*highest, fitting)
	size := int(math.Pow10(int(math.Log10(float64(most)))))
	for _, m := range []int{10, 12, 16, 20, 24, 32, 40, 48, 60, 80, 100} {
		if t := size * m / 10; t >= most && t > 0 {
			return max(t, c.rows)
		}
	}
	return max(most, c.rows)
}

// steps returns the height of value in steps of a row.
func (c *chart) steps(value, top int) int {
	most := c.rows * chartSteps
	return either(value <= 0, 0, min(max(1, (value*most+top/2)/top), most))
}

// stronger returns the mark to show where two are on one column.
func stronger(a, b byte) byte {
	return either(a == markCompaction, a, b)
}

// requestAxis labels the first, a middle and the last request.
func requestAxis(n, plot int) string {
	if n == 1 {
		return "request 1"
	}
	line := []byte(strings.Repeat(" ", plot))
	last := thousands(n)
	copy(line, "request 1")
	middle := (n + 1) / 2
	if at := (middle - 1) * plot / n; n > 4 && at > 12 {
		copy(line[at:], thousands(middle))
	}
	copy(line[plot-len(last):], last)
	return string(line)
}

// paintCells joins the cells of a row, one style a run of them.
func paintCells(cells []cell, color bool) string {
	var b strings.Builder
	var run []rune
	for i, c := range cells {
		run = append(run, c.r)
		if i+1 == len(cells) || cells[i+1].st != c.st {
			b.WriteString(c.st.paint(string(run), color))
			run = nil
		}
	}
	return strings.TrimRight(b.String(), " ")
}
