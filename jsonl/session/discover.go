package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ctxkit/ctxkit/jsonl/memo"
)

// Discover lists the sessions in dir, which may be a project folder, a folder of project folders, a database or one
// session file. The list is sorted by folder, then by time of creation, then by id. Discover reads nothing outside dir:
// an id, an index entry or a symbolic link that leads outside gives a warning. It returns an error only if dir itself
// cannot be read.
func Discover(dir string) ([]FileInfo, []Warning, error) { return DiscoverWith(dir, DiscoverOptions{}) }

// DiscoverOptions are the options of DiscoverWith. They do not change the list that it returns. The zero value is the
// default.
type DiscoverOptions struct {
	Jobs  int         // number of files that are read at the same time; 0: 1
	Cache *memo.Cache // keeps the results for later calls; nil: no cache

	// Read, if set, is called after each file has been read, and never concurrently. Its argument describes the session
	// as far as this one file shows it; the argument is nil for a file without a session.
	Read func(*FileInfo)

	// Failed, if set, is called for each session file and folder that cannot be read. If Failed is nil, these become
	// warnings.
	Failed func(path string, err error)
}

// DiscoverWith is like Discover, with options.
func DiscoverWith(dir string, opt DiscoverOptions) ([]FileInfo, []Warning, error) {
	d := &discovery{opt: opt}
	if st, err := os.Stat(dir); err == nil && st.Mode().IsRegular() {
		if _, _, ok := InDatabase(dir); ok {
			err := d.database(dir)
			if err != nil && len(d.found) > 0 {
				d.failed(dir, err)
				err = nil
			}
			return d.found, d.warnings, err
		}
		if databaseName(dir) {
			return nil, nil, errors.New("it is no SQLite database: name the database that the agent has")
		}
		root, entries, err := openFolder(os.OpenRoot(filepath.Dir(dir)))
		if err != nil {
			return nil, nil, err
		}
		defer root.Close()
		d.only = filepath.Base(dir)
		d.folder(root, filepath.Dir(dir), entries)
		return slices.DeleteFunc(d.found, func(i FileInfo) bool { return i.Path != filepath.Clean(dir) }), d.warnings, nil
	}
	own := map[string]bool{} // sessions' own folders
	err := folders(dir, func(root *os.Root, folder string, entries []fs.DirEntry) {
		d.folder(root, folder, entries)
		for _, i := range d.found {
			own[i.ID] = own[i.ID] || folder == dir
		}
	}, func(name string) bool { return own[name] }, d.failed)
	if err != nil {
		return nil, nil, err
	}
	list, warnings := Once(d.found)
	return list, append(d.warnings, warnings...), nil
}

type discovery struct {
	opt      DiscoverOptions
	only     string // name of the one session file that is read, with those of subagents; "": all are
	found    []FileInfo
	warnings []Warning
}

func (d *discovery) warn(file, format string, args ...any) {
	d.warnings = append(d.warnings, Warning{File: file, Message: fmt.Sprintf(format, args...)})
}

// failed reports a session file, or a folder of them. A link to another folder elsewhere is none of this one's.
func (d *discovery) failed(path string, err error) {
	_, file := SessionID(filepath.Base(path))
	if d.opt.Failed == nil || leadsOut(err) && !file {
		d.unreadable(path, err)
		return
	}
	d.opt.Failed(path, plainly(err))
}

// unreadable warns of a file or folder that cannot be read.
func (d *discovery) unreadable(path string, err error) {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if errors.Is(err, errLeadsOut) || leadsOut(err) {
		d.warn(path, "a link to a place outside its folder: not read")
		return
	}
	d.warn(path, "not read: %v", err)
}

// folder lists the sessions of one project folder.
func (d *discovery) folder(root *os.Root, dir string, entries []fs.DirEntry) {
	var found, agents []FileInfo
	at := map[string]int{}
	for _, r := range d.read(root, dir, entries) {
		info, path := r.info, r.info.Path
		if r.document && (info.Product == "" || r.err != nil) {
			d.needed(path, entries)
			continue // JSON of another kind
		}
		id := info.ID
		if !IsID(id) {
			d.warn(path, "its name is not a session id: not read")
			continue
		}
		switch {
		case errors.As(r.err, new(noSession)):
			if !d.needed(path, entries) {
				d.unreadable(path, r.err)
			}
			continue
		case r.err != nil:
			d.failed(path, r.err)
			continue
		case r.sameAs != "":
			d.warn(path, "the same file as %s: it counts once", r.sameAs)
			continue
		}
		if strings.HasPrefix(id, agentPrefix) {
			agents = append(agents, info)
			continue
		}
		if i, twice := at[id]; twice {
			if info.replaces(&found[i]) {
				found[i], info = info, found[i]
			}
			d.warn(info.Path, "the session is also in %s: not read", filepath.Base(found[i].Path))
			continue
		}
		at[id] = len(found)
		found = append(found, info)
	}
	index, err := readIndex(root)
	switch {
	case err == nil:
		found = d.check(found, at, index, dir)
	case !errors.Is(err, fs.ErrNotExist):
		d.warn(filepath.Join(dir, indexName), "%v: the sessions are listed from their files", err)
	}
	folders := map[string]bool{}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			folders[e.Name()] = true
		}
	}
	for i := range found {
		if folders[found[i].ID] {
			d.beside(root, &found[i], dir)
		}
	}
	for _, a := range agents {
		if i, ok := at[a.session]; ok {
			found[i].claim(&a)
			continue
		}
		a.Sidechain = true
		found = append(found, a)
	}
	slices.SortStableFunc(found, func(a, b FileInfo) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	d.found = append(d.found, found...)
	for _, e := range entries {
		if name, log := strings.CutSuffix(e.Name(), "-wal"); log && databaseName(name) && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name }) {
			d.failed(filepath.Join(dir, e.Name()), fmt.Errorf("a write-ahead log without its database %s: copy both", name))
		}
		if d.only != "" || !databaseName(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if _, _, ok := InDatabase(path); !ok {
			continue
		}
		if err := d.database(path); err != nil && !errors.Is(err, errUnknownDatabase) {
			d.failed(path, err)
		}
	}
}

// needed reports whether a file is no session without another one. It reports a missing one.
func (d *discovery) needed(path string, entries []fs.DirEntry) bool {
	for _, f := range Forms() {
		for pattern, need := range f.Needs {
			if is, _ := filepath.Match(pattern, filepath.Base(path)); !is {
				continue
			}
			if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == need }) {
				d.failed(path, fmt.Errorf("the session is lost without %s, which should be next to it: copy the whole folder", need))
			}
			return true
		}
	}
	return false
}

// readFile is a session file of a folder, or why it cannot be read.
type readFile struct {
	info     FileInfo
	document bool // it may be a session that is one JSON document
	err      error
	sameAs   string // name of a file that it is a link to; "": it is none
}

// read reads the start and the end of each session file of a folder, several at once. It leaves those alone whose names
// are no ids.
func (d *discovery) read(root *os.Root, dir string, entries []fs.DirEntry) []readFile {
	var list []readFile
	var names []string
	for _, e := range entries {
		if d.only != "" && e.Name() != d.only && !strings.HasPrefix(e.Name(), agentPrefix) {
			continue
		}
		id, ok := SessionID(e.Name())
		document := false
		if !ok {
			id, document = documentID(e.Name())
		}
		if ok || document && !e.IsDir() {
			list = append(list, readFile{info: FileInfo{ID: id, Path: filepath.Join(dir, e.Name()), Folder: dir}, document: document})
			names = append(names, e.Name())
		}
	}
	var known *memo.Folder[peeked]
	if len(list) > 0 {
		known = memo.Open[peeked](d.opt.Cache, "peeks", dir)
	}
	var mu sync.Mutex
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(list); i = int(next.Add(1)) - 1 {
			f := &list[i]
			if IsID(f.info.ID) {
				f.err = f.info.read(root, names[i], known)
			}
			if f.info.Product != "" && IsID(f.info.session) {
				f.info.ID = f.info.session // its name may hold more
			}
			if d.opt.Read != nil {
				mu.Lock()
				d.opt.Read(f.session())
				mu.Unlock()
			}
		}
	}
	var running sync.WaitGroup
	for range min(d.opt.Jobs, len(list)) - 1 {
		running.Go(work)
	}
	work()
	running.Wait()
	_ = known.Save() // what cannot be kept is read again
	linked(root, entries, names, list)
	return list
}

// session is a copy of what was read of a session, nil where the file is none or that of a subagent.
func (f *readFile) session() *FileInfo {
	if f.err != nil || f.document && f.info.Product == "" || !IsID(f.info.ID) || strings.HasPrefix(f.info.ID, agentPrefix) {
		return nil
	}
	info := f.info
	return &info
}

// linked finds the files that are links to others of the folder.
func linked(root *os.Root, entries []fs.DirEntry, names []string, list []readFile) {
	links := map[string]bool{}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			links[e.Name()] = true
		}
	}
	var files []os.FileInfo // of each name; nil: it cannot be read
	for i, name := range names {
		if !links[name] {
			continue
		}
		if files == nil {
			files = make([]os.FileInfo, len(names))
			for k, name := range names {
				files[k], _ = root.Stat(name) // read has the error
			}
		}
		for k, other := range names {
			if k != i && files[i] != nil && files[k] != nil && os.SameFile(files[i], files[k]) && (!links[other] || k < i) {
				list[i].sameAs = other
				break
			}
		}
	}
}
