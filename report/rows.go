package report

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/diff"
)

// RowList is a table for a program that moves through its rows. Each row takes one line.
type RowList struct{ g *grid }

func newRows(t *table, zone *time.Location) *RowList {
	for i := range t.columns {
		c := &t.columns[i]
		c.Cut = c.Cut || c.Flex
		c.Flex = false
	}
	return &RowList{t.in(zone).grid(0)}
}

// Fit lays the rows out for lines of w columns, with two spaces between cells. Numbers are aligned to the right.
func (r *RowList) Fit(w int) (titles []string, widths []int, cells [][]string) {
	r.g.width = w
	f := r.g.fit()
	for at, i := range f.shown {
		if f.stack || f.fold { // too narrow for a table: the first columns are cut
			f.widths = append(f.widths[:at], max(w/len(f.shown)-gap, 1))
		}
		titles = append(titles, alignedRight(r.g.columns[i].Title, f.widths[at], r.g.right[i]))
	}
	cells = make([][]string, len(r.g.rows))
	for n, row := range r.g.rows {
		for at, i := range f.shown {
			cells[n] = append(cells[n], alignedRight(oneSpaced(row[i]), f.widths[at], r.g.right[i]))
		}
	}
	return titles, f.widths, cells
}

func alignedRight(s string, w int, right bool) string {
	return either(right, strings.Repeat(" ", max(w-width(s), 0)), "") + s
}

// SessionRows are the sessions of a list, each by its Short.
func SessionRows(list []SessionItem, now time.Time) *RowList {
	t := tableOf[sessionCells]()
	for i := range list {
		sessionRow(t, &list[i], list[i].Short, now)
	}
	return newRows(t, nil)
}

// RequestRows are the main requests of a replay: what each sends, how much more that is than the one before sent, and what
// happened before it, with times in a zone. other, where it is not nil, is the replay of the session under a second policy.
func RequestRows(tl, other *replay.Timeline, zone *time.Location) *RowList {
	t := tableOf[stepCells]()
	fill := filler[stepCells, replay.Request]()
	own, _ := ownEvents(tl)
	var others []*replay.Request
	if other != nil {
		others = other.Main()
	}
	before := 0
	n := 0
	for i := range tl.Requests {
		r := &tl.Requests[i]
		if r.Kind != kindMain {
			continue
		}
		change := number(either(r.Payload > before, "+", "") + thousands(r.Payload-before))
		row := stepCells{Time: clock{r.Time, "01-02 15:04:05"}, Change: change, Cached: number(percent(r.Cache.Read, r.Payload)), What: joined("; ", requestWhat(tl, r, own[i])...)}
		if fill(&row, r); other != nil {
			row.Mark = either(others[n].Payload != r.Payload, "≠", "")
			row.Second = others[n].Payload
		}
		t.put(none, row)
		before = r.Payload
		n += 1
	}
	return newRows(t, zone)
}

// ContentRow is one block of a request, and what two views make of it.
type ContentRow struct {
	Target  policy.Target
	Line    int // of its message; 0: the policy made it
	About   string
	New     bool // no request before had it
	Raw     int  // tokens as recorded
	Changed bool // the views have it with different contents
	Left    diff.Side
	Right   diff.Side
}

// Differs reports whether the views show the block differently.
func (r *ContentRow) Differs() bool {
	return r.Changed || r.Left.Status != r.Right.Status || r.Left.Tokens != r.Right.Tokens
}

// ContentRows are the blocks of a request. Where left is the name of a policy, the rows show both views.
func ContentRows(list []ContentRow, left string) *RowList {
	return newRows(rowsOf(list, func(x *ContentRow, r *blockCells) style {
		if left != "" {
			r.Mark, r.Second, r.Tokens = either(x.Differs(), "≠", ""), blockState(x, &x.Left), x.Left.Tokens
		}
		r.Line, r.First = number(phraseIf(x.Line > 0, "%v", x.Line)), blockState(x, &x.Right)
		return none
	}), nil)
}

func blockState(r *ContentRow, s *diff.Side) string {
	if r.New && s.Status == diff.Kept {
		return "new"
	}
	return sideText(s)
}

// SideText says what became of a block in a view, and why.
func SideText(s *diff.Side) string { return sideText(s) + before(": ", s.Reason) }

// Verdict is a replay in one line, the most important first.
func Verdict(tl *replay.Timeline) string {
	t := &tl.Totals
	return tl.Policy + ": " + joined(", ", phraseIf(t.CostUSD.Known, "%v", usdText(t.CostUSD)), phraseIf(t.USD.Known, "billed %v", billCell(t.USD, t.AtLeast, 2)),
		phrase("peak %v of %v tokens", t.PayloadPeak, tl.Window), count(t.Requests, "request"), count(t.Compactions, "compaction"), count(t.Cleared, "result")+" cleared",
		phraseIf(t.Refused > 0, "%v refused", t.Refused))
}

// EventText says what an event of a replay is, why and at what.
func EventText(tl *replay.Timeline, e *replay.Event) string {
	return phrase("%v by %v%v: %v", kindText(e.Kind), actor(e.Stage), phraseIf(e.Before > 0, ", %v to %v tokens", e.Before, e.After), eventText(tl, e))
}

// ChartLayout says how TimelineChart draws.
type ChartLayout struct {
	Width, Rows int
	Request     int  // that is marked on the axis
	ByTime      bool // the axis is time, and pauses are gaps
	Color       bool
	Zone        *time.Location // of the axis of times; nil: UTC
}

// TimelineChart draws what the requests of a replay send, with the limits and the events, those of another replay too where
// other is not nil. It has three lines more than the rows of the layout.
func TimelineChart(tl, other *replay.Timeline, o ChartLayout) []string {
	c := timelineChart(tl)
	if other != nil {
		c.mark(other.Events)
	}
	c.rows = o.Rows
	c.cursor = o.Request - 1
	if o.ByTime {
		c.byTime(tl.Main(), max(o.Width-chartLabel-chartLegend-1, 20), o.Zone)
	}
	lines := c.draw(unicodeGlyphs, o.Width, o.Color)
	if len(lines) == o.Rows+2 { // no mark
		lines = slices.Insert(lines, o.Rows+1, "")
	}
	return lines
}

// byTime gives the chart a column for each of n equal parts of the session's time. A request without a time is where the
// one before it is.
func (c *chart) byTime(requests []*replay.Request, n int, zone *time.Location) {
	var first, last time.Time
	for _, r := range requests {
		if first.IsZero() || r.Time.Before(first) {
			first = r.Time
		}
		if r.Time.After(last) {
			last = r.Time
		}
	}
	span := last.Sub(first)
	if first.IsZero() || span <= 0 {
		return
	}
	by := &chart{raw: make([]int, n), model: make([]int, n), marks: make([]byte, n), lines: c.lines, rows: c.rows, cursor: -1}
	x := 0
	for i, r := range requests {
		if !r.Time.IsZero() {
			x = int(r.Time.Sub(first).Seconds() / span.Seconds() * float64(n-1))
		}
		by.raw[x] = max(by.raw[x], c.raw[i])
		by.model[x] = max(by.model[x], c.model[i])
		if c.marks[i] != 0 {
			by.marks[x] = stronger(by.marks[x], c.marks[i])
		}
		if i == c.cursor {
			by.cursor = x
		}
	}
	begin := timeText(first, "01-02 15:04", zone)
	end := timeText(last, "01-02 15:04", zone)
	by.axis = begin + strings.Repeat(" ", max(n-len(begin)-len(end), 1)) + end
	*c = *by
}

// FoundRow is a block with a text that was searched for.
type FoundRow struct {
	Target  policy.Target
	Request int // the first that sends it
	Line    int // of its message; 0: the policy made it
	About   string
	Text    string // about the place
	Second  bool   // only the second policy makes it
}

// MostFound is how many blocks a search lists.
const MostFound = 1000

// FoundText says how many blocks a search lists.
func FoundText(list []FoundRow) string {
	return either(len(list) == MostFound, "the first ", "") + count(len(list), "block")
}

// FoundRows are blocks with a text that was searched for.
func FoundRows(list []FoundRow) *RowList { return newRows(foundTable(list), nil) }

func foundTable(list []FoundRow) *table {
	return rowsOf(list, func(f *FoundRow, r *foundCells) style {
		r.Line = number(phraseIf(f.Line > 0, "%v", f.Line))
		return none
	})
}

// Found prints blocks with a text that was searched for.
func Found(w io.Writer, list []FoundRow, opt Layout) error {
	p := newPage(w, opt)
	p.table(foundTable(list))
	p.note(bold, FoundText(list))
	return p.end()
}
