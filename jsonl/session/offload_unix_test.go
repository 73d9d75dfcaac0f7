//go:build unix

package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestOffloadLinks: links that lead out of the folder, folders and pipes are refused.
func TestOffloadLinks(t *testing.T) {
	outside := inFolder(t, map[string]string{"secret.txt": "a secret", "t1.txt": "a secret"})
	for name, tt := range map[string]struct {
		make func(folder string) error
		want session.OffloadCount
	}{
		"an absolute link": {func(f string) error {
			return os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(f, "t1.txt"))
		}, session.OffloadCount{Refused: 1}},
		"a relative link":  {func(f string) error { return os.Symlink("../../s.jsonl", filepath.Join(f, "t1.txt")) }, session.OffloadCount{Refused: 1}},
		"a link inside":    {func(f string) error { return os.Symlink("other.txt", filepath.Join(f, "t1.txt")) }, session.OffloadCount{Read: 1}},
		"a broken link":    {func(f string) error { return os.Symlink("gone.txt", filepath.Join(f, "t1.txt")) }, session.OffloadCount{Missing: 1}},
		"a link to itself": {func(f string) error { return os.Symlink("t1.txt", filepath.Join(f, "t1.txt")) }, session.OffloadCount{Refused: 1}},
		"a folder":         {func(f string) error { return os.Mkdir(filepath.Join(f, "t1.txt"), 0o755) }, session.OffloadCount{Refused: 1}},
		"a pipe":           {func(f string) error { return syscall.Mkfifo(filepath.Join(f, "t1.txt"), 0o644) }, session.OffloadCount{Refused: 1}},
		"a device":         {func(f string) error { return os.Symlink("/dev/zero", filepath.Join(f, "t1.txt")) }, session.OffloadCount{Refused: 1}},
		"the folder itself a link": {func(f string) error {
			if err := os.RemoveAll(f); err != nil {
				return err
			}
			return os.Symlink(outside, f)
		}, session.OffloadCount{Refused: 1}},
	} {
		dir := inFolder(t, map[string]string{"s.jsonl": offloaded("t1", "x"), "s/tool-results/other.txt": "inside"})
		must.Do(t, tt.make(filepath.Join(dir, "s", "tool-results")))
		conv := loadFile(t, filepath.Join(dir, "s.jsonl"), session.LoadOptions{})
		same(t, tt.want, conv.Offloads, name, conv.Warnings)
	}
	// A link put in place between loading and reading back leads nowhere.
	dir := inFolder(t, map[string]string{"s.jsonl": offloaded("t1", "x"), "s/tool-results/t1.txt": "inside"})
	conv := loadFile(t, filepath.Join(dir, "s.jsonl"), session.LoadOptions{})
	path := filepath.Join(dir, "s", "tool-results", "t1.txt")
	must.Do(t, os.Remove(path))
	must.Do(t, os.Symlink(filepath.Join(outside, "t1.txt"), path))
	if got, err := conv.OffloadText(2, 0); err == nil {
		t.Errorf("read %q through the link", got)
	}
}

// TestMemoryLinks: nor is a session's own summary read through a link that leads out, from a pipe, or after such a
// link has taken its place.
func TestMemoryLinks(t *testing.T) {
	outside := inFolder(t, map[string]string{"summary.md": "a secret"})
	for name, make := range map[string]func(folder, file string) error{
		"an absolute link":      func(_, file string) error { return os.Symlink(filepath.Join(outside, "summary.md"), file) },
		"a link to the session": func(_, file string) error { return os.Symlink("../../s.jsonl", file) },
		"a folder":              func(_, file string) error { return os.Mkdir(file, 0o755) },
		"a pipe":                func(_, file string) error { return syscall.Mkfifo(file, 0o644) },
		"a device":              func(_, file string) error { return os.Symlink("/dev/zero", file) },
		"the folder itself a link": func(folder, _ string) error {
			if err := os.RemoveAll(folder); err != nil {
				return err
			}
			return os.Symlink(outside, folder)
		},
	} {
		dir := inFolder(t, map[string]string{"s.jsonl": offloaded("t1", "x"), "s/session-memory/other.md": "inside"})
		folder := filepath.Join(dir, "s", "session-memory")
		must.Do(t, make(folder, filepath.Join(folder, "summary.md")))
		conv := loadFile(t, filepath.Join(dir, "s.jsonl"), session.LoadOptions{})
		if conv.HasMemory {
			t.Errorf("%s: there is a summary", name)
		}
		wantWarning(t, conv, 0, "summary is not read")
		if strings.Contains(name, "link") {
			wantWarning(t, conv, 0, "a link to a place outside the session's folder")
		}
	}
	dir := inFolder(t, map[string]string{"s.jsonl": offloaded("t1", "x"), "s/session-memory/summary.md": "inside"})
	conv := loadFile(t, filepath.Join(dir, "s.jsonl"), session.LoadOptions{})
	path := filepath.Join(dir, "s", "session-memory", "summary.md")
	must.Do(t, os.Remove(path))
	must.Do(t, os.Symlink(filepath.Join(outside, "summary.md"), path))
	if got, err := conv.MemoryText(); err == nil {
		t.Errorf("read %q through the link", got)
	}
}

// TestPipesForFolders: a pipe in the place of a session's folder is not waited for, and is said.
func TestPipesForFolders(t *testing.T) {
	must.Rows(t, `
# name | line
tool-results   | 3
session-memory | 0
`, func(name string, line int) {
		dir := inFolder(t, map[string]string{"s.jsonl": offloaded("t1", "x"), "s/other.txt": "inside"})
		must.Do(t, syscall.Mkfifo(filepath.Join(dir, "s", name), 0o644))
		wantWarning(t, loadFile(t, filepath.Join(dir, "s.jsonl"), session.LoadOptions{}), line, "it is no folder")
	})
	for _, name := range []string{"tool-results", "subagents"} {
		dir := inFolder(t, map[string]string{"s.jsonl": offloaded("t1", "x"), "s/other.txt": "inside"})
		must.Do(t, syscall.Mkfifo(filepath.Join(dir, "s", name), 0o644))
		files, warnings, err := session.Discover(dir)
		if err != nil || len(files) != 1 || len(warnings) != 1 || !strings.HasSuffix(warnings[0].File, name) {
			t.Errorf("%s: %d files, warnings %v, %v", name, len(files), warnings, err)
		}
	}
}
