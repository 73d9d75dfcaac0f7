package report

import (
	"io"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Start is the first screen: the sessions that were used last, and what can be asked of them.
type Start struct {
	Folder   string // of the sessions, or several
	Sessions int    // in it
	Newest   []SessionItem
	Commands []CommandLine
}

// CommandLine is a command, and what it answers.
type CommandLine struct {
	Words []string
	What  string
}

// startColumns are the columns of sessions that the first screen has.
var startColumns = []string{"session", "age", "project", "title", "requests", "last", "USD"}

// PrintStart prints the first screen.
func PrintStart(w io.Writer, s *Start, opt Layout) error {
	t := tableOf[sessionCells]()
	for i := range t.columns {
		if !slices.Contains(startColumns, t.columns[i].Title) {
			t.columns[i].Title = ""
		}
	}
	p := newPage(w, opt)
	if len(s.Newest) == 0 {
		p.note(bold, phrase("No sessions in %v.", s.Folder))
	} else {
		p.note(bold, phrase("%v in %v, the last used %v.", count(s.Sessions, "session"), s.Folder, ago(opt.Now, &s.Newest[0].FileInfo)))
	}
	p.line("")
	for i := range s.Newest {
		sessionRow(t, &s.Newest[i], s.Newest[i].Short, opt.Now)
	}
	if len(s.Newest) > 0 {
		g := t.grid(p.lineWidth())
		hidden, err := g.text(&p.buf, p.Color)
		if err != nil {
			return err
		}
		p.note(faint, phraseIf(!slices.Contains(hidden, "last"), "last: tokens of its last request. ")+"USD: billed by the recorded usage, subagents included.")
		p.line("")
	}
	p.asks(s.Commands)
	return p.end()
}

// PrintCommands prints commands below a heading and a text.
func PrintCommands(w io.Writer, heading, text string, list []CommandLine, opt Layout) error {
	p := newPage(w, opt)
	p.line("")
	p.line(p.paint(bold, heading))
	p.note(none, text)
	p.line("")
	p.asks(list)
	return p.end()
}

// ago is how long ago a session was used, in a sentence.
func ago(now time.Time, i *session.FileInfo) string {
	switch age := Age(now, i.Used()); age {
	case "":
		return "at an unknown time"
	case "now":
		return "just now"
	default:
		return age + " ago"
	}
}

// asks prints commands, each with what it answers: next to it, or below where the line is too short.
func (p *page) asks(list []CommandLine) {
	widest := 0
	for _, c := range list {
		widest = max(widest, width(p.Hints.commandLine(c.Words)))
	}
	indent := 2 + widest + gap
	for _, c := range list {
		line := p.Hints.commandLine(c.Words)
		if rest := p.lineWidth() - indent; rest >= leastAside {
			p.wrapped(none, "  "+line+spaces(indent-2-width(line)), spaces(indent), c.What)
			continue
		}
		p.commands(c.Words)
		p.wrapped(faint, "    ", "    ", c.What)
	}
}

// leastAside is the narrowest text next to a command, columns.
const leastAside = 30

func spaces(n int) string { return string(slices.Repeat([]byte{' '}, n)) }
