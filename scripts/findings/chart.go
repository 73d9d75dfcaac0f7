package main

import (
	"bytes"
	_ "embed" // the template
	"encoding/xml"
	"fmt"
	"math"
	"strings"
	"text/template"
)

//go:embed chart.svg.tmpl
var chartTemplate string

// chart is values with their intervals, one a row.
type chart struct {
	name, title, axis string
	ratio             bool // a logarithmic axis of ratios with a line at 1, else one of percent with a line at 0
	rows              []mark
}

// mark is a row of a chart. Without bounds it is a point alone, without a label a gap.
type mark struct {
	label            string
	value, low, high float64
	bounded          bool
	kind             int // its colour
}

// markOf is the row of a table with the columns change, low and high.
func markOf(label string, cells []cell, kind int) mark {
	m := mark{label: label, value: cells[0].value, kind: kind}
	if cells[1].known && cells[2].known {
		m.low, m.high, m.bounded = cells[1].value, cells[2].value, true
	}
	return m
}

// The picture in pixels.
const (
	chartLeft, chartRight = 320, 830
	chartTop, chartRow    = 46, 22
)

var colours = []string{"#1f5fa8", "#c2551b", "#3a7d44", "#777777"}

// svg draws the chart.
func (c *chart) svg() (string, error) {
	scale := func(x float64) float64 { return x }
	if c.ratio {
		scale = func(x float64) float64 { return math.Log(1 + x) }
	}
	low, high := 0.0, 0.0 // no change is always in the picture
	for _, m := range c.rows {
		for _, x := range m.ends() {
			low, high = min(low, scale(x)), max(high, scale(x))
		}
	}
	if high == low {
		high = low + 1
	}
	margin := 0.04 * (high - low)
	low, high = low-margin, high+margin
	at := func(x float64) string {
		return fmt.Sprintf("%.1f", chartLeft+(scale(x)-low)/(high-low)*(chartRight-chartLeft))
	}
	type row struct {
		Label, Text, At, Low, High, Colour string
		Y                                  int
	}
	data := struct {
		Title, Axis, Line string
		Height, Bottom    int
		Ticks             []struct{ At, Text string }
		Rows              []row
	}{Title: c.title, Axis: c.axis, Line: at(0), Bottom: chartTop + chartRow*len(c.rows)}
	data.Height = data.Bottom + 44
	ticks := c.ticks(low, high)
	decimals := 0
	if high-low < 0.05 {
		decimals = 1
	}
	for _, x := range ticks {
		words := fmt.Sprintf("%+.*f %%", decimals, 100*x)
		if zero(x, 1e-9) == 0 {
			words = "0"
		}
		if c.ratio {
			words = fmt.Sprintf("×%.4g", 1+x)
		}
		data.Ticks = append(data.Ticks, struct{ At, Text string }{at(x), strings.Replace(words, "-", "−", 1)})
	}
	for i, m := range c.rows {
		if m.label == "" {
			continue
		}
		r := row{Label: m.label, At: at(m.value), Colour: colours[m.kind%len(colours)], Y: chartTop + chartRow*i + chartRow/2}
		r.Text = m.label + ": " + change(m.value).shown
		if m.bounded {
			r.Low, r.High = at(m.low), at(m.high)
			r.Text += ", " + change(m.low).shown + " to " + change(m.high).shown
		}
		data.Rows = append(data.Rows, r)
	}
	parsed, err := template.New("chart").Funcs(template.FuncMap{"xml": escaped, "plus": func(a, b int) int { return a + b }}).Parse(chartTemplate)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = parsed.Execute(&b, data)
	return b.String(), err
}

func (m *mark) ends() []float64 {
	switch {
	case m.label == "":
		return nil
	case m.bounded:
		return []float64{m.value, m.low, m.high}
	}
	return []float64{m.value}
}

// ticks are round changes between two ends of the scaled axis.
func (c *chart) ticks(low, high float64) (list []float64) {
	if c.ratio {
		for _, r := range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50} {
			if x := math.Log(r); x >= low && x <= high {
				list = append(list, r-1)
			}
		}
		return list
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/3)))
	for _, times := range []float64{5, 2} {
		if (high-low)/(step*times) >= 4 {
			step *= times
			break
		}
	}
	for i := math.Ceil(low / step); i*step <= high; i++ {
		list = append(list, i*step)
	}
	return list
}

func escaped(s string) (string, error) {
	var b bytes.Buffer
	err := xml.EscapeText(&b, []byte(s))
	return b.String(), err
}
