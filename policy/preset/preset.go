// Package preset holds the built-in policies: one YAML file each, embedded.
// Adding a policy is adding a file.
package preset

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var files embed.FS

const (
	aliasFile = "aliases.yaml"
	maxBytes  = 1 << 20 // more than any policy may have
)

// Names lists the built-in policies, sorted; aliases are not among them.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil { // an embedded folder can be read
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.Name() != aliasFile {
			names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
		}
	}
	slices.Sort(names)
	return names
}

// Aliases maps each alias to the policy it means.
func Aliases() map[string]string {
	m := map[string]string{}
	if data, err := files.ReadFile(aliasFile); err == nil {
		if err := yaml.Load(data, &m); err != nil {
			return nil // a test keeps the file sound
		}
	}
	return m
}

// Canonical is the policy an alias means; any other name stands for itself.
func Canonical(name string) string {
	if to, ok := Aliases()[name]; ok {
		return to
	}
	return name
}

// Read is the YAML of a built-in policy, by name or alias.
func Read(name string) ([]byte, error) {
	data, err := files.ReadFile(Canonical(name) + ".yaml")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) || name+".yaml" == aliasFile {
		known := Names()
		for alias := range Aliases() {
			known = append(known, alias)
		}
		return nil, fmt.Errorf("unknown policy %q: %s (a file's name has a / in it or ends in .yaml)", name, policy.Suggest(name, known))
	}
	return data, err
}

// Load reads a policy: a built-in one by name or alias, or a file.
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
		data, err := Read(nameOrFile)
		return data, Canonical(nameOrFile), err
	}
	f, err := os.Open(nameOrFile)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, "", fmt.Errorf("reading policy %s: %w: check the path, or list built-in policies with ctxkit policy list", nameOrFile, err)
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil {
		return nil, "", fmt.Errorf("reading policy %s: %w: check that it is a plain file", nameOrFile, err)
	}
	return data, filepath.Clean(nameOrFile), nil
}
