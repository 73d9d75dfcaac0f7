package report

import (
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/replay/compare"
)

// mostNamed is how many sessions or models a note names.
const mostNamed = 3

// inputsText says how many of the inputs failed and how many conversations are
// left out, where some are.
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

// emptyNotes name the conversations that are left out.
func emptyNotes(list []compare.Source) []string {
	if len(list) == 0 {
		return nil
	}
	var names []string
	for _, s := range list[:min(len(list), mostNamed)] {
		name := sourceName(s)
		if s.Malformed > 0 {
			name += " (" + count(s.Malformed, "malformed line") + ")"
		}
		names = append(names, name)
	}
	return []string{"without a request, so left out: " + strings.Join(names, ", ") + andMore(len(list))}
}

// andMore says how many there are beside those that are named.
func andMore(n int) string {
	if n <= mostNamed {
		return ""
	}
	return fmt.Sprintf(" and %s more", thousands(n-mostNamed))
}

func sourceName(s compare.Source) string {
	if s.Agent != "" {
		return s.File + " (agent " + s.Agent + ")"
	}
	return s.File
}

// unpricedNotes name the models that have no price, and where they are asked.
func unpricedNotes(list []compare.Unpriced, hints *Hints) []string {
	if len(list) == 0 {
		return nil
	}
	var names []string
	for _, u := range list[:min(len(list), mostNamed)] {
		where := sourceName(u.First)
		if u.Sessions > 1 {
			where += fmt.Sprintf(" and %s more", thousands(u.Sessions-1))
		}
		names = append(names, fmt.Sprintf("%q (%s)", u.Model, where))
	}
	return []string{"no dollars, tokens only: no price is known for " + strings.Join(names, ", ") + andMore(len(list)) + before("; ", hints.Prices)}
}

// lostNotes say what of the sessions could not be read.
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

// commandLines are the commands that show why, a line each.
func commandLines(c *compare.Comparison, hints *Hints) []string {
	var lines []string
	for _, words := range c.Commands {
		lines = append(lines, "  "+hints.commandLine(words))
	}
	return lines
}

// oneLine is the commands that show why, as one line for a shell.
func oneLine(c *compare.Comparison, hints *Hints) string {
	var lines []string
	for _, words := range c.Commands {
		lines = append(lines, hints.commandLine(words))
	}
	return strings.Join(lines, " && ")
}
