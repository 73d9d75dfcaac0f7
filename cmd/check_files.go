package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/replay/check"
)

// readLimited reads a file of at most limit bytes, as what it is.
func (f *files) readLimited(what, name string, limit int64) ([]byte, error) {
	f.reads(what, name)
	return readLimited(name, limit)
}

func readLimited(name string, limit int64) ([]byte, error) {
	f, err := jsonl.OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
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
	data, err := c.sys.files.readLimited(roleBaseline, path, maxBaseline)
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
