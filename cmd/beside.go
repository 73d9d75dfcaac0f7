package cmd

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// createBeside opens a file beside path, to be renamed to path once it is
// whole.
func (s *system) createBeside(path string) (*besideFile, error) {
	// Under the lock: a file that is there is known, so an interrupt removes it.
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part")
	if err != nil {
		return nil, err
	}
	s.unfinished = append(s.unfinished, f.Name())
	return &besideFile{File: f, sys: s, path: path}, nil
}

func (s *system) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, n := range s.unfinished {
		if n == name {
			s.unfinished = append(s.unfinished[:i], s.unfinished[i+1:]...)
			return
		}
	}
}

func (s *system) removeUnfinished() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.unfinished {
		os.RemoveAll(n)
	}
	s.unfinished = nil
}

// besideFile is an output file under a temporary name.
type besideFile struct {
	*os.File
	sys    *system
	path   string
	folder *besideFolder // gets its name with the file, nil for none
}

// commit gives the file its name. The mode is that of a new file, or of the
// file it replaces.
func (f *besideFile) commit() error {
	mode := os.FileMode(0o644)
	if old, err := os.Stat(f.path); err == nil {
		mode = old.Mode().Perm()
	}
	defer f.sys.forget(f.Name())
	err := errors.Join(f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = f.place()
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// place gives the file its name and the folder that comes with it its own:
// both, or neither. An interrupt waits.
func (f *besideFile) place() error {
	f.sys.mu.Lock()
	defer f.sys.mu.Unlock()
	if f.folder == nil {
		return os.Rename(f.Name(), f.path)
	}
	if err := f.folder.place(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), f.path); err != nil {
		return errors.Join(err, f.folder.displace())
	}
	return nil
}

// discard removes the unfinished file.
func (f *besideFile) discard() {
	f.Close()
	os.Remove(f.Name())
	f.sys.forget(f.Name())
}

// besideFolder is a folder under a temporary name.
type besideFolder struct {
	sys  *system
	name string // of the temporary folder
	path string
}

// createFolder makes a folder beside path, which gets that name once the file
// it comes with gets its own.
func (s *system) createFolder(path string) (*besideFolder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part")
	if err != nil {
		return nil, err
	}
	s.unfinished = append(s.unfinished, name)
	f := &besideFolder{sys: s, name: name, path: path}
	return f, os.Mkdir(f.fresh(), 0o755)
}

// fresh is where the new folder stands until it has its name, and old where
// the one it replaces stands until it is gone.
func (f *besideFolder) fresh() string { return filepath.Join(f.name, "new") }
func (f *besideFolder) old() string   { return filepath.Join(f.name, "old") }

// place gives the folder its name; one that has it is put aside.
func (f *besideFolder) place() error {
	if err := os.Rename(f.path, f.old()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(f.fresh(), f.path); err != nil {
		return errors.Join(err, f.restore())
	}
	return nil
}

// displace takes back what place did.
func (f *besideFolder) displace() error {
	return errors.Join(os.Rename(f.path, f.fresh()), f.restore())
}

func (f *besideFolder) restore() error {
	if err := os.Rename(f.old(), f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// write makes a file of the folder, whose name in it has slashes.
func (f *besideFolder) write(name string, write func(io.Writer) error) error {
	path := filepath.Join(f.fresh(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 64<<10)
	if err := write(w); err != nil {
		file.Close()
		return err
	}
	return errors.Join(w.Flush(), file.Sync(), file.Close())
}

// remove removes what is left under the temporary name; not the folder that
// was put aside where nothing came to stand in its place.
func (f *besideFolder) remove() error {
	defer f.sys.forget(f.name)
	if _, err := os.Lstat(f.path); err != nil {
		if _, err := os.Lstat(f.old()); err == nil {
			return nil
		}
	}
	return os.RemoveAll(f.name)
}
