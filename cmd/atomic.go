package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// atomicFile is an output file under a temporary name in the folder of its path. It replaces what has that path once
// it is complete, or not at all.
type atomicFile struct {
	*bufio.Writer // to file
	file          *os.File
	sys           *system
	place         *writtenPath  // where it goes
	folder        *atomicFolder // replaced together with the file; nil: none
}

const fileBuffer = 64 << 10 // bytes

// createAtomic begins an output file. Its error names the path, as those of commit do.
func (s *system) createAtomic(path string) (*atomicFile, error) {
	place, err := s.files.writes(path)
	if err != nil {
		return nil, err
	}
	// Under the lock, so that an interrupt knows every file there is.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		s.files.drop(place)
		return nil, errInterrupted
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part")
	if err != nil {
		s.files.drop(place)
		return nil, writeError(path, err)
	}
	s.unfinished = append(s.unfinished, f.Name())
	return &atomicFile{Writer: bufio.NewWriterSize(f, fileBuffer), file: f, sys: s, place: place}, nil
}

// finished takes a temporary name off those that an interrupt removes.
func (s *system) finished(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unfinished = slices.DeleteFunc(s.unfinished, func(n string) bool { return n == name })
}

// removeUnfinished ends the writing of files: those under their temporary names go, and no other is begun.
func (s *system) removeUnfinished() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.unfinished {
		os.RemoveAll(n)
	}
	s.unfinished = nil
	s.left = true
}

// commit completes files that belong together and renames them to their paths: all of them, or none where one cannot be
// completed.
func commit(files ...*atomicFile) error {
	var err error
	for _, f := range files {
		if err == nil {
			err = f.complete()
		}
	}
	if err == nil {
		err = files[0].sys.rename(files)
	}
	for _, f := range files {
		if err != nil {
			f.discard()
		} else {
			f.sys.finished(f.file.Name())
			f.sys.files.isThere(f.place)
		}
	}
	return err
}

// complete writes all of the file, under its temporary name. Its mode is that of a new file, or of the file it replaces.
func (f *atomicFile) complete() error {
	if err := f.sys.files.stillFree(f.place); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if old, err := os.Stat(f.place.path); err == nil {
		mode = old.Mode().Perm()
	}
	if err := errors.Join(f.Flush(), f.file.Chmod(mode), f.file.Sync(), f.file.Close()); err != nil {
		return writeError(f.place.path, err)
	}
	return nil
}

// rename renames complete files to their paths. An interrupt comes before the first of them or after the last one. Where
// the program is killed meanwhile, files are missing: no older one stands next to a new one.
func (s *system) rename(files []*atomicFile) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return errInterrupted
	}
	for _, f := range files {
		if st, err := os.Lstat(f.place.path); err == nil && st.IsDir() {
			return writeError(f.place.path, errors.New("a folder of that name is there"))
		}
	}
	for _, f := range files[1:] {
		if err := os.Remove(f.place.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return writeError(f.place.path, err)
		}
	}
	for _, f := range files {
		if err := f.rename(); err != nil {
			return writeError(f.place.path, err)
		}
	}
	return nil
}

// rename renames the file, and the folder that comes with it: both or none.
func (f *atomicFile) rename() error {
	if f.folder == nil {
		return os.Rename(f.file.Name(), f.place.path)
	}
	if err := f.folder.rename(); err != nil {
		return err
	}
	if err := os.Rename(f.file.Name(), f.place.path); err != nil {
		return errors.Join(err, f.folder.undo())
	}
	return nil
}

// discard removes the unfinished file.
func (f *atomicFile) discard() {
	f.file.Close()
	os.Remove(f.file.Name())
	f.sys.finished(f.file.Name())
	f.sys.files.drop(f.place)
}

// atomicFolder is an output folder under a temporary name, which replaces the folder at its path together with the
// file it comes with.
type atomicFolder struct {
	sys  *system
	temp string
	path string
}

func (s *system) createAtomicFolder(path string) (*atomicFolder, error) {
	if why := s.files.taken(path); why != "" {
		return nil, fmt.Errorf("%s: %s: name another place for the output", path, why)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return nil, errInterrupted
	}
	temp, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part")
	if err != nil {
		return nil, writeError(path, err)
	}
	s.unfinished = append(s.unfinished, temp)
	f := &atomicFolder{sys: s, temp: temp, path: path}
	return f, os.Mkdir(f.fresh(), 0o755)
}

// fresh is the new folder before it is renamed, and old the one it replaces afterwards.
func (f *atomicFolder) fresh() string { return filepath.Join(f.temp, "new") }
func (f *atomicFolder) old() string   { return filepath.Join(f.temp, "old") }

// rename moves the new folder to its path. The one it replaces is kept for undo.
func (f *atomicFolder) rename() error {
	if err := move(f.path, f.old()); err != nil {
		return err
	}
	if err := os.Rename(f.fresh(), f.path); err != nil {
		return errors.Join(err, move(f.old(), f.path))
	}
	return nil
}

// undo reverses rename.
func (f *atomicFolder) undo() error {
	return errors.Join(os.Rename(f.path, f.fresh()), move(f.old(), f.path))
}

// move renames a folder, if there is one.
func move(from, to string) error {
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// write makes a file of the folder. Its name has slashes.
func (f *atomicFolder) write(name string, write func(io.Writer) error) error {
	path := filepath.Join(f.fresh(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, fileBuffer)
	return errors.Join(write(w), w.Flush(), file.Sync(), file.Close())
}

// remove removes the temporary folder. It keeps a replaced folder whose path is left empty.
func (f *atomicFolder) remove() error {
	defer f.sys.finished(f.temp)
	if _, err := os.Lstat(f.path); err != nil {
		if _, err := os.Lstat(f.old()); err == nil {
			return nil
		}
	}
	return os.RemoveAll(f.temp)
}
