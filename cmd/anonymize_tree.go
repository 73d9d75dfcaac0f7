package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/anonymize"
)

// runAnonymizeTree writes a session that is a tree of files as one, into a folder that -o names.
func runAnonymizeTree(sys *system, o *anonymizeOptions, a *anonymize.Anonymizer, folder string, names []string) error {
	if o.Check {
		a.Try()
	}
	each := func(use func(src *jsonl.Source, name string) error) error {
		for _, name := range names {
			src, err := sys.limits.Open(filepath.Join(folder, filepath.FromSlash(name)))
			if err == nil {
				err = use(src, name)
				src.Close()
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := each(func(src *jsonl.Source, name string) error {
		for part := range strings.SplitSeq(strings.TrimSuffix(name, filepath.Ext(name)), "/") {
			a.NoteText(part)
		}
		return a.Note(src, 1)
	}); err != nil {
		return err
	}
	write := func(to string, write func(io.Writer) error) error { return write(io.Discard) }
	var out *atomicFolder
	switch _, err := os.Lstat(o.File); {
	case o.Check && o.File == "":
	case o.File == "" || o.File == "-":
		return errors.New("the session is a tree of files: name a folder for it with -o")
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: is there already: name a new folder for the tree with -o", o.File)
	default:
		if out, err = sys.createAtomicFolder(o.File); err != nil {
			return err
		}
		defer func() { _ = out.remove() }()
		write = out.write
	}
	if err := each(func(src *jsonl.Source, name string) error {
		ext := filepath.Ext(name)
		parts := strings.Split(strings.TrimSuffix(name, ext), "/")
		for i := 1; i < len(parts); i++ { // the first is the kind of the file
			parts[i] = a.Name(parts[i])
		}
		to := strings.Join(parts, "/") + ext
		a.Check(to, anonymize.Location{File: to})
		if err := write(to, func(w io.Writer) error { return a.Write(src, to, 1, w) }); err != nil {
			return writeError(filepath.Join(o.File, to), err)
		}
		return nil
	}); err != nil {
		return err
	}
	if out != nil {
		if err := out.rename(); err != nil {
			return writeError(o.File, err)
		}
	}
	return o.disclose(sys, a)
}
