package report

import (
	"bytes"
	"cmp"
	_ "embed" // the template
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/template"

	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/sweep"
)

// The plot's area in the template, in pixels.
const plotLeft, plotTop, plotRight, plotBottom = 90, 50, 770, 450

//go:embed scatter.svg.tmpl
var scatterTemplate string

// scatter is what the template draws.
type scatter struct {
	Title, Front string
	X, Y         *scale
	Line         string // the points of the front of the two figures drawn
	Marks        []mark
}

// mark is one point of a sweep, in pixels.
type mark struct {
	X, Y, R    float64
	Fill, Text string
}

// sweepSVG draws the points of a sweep: the cost to the right, the mean size of a request upwards, misses as
// the size of the mark. The front is filled. A line joins the front of cost and size alone.
func sweepSVG(w io.Writer, s *sweep.Grid) error {
	x, y := newScale(s, s.By[0], plotLeft, plotRight), newScale(s, s.By[1], plotBottom, plotTop)
	size := newScale(s, "misses", 4, 14)
	d := &scatter{Title: sweepTitle(s), Front: strings.Join(frontTitles(s), ", "), X: x, Y: y}
	var plane [][]exact.Decimal
	var candidates []mark
	for i := range s.Results {
		d.Marks = append(d.Marks, mark{x.of(i), y.of(i), size.of(i), either(s.Front[i], "#c33", "none"), pointText(s, i)})
		if !s.Bound(i) {
			candidates = append(candidates, d.Marks[i])
			plane = append(plane, []exact.Decimal{x.values[i], y.values[i]})
		}
	}
	d.Line = frontLine(candidates, sweep.Front(plane))
	funcs := template.FuncMap{"xml": escaped, "px": func(x float64) string { return places(x, 1) }}
	var b bytes.Buffer
	if err := template.Must(template.New("scatter").Funcs(funcs).Parse(scatterTemplate)).Execute(&b, d); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// frontLine returns the points of the polyline through the marks on the front. One mark makes no line.
func frontLine(marks []mark, front []bool) string {
	var on []mark
	for i, m := range marks {
		if front[i] {
			on = append(on, m)
		}
	}
	if len(on) < 2 {
		return ""
	}
	slices.SortFunc(on, func(a, b mark) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	points := make([]string, len(on))
	for i, m := range on {
		points[i] = fmt.Sprintf("%.1f,%.1f", m.X, m.Y)
	}
	return strings.Join(points, " ")
}

// pointText lists a point's parameters and figures.
func pointText(s *sweep.Grid, i int) string {
	var parts []string
	for j, v := range s.Points[i] {
		parts = append(parts, s.Axes[j].Key+"="+v)
	}
	row := s.Results[i]
	row.Figures = s.Figures(&row)
	for _, name := range append(slices.Clone(s.By), "compactions") {
		if f := figure(&row, name); f.Total.Known {
			parts = append(parts, name+" "+figureText(name, f.Total))
		}
	}
	if s.Bound(i) {
		parts = append(parts, "infeasible: a bound")
	}
	return strings.Join(parts, ", ")
}

// escaped escapes a text for XML.
func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(Clean(s))) // a Buffer does not fail
	return b.String()
}

// scale maps a figure of the results to pixels.
type scale struct {
	Name     string
	values   []exact.Decimal // by result
	lo, hi   float64         // the values at the ends
	from, to float64         // the pixels at the ends
}

// newScale returns the scale of a figure, with a margin of 5 % at both ends.
func newScale(s *sweep.Grid, name string, from, to float64) *scale {
	c := &scale{Name: name, lo: math.Inf(1), hi: math.Inf(-1), from: from, to: to}
	for _, r := range pointRows(s) {
		v := figure(&r, name).Total
		c.values = append(c.values, v)
		if v.Known {
			c.lo, c.hi = min(c.lo, v.Float()), max(c.hi, v.Float())
		}
	}
	if c.lo > c.hi {
		c.lo, c.hi = 0, 1
	}
	margin := cmp.Or((c.hi-c.lo)*0.05, max(math.Abs(c.lo)*0.05, 0.5))
	c.lo, c.hi = c.lo-margin, c.hi+margin
	return c
}

// of returns the pixel of result i; an unknown figure is at the low end.
func (c *scale) of(i int) float64 {
	return c.at(either(c.values[i].Known, c.values[i].Float(), c.lo))
}

func (c *scale) at(v float64) float64 { return c.from + float64((c.to-c.from)*(v-c.lo)/(c.hi-c.lo)) }

// tick is a round value on an axis.
type tick struct {
	At   float64 // pixels
	Text string
}

// Baseline is the bottom of the text beside a tick of the vertical axis.
func (t tick) Baseline() float64 { return t.At + 4 }

const fewestTicks = 4

// Ticks returns the multiples of the largest step of 1, 2 or 5 times a power of ten that gives at least fewestTicks.
func (c *scale) Ticks() []tick {
	for power := math.Pow(10, math.Floor(math.Log10(c.hi-c.lo))); ; power /= 10 {
		for _, digit := range []float64{5, 2, 1} {
			step := digit * power
			first, last := math.Ceil(c.lo/step), math.Floor(c.hi/step)
			if last-first+1 < fewestTicks {
				continue
			}
			var list []tick
			for k := first; k <= last; k++ {
				list = append(list, tick{c.at(k * step), tickText(k*step, step, max(math.Abs(c.lo), math.Abs(c.hi)))})
			}
			return list
		}
	}
}

// tickText formats a multiple of a step with as many decimals as the step has, in thousands or millions if the axis
// goes that far.
func tickText(value, step, most float64) string {
	if value == 0 {
		return "0"
	}
	unit, letter := 1.0, ""
	switch {
	case most >= 1e6:
		unit, letter = 1e6, "M"
	case most >= 1e4:
		unit, letter = 1e3, "k"
	}
	digits := max(0, int(-math.Floor(math.Log10(step/unit)+1e-9)))
	return places(value/unit, digits) + letter
}
