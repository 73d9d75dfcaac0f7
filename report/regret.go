package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/regret"
)

// RegretSchema is the version of the JSON form of a list of content needed later.
const RegretSchema = "ctxkit.regret/v1"

// mostMisses is how many blocks needed later of one conversation a table shows.
const mostMisses = 40

// regretSession is the regret of the replay of one conversation.
type regretSession struct {
	named
	Regret *regret.Regret `json:"regret"`
}

// regretText describes the regret of replays in one line.
func regretText(tls ...*replay.Timeline) string {
	list := make([]*regret.Regret, len(tls))
	for i, tl := range tls {
		list[i] = tl.Regret
	}
	t := regret.Sum(list)
	if tls[0].Policy == "recorded" {
		if t.Removed == 0 {
			return "nothing was removed by the client"
		}
		return phrase("%v removed by the client, and %v of them read again later. What else the agent would have needed is unknown: do not compare this with the figures of other policies.",
			count(t.Removed, "block"), t.Rereads)
	}
	text := phrase("%v of %v needed later", t.Misses, count(t.Removed, "removed block"))
	if t.Misses == 0 {
		return text
	}
	text += phrase(" (%v re-read, %v edited, %v quoted)", t.Rereads, t.Edits, t.Quotes)
	text += phrase("; reading them again takes %v tokens", t.Tokens)
	if t.Cost.Known {
		text += phrase(", and %s USD with the requests for it", t.Cost.Text(4))
	}
	if len(list) > 1 {
		return text
	}
	d := list[0].MedianDistance
	return text + phrase("; half of them were needed within %v request%v of their removal", unrounded(d), either(d == 1, "", "s"))
}

// Regret lists the blocks that policies removed and that were needed later: those of one conversation, or of several
// how many of each. Of the timelines it reads the names, the lines and the regret; use says what the policy's name meant.
func Regret(w io.Writer, tls []*replay.Timeline, use policy.Use, opt Layout) error {
	var all []regretSession
	every := tableOf[missCells]()
	for _, tl := range tls {
		all = append(all, regretSession{names(tl), tl.Regret})
		every.rows = append(every.rows, missTable(tl).rows...)
	}
	return (&document{
		page: func(p *page) {
			if len(tls) > 1 {
				missSums(p, tls)
			}
			for _, tl := range tls {
				if len(tls) == 1 || p.Verbose && len(tl.Regret.Misses) > 0 {
					missPage(p, tl)
				}
			}
			useNotes(p, use)
		},
		json: func() any { return object{{"schema", RegretSchema}, {"sessions", all}} },
		csv:  func() *table { return every },
	}).print(w, opt)
}

// missPage prints what is missed in one conversation.
func missPage(p *page, tl *replay.Timeline) {
	p.heading(sessionTitle(tl.Session, tl.Agent) + ", under " + tl.Policy)
	p.note(bold, regretText(tl))
	p.fields(field{"requests", heldText(recordedRequests(tl), "")})
	p.top("", missTable(tl), mostMisses, "block", "json and csv contain them")
}

// missTable has a row for each block needed later.
func missTable(tl *replay.Timeline) *table {
	return rowsOf(tl.Regret.Misses, func(m *regret.Miss, r *missCells) style {
		r.Session, r.Agent, r.File, r.Policy, r.Distance = tl.Session, tl.Agent, tl.File, tl.Policy, m.Distance()
		r.By = m.Stage + " " + string(m.Kind)
		r.What = fmt.Sprintf("%s, line %d", cmp.Or(m.Tool, "text"), m.Line)
		r.Shown = fmt.Sprintf("%s, line %d: %s", m.Evidence, m.UsedLine, cut(Clean(m.Quote), 60))
		return none
	})
}

// missSums prints what is missed in several conversations, with a row for each where anything is.
func missSums(p *page, tls []*replay.Timeline) {
	p.note(bold, count(len(tls), "session")+": "+regretText(tls...))
	p.fields(field{"requests", heldText(recordedRequests(tls...), "")})
	some := slices.DeleteFunc(slices.Clone(tls), func(tl *replay.Timeline) bool { return len(tl.Regret.Misses) == 0 })
	p.table(rowsOf(some, func(tl **replay.Timeline, row *missSumCells) style {
		r := (*tl).Regret
		row.Session = strings.TrimSpace((*tl).Session + " " + (*tl).Agent)
		row.Misses = len(r.Misses)
		row.ReRead, row.Edited, row.Quoted = r.Count(regret.Reread), r.Count(regret.Edited), r.Count(regret.Quoted)
		return none
	}))
	nothing := len(tls) - len(some)
	p.note(none, phraseIf(nothing > 0, "In %v nothing was missed.", count(nothing, "session")))
	p.note(faint, either(p.Verbose, "", p.Hints.Pages))
}
