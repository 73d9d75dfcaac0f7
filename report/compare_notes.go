package report

import (
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/replay/compare"
)

// inputsText counts the inputs that failed and the conversations left out.
func inputsText(in compare.Inputs) string {
	text := ""
	if in.Failed > 0 {
		text = fmt.Sprintf("; %d of %s failed", in.Failed, count(in.Given, "input"))
	}
	if n := len(in.Empty); n > 0 {
		text += fmt.Sprintf("; %d without a request left out", n)
	}
	return text
}

// emptyNotes names the conversations left out.
func emptyNotes(list []compare.Source) []string {
	var names []string
	for _, s := range list {
		name := sourceName(s)
		if s.Malformed > 0 {
			name += " (" + count(s.Malformed, "malformed line") + ")"
		}
		names = append(names, name)
	}
	return someNamed("left out, because they have no request: ", names, "")
}

// unpricedNotes names the models without a price, and a session of each.
func unpricedNotes(list []compare.Unpriced, hints *Hints) []string {
	var names []string
	for _, u := range list {
		where := sourceName(u.First)
		if u.Sessions > 1 {
			where += fmt.Sprintf(" and %s more", thousands(u.Sessions-1))
		}
		names = append(names, fmt.Sprintf("%q (%s)", u.Model, where))
	}
	return someNamed("no cost: no price is known for ", names, before("; ", hints.Prices))
}

// someNamed returns a note that names the first of some things, or no note.
func someNamed(text string, names []string, end string) []string {
	const most = 3
	if len(names) == 0 {
		return nil
	}
	text += strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %s more", thousands(len(names)-most))
	}
	return []string{text + end}
}

func sourceName(s compare.Source) string {
	if s.Agent != "" {
		return s.File + " (agent " + s.Agent + ")"
	}
	return s.File
}

// lostNotes counts the lines that could not be read.
func lostNotes(c *compare.Comparison, hints *Hints) []string {
	lines, files := 0, 0
	for i := range c.Sessions {
		if s := &c.Sessions[i]; s.Malformed > 0 {
			lines += s.Malformed
			files++
		}
	}
	if lines == 0 {
		return nil
	}
	return []string{"malformed lines left out: " + thousands(lines) + " in " + count(files, "session") + before("; ", hints.Lint)}
}

// differText names the session in which the policies differ most.
func differText(c *compare.Comparison) string {
	s := c.Sessions[c.Differ]
	text := fmt.Sprintf("most different: %s, %s against %s", s.Session, c.Policies[c.DifferPolicy].Name, c.Policies[0].Name)
	if c.DifferFigure != "payload_input" {
		text += ", by " + c.DifferFigure
	}
	if s.Input == "-" {
		return text + "; to see why, give the session as a file, not as standard input"
	}
	return text + "; to see why:"
}

// commandLines returns the commands that show the difference.
func commandLines(c *compare.Comparison, hints *Hints) []string {
	var lines []string
	for _, words := range c.Commands {
		lines = append(lines, hints.commandLine(words))
	}
	return lines
}
