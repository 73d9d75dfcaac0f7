package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report"
)

// SessionsOptions are what `ctxkit sessions` is asked for.
type SessionsOptions struct {
	Folders []string
	All     bool
	OutputOptions
}

const longSessions = `List the sessions of a project folder or of a whole projects tree. The
folder's sessions-index.json is checked against the files:

  listed    the index agrees with the file
  stale     the file has gone on since the index was written
  missing   in the index, but there is no file
  unlisted  a file that the index does not name

Default: $CLAUDE_CONFIG_DIR/projects (a list with commas), else
~/.claude/projects.`

func newSessions(sys *system) *cobra.Command {
	o := &SessionsOptions{}
	formats := formatNames(report.ListFormats)
	cmd := &cobra.Command{
		Use:   "sessions [DIR...]",
		Short: "List sessions and check their index against the files",
		Long:  longSessions,
		RunE: func(_ *cobra.Command, args []string) error {
			o.Folders = args
			if err := o.check(formats...); err != nil {
				return err
			}
			return runSessions(sys, o)
		},
	}
	o.flags(cmd, formats...)
	cmd.Flags().BoolVar(&o.All, "all", false, "leave nothing out of tables")
	return cmd
}

func runSessions(sys *system, o *SessionsOptions) error {
	folders, given := o.Folders, true
	if len(folders) == 0 {
		var err error
		if folders, err = defaultFolders(sys); err != nil {
			return err
		}
		given = false
	}
	msgs := &messages{w: sys.err, quiet: o.Quiet}
	var list []session.Info
	absent := 0
	for _, dir := range folders {
		infos, warnings, err := session.Discover(dir)
		if !given && errors.Is(err, fs.ErrNotExist) {
			absent++
			continue
		}
		if err != nil {
			return pathError(dir, err)
		}
		for _, w := range warnings {
			msgs.warn(w)
		}
		list = append(list, infos...)
	}
	if absent == len(folders) {
		return fmt.Errorf("%s: no such folder: name a folder of sessions, or set CLAUDE_CONFIG_DIR", strings.Join(folders, ", "))
	}
	out, err := o.create(sys, nil)
	if err != nil {
		return err
	}
	return out.close(report.Sessions(out, list, report.Layout{Format: report.Format(o.Format), Color: o.useColor(sys), Hints: reportHints(), All: o.All}))
}
