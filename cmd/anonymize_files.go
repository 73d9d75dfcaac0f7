package cmd

import (
	"bytes"
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
	main    *jsonl.Source
	root    *os.Root // the session's own folder, nil where there is none
	folder  string   // its path
	beside  []string // names of files in it, with slashes
	files   []os.FileInfo
	folders []os.FileInfo // all that is read from
}

func (s *sessionFolder) close() {
	s.main.Close()
	if s.root != nil {
		s.root.Close()
	}
}

// openSession opens a session file, and the folder beside it.
func openSession(sys *system, name string, msgs *messages) (s *sessionFolder, err error) {
	s = &sessionFolder{}
	if name == "-" {
		if f, ok := sys.in.(*os.File); ok {
			if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
				s.files = append(s.files, st)
			}
		}
		s.main, err = jsonl.OpenReader("standard input", sys.in)
		return s, err
	}
	if s.main, err = jsonl.Open(name); err != nil {
		return nil, err
	}
	st, err := os.Stat(name)
	if err == nil {
		s.files = append(s.files, st)
		err = s.openFolder(name, msgs)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// openFolder opens the folder beside a session file, where there is one, and lists its files.
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
		st, err := s.root.Stat(p)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			s.folders = append(s.folders, st)
		default:
			s.files, s.beside = append(s.files, st), append(s.beside, p)
		}
		return nil
	})
}

// sessionStem is the name of the folder beside a session file; "" where its name is none of a session.
func sessionStem(file string) string {
	if stem, _, ok := strings.Cut(filepath.Base(file), ".jsonl"); ok {
		return stem
	}
	return ""
}

// read reads a file beside the session: a transcript, or what else may be an object on a line, as a source, anything
// else as a text.
func (s *sessionFolder) read(name string, use func(src *jsonl.Source, text string) error) error {
	data, err := s.root.ReadFile(name)
	if err != nil {
		return err
	}
	if base := path.Base(name); !strings.Contains(base, ".jsonl") && path.Ext(base) != ".json" {
		return use(nil, string(data))
	}
	src, err := jsonl.OpenReader(filepath.Join(s.folder, name), bytes.NewReader(data))
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
	names  map[string]string // of the files beside it: what they are called there, with slashes
}

// target finds where the session goes that -o names, and refuses a place that is read from.
func (s *sessionFolder) target(file string) (*sessionTarget, error) {
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
		if among(s.files, st) {
			return nil, fmt.Errorf("%s: is an input as well: name another file for the output", file)
		}
		if real, err := filepath.EvalSymlinks(file); err == nil && plain {
			dir = filepath.Dir(real)
		}
	}
	stem := sessionStem(file)
	switch {
	case s.contains(dir):
		return nil, fmt.Errorf("%s: is in the folder of the session that is read: name a file elsewhere", file)
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
		return nil, fmt.Errorf("%s: is no folder, and the files beside the session would be written there: name another file with -o", t.folder)
	}
	if s.contains(t.folder) {
		return nil, fmt.Errorf("%s: is the folder of the session that is read: give the output another name", t.folder)
	}
	real, err := filepath.EvalSymlinks(t.folder)
	if err != nil {
		return nil, writeError(t.folder, err)
	}
	t.folder = real
	return t, nil
}

// contains reports whether a folder is the session's own, or one in it.
func (s *sessionFolder) contains(dir string) bool {
	return slices.ContainsFunc(foldersFrom(dir), func(st os.FileInfo) bool { return among(s.folders, st) })
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
		from[to], t.names[name] = name, to
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

// among reports whether a file is one of a list.
func among(list []os.FileInfo, st os.FileInfo) bool {
	return slices.ContainsFunc(list, func(other os.FileInfo) bool { return os.SameFile(st, other) })
}

// foldersFrom lists a folder and all above it, without those that cannot be read.
func foldersFrom(dir string) (list []os.FileInfo) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	for {
		if st, err := os.Stat(dir); err == nil {
			list = append(list, st)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return list
		}
		dir = up
	}
}
