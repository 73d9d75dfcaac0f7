package foreign

import (
	"errors"
	"io/fs"
	"os"
)

// ReadDir lists a folder in root, by name. The error is one of the file system; a pipe in its place, which opening would
// wait for, is no folder.
func ReadDir(root *os.Root, name string) ([]fs.DirEntry, error) {
	st, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it is no folder")}
	}
	return fs.ReadDir(root.FS(), name)
}
