package report

import (
	"cmp"
	"fmt"
	"io"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/regret"
)

// RegretSchema is the version of the JSON form of a list of misses.
const RegretSchema = "ctxkit.regret/v1"

// mostMisses is how many misses of one conversation a table shows.
const mostMisses = 40

// regretSession is the regret of the replay of one conversation.
type regretSession struct {
	named
	Regret *regret.Regret `json:"regret"`
}

// regretText describes the regret of replays in one line.
func regretText(tls ...*replay.Timeline) string {
	list, sessions := make([]*regret.Regret, len(tls)), make([]string, len(tls))
	for i, tl := range tls {
		list[i], sessions[i] = tl.Regret, tl.Session
	}
	t := regret.Sum(list, sessions)
	text := phrase("%v of %v", count(t.Misses, "miss"), count(t.Removed, "removed block"))
	if t.Misses == 0 {
		return text
	}
	text += phrase(" (%v re-read, %v edited, %v quoted)", t.Rereads, t.Edits, t.Quotes)
	if t.Edits+t.Quotes > 0 {
		text += fmt.Sprintf("; edits and quotes by chance: %s, ", t.Expected.Text(1))
		switch {
		case !t.Lower.Known:
			text += "too few sessions to say whether these are more"
		case t.Chance():
			text += "these are no more than chance"
		default:
			text += fmt.Sprintf("these are %s more (90 %% over sessions: %s to %s)", t.Beyond.Text(1), t.Lower.Text(1), t.Upper.Text(1))
		}
	}
	text += phrase("; %v tokens to fetch again", t.Tokens)
	if t.Cost.Known {
		text += fmt.Sprintf(", %s USD", t.Cost.Text(4))
	}
	if len(list) > 1 {
		return text
	}
	r := list[0]
	text += phrase("; median distance %v request%v", unrounded(r.MedianDistance), either(r.MedianDistance == 1, "", "s"))
	if b := r.Bound; b != nil && b.Misses > 0 {
		text += phrase("; within %v tokens a choice that knows the future misses at least %v", b.Budget, b.Misses)
	}
	return text
}

// Regret lists the blocks that policies removed and that were needed later. Of the timelines it reads the names and
// the regret; use says what the policy's name meant.
func Regret(w io.Writer, tls []*replay.Timeline, use policy.Use, opt Layout) error {
	t := newTable(keys("session agent file policy"), []column{{Title: "needed", Key: "needed_request"}, {Title: "removed", Key: "removed_request"}, {Key: "distance"}, {Title: "by"}},
		keys("stage kind"), []column{{Title: "tokens", Key: "tokens"}, {Title: "what"}},
		keys("tool tool_use_id message line evidence quote used_by used_line"), []column{{Title: "evidence", Flex: true}})
	var all []regretSession
	var notes []string
	hidden := 0
	for _, tl := range tls {
		all = append(all, regretSession{names(tl), tl.Regret})
		name := ""
		if len(tls) > 1 {
			name = tl.Session + ": "
			t.last(bold, tl.Session+" "+tl.Agent).noCSV = true
		}
		for i := range tl.Regret.Misses {
			r := missRow(t, &all[len(all)-1].named, &tl.Regret.Misses[i])
			if r.noTab = !opt.All && i >= mostMisses; r.noTab {
				hidden++
			}
		}
		notes = append(notes, name+regretText(tl))
	}
	if len(tls) > 1 {
		notes = append(notes, "all: "+regretText(tls...))
	}
	if hidden > 0 {
		notes = append(notes, opt.Hints.hidden(hidden, "miss", "json and csv contain them"))
	}
	return listing(t, object{{"schema", RegretSchema}, {"sessions", all}}, notes...).after(use).print(w, opt)
}

func missRow(t *table, of *named, m *regret.Miss) *row {
	return t.add(none, of.Session, of.Agent, of.File, of.Policy, m.Needed, m.Removed, m.Distance(), m.Stage+" "+string(m.Kind), m.Stage, m.Kind, m.Tokens,
		fmt.Sprintf("%s, line %d", cmp.Or(m.Tool, "text"), m.Line), m.Tool, m.ToolUse, m.Message, m.Line, m.Evidence, m.Quote,
		m.UsedBy, m.UsedLine,
		fmt.Sprintf("%s, line %d: %s", m.Evidence, m.UsedLine, cut(Clean(m.Quote), 60)))
}
