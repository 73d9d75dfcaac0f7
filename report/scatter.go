package report

import (
	"bytes"
	"cmp"
	_ "embed" // the template
	"encoding/xml"
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

// scatter is a picture of the points of a sweep: what the template and the page draw.
type scatter struct {
	Title  string `json:"-"`
	Front  string `json:"front"`
	X      axis   `json:"x"`
	Y      axis   `json:"y"`
	Marks  []mark `json:"marks"`
	Hidden int    `json:"hidden"` // marks without a label: there is no room for one
}

// axis is a figure with its ticks.
type axis struct {
	Name  string `json:"name"`
	Ticks []tick `json:"ticks"`
}

// mark is one place of the picture, in pixels, and all points of the sweep that are there.
type mark struct {
	X     float64  `json:"x"`
	Y     float64  `json:"y"`
	R     float64  `json:"r"`
	Front bool     `json:"on_front"`
	Texts []string `json:"texts"` // parameters and figures, one of each point
	Label string   `json:"label"` // the values of the parameters
	// The label's place; Anchor is "" where there is no room for it.
	LabelX float64 `json:"label_x"`
	LabelY float64 `json:"label_y"`
	Anchor string  `json:"anchor"`
}

// Text is what all points of the mark are.
func (m *mark) Text() string { return strings.Join(m.Texts, "; ") }

// newScatter places the points of a sweep: the cost to the right, the mean size of a request upwards, content needed
// later as the size of the mark. The Pareto front is filled. Points in one place are one mark.
func newScatter(s *sweep.Grid) *scatter {
	x := newScale(s, s.By[0], plotLeft, plotRight)
	y := newScale(s, "payload_mean", plotBottom, plotTop)
	size := newScale(s, "misses", 4, 14)
	var front []string
	for _, by := range s.By {
		front = append(front, titleOf(by))
	}
	d := &scatter{Title: sweepTitle(s), Front: strings.Join(front, " and "), X: axis{axisWords(x.Name), x.Ticks()}, Y: axis{axisWords(y.Name), y.Ticks()}, Marks: []mark{}}
	at := map[[3]string]int{}
	names := [][]string{}
	for i := range s.Results {
		one := mark{X: x.of(i), Y: y.of(i), R: size.of(i), Front: s.Front[i]}
		place := [3]string{places(one.X, 1), places(one.Y, 1), places(one.R, 1)}
		k, ok := at[place]
		if !ok {
			k = len(d.Marks)
			at[place] = k
			d.Marks = append(d.Marks, one)
			names = append(names, nil)
		}
		m := &d.Marks[k]
		m.Front = m.Front || s.Front[i]
		m.Texts = append(m.Texts, Clean(pointText(s, i)))
		names[k] = append(names[k], strings.Join(s.Points[i], ", "))
	}
	for k := range d.Marks {
		d.Marks[k].Label = Clean(strings.Join(someOf(names[k], 2), " | "))
	}
	d.Hidden = placeLabels(d.Marks)
	return d
}

// axisWords is the name of a figure with its unit.
func axisWords(name string) string {
	return cmp.Or(map[string]string{"cost_usd": "cost, USD", "payload_mean": "mean request, tokens", "payload_input": "sent, tokens"}[name], name)
}

// someOf is the first of a list, and how many more there are.
func someOf(list []string, most int) []string {
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), phrase("%v more", len(list)-most))
}

// rectangle is a part of the picture, in pixels.
type rectangle struct{ left, top, right, bottom float64 }

func (r rectangle) meets(o rectangle) bool {
	return r.left < o.right && o.left < r.right && r.top < o.bottom && o.top < r.bottom
}

// The size of labels, in pixels: of a column of text, and of a line.
const labelColumn, labelHeight = 6.1, 12.0

// placeLabels gives each mark a place for its label that no other mark or label covers, those on the Pareto front first. It
// returns how many got none.
func placeLabels(marks []mark) (hidden int) {
	order := make([]int, len(marks))
	taken := make([]rectangle, 0, 2*len(marks))
	for i, m := range marks {
		order[i] = i
		taken = append(taken, rectangle{m.X - m.R, m.Y - m.R, m.X + m.R, m.Y + m.R})
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(either(marks[a].Front, 0, 1), either(marks[b].Front, 0, 1)) })
	for _, i := range order {
		m := &marks[i]
		m.Label = cut(m.Label, 44)
		w := labelColumn * float64(width(m.Label))
		gap := m.R + 4
		diagonal := 0.7*m.R + 3
		for _, p := range []struct {
			x, y   float64 // of the text's baseline
			anchor string
		}{
			{m.X + gap, m.Y + 4, "start"}, {m.X - gap, m.Y + 4, "end"}, {m.X, m.Y - gap, "middle"}, {m.X, m.Y + gap + 9, "middle"},
			{m.X + diagonal, m.Y - diagonal, "start"}, {m.X + diagonal, m.Y + diagonal + 9, "start"},
			{m.X - diagonal, m.Y - diagonal, "end"}, {m.X - diagonal, m.Y + diagonal + 9, "end"},
		} {
			left := p.x - map[string]float64{"start": 0, "middle": w / 2, "end": w}[p.anchor]
			r := rectangle{left, p.y - 10, left + w, p.y - 10 + labelHeight}
			if r.left < plotLeft || r.right > plotRight+25 || r.top < plotTop-14 || r.bottom > plotBottom ||
				slices.ContainsFunc(taken, r.meets) {
				continue
			}
			m.LabelX = p.x
			m.LabelY = p.y
			m.Anchor = p.anchor
			taken = append(taken, r)
			break
		}
		hidden += either(m.Anchor == "", 1, 0)
	}
	return hidden
}

// sweepSVG draws the points of a sweep.
func sweepSVG(w io.Writer, s *sweep.Grid) error {
	return writeSVG(w, "scatter", scatterTemplate, newScatter(s))
}

// writeSVG fills a template of a picture.
func writeSVG(w io.Writer, name, text string, data any) error {
	funcs := template.FuncMap{"xml": escaped, "px": func(x float64) string { return places(x, 1) }}
	var b bytes.Buffer
	if err := template.Must(template.New(name).Funcs(funcs).Parse(text)).Execute(&b, data); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// pointText lists a point's parameters and figures.
func pointText(s *sweep.Grid, i int) string {
	var parts []string
	for j, v := range s.Points[i] {
		parts = append(parts, s.Axes[j].Key+"="+v)
	}
	row := s.Results[i]
	row.Figures = row.Common
	for _, name := range []string{s.By[0], "payload_mean", "misses", "compactions"} {
		if f := figure(&row, name); f.Total.Known {
			parts = append(parts, name+" "+figureText(name, f.Total))
		}
	}
	if row.Bound {
		parts = append(parts, "infeasible: a lower bound")
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
		c.lo = 0
		c.hi = 1
	}
	margin := cmp.Or((c.hi-c.lo)*0.05, max(math.Abs(c.lo)*0.05, 0.5))
	c.lo -= margin
	c.hi += margin
	return c
}

// of returns the pixel of result i; an unknown figure is at the low end.
func (c *scale) of(i int) float64 {
	return c.at(either(c.values[i].Known, c.values[i].Float(), c.lo))
}

func (c *scale) at(v float64) float64 { return c.from + float64((c.to-c.from)*(v-c.lo)/(c.hi-c.lo)) }

// tick is a round value on an axis.
type tick struct {
	At   float64 `json:"at"` // pixels
	Text string  `json:"text"`
}

// Baseline is the bottom of the text next to a tick of the vertical axis.
func (t tick) Baseline() float64 { return t.At + 4 }

const fewestTicks = 4

// Ticks returns the multiples of the largest step of 1, 2 or 5 times a power of ten that gives at least fewestTicks.
func (c *scale) Ticks() []tick {
	for power := math.Pow(10, math.Floor(math.Log10(c.hi-c.lo))); ; power /= 10 {
		for _, digit := range []float64{5, 2, 1} {
			step := digit * power
			first := math.Ceil(c.lo / step)
			last := math.Floor(c.hi / step)
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
	unit := 1.0
	letter := ""
	switch {
	case most >= 1e6:
		unit = 1e6
		letter = "M"
	case most >= 1e4:
		unit = 1e3
		letter = "k"
	}
	digits := max(0, int(-math.Floor(math.Log10(step/unit)+1e-9)))
	return places(value/unit, digits) + letter
}
