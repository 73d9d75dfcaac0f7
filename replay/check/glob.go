package check

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Files lists the plain files under dir that a pattern names, sorted, with slashes and relative to dir. A pattern has
// the wildcards of path.Match, and ** for any folders, of which those a session keeps next to its file (subagents,
// tool-results, session-memory) are left out. Nothing found is an error.
func Files(dir, pattern string) ([]string, error) {
	clean := path.Clean(filepath.ToSlash(pattern))
	if _, err := path.Match(clean, ""); err != nil {
		return nil, fmt.Errorf("%q is no pattern: close its brackets", pattern)
	}
	base := ""
	if path.IsAbs(clean) || filepath.IsAbs(pattern) {
		base = filepath.ToSlash(filepath.VolumeName(filepath.FromSlash(clean))) + "/"
		clean = strings.TrimPrefix(clean, base)
	}
	g := &globber{dir: dir, found: map[string]bool{}}
	if err := g.walk(base, strings.Split(clean, "/")); err != nil {
		return nil, err
	}
	if st, err := os.Stat(g.real(path.Join(base, clean))); len(g.found) == 0 && err == nil && st.IsDir() {
		return nil, fmt.Errorf("%q is a folder: name its files, such as %s/*.jsonl", pattern, clean)
	}
	if len(g.found) == 0 {
		return nil, fmt.Errorf("%q matches no file: check the path, which is relative to this file", pattern)
	}
	list := make([]string, 0, len(g.found))
	for name := range g.found {
		list = append(list, name)
	}
	slices.Sort(list)
	return list, nil
}

type globber struct {
	dir   string
	found map[string]bool
}

func (g *globber) real(name string) string {
	if path.IsAbs(name) || filepath.IsAbs(name) {
		return filepath.FromSlash(name)
	}
	return filepath.Join(g.dir, filepath.FromSlash(name))
}

// walk follows the segments from the folder name on.
func (g *globber) walk(name string, segments []string) error {
	segment := segments[0]
	rest := segments[1:]
	if !strings.ContainsAny(segment, `*?[\`) {
		return g.step(path.Join(name, segment), rest)
	}
	dir := g.real(cmp.Or(name, "."))
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil // Files reports a pattern without a match
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%s: a folder cannot be read: %w: check its mode", dir, err)
	}
	deep := segment == "**"
	if deep && len(rest) > 0 {
		if err := g.walk(name, rest); err != nil {
			return err
		}
	}
	for _, e := range entries {
		next := path.Join(name, e.Name())
		switch match, _ := path.Match(segment, e.Name()); {
		case deep && e.IsDir():
			if besideSession(e.Name()) {
				continue
			}
			if err := g.walk(next, segments); err != nil {
				return err
			}
		case deep && len(rest) > 0:
		case match || deep:
			if err := g.step(next, rest); err != nil {
				return err
			}
		}
	}
	return nil
}

// step goes on behind a name, or takes it where it is the last. Folders among what a wildcard finds are passed over.
func (g *globber) step(name string, rest []string) error {
	if len(rest) > 0 {
		return g.walk(name, rest)
	}
	if st, err := os.Stat(g.real(name)); err == nil && st.Mode().IsRegular() {
		g.found[name] = true
	}
	return nil
}

func besideSession(name string) bool {
	return name == "subagents" || name == "tool-results" || name == "session-memory"
}
