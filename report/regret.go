package report

import (
	"cmp"
	"fmt"
	"io"
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
			return "the recorded session lost nothing"
		}
		return phrase("%v of %v that the recorded session had lost. Anything else that the agent lacked is unknown, so this figure compares with no policy's",
			count(t.Rereads, "re-read"), count(t.Removed, "block"))
	}
	text := phrase("%v of %v needed later", t.Misses, count(t.Removed, "removed block"))
	if t.Misses == 0 {
		return text
	}
	text += phrase(" (%v re-read, %v edited, %v quoted)", t.Rereads, t.Edits, t.Quotes)
	text += phrase("; reading them again takes %v tokens", t.Tokens)
	if t.Cost.Known {
		text += fmt.Sprintf(", and %s USD with the requests for it", t.Cost.Text(4))
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
	every := newTable(missColumns...)
	for _, tl := range tls {
		all = append(all, regretSession{names(tl), tl.Regret})
		missRows(every, tl, true)
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
	p.fields(field{"requests", heldText(heldLines(tl), 0, "")})
	t := newTable(missColumns...)
	hidden := missRows(t, tl, p.All)
	p.table(t)
	p.hidden(hidden, "block", "json and csv contain them")
}

// missRows adds a row for each block needed later, those that are not shown for CSV alone.
func missRows(t *table, tl *replay.Timeline, all bool) (hidden int) {
	of := names(tl)
	for i := range tl.Regret.Misses {
		r := missRow(t, &of, &tl.Regret.Misses[i])
		if r.noTab = !all && i >= mostMisses; r.noTab {
			hidden++
		}
	}
	return hidden
}

// missSums prints what is missed in several conversations, with a row for each where anything is.
func missSums(p *page, tls []*replay.Timeline) {
	p.note(bold, count(len(tls), "session")+": "+regretText(tls...))
	p.fields(field{"requests", heldText(heldLines(tls...), 0, "")})
	t := newTable(missSumColumns)
	nothing := 0
	for _, tl := range tls {
		r := tl.Regret
		if len(r.Misses) == 0 {
			nothing++
			continue
		}
		t.add(none, strings.TrimSpace(tl.Session+" "+tl.Agent), len(r.Misses), r.Removed, r.Count(regret.Reread), r.Count(regret.Edited), r.Count(regret.Quoted),
			r.Tokens, r.USD)
	}
	p.table(t)
	p.note(none, phraseIf(nothing > 0, "In %v nothing was missed.", count(nothing, "session")))
	p.note(faint, either(p.Verbose, "", p.Hints.Pages))
}

func missRow(t *table, of *named, m *regret.Miss) *row {
	return t.add(none, of.Session, of.Agent, of.File, of.Policy, m.Needed, m.Removed, m.Distance(), m.Stage+" "+string(m.Kind), m.Stage, m.Kind, m.Tokens,
		fmt.Sprintf("%s, line %d", cmp.Or(m.Tool, "text"), m.Line), m.Tool, m.ToolUse, m.Message, m.Line, m.Evidence, m.Quote,
		m.UsedBy, m.UsedLine,
		fmt.Sprintf("%s, line %d: %s", m.Evidence, m.UsedLine, cut(Clean(m.Quote), 60)))
}
