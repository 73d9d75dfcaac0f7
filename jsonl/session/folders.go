package session

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// folders calls visit with dir and with each folder in it, except for names that skip accepts, with the folders deeper
// down in which other agents keep sessions, and failed with each that cannot be read.
func folders(dir string, visit func(*os.Root, string, []fs.DirEntry), skip func(name string) bool, failed func(string, error)) error {
	root, entries, err := openFolder(os.OpenRoot(dir))
	if err != nil {
		return err
	}
	defer root.Close()
	w := &folderWalk{dir: dir, visit: visit, failed: failed}
	if st, err := root.Stat("."); err == nil {
		w.seen = append(w.seen, st)
	}
	w.visit(root, dir, entries)
	w.below(root, "", entries, skip)
	return nil
}

// folderWalk visits the folders below one.
type folderWalk struct {
	dir    string
	visit  func(*os.Root, string, []fs.DirEntry)
	failed func(string, error)
	seen   []os.FileInfo // folders, as far as links could lead to them again
}

// again reports whether a link leads to a folder that is visited without it, or through a link before.
func (w *folderWalk) again(st os.FileInfo) bool {
	return slices.ContainsFunc(w.seen, func(other os.FileInfo) bool { return os.SameFile(st, other) })
}

// note remembers the folders next to links.
func (w *folderWalk) note(entries []fs.DirEntry) {
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Type()&fs.ModeSymlink != 0 }) {
		return
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if st, err := e.Info(); err == nil {
			w.seen = append(w.seen, st)
		}
	}
}

// below visits folders in root, which is at a path with slashes below dir.
func (w *folderWalk) below(root *os.Root, at string, entries []fs.DirEntry, skip func(name string) bool) {
	w.note(entries)
	for _, e := range entries {
		name := e.Name()
		rel := strings.TrimPrefix(at+"/"+name, "/")
		if _, file := SessionID(name); file || skip(name) || !e.IsDir() && e.Type()&fs.ModeSymlink == 0 || at != "" && !inside(rel) {
			continue
		}
		path := filepath.Join(w.dir, filepath.FromSlash(rel))
		if st, err := root.Stat(name); err != nil {
			w.failed(path, err)
		} else if link := e.Type()&fs.ModeSymlink != 0; st.IsDir() && !(link && w.again(st)) {
			if link {
				w.seen = append(w.seen, st)
			}
			sub, entries, err := openFolder(root.OpenRoot(name))
			if err != nil {
				w.failed(path, err)
				continue
			}
			w.visit(sub, path, entries)
			w.below(sub, rel, entries, func(string) bool { return false })
			sub.Close()
		}
	}
}

// openFolder lists a folder that was opened.
func openFolder(root *os.Root, err error) (*os.Root, []fs.DirEntry, error) {
	if err != nil {
		return nil, nil, err
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	return root, entries, nil
}
