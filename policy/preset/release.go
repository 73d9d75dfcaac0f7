package preset

import (
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// What may stand in the place of a version, as in claude-code@latest.
const (
	// RecordedVersion means what a product's bare name means: the release that was current when a session was
	// recorded.
	RecordedVersion = "recorded-version"
	// Latest is the newest release.
	Latest = "latest"
)

// Release is a built-in policy that stands for a product's releases from a version on.
type Release struct {
	Policy  string
	Version string // the first of them
	Valid   policy.Valid
}

// Releases lists the built-in policies of a product, oldest first; none of a name that is no product's.
func Releases(product string, reg policy.Registry) []Release {
	return readReleases(reg, product)[product]
}

// Products lists the bare names: each means a release of the product, by the session that is replayed.
func Products(reg policy.Registry) []string {
	return slices.Sorted(maps.Keys(readReleases(reg, "")))
}

// readReleases reads the releases of one product, or of all ("").
func readReleases(reg policy.Registry, only string) map[string][]Release {
	all := map[string][]Release{}
	for _, files := range presets(reg) {
		paths, err := fs.Glob(files, only+"*.yaml")
		if err != nil { // no product's name is a pattern
			continue
		}
		for _, path := range paths {
			data, err := fs.ReadFile(files, path)
			if err != nil || !bytes.Contains(data, []byte("\nproduct:")) {
				continue
			}
			var head struct {
				Product, Version string
				Valid            struct{ From, Until string }
			}
			if err := yaml.Load(data, &head); err != nil { // a test checks the files
				continue
			}
			all[head.Product] = append(all[head.Product], Release{
				strings.TrimSuffix(path, extension), head.Version, policy.Valid{From: head.Valid.From, Until: head.Valid.Until},
			})
		}
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b Release) int { return compareVersions(a.Version, b.Version) })
	}
	return all
}

// Client is what recorded a session. Its zero value is a session of which nothing is known.
type Client struct {
	Product string    // as a policy's bare name
	Version string    // of the product; "": unknown
	Time    time.Time // of the session; zero: unknown
}

// Chosen is the built-in policy that a name means.
type Chosen struct {
	Policy  string
	Version string // the very release that was asked for or that recorded the session; "": that of the policy
	Why     string // why a product's bare name means it: "" where it was named
	Older   bool   // the session is older than it: no release of its time is known
}

// BySession reports whether the session decides which policy a name means.
func BySession(name string, reg policy.Registry) bool {
	product, version, at := strings.Cut(name, "@")
	return len(Releases(product, reg)) > 0 && (!at || version == RecordedVersion)
}

// For finds the policy that a name means for the session of a client: a product's bare name means the release that
// was current then, which for a session of the product itself is the one that recorded it; NAME@latest the newest;
// NAME@VERSION or NAME-VERSION that version's. Any other name is that of a policy.
func For(name string, c Client, reg policy.Registry) (Chosen, error) {
	product, version, at := strings.Cut(name, "@")
	list := Releases(product, reg)
	switch {
	case len(list) == 0 && !at:
		return named(name, reg), nil
	case len(list) == 0:
		return Chosen{}, fmt.Errorf("no versions of %q are known: %s", product, strict.Suggest(product, Products(reg)))
	case version == Latest:
		return Chosen{Policy: list[len(list)-1].Policy}, nil
	case at && version != RecordedVersion:
		if !isVersion(version) {
			return Chosen{}, fmt.Errorf("%q is no version of %s: write it as %s@%s, or %s@latest", version, product, product, list[0].Version, product)
		}
		return Chosen{Policy: ofVersion(list, version).Policy, Version: version}, nil
	case c.Product == product && isVersion(c.Version):
		r := ofVersion(list, c.Version)
		older := compareVersions(c.Version, r.Version) < 0
		why := fmt.Sprintf("%s %s recorded the session", product, c.Version)
		if older {
			why += ", older than any known"
		}
		return Chosen{r.Policy, c.Version, why, older}, nil
	case c.Time.IsZero():
		return Chosen{Policy: list[len(list)-1].Policy, Why: "the newest " + product + " known"}, nil
	}
	day := c.Time.UTC().Format(time.DateOnly)
	for _, r := range slices.Backward(list) {
		if r.Valid.From <= day {
			return Chosen{Policy: r.Policy, Why: product + " as of " + day}, nil
		}
	}
	return Chosen{Policy: list[0].Policy, Why: fmt.Sprintf("the oldest %s known; the session is of %s", product, day), Older: true}, nil
}

// named is the policy of that name, else, where the name is a product's and a version (claude-code-2.1.99), that of the
// version.
func named(name string, reg policy.Registry) Chosen {
	if _, err := read(reg, name); err == nil {
		return Chosen{Policy: name}
	}
	for i := strings.LastIndex(name, "-"); i > 0; i = strings.LastIndex(name[:i], "-") {
		if list := Releases(name[:i], reg); len(list) > 0 && isVersion(name[i+1:]) {
			return Chosen{Policy: ofVersion(list, name[i+1:]).Policy, Version: name[i+1:]}
		}
	}
	return Chosen{Policy: name}
}

// ofVersion is the newest release that is not later than a version, else the oldest.
func ofVersion(list []Release, version string) Release {
	for _, r := range slices.Backward(list) {
		if compareVersions(r.Version, version) <= 0 {
			return r
		}
	}
	return list[0]
}

// parseVersion reads 2.1.14; what follows a - or + does not count.
func parseVersion(s string) (numbers []int, ok bool) {
	if i := strings.IndexAny(s, "-+"); i >= 0 {
		s = s[:i]
	}
	for part := range strings.SplitSeq(s, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, true
}

func compareVersions(a, b string) int {
	x, _ := parseVersion(a)
	y, _ := parseVersion(b)
	return slices.Compare(x, y)
}

func isVersion(s string) bool {
	_, ok := parseVersion(s)
	return ok
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
