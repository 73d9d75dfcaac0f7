package session

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/database"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/memo"
)

// idMark is between the path of a database and the id of a session in it.
const idMark = memo.Within

// InDatabase splits the name of a session in a database, FILE#ID, into file and id. For the name of a database alone,
// id is "". For every other name ok is false, including the name of an existing file with a # in it. InDatabase reads
// the first bytes of the file.
func InDatabase(path string) (file, id string, ok bool) {
	st, err := os.Stat(path)
	if err != nil {
		at := strings.LastIndex(path, idMark)
		if at < 0 || at+len(idMark) == len(path) {
			return "", "", false
		}
		path, id = path[:at], path[at+len(idMark):]
		st, err = os.Stat(path)
	}
	if err != nil || !st.Mode().IsRegular() {
		return "", "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return "", "", false
	}
	defer f.Close()
	head := make([]byte, len(database.Magic))
	n, _ := io.ReadFull(f, head)
	_, err = os.Stat(path + database.Suffixes()[0])
	return path, id, string(head[:n]) == database.Magic || n == 0 && err == nil // a WAL without its base is a database that is lost
}

// FilesOf returns the files that hold a session, first path itself. An agent may keep one session in several files. For
// a session in a database they are the database and its -wal and -shm files.
func FilesOf(path string) (list []string) {
	if file, _, ok := InDatabase(path); ok {
		list = append(list, file)
		for _, suffix := range database.Suffixes() {
			if _, err := os.Stat(file + suffix); err == nil {
				list = append(list, file+suffix)
			}
		}
		return list
	}
	list = append(list, path)
	for _, f := range Forms() {
		if f.Files == nil {
			continue
		}
		folder, names := f.Files(path)
		for _, name := range names {
			if file := filepath.Join(folder, filepath.FromSlash(name)); file != filepath.Clean(path) && !slices.Contains(list, file) {
				list = append(list, file)
			}
		}
	}
	return list
}

// readDatabase calls use with a database and the form of the agent whose it is.
func readDatabase(file string, use func(db *database.DB, f *foreign.Form) error) error {
	forms := Forms()
	return database.Read(file, func(db *database.DB) error {
		for i := range forms {
			if forms[i].Database == nil {
				continue
			}
			if is, problem := forms[i].Database.Is(db); is {
				if problem != nil {
					return problem
				}
				return use(db, &forms[i])
			}
		}
		return errUnknownDatabase
	})
}

// errUnknownDatabase is the error of a database of something else.
var errUnknownDatabase = errors.New("it is an SQLite database without the tables of an agent whose sessions can be read")

// Open opens a session for reading. A session in a database, FILE#ID, is read as a document in the form in which its
// agent exports sessions. limits bounds how much is read.
func Open(path string, limits jsonl.InputLimits) (*jsonl.Source, error) {
	src, _, err := openSession(path, limits)
	return src, err
}

// openSession is Open; lost says what cannot be read of a database, and where it is.
func openSession(path string, limits jsonl.InputLimits) (src *jsonl.Source, lost []string, err error) {
	file, id, ok := InDatabase(path)
	if !ok {
		src, err = limits.Open(path)
		return src, nil, err
	}
	var text []byte
	if err = readDatabase(file, func(db *database.DB, f *foreign.Form) error {
		if id == "" {
			only, err := onlySession(db, f, file)
			if err != nil {
				return err
			}
			id = only
		}
		text, lost, err = f.Database.Document(db, id, limits.Filled().Document)
		if err == nil && db.Missing > 0 {
			lost = append(lost, fmt.Sprintf("the database lacks %d bytes at its end: what was in them is not read: take a copy of the whole file", db.Missing))
		}
		return err
	}); err != nil {
		return nil, nil, &jsonl.FileError{Path: path, Err: err}
	}
	src, err = limits.OpenReader(path, bytes.NewReader(text))
	return src, lost, err
}

// onlySession is the id of the session of a database that has no other, but for its subagents.
func onlySession(db *database.DB, f *foreign.Form, file string) (string, error) {
	list, err := f.Database.List(db)
	if err != nil {
		return "", err
	}
	list = slices.DeleteFunc(list, func(s foreign.Stored) bool { return s.Parent != "" })
	switch len(list) {
	case 0:
		return "", errors.New("no session with messages in the database")
	case 1:
		return list[0].ID, nil
	}
	return "", fmt.Errorf("%d sessions in the database: name one: %s%s%s", len(list), file, idMark, list[0].ID)
}

// descendants lists the sessions that one of a database started, and those that they started.
func descendants(file, id string) (list []Subagent, err error) {
	err = readDatabase(file, func(db *database.DB, f *foreign.Form) error {
		list = nil
		seen := map[string]bool{id: true}
		find := f.Database.Children(db)
		for next := []string{id}; len(next) > 0; {
			children, err := find(next[0])
			if err != nil {
				return err
			}
			next = next[1:]
			for _, child := range children {
				if !seen[child] {
					seen[child] = true
					next = append(next, child)
					list = append(list, Subagent{ID: child, Path: file + idMark + child})
				}
			}
		}
		return nil
	})
	return list, err
}

// databaseName reports whether a file's name is one of a database.
func databaseName(name string) bool { return filepath.Ext(name) == ".db" }

// shelf is what is in a database.
type shelf struct {
	Product  string // whose it is
	Sessions []foreign.Stored
}

// database lists the sessions of a database. The other sessions can be read where there is an error, too.
func (d *discovery) database(path string) error {
	dir, name := filepath.Split(path)
	known := memo.Open[shelf](d.opt.Cache, "databases", filepath.Clean(dir))
	stamp, err := stampDatabase(path)
	if err != nil {
		known = nil // it changes right now, or reading it says what is wrong
	}
	s, ok := known.Get(name, stamp)
	if !ok {
		if err = readDatabase(path, func(db *database.DB, f *foreign.Form) error {
			list, err := f.Database.List(db)
			s = shelf{f.Name, list}
			return err
		}); err == nil {
			known.Put(name, stamp, s)
			_ = known.Save() // what cannot be kept is read again
		}
	}
	d.stored(path, filepath.Clean(dir), stamp, &s)
	return err
}

// stored adds the sessions of a database. Those that others started are these's subagents.
func (d *discovery) stored(path, folder string, stamp memo.Stamp, s *shelf) {
	at := map[string]*foreign.Stored{}
	for i := range s.Sessions {
		at[s.Sessions[i].ID] = &s.Sessions[i]
	}
	project := "" // of sessions that name none
	if strings.HasPrefix(filepath.Base(folder), ".") {
		project = filepath.Dir(folder) // the client keeps its folder there
	}
	first := map[string]int{} // by id: where a session is among those found
	add := func(i *foreign.Stored) {
		if !IsID(i.ID) {
			d.warn(path, "the name of a session in it, %q, is not a session id: not read", i.ID)
			return
		}
		first[i.ID] = len(d.found)
		d.found = append(d.found, FileInfo{
			ID: i.ID, Path: path + idMark + i.ID, Folder: folder, Project: cmp.Or(i.Project, project), Product: s.Product, Version: i.Version, Title: i.Title,
			Prompt: shorten(i.Prompt, promptLength), Created: i.Created, Last: i.Last, Size: i.Size, Parent: i.Parent,
			Subagents: []Subagent{}, stored: true, stamp: stamp, session: i.ID,
		})
	}
	for i := range s.Sessions {
		if at[s.Sessions[i].Parent] == nil {
			add(&s.Sessions[i])
		}
	}
	for i := range s.Sessions {
		if at[s.Sessions[i].Parent] == nil {
			continue
		}
		root := &s.Sessions[i]
		for n := 0; at[root.Parent] != nil && n < len(s.Sessions); n++ {
			root = at[root.Parent]
		}
		if k, ok := first[root.ID]; ok {
			d.found[k].Subagents = append(d.found[k].Subagents, Subagent{
				ID: s.Sessions[i].ID, Path: path + idMark + s.Sessions[i].ID, Size: s.Sessions[i].Size, Description: s.Sessions[i].Title,
			})
		} else { // they name each other
			add(&s.Sessions[i])
		}
	}
}

// stampDatabase is the stamp of a database and its log.
func stampDatabase(file string) (memo.Stamp, error) {
	return memo.StampFiles(slices.DeleteFunc(FilesOf(file), func(name string) bool { return strings.HasSuffix(name, "-shm") })...)
}

// Once removes copies of sessions from a list. Of several copies it keeps the one in a database, else the one with the
// latest Last, else the largest file. A file that only repeats the beginning of another file is left out, with a
// warning. A file that has the same id as another file and different content is kept as a session of its own.
func Once(list []FileInfo) (kept []FileInfo, warnings []Warning) {
	listed := map[string]*FileInfo{} // by client and id
	key := func(i *FileInfo) string { return i.Product + idMark + i.ID }
	paths := map[string]bool{}
	for i := range list {
		if known := listed[key(&list[i])]; list[i].Path != "" && (known == nil || list[i].replaces(known)) {
			listed[key(&list[i])] = &list[i]
		}
	}
	for i := range list {
		info := &list[i]
		other := listed[key(&list[i])]
		switch {
		case info.Path == "" || info == other:
		case paths[info.Path]: // its folder is named twice
			continue
		case other.stored || len(info.Subagents) <= len(other.Subagents) && begins(info.Path, other.Path):
			warnings = append(warnings, Warning{File: info.Path, Message: "the session is also in " + other.Path + ": it counts once"})
			continue
		}
		paths[info.Path] = info.Path != ""
		kept = append(kept, *info)
	}
	return kept, warnings
}

// replaces reports whether a session is listed from here where it is in another file too: it is in a database, or goes on
// for longer.
func (i *FileInfo) replaces(other *FileInfo) bool {
	if i.stored != other.stored {
		return i.stored
	}
	return cmp.Or(i.Last.Compare(other.Last), cmp.Compare(i.Size, other.Size)) > 0
}

// begins reports whether another file begins with all that a file has, or has nothing else.
func begins(path, other string) bool {
	var content [2]*bufio.Reader
	for k, name := range []string{path, other} {
		f, err := jsonl.OpenFile(name)
		if err != nil {
			return false
		}
		defer f.Close()
		text, _, free, err := jsonl.Unpack(f)
		if err != nil {
			return false
		}
		defer free()
		content[k] = bufio.NewReader(io.LimitReader(text, jsonl.InputLimits{}.Filled().Input)) // beyond it no session is read
	}
	for {
		b, err := content[0].ReadByte()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		if c, err := content[1].ReadByte(); err != nil || b != c {
			return false
		}
	}
}
