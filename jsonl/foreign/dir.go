package foreign

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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

// ReadFile reads a regular file, up to a number of bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	st, err := os.Lstat(path) // before it is opened: opening a pipe would wait
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no plain file", filepath.Base(path))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// Closing closes files where what they hold ends.
type Closing struct {
	io.Reader
	Files []*os.File
}

func (c *Closing) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err != nil {
		for _, f := range c.Files {
			f.Close()
		}
	}
	return n, err
}
