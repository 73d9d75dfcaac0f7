// Package generator writes the files that the programs beside it generate.
package generator

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Generator returns the text of each generated file by its path, for the folder it is given.
type Generator func(dir string) (map[string][]byte, error)

// Main writes the files for the folder that the first argument names, or the current one, and exits with 1 if it
// fails.
func (g Generator) Main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	stale, err := g.Stale(dir)
	for path, text := range stale {
		if err == nil {
			err = os.WriteFile(path, text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
}

// Stale returns the files whose text is not what is generated, or that are missing.
func (g Generator) Stale(dir string) (map[string][]byte, error) {
	files, err := g(dir)
	for path, text := range files {
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
			delete(files, path)
		}
	}
	return files, err
}
