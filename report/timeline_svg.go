package report

import (
	_ "embed" // the template
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// The plot of a timeline in its template, in pixels: tokens above, marks of events below it, then cost.
const (
	timelineLeft, timelineRight  = 56.0, 750.0
	timelineTop, timelineBottom  = 82.0, 320.0
	timelineMarks                = 334.0
	timelineDearest, timelineEnd = 352.0, 410.0
)

//go:embed timeline.svg.tmpl
var timelineTemplate string

// timelinePicture is what the template draws.
type timelinePicture struct {
	Title, About, Sent string
	Raw, Payload       string // paths
	Ticks, Limits      []tick
	Marks              []timelineMark
	Bars               []timelineBar
	Dearest, Last      string
	Height, Foot       int
}

// timelineMark is an event below the plot.
type timelineMark struct {
	Path string
	Line bool // a stroke, not an area
	Text string
}

// timelineBar is the cost of a request, or of the most expensive of several.
type timelineBar struct {
	X, Y, W, H float64
	Broken     bool // the cache was not read as far as it could have been
}

// timelineSVG returns the printer of a timeline as a picture. It takes one timeline.
func timelineSVG(w io.Writer, opt Layout) Printer[*replay.Timeline] {
	var one *replay.Timeline
	return Printer[*replay.Timeline]{Add: func(tl *replay.Timeline) error {
		if one != nil {
			return fmt.Errorf("format %q: a picture shows one conversation: name one", FormatSVG)
		}
		one = tl
		return nil
	}, Close: func() error {
		if one == nil {
			one = &replay.Timeline{}
		}
		return writeSVG(w, "timeline", timelineTemplate, newTimelinePicture(one, wordsOf(&opt)))
	}}
}

func newTimelinePicture(tl *replay.Timeline, w *words) *timelinePicture {
	d := &timelinePicture{Title: cut(w.title(tl), 90), About: joined(", ", cut(tl.Policy, 60), count(tl.Totals.Requests, "request"),
		phrase("largest %v of %v tokens raw", tl.Totals.PayloadPeak, tl.Totals.RawPeak), phraseIf(tl.Totals.CostUSD.Known, "USD %v", cents(tl.Totals.CostUSD))),
		Sent: "input tokens", Height: 366, Foot: 356}
	c := timelineChart(tl)
	n := len(c.model)
	d.Last = thousands(n)
	if n == 0 {
		return d
	}
	top := float64(c.top())
	y := func(v int) float64 {
		return timelineBottom - min(float64(v)/top, 1)*(timelineBottom-timelineTop)
	}
	for k := range 5 {
		v := c.top() * k / 4
		d.Ticks = append(d.Ticks, tick{y(v), short(v)})
	}
	columns := min(n, int(timelineRight-timelineLeft))
	d.Raw, d.Payload = areaPath(c.raw, columns, y), areaPath(c.model, columns, y)
	slices.SortStableFunc(c.lines, func(a, b chartLine) int { return b.value - a.value })
	last := 0.0
	for _, l := range c.lines {
		if l.value <= 0 || l.value > c.top() {
			continue
		}
		t := tick{At: y(l.value)}
		if t.At-last >= 13 {
			t.Text = cut(Clean(l.name), 15) + " " + short(l.value)
			last = t.At
		}
		d.Limits = append(d.Limits, t)
	}
	d.mark(tl, n)
	d.bars(tl, columns)
	if len(d.Bars) > 0 {
		d.Height = 436
		d.Foot = 428
	}
	return d
}

// areaPath is the area below a series, the highest of the requests of a column counts.
func areaPath(values []int, columns int, y func(int) float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%.1f %.1f", timelineLeft, timelineBottom)
	for x := range columns {
		v := y(slices.Max(values[x*len(values)/columns : (x+1)*len(values)/columns]))
		fmt.Fprintf(&b, "L%.1f %.1fL%.1f %.1f", columnAt(x, columns), v, columnAt(x+1, columns), v)
	}
	fmt.Fprintf(&b, "L%.1f %.1fZ", timelineRight, timelineBottom)
	return b.String()
}

// columnAt is the left end of a column.
func columnAt(x, columns int) float64 {
	return timelineLeft + float64(x)*(timelineRight-timelineLeft)/float64(columns)
}

// mark draws the events that change the payload; of other changes in one place one.
func (d *timelinePicture) mark(tl *replay.Timeline, n int) {
	at := map[int]int{}
	for k, r := range tl.Main() {
		at[r.N] = k
	}
	taken := map[string]bool{}
	for _, e := range tl.Events {
		if e.Request == nil || slices.Contains(unmarked, e.Kind) {
			continue
		}
		i, ok := at[*e.Request]
		if !ok {
			continue
		}
		x := (columnAt(i, n) + columnAt(i+1, n)) / 2
		m := timelineMark{Text: Clean(phrase("request %v: %v, %v to %v tokens", *e.Request, e.Stage, e.Before, e.After))}
		if e.Kind == policy.KindSummarize {
			m.Path = fmt.Sprintf("M%.1f %.1fh10l-5 10z", x-5, timelineMarks-6)
		} else {
			m.Path = fmt.Sprintf("M%.0f %.1fv10", x, timelineMarks-6)
			m.Line = true
		}
		if !taken[m.Path] {
			taken[m.Path] = true
			d.Marks = append(d.Marks, m)
		}
	}
}

// bars draws the cost of requests, the policy's own requests before them included.
func (d *timelinePicture) bars(tl *replay.Timeline, columns int) {
	type cost struct {
		nano   int64
		broken bool
	}
	var each []cost
	own := int64(0)
	for _, r := range tl.Requests {
		if r.Kind != kindMain {
			own += r.CostUSD.Nano
			continue
		}
		each = append(each, cost{r.CostUSD.Nano + own, r.Cache.Miss != nil && len(each) > 0})
		own = 0
	}
	by := make([]cost, columns)
	most := int64(0)
	for x := range by {
		for _, c := range each[x*len(each)/columns : (x+1)*len(each)/columns] {
			by[x] = cost{max(by[x].nano, c.nano), by[x].broken || c.broken}
		}
		most = max(most, by[x].nano)
	}
	if most <= 0 {
		return
	}
	d.Dearest = "$" + places(float64(most)/1e9, 2)
	for x, c := range by {
		left := columnAt(x, columns)
		right := columnAt(x+1, columns)
		h := float64(c.nano) / float64(most) * (timelineEnd - timelineDearest)
		if h >= 0.05 {
			d.Bars = append(d.Bars, timelineBar{X: left, Y: timelineEnd - h, W: max(right-left-either(right-left > 4, 1.0, 0), 0.5), H: h, Broken: c.broken})
		}
	}
}
