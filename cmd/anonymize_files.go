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
func openSession(sys *system, name string, msgs *messages) (*sessionFolder, error) {
	if name == "-" {
		s := &sessionFolder{}
		if f, ok := sys.in.(*os.File); ok {
			if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
				s.files = append(s.files, st)
			}
		}
		var err error
		s.main, err = jsonl.OpenReader("standard input", sys.in)
		return s, err
	}
	src, err := jsonl.Open(name)
	if err != nil {
		return nil, err
	}
	s := &sessionFolder{main: src}
	st, err := os.Stat(name)
	if err != nil {
		s.close()
		return nil, err
	}
	s.files = append(s.files, st)
	stem := sessionStem(name)
	if stem == "" {
		return s, nil
	}
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return s, nil // the file is open: its folder just cannot be listed
	}
	defer dir.Close()
	if s.root, err = dir.OpenRoot(stem); err != nil {
		s.root = nil
		return s, nil
	}
	s.folder = filepath.Join(filepath.Dir(name), stem)
	err = fs.WalkDir(s.root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
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
	slices.Sort(s.beside)
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// sessionStem is the name of the folder beside a session file; "" where its
// name is none of a session.
func sessionStem(file string) string {
	stem, _, ok := strings.Cut(filepath.Base(file), ".jsonl")
	if !ok {
		return ""
	}
	return stem
}

// read reads a file beside the session: a transcript, or what else may be an
// object on a line, as a source, anything else as a text.
func (s *sessionFolder) read(name string, use func(src *jsonl.Source, text []byte) error) error {
	data, err := s.root.ReadFile(name)
	if err != nil {
		return err
	}
	if base := path.Base(name); !strings.Contains(base, ".jsonl") && path.Ext(base) != ".json" {
		return use(nil, data)
	}
	src, err := jsonl.OpenReader(filepath.Join(s.folder, name), bytes.NewReader(data))
	if err != nil {
		return err
	}
	defer src.Close()
	return use(src, nil)
}

// note goes through all files for the first time.
func (s *sessionFolder) note(a *anonymize.Anonymizer) error {
	jobs := runtime.GOMAXPROCS(0)
	if err := a.Note(s.main, jobs); err != nil {
		return err
	}
	for _, name := range s.beside {
		a.NoteText(name)
		if err := s.read(name, func(src *jsonl.Source, text []byte) error {
			if src == nil {
				a.NoteText(string(text))
				return nil
			}
			return a.Note(src, jobs)
		}); err != nil {
			return err
		}
	}
	return nil
}

// sessionTarget is where a session goes.
type sessionTarget struct {
	folder string            // of the other files; "" where they are not written
	names  map[string]string // of the files beside it: what they are called there, with slashes
}

// target finds where the session goes that -o names, and refuses a place that
// is read from.
func (s *sessionFolder) target(file string) (*sessionTarget, error) {
	t := &sessionTarget{}
	if file == "" || file == "-" {
		return t, nil
	}
	dir := filepath.Dir(file)
	if st, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no folder %s: make it first", file, dir)
	} else if err != nil {
		return nil, writeError(file, err)
	} else if !st.IsDir() {
		return nil, fmt.Errorf("%s: %s is no folder: name another file for the output", file, dir)
	}
	plain := true
	if st, err := os.Stat(file); err == nil {
		plain = st.Mode().IsRegular()
		if slices.ContainsFunc(s.files, func(own os.FileInfo) bool { return os.SameFile(st, own) }) {
			return nil, fmt.Errorf("%s: is an input as well: name another file for the output", file)
		}
		if plain {
			if dir, err = filepath.EvalSymlinks(file); err != nil {
				return nil, writeError(file, err)
			}
			dir = filepath.Dir(dir)
		}
	}
	if inside, err := s.contains(dir); err != nil {
		return nil, writeError(file, err)
	} else if inside {
		return nil, fmt.Errorf("%s: is in the folder of the session that is read: name a file elsewhere", file)
	}
	if len(s.beside) == 0 || !plain {
		return t, nil
	}
	stem := sessionStem(file)
	if stem == "" {
		return nil, fmt.Errorf("%s: the session has %d more files, for which the output needs a name that ends in .jsonl", file, len(s.beside))
	}
	t.folder = filepath.Join(filepath.Dir(file), stem)
	if _, err := os.Lstat(t.folder); errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if st, err := os.Stat(t.folder); err != nil || !st.IsDir() {
		return nil, fmt.Errorf("%s: is no folder, and the files beside the session would be written there: name another file with -o", t.folder)
	}
	if inside, err := s.contains(t.folder); err != nil {
		return nil, writeError(t.folder, err)
	} else if inside {
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
func (s *sessionFolder) contains(dir string) (bool, error) {
	if len(s.folders) == 0 {
		return false, nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return false, err
	}
	for {
		st, err := os.Stat(real)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(s.folders, func(own os.FileInfo) bool { return os.SameFile(st, own) }) {
			return true, nil
		}
		up := filepath.Dir(real)
		if up == real {
			return false, nil
		}
		real = up
	}
}

// name names the files in the target. A folder that is there is replaced, so all in it must be of
// those names.
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
