package preset

import (
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/strict"
)

const (
	indexFile = "index.yaml"

	// RecordedVersion in the place of a version means that of the client that recorded the session:
	// claude-code@recorded-version.
	RecordedVersion = "recorded-version"
)

// index is index.yaml.
type index struct {
	Aliases  map[string]string
	Versions map[string][]Band
}

// Band is a range of versions of a product with the same policy.
type Band struct {
	Before string // the first version behind it; "" in the last
	Policy string
}

// Bands lists the versions of a product, oldest first.
func Bands(product string, reg policy.Registry) []Band { return readIndex(reg).Versions[product] }

// readIndex joins the index files of the families.
func readIndex(reg policy.Registry) index {
	all := index{map[string]string{}, map[string][]Band{}}
	for _, files := range presets(reg) {
		var ix index
		data, err := fs.ReadFile(files, indexFile)
		if err == nil {
			err = yaml.Load(data, &ix, yaml.WithKnownFields())
		}
		if err != nil { // there is none; a test checks those that are there
			continue
		}
		maps.Copy(all.Aliases, ix.Aliases)
		maps.Copy(all.Versions, ix.Versions)
	}
	return all
}

// Aliases maps each alias to the policy it means.
func Aliases(reg policy.Registry) map[string]string { return readIndex(reg).Aliases }

// Versioned lists the names that take a version, as in claude-code@2.1.14.
func Versioned(reg policy.Registry) []string {
	return slices.Sorted(maps.Keys(readIndex(reg).Versions))
}

// Canonical is the name of the built-in policy that name means: itself, what it is an alias of, or what a version of
// a product works by.
func Canonical(name string, reg policy.Registry) (string, error) {
	ix := readIndex(reg)
	product, version, ok := strings.Cut(name, "@")
	if !ok {
		if to, ok := ix.Aliases[name]; ok {
			return to, nil
		}
		return name, nil
	}
	list, ok := ix.Versions[product]
	if !ok {
		return "", fmt.Errorf("no versions of %q are known: %s", product, strict.Suggest(product, Versioned(reg)))
	}
	if version == RecordedVersion {
		return "", fmt.Errorf("%s stands for the version that recorded a session: name a session, or a version such as %s@2.1.14", name, product)
	}
	v, ok := parseVersion(version)
	if !ok {
		return "", fmt.Errorf("%q is no version of %s: write it as %s@2.1.14", version, product, product)
	}
	for _, e := range list {
		if before, ok := parseVersion(e.Before); !ok || slices.Compare(v, before) < 0 {
			return e.Policy, nil
		}
	}
	return list[len(list)-1].Policy, nil
}

// parseVersion reads 2.1.14; what follows a - or + does not count.
func parseVersion(s string) ([]int, bool) {
	if i := strings.IndexAny(s, "-+"); i >= 0 {
		s = s[:i]
	}
	var v []int
	for part := range strings.SplitSeq(s, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, false
		}
		v = append(v, n)
	}
	return v, true
}

// Default names the policies that a command uses where none is named.
type Default struct {
	Compare    []string
	Thresholds string
	Backtest   string
}

//go:embed defaults.yaml
var defaults []byte

// Defaults reads the policies of commands; a test checks them.
func Defaults() (d Default) {
	if err := yaml.Load(defaults, &d, yaml.WithKnownFields()); err != nil {
		return Default{}
	}
	return d
}
