package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report"
)

func newSessions(sys *system) *cobra.Command {
	o := &OutputOptions{}
	var folders []string
	return command(&cobra.Command{
		Use: "sessions [DIR...]", Short: "List sessions and check their index against the files",
		Args: arguments(&folders),
		Long: `List the sessions of a project folder or of a whole projects tree. The
folder's sessions-index.json is checked against the files:

  listed    the index agrees with the file
  stale     the file has changed since the index was written
  missing   in the index, but there is no file
  unlisted  a file that the index does not name

Default: $CLAUDE_CONFIG_DIR/projects (a comma-separated list), else
~/.claude/projects.`,
	}, func() error {
		list, err := findSessions(sys, folders, o.messages(sys))
		if err != nil {
			return err
		}
		return o.print(sys, func(w io.Writer, opt report.Layout) error { return report.Sessions(w, list, opt) })
	}, o.listing(report.ListFormats))
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
