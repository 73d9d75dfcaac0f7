package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/memo"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/report"
)

// sessionsOptions are the flags of sessions and of resume.
type sessionsOptions struct {
	outputOptions
	inputOptions // --jobs alone
	sessionFilter
	Inputs []string // of sessions: folders, databases, files
}

// sessionList are the sessions that a command lists.
type sessionList struct {
	items   []report.SessionItem
	shown   int         // number of them that are read
	fail    func(error) // takes what cannot be read
	warn    func(...session.Warning)
	refused int // inputs of those
}

// list finds the sessions and reads the size and cost of those that are shown, up to most in a table.
func (o *sessionsOptions) list(sys *system, most int, find func(msgs *messages, failed func(error)) ([]session.FileInfo, error)) (*sessionList, error) {
	if err := o.inputOptions.check(); err != nil {
		return nil, err
	}
	var err error
	if o.now, err = sys.date(); err == nil {
		err = o.times(o.now, o.Zone.Location)
	}
	if err != nil {
		return nil, err
	}
	msgs := o.messages(sys)
	l := &sessionList{fail: msgs.unread, warn: msgs.warn}
	if len(o.Inputs) > 0 {
		l.fail = func(err error) { l.refused++; msgs.fail(err) }
	}
	list, err := find(msgs, l.fail)
	if err != nil {
		return nil, err
	}
	l.shown = len(list)
	if f := report.Format(o.Format); !o.All && o.By == "" && (f == report.FormatTable || f == report.FormatMarkdown) {
		l.shown = most // what is not shown need not be read
	}
	for _, i := range list[:min(l.shown, len(list))] {
		msgs.warn(sys.unread(preset.Client{Product: cmp.Or(i.Product, session.Product), Version: i.Version})...)
	}
	l.items, err = o.items(list, l.shown, func(items []report.SessionItem) error { return readGlances(sys, items, o.Jobs, o.Quiet, l.fail) })
	return l, err
}

func newSessions(sys *system) *cobra.Command {
	o := &sessionsOptions{inputOptions: inputOptions{Agent: "all"}}
	return command(&cobra.Command{
		SuggestFor: []string{"list", "ls"},
		Use:        "sessions [INPUT...]", Short: "List sessions with their size and cost, the last used first",
		Args: arguments(&o.Inputs),
		Long: `List the sessions of project folders, projects trees, databases or files, the
last used first: what they are about, how large they were, and what they were
billed by the recorded usage. Any command takes a session by the beginning of
its id, or by last, last~1 ... in the default folders; as FOLDER/ID in another.
Filters and --sort choose what is listed; --limit is applied after them.

The folder's sessions-index.json is checked against the files:

  listed    the index agrees with the file
  stale     the file has changed since the index was written
  missing   in the index, but there is no file
  unlisted  a file that the index does not name

Default: $CLAUDE_CONFIG_DIR/projects (a comma-separated list), else
~/.claude/projects, and the folders of other agents that are there; --source
lists the sessions of one agent.`,
		Example: `  ctxkit sessions --since 7d --sort cost --limit 10
  ctxkit sessions --by month --timezone local
  ctxkit sessions --project harbor --grep 'pricing|invoice'
  ctxkit sessions --model opus --since 2026-01-01 --until 2026-01-31 -f json`,
	}, func() error { return runSessions(sys, o) }, o.listing(report.ListFormats, report.SessionTables...), own(&o.inputOptions, "jobs"), own(&o.outputOptions, "by"), newPriceOptions(sys), &o.sessionFilter)
}

func runSessions(sys *system, o *sessionsOptions) error {
	l, err := o.list(sys, report.MostSessions, func(msgs *messages, failed func(error)) ([]session.FileInfo, error) {
		return findSessions(sys, o.Inputs, o.Quiet, msgs, failed)
	})
	if err != nil {
		return err
	}
	l.leaveOutCopies()
	if names := unpriced(sys.models(), l.items); len(names) > 0 {
		list := []session.Warning{{Message: "no price is known for " + strings.Join(names, ", "), Code: replay.CodeNoPrice}}
		addHints(list)
		l.warn(list...)
	}
	l.items = slices.DeleteFunc(l.items, func(i report.SessionItem) bool { // named files that were refused
		return i.Glance == nil && i.Path != "" && i.Changed.IsZero()
	})
	err = show(sys, &o.outputOptions, report.Sessions, l.items)
	if err == nil && l.refused > 0 {
		err = &partError{failed: l.refused, usable: true}
	}
	return err
}

// unpriced lists the models of sessions that a table has no price for.
func unpriced(table *price.Table, items []report.SessionItem) (names []string) {
	for _, i := range items {
		if i.Glance == nil || i.Unpriced == 0 {
			continue
		}
		for _, model := range i.Models {
			if _, known := table.Find(model); !known {
				names = append(names, strconv.Quote(model))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// leaveOutCopies leaves out each fork that has no calls but those of sessions that began before it.
func (l *sessionList) leaveOutCopies() {
	order := slices.DeleteFunc(slices.Clone(l.items), func(i report.SessionItem) bool { return i.Glance == nil || len(i.Billed) == 0 })
	slices.SortStableFunc(order, func(a, b report.SessionItem) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(len(a.Billed), len(b.Billed)), cmp.Compare(a.Path, b.Path))
	})
	copies := map[string]bool{}
	first := map[int64]string{} // by call: the session that recorded it first
	for _, i := range order {
		of := ""
		own := false
		for _, e := range i.Billed {
			if of = first[e.Key]; of == "" {
				own = true
				first[e.Key] = i.Path
			}
		}
		if delete(first, 0); own { // no other session has those
			continue
		}
		l.warn(session.Warning{File: i.Path, Message: "a fork without calls of its own: it is listed once, as " + of})
		copies[i.Path] = true
	}
	l.items = slices.DeleteFunc(l.items, func(i report.SessionItem) bool { return copies[i.Path] })
}

// readGlances reads the size and cost of sessions, or takes them from the cache. One that cannot be read is without, and
// reported.
func readGlances(sys *system, list []report.SessionItem, jobs int, quiet bool, failed func(error)) error {
	tables := map[string]*memo.Folder[replay.Glance]{}
	for i := range list {
		if dir := list[i].Folder; list[i].Path != "" && tables[dir] == nil && sys.tableText == nil { // what is kept is by the embedded table
			tables[dir] = memo.Open[replay.Glance](sys.kept(), "glances", dir)
		}
	}
	progress := newProgress(sys, quiet, "read", len(list))
	defer progress.clear()
	err := inOrder(len(list), jobs, func(i int) (*replay.Glance, error) {
		if list[i].Path == "" {
			return nil, nil
		}
		return keptGlance(tables[list[i].Folder], &list[i].FileInfo, sys.table)
	}, func(i int, g *replay.Glance, err error) error {
		if sys.interrupted() {
			return errInterrupted
		}
		progress.step()
		if err != nil {
			failed(err)
		}
		if list[i].Glance = g; g != nil && list[i].Last.IsZero() {
			list[i].Last = g.Ended
		}
		return nil
	})
	for _, t := range tables {
		_ = t.Save() // what cannot be kept is read again
	}
	return err
}

// keptGlance is readGlance, from the table where the session's files have not changed since.
func keptGlance(known *memo.Folder[replay.Glance], i *session.FileInfo, table *price.Table) (*replay.Glance, error) {
	files := session.FilesOf(i.Path)
	if _, _, ok := session.InDatabase(i.Path); !ok {
		for _, a := range i.Subagents {
			files = append(files, a.Path)
		}
	}
	stamp, err := memo.StampFiles(files...)
	if err != nil {
		known = nil // reading says what is wrong
	}
	name := filepath.Base(i.Path)
	if g, ok := known.Get(name, stamp); ok {
		if g.Models == nil {
			g.Models = []string{} // gob has no empty list
		}
		return &g, nil
	}
	g, err := readGlance(i, table)
	if err == nil {
		known.Put(name, stamp, *g)
	}
	return g, err
}

// readGlance reads a session with its subagents.
func readGlance(i *session.FileInfo, table *price.Table) (*replay.Glance, error) {
	sys := &system{infos: map[string]*session.FileInfo{i.Path: i}}
	convs, err := load(sys, i.Path, inputOptions{Agent: "all"}, 1, func(...session.Warning) {})
	if err != nil {
		return nil, err
	}
	defer convs.close()
	if err := convs.stopped(); err != nil {
		return nil, err
	}
	return replay.GlanceAt(convs.list[0].conv, conversationsOf(convs.list[1:]), table), nil
}

// sessionsIn is the folder or database that an argument names, or the files of the sessions that it names.
func sessionsIn(sys *system, arg string, warn func(...session.Warning)) (dir string, files []string, err error) {
	st, err := os.Stat(arg)
	if err != nil {
		if dirs, err := defaultFolders(sys); err == nil {
			if path, ok := below(dirs, arg); ok {
				return path, nil, nil
			}
		}
	} else if _, _, ok := session.InDatabase(arg); ok || st.IsDir() {
		return arg, nil, nil
	}
	in, err := resolve(sys, []string{arg}, warn)
	return "", in.list, err
}

// findSessions lists the sessions of folders, or of the default ones, which need not all exist.
// What cannot be read goes to failed.
func findSessions(sys *system, folders []string, quiet bool, msgs *messages, failed func(error)) ([]session.FileInfo, error) {
	given := len(folders) > 0
	if !given {
		var err error
		if folders, err = defaultFolders(sys); err != nil {
			return nil, err
		}
	}
	progress := newProgress(sys, quiet, "listed", 0)
	defer progress.clear()
	sys.listed = func(*session.FileInfo) { progress.step() }
	var list []session.FileInfo
	absent := 0
	var refused []error
	for _, dir := range folders {
		if given {
			path, in, err := sessionsIn(sys, dir, msgs.warn)
			if err != nil {
				refused = append(refused, err)
				continue
			}
			if list = append(list, describe(sys, in)...); path == "" {
				continue
			}
			dir = path
		}
		infos, warnings, err := discover(sys, dir, func(path string, err error) { progress.clear(); failed(pathError(path, err)) })
		if !given && errors.Is(err, fs.ErrNotExist) {
			absent++
			continue
		}
		if err != nil {
			refused = append(refused, pathError(dir, err))
			continue
		}
		sys.files.lists(dir)
		msgs.warn(warnings...)
		list = append(list, infos...)
	}
	for i, err := range refused {
		if i == 0 && absent+len(refused) == len(folders) {
			return nil, err
		}
		progress.clear()
		failed(err)
	}
	if absent == len(folders) {
		return nil, fmt.Errorf("%s: no such folder: name a folder of sessions, or set CLAUDE_CONFIG_DIR", strings.Join(folders, ", "))
	}
	list, warnings := session.Once(list)
	msgs.warn(warnings...)
	return list, nil
}
