// Package preset holds the built-in policies: one YAML file each, embedded.
// Adding a policy is adding a file.
package preset

import (
	"embed"
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

//go:embed *.yaml
var files embed.FS

const maxBytes = 1 << 20 // more than any policy may have

// Names lists the built-in policies, sorted; aliases are not among them.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil { // an embedded folder can be read
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.Name() != indexFile {
			names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
		}
	}
	slices.Sort(names)
	return names
}

// Read is the YAML of a built-in policy and its name, found by that name, an
// alias, or a product's version (claude-code@2.1.14).
func Read(name string) (data []byte, canonical string, err error) {
	canonical, err = Canonical(name)
	if err != nil {
		return nil, "", err
	}
	if !slices.Contains(Names(), canonical) {
		known := append(Names(), slices.Sorted(maps.Keys(Aliases()))...)
		return nil, "", fmt.Errorf("unknown policy %q: %s (a file's name has a / in it or ends in .yaml)", name, strict.Suggest(name, known))
	}
	data, err = files.ReadFile(canonical + ".yaml")
	return data, canonical, err
}

// Load reads a policy: a built-in one, named as for Read, or a file.
func Load(nameOrFile string, reg policy.Registry) (*policy.Policy, error) {
	data, shown, err := Resolve(nameOrFile)
	if err != nil {
		return nil, err
	}
	return policy.Decode(shown, data, reg, Resolve)
}

// Resolve is the [policy.Resolve] of built-in policies and files.
func Resolve(nameOrFile string) (data []byte, shown string, err error) {
	if !policy.IsFile(nameOrFile) {
		return Read(nameOrFile)
	}
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
