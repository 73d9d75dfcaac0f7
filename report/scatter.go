package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/sweep"
)

// The picture of a sweep, in pixels.
const (
	pictureWidth, pictureHeight              = 800, 520
	plotLeft, plotTop, plotRight, plotBottom = 90, 50, 770, 450
	fewestTicks                              = 4
)

// sweepSVG draws the points of a sweep: cost to the right, peak upwards, misses
// as the size of the mark; the front is filled, that of cost and peak alone joined by a line.
func sweepSVG(w io.Writer, s *sweep.Result) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		pictureWidth, pictureHeight, pictureWidth, pictureHeight)
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	fmt.Fprintf(&b, `<text x="%d" y="26" font-size="15">%s</text>`+"\n", plotLeft, escaped(sweepTitle(s)))
	xName, yName := s.By[0], s.By[1]
	x := newScale(s, xName, plotLeft, plotRight)
	y := newScale(s, yName, plotBottom, plotTop)
	size := newScale(s, "misses", 4, 14)
	x.axis(&b, xName, true)
	y.axis(&b, yName, false)
	var line []string
	type at struct{ x, y float64 }
	var front []at
	for i, on := range planeFront(s) {
		if on {
			front = append(front, at{x.of(i), y.of(i)})
		}
	}
	slices.SortFunc(front, func(a, b at) int {
		if a.x != b.x {
			return sign(a.x - b.x)
		}
		return sign(a.y - b.y)
	})
	for _, p := range front {
		line = append(line, fmt.Sprintf("%.1f,%.1f", p.x, p.y))
	}
	if len(line) > 1 {
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="#c33" stroke-dasharray="4 3"/>`+"\n", strings.Join(line, " "))
	}
	for i := range s.Results {
		fill := "none"
		if s.Front[i] {
			fill = "#c33"
		}
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s" fill-opacity="0.6" stroke="#333"><title>%s</title></circle>`+"\n",
			x.of(i), y.of(i), size.of(i), fill, escaped(pointText(s, i)))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#555">filled: on the front of %s; larger: more misses</text>`+"\n",
		plotLeft, pictureHeight-12, escaped(strings.Join(frontTitles(s), ", ")))
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

func sign(d float64) int {
	switch {
	case d < 0:
		return -1
	case d > 0:
		return 1
	}
	return 0
}

// planeFront is the front of the two figures that are drawn: of the others only
// the size of a mark tells.
func planeFront(s *sweep.Result) []bool {
	values := make([][]float64, len(s.Results))
	for i := range s.Results {
		values[i] = []float64{figure(&s.Results[i], s.By[0]).Total, figure(&s.Results[i], s.By[1]).Total}
	}
	return sweep.Front(values)
}

// pointText is what a point is and what it came to.
func pointText(s *sweep.Result, i int) string {
	var parts []string
	for j, v := range s.Points[i] {
		parts = append(parts, s.Axes[j].Key+"="+v)
	}
	for _, name := range append(append([]string{}, s.By...), "compactions") {
		if f := figure(&s.Results[i], name); compare.Known(f.Total) {
			parts = append(parts, name+" "+figureText(name, f.Total))
		}
	}
	return strings.Join(parts, ", ")
}

// escaped makes a text fit for an XML document.
func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(Clean(s))) // a Buffer takes everything
	return b.String()
}

// scale maps a figure of the results to pixels.
type scale struct {
	s        *sweep.Result
	name     string
	lo, hi   float64
	from, to float64
}

func newScale(s *sweep.Result, name string, from, to float64) *scale {
	c := &scale{s: s, name: name, lo: math.Inf(1), hi: math.Inf(-1), from: from, to: to}
	for i := range s.Results {
		if v := figure(&s.Results[i], name).Total; compare.Known(v) {
			c.lo, c.hi = min(c.lo, v), max(c.hi, v)
		}
	}
	if c.lo > c.hi {
		c.lo, c.hi = 0, 1
	}
	d := (c.hi - c.lo) * 0.05 // marks stand clear of the axes
	if d == 0 {
		d = max(math.Abs(c.lo)*0.05, 0.5)
	}
	c.lo, c.hi = c.lo-d, c.hi+d
	return c
}

// of is where result i stands; one whose figure is not known stands at the
// low end.
func (c *scale) of(i int) float64 {
	v := figure(&c.s.Results[i], c.name).Total
	if !compare.Known(v) {
		v = c.lo
	}
	return c.at(v)
}

func (c *scale) at(v float64) float64 { return c.from + (c.to-c.from)*(v-c.lo)/(c.hi-c.lo) }

func (c *scale) axis(b *bytes.Buffer, name string, across bool) {
	for _, tick := range c.ticks() {
		at, text := c.at(tick.value), escaped(tick.text)
		if across {
			fmt.Fprintf(b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#eee"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", at, plotTop, at, plotBottom, at, plotBottom+18, text)
		} else {
			fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#eee"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", plotLeft, at, plotRight, at, plotLeft-8, at+4, text)
		}
	}
	if across {
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" fill="#555">%s</text>`+"\n", (plotLeft+plotRight)/2, plotBottom+38, escaped(name))
	} else {
		fmt.Fprintf(b, `<text transform="translate(22 %d) rotate(-90)" text-anchor="middle" fill="#555">%s</text>`+"\n", (plotTop+plotBottom)/2, escaped(name))
	}
}

// tick is a round value on an axis.
type tick struct {
	value float64
	text  string
}

// ticks are the multiples of a step of 1, 2 or 5 times a power of ten: the
// largest that gives fewestTicks of them.
func (c *scale) ticks() []tick {
	span := c.hi - c.lo
	power := math.Pow(10, math.Floor(math.Log10(span)))
	for {
		for _, digit := range []float64{5, 2, 1} {
			step := digit * power
			first, last := math.Ceil(c.lo/step), math.Floor(c.hi/step)
			if last-first+1 < fewestTicks {
				continue
			}
			var list []tick
			for k := first; k <= last; k++ {
				list = append(list, tick{k * step, tickText(k*step, step, max(math.Abs(c.lo), math.Abs(c.hi)))})
			}
			return list
		}
		power /= 10
	}
}

// tickText writes a multiple of a step with the digits that tell it from the
// next, in thousands or millions where the axis goes that far.
func tickText(value, step, most float64) string {
	unit, letter := 1.0, ""
	switch {
	case most >= 1e6:
		unit, letter = 1e6, "M"
	case most >= 1e4:
		unit, letter = 1e3, "k"
	}
	if value == 0 {
		return "0"
	}
	digits := max(0, int(-math.Floor(math.Log10(step/unit)+1e-9)))
	return places(value/unit, digits) + letter
}
