package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/anonymize"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// sessionFolder is a session file and the files of the session's folder.
type sessionFolder struct {
	main   *jsonl.Source
	root   *os.Root          // the session's own folder, nil where there is none
	folder string            // its path
	beside []string          // names of files in it, with slashes, and of those of agents
	agents map[string]string // transcripts of subagents outside it: by the names that they have in it, their paths
	limits jsonl.InputLimits
}

func (s *sessionFolder) close() {
	s.main.Close()
	if s.root != nil {
		s.root.Close()
	}
}

// openSession opens a session file, and the folder next to it.
func openSession(sys *system, name string, msgs *messages) (s *sessionFolder, err error) {
	s = &sessionFolder{limits: sys.limits.Filled()}
	if name == "-" {
		s.main, err = sys.limits.OpenReader("standard input", sys.in)
		return s, err
	}
	if s.main, err = session.Open(name, sys.limits); err != nil {
		return nil, err
	}
	if err = s.openFolder(name, msgs); err == nil && sessionStem(name) != "" {
		err = s.addAgents(name)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// addAgents adds the subagents' transcripts that an older client wrote next to the session file.
func (s *sessionFolder) addAgents(file string) error {
	list, _, err := session.Subagents(file)
	s.agents = map[string]string{}
	for _, a := range list {
		if name := "subagents/" + filepath.Base(a.Path); filepath.Dir(a.Path) == filepath.Dir(file) && !slices.Contains(s.beside, name) {
			s.beside = append(s.beside, name)
			s.agents[name] = a.Path
		}
	}
	return err
}

// openFolder opens the folder next to a session file, where there is one, and lists its files.
func (s *sessionFolder) openFolder(name string, msgs *messages) error {
	stem := sessionStem(name)
	if stem == "" {
		return nil
	}
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil // the file is open: its folder just cannot be listed
	}
	defer dir.Close()
	if st, err := dir.Stat(stem); err != nil || !st.IsDir() {
		return nil
	}
	if s.root, err = dir.OpenRoot(stem); err != nil {
		s.root = nil
		return nil
	}
	s.folder = filepath.Join(filepath.Dir(name), stem)
	return fs.WalkDir(s.root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !e.IsDir() && !e.Type().IsRegular() {
			msgs.warn(session.Warning{File: filepath.Join(s.folder, p), Message: "no plain file: left out"})
			return nil
		}
		if !e.IsDir() {
			s.beside = append(s.beside, p)
		}
		return nil
	})
}

// sessionStem is the name of the folder next to a session file; "" where its name is none of a session.
func sessionStem(file string) string {
	if stem, _, ok := strings.Cut(filepath.Base(file), ".jsonl"); ok {
		return stem
	}
	return ""
}

// read reads a file next to the session: a transcript, or what else may be an object on a line, as a source, anything
// else as a text.
func (s *sessionFolder) read(name string, use func(src *jsonl.Source, text string) error) error {
	if path := s.agents[name]; path != "" {
		src, err := s.limits.Open(path)
		if err != nil {
			return err
		}
		defer src.Close()
		return use(src, "")
	}
	f, err := s.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	file := filepath.Join(s.folder, name)
	if base := path.Base(name); !strings.Contains(base, ".jsonl") && path.Ext(base) != ".json" {
		data, err := s.limits.ReadOffload(f)
		if err != nil {
			return pathError(file, err)
		}
		return use(nil, string(data))
	}
	src, err := s.limits.OpenReader(file, f)
	if err != nil {
		return err
	}
	defer src.Close()
	return use(src, "")
}

// note goes through all files for the first time.
func (s *sessionFolder) note(a *anonymize.Anonymizer) error {
	err := a.Note(s.main, runtime.GOMAXPROCS(0))
	for _, name := range s.beside {
		if err != nil {
			break
		}
		a.NoteText(name)
		err = s.read(name, func(src *jsonl.Source, text string) error {
			if src != nil {
				return a.Note(src, runtime.GOMAXPROCS(0))
			}
			a.NoteText(text)
			return nil
		})
	}
	return err
}

// sessionTarget is where a session goes.
type sessionTarget struct {
	folder string            // of the other files; "" where they are not written
	names  map[string]string // of the files next to it: what they are called there, with slashes
}

// target finds where the session goes that -o names, before there is anything to write.
func (s *sessionFolder) target(sys *system, file string) (*sessionTarget, error) {
	t := &sessionTarget{}
	if file == "" || file == "-" {
		return t, nil
	}
	dir := filepath.Dir(file)
	switch st, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no folder %s: make it first", file, dir)
	case err != nil:
		return nil, writeError(file, err)
	case !st.IsDir():
		return nil, fmt.Errorf("%s: %s is no folder: name another file for the output", file, dir)
	}
	plain := true
	if st, err := os.Stat(file); err == nil {
		plain = st.Mode().IsRegular()
	}
	stem := sessionStem(file)
	why := sys.files.taken(file)
	switch {
	case why != "":
		return nil, refusedFile(file, why)
	case len(s.beside) == 0 || !plain:
		return t, nil
	case stem == "":
		return nil, fmt.Errorf("%s: the session has %d more files, for which the output needs a name that ends in .jsonl", file, len(s.beside))
	}
	t.folder = filepath.Join(filepath.Dir(file), stem)
	if _, err := os.Lstat(t.folder); errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if st, err := os.Stat(t.folder); err != nil || !st.IsDir() {
		return nil, fmt.Errorf("%s: is no folder, and the files next to the session would be written there: name another file with -o", t.folder)
	}
	if why := sys.files.taken(t.folder); why != "" {
		return nil, fmt.Errorf("%s: %s: give the output another name", t.folder, why)
	}
	real, err := filepath.EvalSymlinks(t.folder)
	if err != nil {
		return nil, writeError(t.folder, err)
	}
	t.folder = real
	return t, nil
}

// name names the files in the target. A folder that exists is replaced, so all in it must be of those names.
func (t *sessionTarget) name(beside []string, a *anonymize.Anonymizer) error {
	t.names = map[string]string{}
	from := map[string]string{}
	for _, name := range beside {
		to := a.Path(name)
		a.Check(to, anonymize.Location{File: to})
		if other, taken := from[to]; taken {
			return fmt.Errorf("%s and %s: both would get the same name: choose another --seed", other, name)
		}
		from[to] = name
		t.names[name] = to
	}
	if t.folder == "" {
		return nil
	}
	err := fs.WalkDir(os.DirFS(t.folder), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if _, ours := from[p]; !ours && !e.IsDir() || ours && !e.Type().IsRegular() {
			return fmt.Errorf("%s: holds %s, which is not of this output: remove the folder, or name another file with -o", t.folder, p)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
