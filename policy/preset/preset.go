// Package preset finds the built-in policies of the families of stages, by name, alias, or version of a product.
package preset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/strict"
)

const maxBytes = 1 << 20 // more than any policy may have

// presets lists the files of the families that have built-in policies.
func presets(reg policy.Registry) (list []fs.FS) {
	for _, f := range reg.Families() {
		if f.Presets != nil {
			list = append(list, f.Presets)
		}
	}
	return list
}

// Names lists the built-in policies, sorted; aliases are not among them.
func Names(reg policy.Registry) []string {
	var names []string
	for _, files := range presets(reg) {
		paths, err := fs.Glob(files, "*.yaml")
		if err != nil { // the pattern is sound
			continue
		}
		for _, path := range paths {
			if path != indexFile {
				names = append(names, strings.TrimSuffix(path, ".yaml"))
			}
		}
	}
	slices.Sort(names)
	return names
}

// read is the text of a built-in policy.
func read(reg policy.Registry, name string) ([]byte, error) {
	for _, files := range presets(reg) {
		data, err := fs.ReadFile(files, name+".yaml")
		if !errors.Is(err, fs.ErrNotExist) {
			return data, err
		}
	}
	return nil, fs.ErrNotExist
}

// Read is the YAML of a built-in policy and its name, found by that name, an alias, or a product's version
// (claude-code@2.1.14).
func Read(name string, reg policy.Registry) (data []byte, canonical string, err error) {
	canonical, err = Canonical(name, reg)
	if err != nil {
		return nil, "", err
	}
	if !slices.Contains(Names(reg), canonical) {
		known := append(Names(reg), slices.Sorted(maps.Keys(Aliases(reg)))...)
		return nil, "", fmt.Errorf("unknown policy %q: %s (a file's name has a / in it or ends in .yaml)", name, strict.Suggest(name, known))
	}
	data, err = read(reg, canonical)
	return data, canonical, err
}

// Load reads a policy: a built-in one, named as for Read, or a file.
func Load(nameOrFile string, reg policy.Registry) (*policy.Policy, error) {
	resolve := Resolve(reg)
	data, shown, err := resolve(nameOrFile)
	if err != nil {
		return nil, err
	}
	return policy.Decode(shown, data, reg, resolve)
}

// Resolve is the [policy.Resolve] of built-in policies and files.
func Resolve(reg policy.Registry) policy.Resolve {
	return func(nameOrFile string) (data []byte, shown string, err error) {
		if !policy.IsFile(nameOrFile) {
			return Read(nameOrFile, reg)
		}
		return readFile(nameOrFile)
	}
}

func readFile(nameOrFile string) (data []byte, shown string, err error) {
	f, err := os.Open(nameOrFile)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, "", fmt.Errorf("reading policy %s: %w: check the path, or name a built-in policy", nameOrFile, err)
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil {
		return nil, "", fmt.Errorf("reading policy %s: %w: check that it is a plain file", nameOrFile, err)
	}
	return data, filepath.Clean(nameOrFile), nil
}
