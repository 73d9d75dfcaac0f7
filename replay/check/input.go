package check

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Input is the content hash of a session: its file, and the files next to it that change a replay (offloaded results,
// the session's own summary, and with agents its subagents' transcripts). It passes over links and other files that
// are not plain, as a reader of sessions does.
func Input(file string, agents bool) (string, error) {
	h := sha256.New()
	if err := addFile(h, "", file, os.Open); err != nil {
		return "", err
	}
	own, subagent := folderOf(file)
	folders := []string{"tool-results", "session-memory"}
	switch {
	case subagent: // its results are with its session's
		folders = folders[:1]
	case agents:
		folders = append(folders, "subagents")
	}
	root, err := os.OpenRoot(own)
	if errors.Is(err, fs.ErrNotExist) || err == nil && own == filepath.Clean(file) {
		return sum(h), nil
	}
	if err != nil {
		if st, serr := os.Stat(own); serr == nil && !st.IsDir() {
			return sum(h), nil
		}
		return "", fmt.Errorf("reading the files next to %s: %w", file, err)
	}
	defer root.Close()
	for _, folder := range folders {
		if err := addFolder(h, root, folder); err != nil {
			return "", fmt.Errorf("reading the files next to %s: %w", file, err)
		}
	}
	return sum(h), nil
}

// Beside is the folder in which a session, or a subagent's, has what belongs to it. It need not be there.
func Beside(file string) string {
	own, _ := folderOf(file)
	return own
}

func folderOf(file string) (own string, subagent bool) {
	dir, base := filepath.Split(filepath.Clean(file))
	if filepath.Base(dir) == "subagents" {
		return filepath.Join(dir, ".."), true
	}
	return filepath.Join(dir, strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(base, ".gz"), ".zst"), ".jsonl")), false
}

func sum(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }

// addFolder adds the plain files of a folder, in the order of their names.
func addFolder(h io.Writer, root *os.Root, folder string) error {
	return fs.WalkDir(root.FS(), folder, func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || !e.Type().IsRegular():
			return err
		}
		return addFile(h, name, filepath.FromSlash(name), root.Open)
	})
}

// addFile adds a file's name and content, so that different sets of files have different hashes.
func addFile(h io.Writer, name, file string, open func(string) (*os.File, error)) error {
	f, err := open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	one := sha256.New()
	if _, err := io.Copy(one, f); err != nil {
		return err
	}
	_, err = fmt.Fprintf(h, "%q %x\n", path.Clean(filepath.ToSlash(name)), one.Sum(nil))
	return err
}
