package session

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/memo"
)

// mostBeside is how many files next to a session its State looks at.
const mostBeside = 100_000

// State returns a stamp of all files that are read with a session: the session file, its subagents, offloaded results
// and summary file, each with name, size, mode and time of change. It returns an error if the file cannot be read, if
// the agent keeps one session in several files, or if an entry of the session's folders is neither a file nor a folder.
func State(path string) (memo.Stamp, error) { return (&FileInfo{Path: path}).State() }

// State returns the same as the function State for Path. If Discover has already taken the stamp of the file, State
// returns that stamp.
func (i *FileInfo) State() (memo.Stamp, error) {
	path := i.Path
	if _, _, ok := InDatabase(path); ok {
		return stampDatabase(path)
	}
	if len(FilesOf(path)) > 1 {
		return memo.Stamp{}, fmt.Errorf("%s: the session is a tree of files", path)
	}
	h := sha256.New()
	own := i.stamp
	if own == (memo.Stamp{}) {
		var err error
		if own, err = memo.StampFile(path); err != nil {
			return own, err
		}
	}
	h.Write(own[:])
	for _, a := range i.Subagents {
		if filepath.Dir(a.Path) != filepath.Dir(path) {
			continue // in the session's own folder
		}
		of, err := memo.StampFile(a.Path)
		if err != nil {
			return of, err
		}
		h.Write(of[:])
	}
	left := mostBeside
	for _, dir := range besideOf(path) {
		if err := stampFolder(h, dir, &left); err != nil {
			return memo.Stamp{}, err
		}
	}
	return memo.Stamp(h.Sum(nil)), nil
}

// besideOf are the folders of what is read with a session's file.
func besideOf(path string) (list []string) {
	dir, base := filepath.Split(filepath.Clean(path))
	id, _ := SessionID(base)
	if id != "" {
		list = append(list, filepath.Join(dir, id))
	}
	if name, _, ok := strings.Cut(base, ".jsonl"); ok && name != "" && name != id {
		list = append(list, filepath.Join(dir, name))
	}
	if own, ok := ofSubagent(path); ok {
		list = append(list, filepath.Join(own, toolResultsName))
	}
	return list
}

// stampFolder writes the state of all files of a folder, which need not exist.
func stampFolder(w io.Writer, dir string, left *int) error {
	st, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err = io.WriteString(w, "none\n")
		return err
	case err != nil:
		return err
	case !st.IsDir():
		return fmt.Errorf("%s: not a folder", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if *left -= len(entries); *left < 0 {
		return fmt.Errorf("%s: too many files", dir)
	}
	fmt.Fprintf(w, "%v %d\n", st.Mode(), len(entries))
	for _, e := range entries {
		st, err := e.Info()
		if err != nil {
			return err
		}
		if !st.IsDir() && !st.Mode().IsRegular() {
			return fmt.Errorf("%s: neither a file nor a folder", filepath.Join(dir, e.Name()))
		}
		fmt.Fprintf(w, "%q %v %d %d\n", e.Name(), st.Mode(), st.Size(), st.ModTime().UnixNano())
		if st.IsDir() {
			if err := stampFolder(w, filepath.Join(dir, e.Name()), left); err != nil {
				return err
			}
		}
	}
	return nil
}
