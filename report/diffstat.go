package report

import (
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/replay/diff"
)

// How many columns the longest bar of a diffstat takes.
const (
	barWidth  = 24
	narrowBar = 10 // where two columns say what became of messages
)

// stat prints the sums of a diff, as git does: a row for each way in which
// messages are shown, and a bar for the tokens it saved or cost.
func (p *diffPage) stat() {
	p.line("")
	two := p.d.Against != againstRaw && p.d.From == 0
	numbers := []Column{{Title: "messages", Right: true}, {Title: "before", Right: true}, {Title: "after", Right: true}, {Title: "tokens", Max: barWidth}}
	t := &Table{Columns: append([]Column{{Title: "what became of them"}}, numbers...)}
	if two {
		numbers[1].Title, numbers[2].Title, numbers[3].Max = "left", "right", narrowBar
		t.Columns = append([]Column{{Title: p.left(), Max: 32}, {Title: p.right(), Max: 32}}, numbers...)
	}
	rows := p.statRows()
	most := 1
	for i := range rows {
		most = max(most, abs(rows[i].After-rows[i].Before))
	}
	changed, added := 0, 0
	for i := range rows {
		r := &rows[i]
		switch {
		case r.Same:
		case r.Left.Status == diff.Absent:
			added += r.Messages
		default:
			changed += r.Messages
		}
		p.statRow(t, r, two, most)
	}
	p.table(t)
	before, after := p.d.Before, p.d.After
	change := percent(after-before, before)
	switch {
	case before == 0 || after > 10*before:
		change = "+" + thousands(after-before)
	case after > before:
		change = "+" + change
	}
	p.note(bold, fmt.Sprintf("%s changed, %s added: %s to %s tokens (%s)", count(changed, "message"), thousands(added), thousands(before), thousands(after), change))
}

// screenful is how many rows tell each request; more are folded.
const screenful = 16

// statSum is what one stage did at one request or, folded, at several.
type statSum struct {
	diff.Row
	leftTo, rightTo int // the last request, where it is another than the first
}

// statRows are the sums, those of several requests in one row where there are
// too many to be read at a glance.
func (p *diffPage) statRows() []statSum {
	var rows []statSum
	fold := len(p.d.Stat) > screenful && !p.full
	at := map[diff.Row]int{}
	for _, r := range p.d.Stat {
		key := diff.Row{Left: r.Left, Right: r.Right, Same: r.Same}
		key.Left.Request, key.Right.Request = 0, 0
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
	switch {
	case n == 0 || to == 0:
		to = 0
	default:
		to = max(to, n)
	}
	if n > 0 && (from == 0 || n < from) {
		from = n
	}
	return from, to
}

func (p *diffPage) statRow(t *Table, r *statSum, two bool, most int) {
	w := t.Columns[len(t.Columns)-1].Max
	delta := r.After - r.Before
	bar, st := "", faint
	if delta != 0 {
		n := max((abs(delta)*w+most/2)/most, 1)
		bar, st = strings.Repeat("+", n), green
		if delta < 0 {
			bar, st = strings.Repeat("-", n), red
		}
	}
	cells := []string{thousands(r.Messages), thousands(r.Before), thousands(r.After), bar}
	switch {
	case r.Same && r.Left.Status == diff.Absent:
		cells = append([]string{"in neither view"}, append(make([]string, len(t.Columns)-len(cells)-1), cells...)...)
	case r.Same && two:
		cells = append([]string{"the same in both", ""}, cells...)
	case r.Same:
		cells = append([]string{"unchanged"}, cells...)
	case two:
		cells = append([]string{statText(&r.Left, r.leftTo), statText(&r.Right, r.rightTo)}, cells...)
	default:
		text := sideText(&r.Right)
		if r.rightTo != r.Right.Request {
			text = strings.Replace(text, " at request ", " at requests ", 1) + " to " + strings.TrimPrefix(requestText(r.rightTo), "#")
		}
		cells = append([]string{text}, cells...)
	}
	t.styled(st, cells...)
}

// statText is sideText in few words, from its request to another.
func statText(s *diff.Side, to int) string {
	if s.Stage == "" {
		return string(s.Status)
	}
	at := requestText(s.Request)
	if to != s.Request {
		at += "–" + strings.TrimPrefix(requestText(to), "#")
	}
	return string(s.Status) + " " + at + " " + s.Stage
}

func requestText(n int) string {
	if n == 0 {
		return "end"
	}
	return "#" + thousands(n)
}

func abs(n int) int { return max(n, -n) }
