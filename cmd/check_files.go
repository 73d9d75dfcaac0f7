package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ctxkit/ctxkit/replay/check"
)

// ownFile is a file that a check reads and must not overwrite.
type ownFile struct{ path, what string }

// taken says why a file must not be written: the check reads it, or it is in the folder of a session. It is "" for
// any other file.
func (c *checking) taken(path string) string {
	for _, own := range c.reads {
		if sameFile(path, own.path) {
			return "is " + own.what + " as well"
		}
	}
	above := foldersFrom(filepath.Dir(path))
	for _, in := range c.in.list {
		if st, err := os.Stat(check.Beside(in)); err == nil && among(above, st) {
			return "belongs to session " + in
		}
	}
	return ""
}

// sameFile reports whether two names mean one file, which need not exist.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX == nil || errY == nil {
		return errX == nil && errY == nil && os.SameFile(x, y)
	}
	x, errX = os.Stat(filepath.Dir(a))
	y, errY = os.Stat(filepath.Dir(b))
	return errX == nil && errY == nil && os.SameFile(x, y) && filepath.Base(a) == filepath.Base(b)
}

// targets refuses outputs that the check reads, and those that are named twice.
func (c *checking) targets(forms []also) error {
	if c.config.Baseline != "" {
		c.reads = append(c.reads, ownFile{c.path(c.config.Baseline), "the baseline"})
	}
	var before []string
	one := func(path string) error {
		if path == "" || path == "-" {
			return nil
		}
		if taken := c.taken(path); taken != "" {
			return fmt.Errorf("%s: %s: name another file for the output", path, taken)
		}
		if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
			return nil // a device or a pipe takes what comes
		}
		for _, other := range before {
			if sameFile(path, other) {
				return fmt.Errorf("%s: is written already: name another file", path)
			}
		}
		before = append(before, path)
		return nil
	}
	if err := one(c.o.OutputOptions.File); err != nil {
		return err
	}
	for _, f := range forms {
		if err := one(f.file); err != nil {
			return fmt.Errorf("flag --also: %w", err)
		}
	}
	return nil
}

// readLimited reads a file of at most limit bytes.
func readLimited(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, errors.New("is a folder: name a file")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("over %d bytes long: the file is too large for what it should hold", limit)
	}
	return data, err
}

// baseline reads the baseline; nil where none is named, or where --update finds none that it can read.
func (c *checking) baseline() (*check.Baseline, error) {
	if c.config.Baseline == "" {
		if c.o.Update {
			return nil, fmt.Errorf("%s: no baseline is named: write \"baseline: FILE\" in it", c.config.File)
		}
		return nil, nil
	}
	path := c.path(c.config.Baseline)
	data, err := readLimited(path, maxBaseline)
	if errors.Is(err, fs.ErrNotExist) {
		if c.o.Update {
			return nil, nil
		}
		return nil, fmt.Errorf("%s: there is no baseline yet: make it with `%s`", path, updateCommand(c.config.File))
	}
	if err != nil {
		return nil, pathError(path, err)
	}
	if !check.IsBaseline(data) {
		return nil, fmt.Errorf("%s: is no baseline, and is not overwritten: name another file after \"baseline:\", or move it away", path)
	}
	b, err := check.ReadBaseline(path, data, updateCommand(c.config.File))
	if err != nil && c.o.Update {
		return nil, nil // it is replaced
	}
	return b, err
}
