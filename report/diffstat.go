package report

import (
	"strings"

	"github.com/ctxkit/ctxkit/replay/diff"
)

// The width of the longest bar of a diffstat.
const (
	barWidth  = 20
	narrowBar = 10 // next to two columns of text
)

// stat prints the sums of a diff, as git does: a row per stage and request, and a bar for the tokens saved or added.
func (p *diffPage) stat() {
	p.line("")
	two := p.d.Against != againstRaw && p.d.From == 0
	before := "before"
	after := "after"
	bar := barWidth
	columns := columnsOf[changedCells]()
	if two {
		before = "left"
		after = "right"
		bar = narrowBar
		columns = sideColumns(p.left(), p.right())
	}
	t := newTable(columns, statColumns(before, after))
	rows := p.statRows()
	most := 1
	for _, r := range rows {
		most = max(most, abs(r.After-r.Before))
	}
	for _, r := range rows {
		st, line := statBar(r.After-r.Before, most, bar)
		t.add(st, append(r.texts(two), r.Messages, r.Before, r.After, line)...)
	}
	p.table(t)
}

// sum says what a diff comes to.
func (p *diffPage) sum() {
	changed, added := 0, 0
	for _, r := range p.statRows() {
		switch {
		case r.Same:
		case r.Left.Status == diff.Absent:
			added += r.Messages
		default:
			changed += r.Messages
		}
	}
	sum := p.d.After - p.d.Before
	from := p.d.Before
	change := percent(sum, from)
	switch {
	case from == 0 || sum > 9*from:
		change = "+" + thousands(sum)
	case sum > 0:
		change = "+" + change
	}
	p.note(bold, phrase("%v changed, %v added: %v to %v tokens (%v), without system prompt and tools", count(changed, "message"), added, from, p.d.After, change))
}

// statBar returns the bar of a change in tokens: w columns for the largest one.
func statBar(change, most, w int) (style, string) {
	n := max((abs(change)*w+most/2)/most, 1)
	switch {
	case change == 0:
		return faint, ""
	case change < 0:
		return red, strings.Repeat("-", n)
	}
	return green, strings.Repeat("+", n)
}

// screenful is how many rows can have a request each; more are folded.
const screenful = 16

// statSum is what one stage did at one request or, folded, at several.
type statSum struct {
	diff.Row
	leftTo, rightTo int // the last request
}

// statRows returns the sums, those of several requests in one row if there are more than a screenful.
func (p *diffPage) statRows() []statSum {
	var rows []statSum
	fold := len(p.d.Stat) > screenful && !p.Full
	at := map[diff.Row]int{}
	for _, r := range p.d.Stat {
		key := diff.Row{Left: r.Left, Right: r.Right, Same: r.Same}
		key.Left.Request = 0
		key.Right.Request = 0
		n, ok := at[key]
		if !ok || !fold {
			at[key] = len(rows)
			rows = append(rows, statSum{Row: r, leftTo: r.Left.Request, rightTo: r.Right.Request})
			continue
		}
		s := &rows[n]
		s.Messages += r.Messages
		s.Before += r.Before
		s.After += r.After
		s.Left.Request, s.leftTo = span(s.Left.Request, s.leftTo, r.Left.Request)
		s.Right.Request, s.rightTo = span(s.Right.Request, s.rightTo, r.Right.Request)
	}
	return rows
}

// span widens a span of requests; 0, after the last, is later than any.
func span(from, to, n int) (int, int) {
	to = either(n == 0 || to == 0, 0, max(to, n))
	if n > 0 && (from == 0 || n < from) {
		from = n
	}
	return from, to
}

// texts returns the cells that describe the row: one, or one per side.
func (r *statSum) texts(two bool) []any {
	text := sideText(&r.Right)
	switch {
	case r.Same && r.Left.Status == diff.Absent:
		text = "in no view"
	case r.Same && two:
		text = "the same in both"
	case r.Same:
		text = "unchanged"
	case two:
		return []any{statText(&r.Left, r.leftTo), statText(&r.Right, r.rightTo)}
	case r.rightTo != r.Right.Request:
		text = strings.Replace(text, " at request ", " at requests ", 1) + " to " + strings.TrimPrefix(requestText(r.rightTo), "#")
	}
	return []any{text, ""}[:either(two, 2, 1)]
}

// statText is a short sideText, from its request to another.
func statText(s *diff.Side, to int) string {
	if s.Stage == "" {
		return string(s.Status)
	}
	end := either(to != s.Request, "–"+strings.TrimPrefix(requestText(to), "#"), "")
	return string(s.Status) + " " + requestText(s.Request) + end + " " + s.Stage
}

func requestText(n int) string {
	return either(n == 0, "end", "#"+thousands(n))
}

func abs(n int) int { return max(n, -n) }
