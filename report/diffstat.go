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
	most := 1
	for i := range p.d.Stat {
		most = max(most, abs(p.d.Stat[i].After-p.d.Stat[i].Before))
	}
	changed, added := 0, 0
	for i := range p.d.Stat {
		r := &p.d.Stat[i]
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

func (p *diffPage) statRow(t *Table, r *diff.Row, two bool, most int) {
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
		cells = append([]string{statText(&r.Left), statText(&r.Right)}, cells...)
	default:
		cells = append([]string{sideText(&r.Right)}, cells...)
	}
	t.styled(st, cells...)
}

// statText is sideText in few words.
func statText(s *diff.Side) string {
	if s.Stage == "" {
		return string(s.Status)
	}
	at := "end"
	if s.Request > 0 {
		at = "#" + thousands(s.Request)
	}
	return string(s.Status) + " " + at + " " + s.Stage
}

func abs(n int) int { return max(n, -n) }
