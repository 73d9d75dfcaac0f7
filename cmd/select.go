package cmd

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report"
)

// What is no file is chosen from the default folders: by last or last~N, by the name of a project's folder, by a
// session id or its beginning. FOLDER/ID is a session of another folder, FILE#ID one of a database.

// nowVariable is the environment variable that sets the time that ages are counted from, for output that stays the same.
const nowVariable = "CTXKIT_NOW"

// date is the time that ages are counted from.
func (s *system) date() (time.Time, error) {
	text := s.env(nowVariable)
	if text == "" {
		return s.now(), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("%s: %q is not a time: write it as 2026-01-31T12:00:00Z", nowVariable, text)
	}
	return t, nil
}

// choose finds the sessions that an argument names in the default folders.
func choose(sys *system, arg string, warn func(...session.Warning)) (in inputs, err error) {
	if file, id, ok := session.InDatabase(arg); ok {
		path, err := storedSession(sys, file, id)
		return inputs{list: []string{path}}, err
	}
	if onlyLog(arg) {
		return in, pathError(arg, fs.ErrNotExist)
	}
	dirs, err := defaultFolders(sys)
	if err != nil {
		return in, err
	}
	back, recent, err := ago(arg)
	switch {
	case err != nil:
		return in, err
	case recent:
		path, err := recentSession(sys, dirs, back)
		return inputs{list: []string{path}}, err
	}
	if path, ok := below(dirs, arg); ok {
		return folderInputs(sys, path, warn)
	}
	path, err := findSession(sys, dirs, arg)
	return inputs{list: []string{path}}, err
}

// storedSession is the session of a database with an id, or the only one whose id begins so.
func storedSession(sys *system, file, id string) (string, error) {
	infos, _, err := discover(sys, file, nil)
	if err != nil {
		return "", pathError(file, err)
	}
	for i := range infos {
		for _, a := range infos[i].Subagents {
			infos = append(infos, session.FileInfo{ID: a.ID, Path: a.Path})
		}
	}
	switch found := called(infos, id); len(found) {
	case 0:
		return "", fmt.Errorf("%s: no session in it has that id, or one that begins so: `ctxkit sessions %s` lists them", file+"#"+id, fileWord(file))
	case 1:
		return found[0], nil
	default:
		return "", fmt.Errorf("%s: %d sessions have an id that begins so: write more of it: %s", file+"#"+id, len(found), strings.Join(found[:min(len(found), 5)], ", "))
	}
}

// ago is N of last~N; last is last~0.
func ago(arg string) (n int, ok bool, err error) {
	rest, ok := strings.CutPrefix(arg, "last")
	if !ok || rest == "" {
		return 0, ok, nil
	}
	if rest, ok = strings.CutPrefix(rest, "~"); !ok {
		return 0, false, nil
	}
	if n, err = strconv.Atoi(rest); err != nil || n < 0 {
		return 0, false, fmt.Errorf("%s: want last, or last~N with a number: last~1 is the session before the last one", arg)
	}
	return n, true, nil
}

// recentSession is the file of the session that was used last, or of the one that back others were used after.
func recentSession(sys *system, dirs []string, back int) (string, error) {
	list := known(sys, dirs)
	if back < len(list) {
		return list[back].Path, nil
	}
	if len(list) == 0 {
		return "", fmt.Errorf("no session in %s: name a file, or set CLAUDE_CONFIG_DIR", strings.Join(dirs, ", "))
	}
	return "", fmt.Errorf("last~%d: there are %d sessions: last~%d is the oldest", back, len(list), len(list)-1)
}

// known are the sessions with a file in folders, subagents left out, the last used first. What cannot be read is left
// out.
func known(sys *system, dirs []string) (list []session.FileInfo) {
	for _, dir := range dirs {
		infos, _, err := discover(sys, dir, nil)
		if err != nil {
			continue // it need not be there
		}
		for i := range infos {
			if infos[i].Path != "" && !infos[i].Sidechain {
				list = append(list, infos[i])
			}
		}
	}
	list, _ = session.Once(list)
	newestFirst(list)
	return list
}

// called are the files of the session with an id, else of those whose ids begin so.
func called(list []session.FileInfo, id string) (found []string) {
	for i := range list {
		begins, exactly := list[i].Named(id)
		if exactly {
			return []string{list[i].Path}
		}
		if begins && list[i].Path != "" {
			found = append(found, list[i].Path)
		}
	}
	return found
}

// newestFirst sorts sessions by the time of their last use.
func newestFirst(list []session.FileInfo) {
	slices.SortStableFunc(list, func(a, b session.FileInfo) int { return cmp.Or(b.Used().Compare(a.Used()), cmp.Compare(a.ID, b.ID)) })
}

// below is the folder of a project in the folders of projects.
func below(dirs []string, name string) (string, bool) {
	if !filepath.IsLocal(name) {
		return "", false
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			return path, true
		}
	}
	return "", false
}

// findSession finds the file of a session id, or of the only one that begins so; with a folder before it in that.
func findSession(sys *system, dirs []string, arg string) (string, error) {
	if dir, id := filepath.Split(arg); dir != "" && session.IsID(id) {
		infos, _, _ := discover(sys, filepath.Clean(dir), nil) // without the folder there is none
		switch found := called(infos, id); len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return "", newAmbiguous(sys, []string{filepath.Clean(dir)}, arg, found)
		}
	}
	if !session.IsID(arg) {
		return "", fmt.Errorf("%s: no such file or folder: %s", arg, nearFiles(arg, "check the name"))
	}
	var found []string
	exactly := false
	for _, dir := range dirs {
		paths, exact, err := session.Find(dir, arg)
		if err != nil {
			continue // it need not be there
		}
		if exact && !exactly {
			found = nil
			exactly = true
		}
		if exact == exactly {
			found = append(found, paths...)
		}
	}
	if len(found) == 0 { // files of other agents have other names
		found = called(known(sys, dirs), arg)
	}
	switch len(found) {
	case 0:
		if slices.Contains(sys.presets.Known(), arg) {
			return "", fmt.Errorf("%s: is a policy: write -p %s", arg, arg)
		}
		return "", fmt.Errorf("%s: no such file or folder, and no session of that id in %s: %s", arg, strings.Join(dirs, ", "),
			nearFiles(arg, "check the name, write FOLDER/ID for another folder, or list sessions with `ctxkit sessions`"))
	case 1:
		return found[0], nil
	}
	return "", newAmbiguous(sys, dirs, arg, found)
}

// ambiguous is the error of a name that several sessions have. It prints a line for each.
type ambiguous []string

func (a ambiguous) Error() string { return strings.Join(a, "\n") }

// mostCandidates is how many sessions an ambiguous lists.
const mostCandidates = 10

func newAmbiguous(sys *system, dirs []string, arg string, found []string) error {
	now, err := sys.date()
	if err != nil {
		return err
	}
	lines := ambiguous{fmt.Sprintf("%s: %d sessions have that id, or one that begins so: write more of it, or name the file:", arg, len(found))}
	listed := map[string]bool{}
	add := func(path, what string) {
		if !listed[path] {
			listed[path] = true
			lines = append(lines, "  "+what)
		}
	}
	ids := map[string]int{}
	for _, path := range found {
		id, _ := session.SessionID(filepath.Base(path))
		ids[id]++
	}
	for _, i := range known(sys, dirs) {
		if slices.Contains(found, i.Path) {
			name := i.ID
			if ids[name] > 1 {
				name = i.Path
			}
			add(i.Path, fmt.Sprintf("%s  %-8s  %s", name, report.Age(now, i.Used()), report.Headline(&i)))
		}
	}
	slices.Sort(found)
	for _, path := range found { // subagents, and what cannot be read
		add(path, path)
	}
	if more := len(lines) - 1 - mostCandidates; more > 0 {
		lines = append(lines[:1+mostCandidates], fmt.Sprintf("  and %d more: `ctxkit sessions` lists all", more))
	}
	return lines
}

// dashed writes an argument that begins with one dash and is the name of a file or folder, here or of a project, so that
// it is no flag: the client's folders of projects begin with a dash.
func dashed(sys *system, args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if len(arg) < 3 || arg[0] != '-' || arg[1] == '-' {
			continue
		}
		if _, err := os.Lstat(arg); err == nil {
			args[i] = fileWord(arg)
			continue
		}
		dirs, _ := defaultFolders(sys) // without a home there is none
		for _, dir := range dirs {
			path := filepath.Join(dir, arg)
			if _, err := os.Stat(path); err == nil && filepath.IsLocal(arg) {
				args[i] = path
				break
			}
		}
	}
	return args
}
