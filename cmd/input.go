package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/database"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/strict"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/price"
)

// inputs are the session files that the arguments name.
type inputs struct {
	list    []string         // paths; "-" for standard input
	several bool             // the arguments allow several files, however many there are
	broken  map[string]error // by path: those that cannot be read, each once for certain

	// Of a shard: how many inputs there are with those of the others, which of them list has, and a digest of their names.
	all   int
	at    []int
	names string
}

// add adds the inputs that another argument names.
func (in *inputs) add(more inputs) {
	in.list = append(in.list, more.list...)
	in.several = in.several || more.several
	if in.broken == nil {
		in.broken = map[string]error{}
	}
	maps.Copy(in.broken, more.broken)
}

// resolveOne is resolve for a command of one session.
func resolveOne(sys *system, args []string, msgs *messages) (string, error) {
	switch {
	case len(args) == 0:
		return "", errors.New("no input: name a session file, a session id, or - for standard input")
	case len(args) > 1:
		return "", fmt.Errorf("%d inputs: name one session", len(args))
	}
	in, err := resolve(sys, args, msgs.warn)
	if err != nil {
		return "", err
	}
	if len(in.list) != 1 {
		return "", fmt.Errorf("%s: %d sessions: name one", args[0], len(in.list))
	}
	return in.list[0], in.broken[in.list[0]]
}

// resolve finds the session files that the arguments name: files, "-", folders, and what choose knows.
func resolve(sys *system, args []string, warn func(...session.Warning)) (in inputs, err error) {
	if len(args) == 0 {
		return in, fmt.Errorf("no input: name a session file, a folder, a session id, or - for standard input")
	}
	in.several = len(args) > 1
	defer func() {
		in.list = in.once(warn)
		for _, path := range in.list {
			sys.files.readsSession(roleInput, path)
		}
	}()
	stdin := false
	for _, arg := range args {
		if arg == "-" {
			if stdin {
				return in, fmt.Errorf("-: standard input can be read only once: name it once")
			}
			stdin = true
			sys.files.readsStream(sys.in)
			in.list = append(in.list, "-")
			continue
		}
		st, err := os.Stat(arg)
		switch {
		case err == nil && st.IsDir():
			found, err := folderInputs(sys, arg, warn)
			if err != nil {
				return in, err
			}
			in.add(found)
		case err == nil:
			if _, _, ok := session.InDatabase(arg); ok {
				found, err := folderInputs(sys, arg, warn)
				if err != nil {
					return in, err
				}
				in.add(found)
				continue
			}
			in.list = append(in.list, arg)
		case errors.Is(err, fs.ErrNotExist):
			found, err := choose(sys, arg, warn)
			if err != nil {
				return in, err
			}
			in.add(found)
		default:
			return in, pathError(arg, err)
		}
	}
	return in, nil
}

// Inputs are the session files that the arguments of a command name, in their order, and what is wrong with those of them
// that cannot be read: for programs that hand them to machines one by one. Warnings are left out.
func Inputs(args []string) (list []string, broken map[string]error, err error) {
	in, err := resolve(newSystem(strings.NewReader(""), io.Discard, io.Discard), args, func(...session.Warning) {})
	return in.list, in.broken, err
}

// describe says of session files what their folders' listing does: of one that is not listed the id alone. The folder of a
// file is listed where others of it are named too.
func describe(sys *system, paths []string) (list []session.FileInfo) {
	named := map[string]int{}
	for _, path := range paths {
		named[filepath.Dir(path)]++
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		if sys.info(path) == nil && path != "-" {
			of := path
			if file, _, ok := session.InDatabase(path); ok {
				of = file
				dir = file
			} else if named[dir] > 1 {
				of = dir
			}
			sys.files.lists(dir)
			_, _, _ = discover(sys, of, nil) // what it does not list is named by its file
		}
		if info := sys.info(path); info != nil {
			list = append(list, *info)
			continue
		}
		id, _ := session.SessionID(filepath.Base(path))
		list = append(list, session.FileInfo{ID: id, Path: path, Folder: dir, Subagents: []session.Subagent{}})
	}
	return list
}

// once leaves out the files that are named before, by whatever path.
func (in *inputs) once(warn func(...session.Warning)) (list []string) {
	before := map[string]string{}
	folders := map[string]string{}
	for _, path := range in.list {
		file := oneFile(path, folders)
		if first, twice := before[file]; twice {
			warn(session.Warning{File: path, Message: "named twice" + beforeText(path, first) + ": it counts once"})
			continue
		}
		before[file] = path
		list = append(list, path)
	}
	return list
}

func beforeText(path, first string) string {
	if path == first {
		return ""
	}
	return ", first as " + first
}

// oneFile is a name that all paths of a file have, through symbolic links. Folders are those whose names are known.
func oneFile(path string, folders map[string]string) string {
	if path == "-" {
		return path
	}
	st, err := os.Lstat(path)
	if err != nil || st.Mode()&fs.ModeSymlink != 0 {
		return realName(path)
	}
	dir, name := filepath.Split(path)
	if folders[dir] == "" {
		folders[dir] = realName(cmp.Or(dir, "."))
	}
	return filepath.Join(folders[dir], name)
}

func realName(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// folderInputs are the sessions of a folder, subagents' files left out, and what cannot be read of it.
func folderInputs(sys *system, dir string, warn func(...session.Warning)) (in inputs, err error) {
	in = inputs{several: true, broken: map[string]error{}}
	var unread []string
	infos, warnings, err := discover(sys, dir, func(path string, err error) {
		unread = append(unread, path)
		in.broken[path] = pathError(path, err)
	})
	if err != nil {
		return in, pathError(dir, err)
	}
	sys.files.lists(dir)
	warn(warnings...)
	for i := range infos {
		switch {
		case infos[i].Path == "":
			warn(session.Warning{File: infos[i].Folder + string(filepath.Separator), Message: "the index lists session " + infos[i].ID + ", which has no file"})
		case !infos[i].Sidechain:
			in.list = append(in.list, infos[i].Path)
		}
	}
	if in.list = append(in.list, unread...); len(in.list) == 0 {
		return in, fmt.Errorf("%s: no session in the folder: name a project folder, or the folder of projects", dir)
	}
	return in, nil
}

// nearFiles names the session files and folders next to a file that there is not whose names are near its own, else says
// what to do instead.
func nearFiles(path, otherwise string) string {
	dir, name := filepath.Split(path)
	entries, _ := os.ReadDir(cmp.Or(dir, ".")) // without the folder nothing is near
	var names []string
	for _, e := range entries {
		if _, ok := session.SessionID(e.Name()); ok || e.IsDir() {
			names = append(names, e.Name())
		}
	}
	ordered, near := strict.Nearest(name, names)
	ordered = ordered[:near]
	for i := range ordered {
		ordered[i] = dir + ordered[i]
	}
	return oneOfThese(ordered, otherwise)
}

// defaultFolders are where sessions are looked for: the folders of Claude Code, and the folders and databases of other
// agents that are there.
func defaultFolders(sys *system) ([]string, error) {
	dirs, err := projectFolders(sys)
	if err != nil {
		return nil, err
	}
	for _, form := range session.Forms() {
		home := storeHome(sys, &form.Store)
		if home == "" {
			continue
		}
		dir := filepath.Join(home, filepath.FromSlash(form.Store.Folder))
		if st, err := os.Stat(dir); form.Store.Folder != "" && err == nil && st.IsDir() {
			dirs = append(dirs, dir)
		}
		for _, pattern := range form.Store.Databases {
			found, _ := filepath.Glob(filepath.Join(home, filepath.FromSlash(pattern))) // an odd name of the folder finds none
			dirs = append(dirs, found...)
		}
		if file := sys.env(form.Store.DatabaseEnv); form.Store.DatabaseEnv != "" && file != "" {
			if !filepath.IsAbs(file) {
				file = filepath.Join(home, filepath.Dir(filepath.FromSlash(form.Store.Databases[0])), file)
			}
			if _, err := os.Stat(file); err == nil && !slices.Contains(dirs, file) {
				dirs = append(dirs, file)
			}
		}
	}
	return dirs, nil
}

// storeHome is the folder of an agent, "" where that is not known.
func storeHome(sys *system, s *foreign.Store) string {
	if s.Env != "" {
		if dir := sys.env(s.Env); dir != "" {
			return dir
		}
	}
	home, err := sys.home()
	if err != nil || s.Home == "" {
		return ""
	}
	return filepath.Join(home, filepath.FromSlash(s.Home))
}

// projectFolders are the projects folders of CLAUDE_CONFIG_DIR (a list with commas), else of ~/.claude.
func projectFolders(sys *system) ([]string, error) {
	if list := sys.env("CLAUDE_CONFIG_DIR"); list != "" {
		var dirs []string
		for _, d := range strings.Split(list, ",") {
			if d = strings.TrimSpace(d); d != "" {
				dirs = append(dirs, filepath.Join(d, "projects"))
			}
		}
		if len(dirs) > 0 {
			return dirs, nil
		}
	}
	home, err := sys.home()
	if err != nil {
		return nil, fmt.Errorf("no home folder: %w: name a folder, or set CLAUDE_CONFIG_DIR", err)
	}
	return []string{filepath.Join(home, ".claude", "projects")}, nil
}

// bare is the cause of an error, without the operation and the path.
func bare(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// onlyLog reports whether there is nothing at a path but the log of a database that was there.
func onlyLog(path string) bool {
	_, err := os.Stat(path)
	_, log := os.Stat(path + database.Suffixes()[0])
	return err != nil && log == nil
}

// pathError names the file of an error, unless it is named already, and says what to do.
func pathError(path string, err error) error {
	var named *jsonl.FileError
	if errors.As(err, &named) {
		return err
	}
	err = bare(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("no such file or folder: check the name")
		if onlyLog(path) {
			err = errors.New("the database is not there, only changes to it in its -wal: copy both files together")
		}
	case errors.Is(err, fs.ErrPermission):
		err = errors.New("no permission to read it: check its mode")
	}
	return &jsonl.FileError{Path: path, Err: err}
}

// conversations are the conversations of one input that --agent names.
type conversations struct {
	sys   *system
	path  string // of the input
	files []*session.File
	list  []agentConversation
}

type agentConversation struct {
	sys   *system
	of    session.Subagent // whose transcript has the conversation; zero: another file
	input string           // what it was read from, or is next to
	main  bool             // it is the input's main conversation
	file  *session.File
	conv  *session.Conversation
	rec   *replay.Record // nil until the conversation is worked on
}

// source names a conversation.
func (c *agentConversation) source() *compare.Origin {
	return &compare.Origin{
		Session: c.conv.SessionID, Agent: c.name(), File: c.conv.Path, Malformed: c.conv.Lines.SetAside[session.AsideMalformed],
	}
}

// subagents counts the subagents of a main conversation: those in its file, and those with files next to it that can be
// listed.
func (c *agentConversation) subagents() int {
	n := len(c.file.Sidechains)
	if c.input != "-" {
		if list, _, err := c.sys.subagents(c.input); err == nil {
			n += len(list)
		}
	}
	return n
}

// name is the id of the conversation's agent; "" for a main conversation.
func (c *agentConversation) name() string { return cmp.Or(c.conv.Agent, c.of.ID) }

func (c *conversations) close() {
	for _, f := range c.files {
		f.Close()
	}
}

// stopped is the error of the first file whose reading stopped before its end.
func (c *conversations) stopped() error {
	for _, f := range c.files {
		if f.Stopped != nil {
			return pathError(f.Path, f.Stopped)
		}
	}
	return nil
}

func (c *conversations) add(of session.Subagent, main bool, list ...*session.Conversation) {
	for _, conv := range list {
		c.list = append(c.list, agentConversation{sys: c.sys, of: of, input: c.path, main: main, file: c.files[len(c.files)-1], conv: conv})
	}
}

// load reads the conversations of one input that --agent names.
func load(sys *system, path string, o inputOptions, jobs int, warn func(...session.Warning)) (*conversations, error) {
	var f *session.File
	var err error
	if opt := (session.LoadOptions{Jobs: jobs, Leaf: o.Leaf, Limits: sys.limits}); path == "-" {
		f, err = session.LoadReader("-", sys.in, opt)
	} else {
		f, err = session.Load(path, opt)
	}
	if err != nil {
		return nil, pathError(path, err)
	}
	c := &conversations{sys: sys, path: path, files: []*session.File{f}}
	if o.Agent == "main" || o.Agent == "all" {
		c.add(session.Subagent{}, true, f.Main)
	}
	if o.Agent != "main" {
		if err := c.subagents(o.Agent, jobs, warn); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// subagents adds the conversations of subagents; it is an error where there is none of that name.
func (c *conversations) subagents(name string, jobs int, warn func(...session.Warning)) error {
	known, err := c.addSubagents(name, jobs, warn)
	if err != nil || len(c.list) > 0 {
		return err
	}
	what := "the session has no subagent"
	if len(known) > 0 {
		what = suggestion(strings.TrimPrefix(name, "agent-"), known, "the session has "+strings.Join(known[:min(5, len(known))], ", "))
	}
	return &jsonl.FileError{Path: c.path, Err: fmt.Errorf("no subagent %q: %s", name, what)}
}

// addSubagents adds the conversations of subagents, those in the input itself and those in files of their own, and
// lists the names of all.
func (c *conversations) addSubagents(name string, jobs int, warn func(...session.Warning)) (known []string, err error) {
	id := strings.TrimPrefix(name, "agent-")
	wanted := func(agent string) bool { return name == "all" || agent == id }
	for _, s := range c.files[0].Sidechains {
		known = append(known, s.Agent)
		if wanted(s.Agent) {
			c.add(session.Subagent{}, false, s)
		}
	}
	var agents []session.Subagent
	if c.path != "-" {
		var warnings []session.Warning
		if agents, warnings, err = c.sys.subagents(c.path); err != nil {
			return known, pathError(c.path, err)
		}
		warn(warnings...)
	}
	for _, a := range agents {
		known = append(known, a.ID)
		if !wanted(a.ID) {
			continue
		}
		// --leaf names a line of the main conversation.
		sub, err := session.Load(a.Path, session.LoadOptions{Jobs: jobs, Limits: c.sys.limits})
		if err != nil {
			return known, pathError(a.Path, err)
		}
		c.files = append(c.files, sub)
		c.add(a, false, sub.Conversations()...)
	}
	return known, nil
}

// bill is what the session of a main conversation was billed. Subagents that cannot be read are reported.
func (c *agentConversation) bill(table *price.Table, warn func(...session.Warning)) *bill.Bill {
	agents, done := c.beside(warn)
	defer done()
	return bill.OfSession(c.conv, conversationsOf(agents), table)
}

func conversationsOf(agents []agentConversation) (list []*session.Conversation) {
	for _, c := range agents {
		list = append(list, c.conv)
	}
	return list
}

// beside reads the conversations of a main conversation's subagents. Those that cannot be read are reported. done closes
// their files.
func (c *agentConversation) beside(warn func(...session.Warning)) (list []agentConversation, done func()) {
	agents := &conversations{sys: c.sys, path: c.input, files: []*session.File{c.file}}
	if _, err := agents.addSubagents("all", 1, warn); err != nil {
		warn(session.Warning{Message: err.Error()})
	}
	return agents.list, func() {
		agents.files = agents.files[1:]
		agents.close()
	}
}
