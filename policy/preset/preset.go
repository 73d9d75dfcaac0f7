// Package preset finds the built-in policies of the families of stages, by their names or by a product's name.
package preset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/strict"
)

const (
	maxBytes  = 1 << 20 // more than any policy may have
	extension = ".yaml"
)

// presets lists the files of the families that have built-in policies.
func presets(reg policy.Registry) (list []fs.FS) {
	for _, f := range reg.Families() {
		if f.Presets != nil {
			list = append(list, f.Presets)
		}
	}
	return list
}

// Names lists the built-in policies, sorted; the bare names of products are not among them.
func Names(reg policy.Registry) []string {
	var names []string
	for _, files := range presets(reg) {
		paths, err := fs.Glob(files, "*"+extension)
		if err != nil { // the pattern is sound
			continue
		}
		for _, path := range paths {
			names = append(names, strings.TrimSuffix(path, extension))
		}
	}
	slices.Sort(names)
	return names
}

// read is the text of a built-in policy.
func read(reg policy.Registry, name string) ([]byte, error) {
	for _, files := range presets(reg) {
		data, err := fs.ReadFile(files, name+extension)
		if !errors.Is(err, fs.ErrNotExist) {
			return data, err
		}
	}
	return nil, fs.ErrNotExist
}

// Read is the YAML of a built-in policy and its name, found by that name or a product's, which means its newest
// release.
func Read(name string, reg policy.Registry) (data []byte, canonical string, err error) {
	c, err := For(name, Client{}, reg)
	if err != nil {
		return nil, "", err
	}
	if data, err = read(reg, c.Policy); errors.Is(err, fs.ErrNotExist) || !fs.ValidPath(c.Policy) {
		err = fmt.Errorf("unknown policy %q: %s (a file's name has a / in it or ends in .yaml)", name, strict.Suggest(name, Known(reg)))
	}
	return data, c.Policy, err
}

// Known lists the names of built-in policies and of products, sorted.
func Known(reg policy.Registry) []string {
	return slices.Sorted(slices.Values(append(Names(reg), Products(reg)...)))
}

// Load reads a policy: a built-in one, named as for Read, or a file.
func Load(nameOrFile string, reg policy.Registry) (*policy.Policy, error) {
	return LoadFor(nameOrFile, Client{}, reg)
}

// LoadFor is Load for the session of a client: see For.
func LoadFor(nameOrFile string, client Client, reg policy.Registry) (*policy.Policy, error) {
	resolve, chosen := Resolve(reg), Chosen{}
	if !policy.IsFile(nameOrFile) {
		var err error
		if chosen, err = For(nameOrFile, client, reg); err != nil {
			return nil, err
		}
		nameOrFile = chosen.Policy
	}
	data, shown, err := resolve(nameOrFile)
	if err != nil {
		return nil, err
	}
	p, err := policy.Decode(shown, data, reg, resolve)
	if err != nil {
		return nil, err
	}
	p = p.As(chosen.Version, chosen.Why, chosen.Older)
	if p.File == "" {
		p.Score = ReadScores().Policies[p.Name]
	}
	return p, nil
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
