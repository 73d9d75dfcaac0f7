package cmd

import (
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report"
)

// newestShown is how many sessions the first screen shows.
const newestShown = 8

// runFirst is ctxkit alone: on a terminal the first screen, elsewhere the help, so that no program that asks what ctxkit
// is has the user's sessions read.
func runFirst(sys *system, cmd *cobra.Command) error {
	if !sys.terminal {
		return cmd.Help()
	}
	now, err := sys.date()
	if err != nil {
		return err
	}
	dirs, err := defaultFolders(sys)
	if err != nil {
		return cmd.Help() // there is no home
	}
	if err := newPriceOptions(sys).check(); err != nil {
		return err
	}
	o := &outputOptions{Format: string(report.FormatTable), Color: "auto", now: now}
	progress := newProgress(sys, false, "listed", 0)
	sys.listed = func(*session.FileInfo) { progress.step() }
	list := known(sys, dirs)
	progress.clear()
	items := report.SessionItems(list)
	s := &report.Start{Folder: strings.Join(homely(sys, dirs), ", "), Sessions: len(items), Newest: items[:min(newestShown, len(items))]}
	if err := readGlances(sys, s.Newest, runtime.GOMAXPROCS(0), false, o.messages(sys).unread); err != nil {
		return err
	}
	s.Commands = firstCommands(s)
	return show(sys, o, report.PrintStart, s)
}

// homely are folders by ~, where they are in the user's home.
func homely(sys *system, dirs []string) []string {
	home, err := sys.home()
	for i, dir := range dirs {
		if rest, ok := strings.CutPrefix(dir, home+string(filepath.Separator)); ok && err == nil {
			dirs[i] = filepath.Join("~", rest)
		}
	}
	return dirs
}

// firstCommands are what can be asked of the sessions that the first screen shows.
func firstCommands(s *report.Start) []report.CommandLine {
	newest, dear := -1, -1 // of those with a request
	for i := range s.Newest {
		g := s.Newest[i].Glance
		if g == nil || g.Requests == 0 {
			continue
		}
		if newest < 0 {
			newest = i
		}
		if dear < 0 || g.CostUSD.Nano > s.Newest[dear].CostUSD.Nano {
			dear = i
		}
	}
	var list []report.CommandLine
	if newest >= 0 {
		name := s.Newest[newest].Short
		if newest == 0 {
			name = "last"
		}
		list = append(list,
			ask("what fills its context", "stats", name),
			ask("what the prompt cache lost, and why", "why", name),
			ask("request by request, as it was recorded", name),
			ask("under other policies: tokens, dollars, what was missed", "compare", s.Newest[dear].Short),
			ask("the most expensive sessions", "sessions", "--sort", "cost", "--limit", "10"),
			ask("browse all of them in the terminal", "explore"))
	} else {
		list = append(list, ask("see it work, on a session that is built in", "demo"),
			ask("the sessions of another folder", "sessions", "DIR"))
	}
	return append(list, ask("all commands", "--help"))
}
