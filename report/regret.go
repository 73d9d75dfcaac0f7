package report

import (
	"fmt"
	"io"
	"strconv"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/regret"
)

// RegretSchema is the version of the JSON form of a list of misses.
const RegretSchema = "ctxkit.regret/v1"

// mostMisses is how many misses of one conversation a table shows.
const mostMisses = 40

// regretSession is what one conversation's replay threw away too early.
type regretSession struct {
	Session string         `json:"session"`
	Agent   string         `json:"agent,omitempty"`
	File    string         `json:"file"`
	Policy  string         `json:"policy"`
	Counter string         `json:"counter"`
	Regret  *regret.Result `json:"regret"`
}

// regretText is the regret of a replay in one line.
func regretText(r *regret.Result) string {
	if len(r.Misses) == 0 {
		return fmt.Sprintf("nothing was missed of %s taken away", count(r.Removed, "block"))
	}
	return fmt.Sprintf("%s of %s taken away, %s tokens to fetch again, median distance %s; no choice within the budget has under %s, %s tokens",
		missesText(len(r.Misses)), count(r.Removed, "block"), thousands(r.Tokens), requestsText(r.MedianDistance),
		missesText(r.BoundMisses), thousands(r.BoundTokens))
}

func missesText(n int) string {
	if n == 1 {
		return "1 miss"
	}
	return thousands(n) + " misses"
}

func requestsText(n float64) string {
	s := strconv.FormatFloat(n, 'f', -1, 64) + " requests"
	if n == 1 {
		s = "1 request"
	}
	return s
}

// Regret lists what policies threw away too early. The timelines need no more
// than their names and their regret.
func Regret(w io.Writer, tls []*replay.Timeline, opt Options) error {
	l := &listing{
		table: &Table{Columns: []Column{
			{Title: "needed", Right: true}, {Title: "removed", Right: true}, {Title: "by"}, {Title: "tokens", Right: true},
			{Title: "what"}, {Title: "evidence", Flex: true},
		}},
		columns: []string{
			"session", "agent", "file", "policy", "needed_request", "removed_request", "distance", "stage", "kind", "tokens", "tool", "tool_use_id",
			"message", "line", "evidence", "quote", "used_by", "used_line",
		},
	}
	all := []regretSession{}
	hidden := 0
	for _, tl := range tls {
		all = append(all, regretSession{tl.Session, tl.Agent, tl.File, tl.Policy, tl.Counter, tl.Regret})
		if len(tls) > 1 {
			l.table.styled(bold, "", "", "", "", "", tl.Session+" "+tl.Agent)
		}
		for i := range tl.Regret.Misses {
			m := &tl.Regret.Misses[i]
			l.rows = append(l.rows, []string{
				tl.Session, tl.Agent, tl.File, tl.Policy, strconv.Itoa(m.Needed), strconv.Itoa(m.Removed), strconv.Itoa(m.Distance()), m.Stage, string(m.Kind),
				strconv.Itoa(m.Tokens), m.Tool, m.ToolUse, m.Message, strconv.Itoa(m.Line), string(m.Evidence), m.Quote, m.UsedBy, strconv.Itoa(m.UsedLine),
			})
			if !opt.All && i >= mostMisses {
				hidden++
				continue
			}
			l.table.Row(thousands(m.Needed), thousands(m.Removed), m.Stage+" "+string(m.Kind), thousands(m.Tokens),
				missed(m), fmt.Sprintf("%s, line %d: %s", m.Evidence, m.UsedLine, cut(Clean(m.Quote), 60)))
		}
		name := ""
		if len(tls) > 1 {
			name = tl.Session + ": "
		}
		l.notes = append(l.notes, name+regretText(tl.Regret))
	}
	if hidden > 0 {
		l.notes = append(l.notes, opt.Hints.hidden(missesText(hidden)+" more", "json and csv hold them"))
	}
	l.json = struct {
		Schema   string          `json:"schema"`
		Sessions []regretSession `json:"sessions"`
	}{RegretSchema, all}
	return l.print(w, opt)
}

// missed names the block that was missed.
func missed(m *regret.Miss) string {
	what := "text"
	if m.Tool != "" {
		what = m.Tool
	}
	return fmt.Sprintf("%s, line %d", what, m.Line)
}
