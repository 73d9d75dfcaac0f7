package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/check"
)

// files are those that a command reads and writes. What is read is not replaced, nothing is written twice, and no
// result becomes one of its sessions. Files are compared as the file system does, through links and in
// whatever case their names are written.
type files struct {
	mu      sync.Mutex
	read    []readPath
	streams []os.FileInfo // standard input, where it is a file that is read
	trees   []sessionTree
	listed  []string // folders whose sessions are inputs
	written []*writtenPath
}

// sessionTree is a folder of which every file belongs to a session.
type sessionTree struct{ dir, session, what string }

// readPath is a file that is read.
type readPath struct{ path, what string }

// writtenPath is a file that is written, or going to be.
type writtenPath struct {
	path string
	info os.FileInfo // once it is there
}

// Roles in which files are read.
const (
	roleInput    = "an input"
	roleRows     = "a file of rows"
	roleSent     = "a file of requests"
	roleSession  = "a session"
	rolePolicy   = "a policy"
	rolePrices   = "the table of prices"
	roleConfig   = "the configuration"
	roleBaseline = "the baseline"
	roleProgram  = "a program of a policy"
)

// reads registers files that are read.
func (f *files) reads(what string, paths ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, path := range paths {
		if path != "" && path != "-" {
			f.read = append(f.read, readPath{path, what})
		}
	}
}

// readsSession registers a session that is read: its file, or all files where it is a tree, and the folder next to it.
func (f *files) readsSession(what, path string) {
	f.reads(what, path)
	if path == "-" {
		return
	}
	own := check.Beside(path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if filepath.Clean(own) != filepath.Clean(path) {
		f.trees = append(f.trees, sessionTree{own, path, what})
	}
}

// readsStream registers standard input.
func (f *files) readsStream(in any) {
	if st := regular(in); st != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.streams = append(f.streams, st)
	}
}

// writesStream registers standard output or standard error.
func (f *files) writesStream(out any) {
	if st := regular(out); st != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.written = append(f.written, &writtenPath{info: st})
	}
}

// regular is what is known of a stream that is a regular file; nil: it is none.
func regular(stream any) os.FileInfo {
	if file, ok := stream.(*os.File); ok {
		if st, err := file.Stat(); err == nil && st.Mode().IsRegular() {
			return st
		}
	}
	return nil
}

// lists registers a folder whose sessions are inputs.
func (f *files) lists(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed = append(f.listed, dir)
}

// release takes back that a file is read as something, for a command that is there to replace it.
func (f *files) release(what, path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = slices.DeleteFunc(f.read, func(r readPath) bool { return r == readPath{path, what} })
}

// writes registers a file that is going to be written, or refuses it.
func (f *files) writes(path string) (*writtenPath, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refuse(path, nil); err != nil {
		return nil, err
	}
	w := &writtenPath{path: path}
	f.written = append(f.written, w)
	return w, nil
}

// stillFree is the error of a file that was read or written since it was registered.
func (f *files) stillFree(w *writtenPath) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refuse(w.path, w)
}

// isThere registers that a file is written.
func (f *files) isThere(w *writtenPath) {
	st, err := os.Stat(w.path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		w.info = st
	}
}

// drop takes back that a file is going to be written.
func (f *files) drop(w *writtenPath) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written = slices.DeleteFunc(f.written, func(other *writtenPath) bool { return other == w })
}

// taken says why a file must not be written: "" for one that may.
func (f *files) taken(path string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.why(path, nil)
}

func (f *files) refuse(path string, own *writtenPath) error {
	if why := f.why(path, own); why != "" {
		return refusedFile(path, why)
	}
	return nil
}

func refusedFile(path, why string) error {
	return fmt.Errorf("%s: %s: name another file for the output", path, why)
}

// why says why a file must not be written, of which own is the registration.
func (f *files) why(path string, own *writtenPath) string {
	st, err := os.Stat(path)
	if err == nil {
		if st.Mode().IsRegular() && among(f.streams, st) {
			return "is " + roleInput + " as well"
		}
		for _, r := range f.read {
			for _, file := range partsOf(r, path) {
				if other, err := os.Stat(file); err == nil && os.SameFile(st, other) {
					return "is " + r.what + " as well"
				}
			}
		}
		if !st.IsDir() && !st.Mode().IsRegular() {
			return "" // a device or a pipe takes what comes
		}
	}
	for _, w := range f.written {
		if w != own && (w.info != nil && err == nil && os.SameFile(st, w.info) || w.path != "" && samePlace(path, w.path)) {
			return "is written already"
		}
	}
	above := foldersFrom(filepath.Dir(path))
	if err == nil {
		above = append(above, st)
	}
	for _, t := range f.trees {
		switch tree, noTree := os.Stat(t.dir); {
		case noTree != nil || !tree.IsDir():
		case among(above, tree):
			return "belongs to session " + t.session
		case err == nil && t.what == roleInput && t.holds(st):
			return "is " + t.what + " as well"
		}
	}
	for _, dir := range f.listed {
		if root, err := os.Stat(dir); err == nil && among(above, root) && readBelow(root, path) {
			return "would be read with the sessions of " + dir
		}
	}
	return ""
}

// partsOf lists the files that are read with one, of those that an output at path may replace: it alone, or all that hold a session,
// the subagents' transcripts that older clients wrote next to it among them.
func partsOf(r readPath, path string) []string {
	if r.what != roleInput && r.what != roleSession {
		return []string{r.path}
	}
	list := session.FilesOf(r.path)
	if strings.HasPrefix(filepath.Base(path), "agent-") {
		agents, _, _ := session.Subagents(r.path) // reading it says what is wrong
		for _, a := range agents {
			list = append(list, a.Path)
		}
	}
	return list
}

// holds reports whether a file is in the folder by another name.
func (t sessionTree) holds(st os.FileInfo) bool {
	found := errors.New("found")
	err := filepath.WalkDir(t.dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // what cannot be seen is not read
		}
		if other, err := e.Info(); err == nil && os.SameFile(st, other) {
			return found
		}
		return nil
	})
	return errors.Is(err, found)
}

// readBelow reports whether a file below a folder of sessions is read with them, by its name or a folder's on the way.
func readBelow(root os.FileInfo, path string) bool {
	for {
		if session.InFolder(filepath.Base(path)) {
			return true
		}
		up := filepath.Dir(path)
		if st, err := os.Stat(up); up == path || err != nil || os.SameFile(root, st) {
			return false
		}
		path = up
	}
}

// samePlace reports whether two names are one place in a folder.
func samePlace(a, b string) bool {
	if x, err := os.Stat(a); err == nil {
		y, err := os.Stat(b)
		return err == nil && os.SameFile(x, y)
	}
	x, errX := os.Stat(filepath.Dir(a))
	y, errY := os.Stat(filepath.Dir(b))
	return errX == nil && errY == nil && os.SameFile(x, y) && filepath.Base(a) == filepath.Base(b)
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
