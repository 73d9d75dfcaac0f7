package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/report"
)

// SessionsOptions are the flags of sessions.
type SessionsOptions struct {
	OutputOptions
	InputOptions // --jobs alone
	SessionFilter
	Folders []string
}

func newSessions(sys *system) *cobra.Command {
	o := &SessionsOptions{InputOptions: InputOptions{Agent: "all"}}
	return command(&cobra.Command{
		SuggestFor: []string{"list", "ls"},
		Use:        "sessions [DIR...]", Short: "List sessions with their size and cost, the last used first",
		Args: arguments(&o.Folders),
		Long: `List the sessions of a project folder or of a whole projects tree, the last used
first: what they are about, how large they were, and what they were billed by
the recorded usage. Any command takes a session by the beginning of its id, or
by last, last~1 ... in the default folders. Filters and --sort choose what is
listed; --limit is applied after them.

The folder's sessions-index.json is checked against the files:

  listed    the index agrees with the file
  stale     the file has changed since the index was written
  missing   in the index, but there is no file
  unlisted  a file that the index does not name

Default: $CLAUDE_CONFIG_DIR/projects (a comma-separated list), else
~/.claude/projects.`,
		Example: `  ctxkit sessions --since 7d --sort cost --limit 10
  ctxkit sessions --project harbor --grep 'pricing|invoice'
  ctxkit sessions --model opus --since 2026-01-01 --until 2026-01-31 -f json`,
	}, func() error { return runSessions(sys, o) }, o.listing(report.ListFormats, report.SessionTables...), flag(o.jobs), &o.SessionFilter)
}

func runSessions(sys *system, o *SessionsOptions) error {
	if err := o.InputOptions.check(); err != nil {
		return err
	}
	now, err := sys.date()
	if err != nil {
		return err
	}
	if err := o.times(now); err != nil {
		return err
	}
	msgs := o.messages(sys)
	list, err := findSessions(sys, o.Folders, msgs)
	if err != nil {
		return err
	}
	shown := len(list)
	if f := report.Format(o.Format); !o.All && (f == report.FormatTable || f == report.FormatMarkdown) {
		shown = report.MostSessions // what is not shown need not be read
	}
	items, err := o.items(list, shown, func(items []report.SessionItem) error { return o.glances(sys, items, msgs) })
	if err != nil {
		return err
	}
	return o.print(sys, func(w io.Writer, opt report.Layout) error { return report.Sessions(w, items, now, opt) })
}

// glances reads the size and cost of sessions. One that cannot be read is without, and reported.
func (o *SessionsOptions) glances(sys *system, list []report.SessionItem, msgs *messages) error {
	progress := newProgress(sys, o.Quiet, "read", len(list))
	defer progress.clear()
	return inOrder(len(list), o.Jobs, func(i int) (*replay.Glance, error) {
		if list[i].Path == "" {
			return nil, nil
		}
		convs, err := load(list[i].Path, nil, o.InputOptions, 1, func(...session.Warning) {})
		if err != nil {
			return nil, err
		}
		defer convs.close()
		if err := convs.stopped(); err != nil {
			return nil, err
		}
		var agents []*session.Conversation
		for _, c := range convs.list[1:] {
			agents = append(agents, c.conv)
		}
		return replay.GlanceAt(convs.list[0].conv, agents, nil)
	}, func(i int, g *replay.Glance, err error) error {
		progress.step()
		if err != nil {
			msgs.warn(session.Warning{Message: err.Error()})
		}
		list[i].Glance = g
		return nil
	})
}

// findSessions lists the sessions of folders, or of the default ones, which need not all exist.
func findSessions(sys *system, folders []string, msgs *messages) ([]session.FileInfo, error) {
	given := len(folders) > 0
	if !given {
		var err error
		if folders, err = defaultFolders(sys); err != nil {
			return nil, err
		}
	}
	var list []session.FileInfo
	absent := 0
	for _, dir := range folders {
		if _, err := os.Stat(dir); given && err != nil {
			if dirs, err := defaultFolders(sys); err == nil {
				if path, ok := below(dirs, dir); ok {
					dir = path
				}
			}
		}
		infos, warnings, err := session.Discover(dir)
		if !given && errors.Is(err, fs.ErrNotExist) {
			absent++
			continue
		}
		if err != nil {
			return nil, pathError(dir, err)
		}
		msgs.warn(warnings...)
		list = append(list, infos...)
	}
	if absent == len(folders) {
		return nil, fmt.Errorf("%s: no such folder: name a folder of sessions, or set CLAUDE_CONFIG_DIR", strings.Join(folders, ", "))
	}
	return list, nil
}
