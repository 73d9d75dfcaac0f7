// Checkdates compares the dates of built-in policies with the publication of the npm packages that their sources name,
// as npm view tells it. A registry that mirrors another gives the day of its own copy for old versions: a time later
// than that of a later version decides nothing. It exits with 1 if a date is wrong, with 2 if it cannot ask.
//
// Run it in the root of the repository: go run ./scripts/checkdates
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

func main() {
	wrong, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "checkdates:", err)
		os.Exit(2)
	}
	if wrong {
		os.Exit(1)
	}
}

// run prints a line for each policy whose source begins with a package, and for each whose dates contradict.
func run() (wrong bool, err error) {
	reg, err := stage.Registry()
	if err != nil {
		return false, err
	}
	known := map[string]map[string]time.Time{}
	for _, name := range preset.Names(reg) {
		p, err := preset.Load(name, reg)
		if err != nil {
			return false, err
		}
		if last, err := time.Parse(time.DateOnly, p.Valid.Until); err == nil && p.Date > last.AddDate(0, 0, 1).Format(time.DateOnly) {
			wrong = true
			fmt.Printf("%s: date %s is after its last day, %s\n", name, p.Date, p.Valid.Until)
		}
		pkg, version, ok := packageOf(p.Source)
		if !ok {
			continue
		}
		if known[pkg] == nil {
			if known[pkg], err = published(pkg); err != nil {
				return false, err
			}
		}
		verdict, bad := judge(p.Date, version, known[pkg])
		wrong = wrong || bad
		fmt.Printf("%s: date %s, %s %s: %s\n", name, p.Date, pkg, version, verdict)
	}
	return wrong, nil
}

// source is what a source begins with that names a package: @scope/name 1.2.3 or npm name 1.2.3.
var source = regexp.MustCompile(`^(?:npm ([a-z0-9._-]+)|(@[a-z0-9._-]+/[a-z0-9._-]+)) ([0-9]+\.[0-9]+\.[0-9]+)\b`)

func packageOf(text string) (pkg, version string, ok bool) {
	m := source.FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	return m[1] + m[2], m[3], true
}

// published are the times of a package's versions.
func published(pkg string) (map[string]time.Time, error) {
	out, err := exec.Command("npm", "view", pkg, "time", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("npm view %s time: %w", pkg, err)
	}
	times := map[string]time.Time{}
	return times, json.Unmarshal(out, &times)
}

// judge compares a date with the time of a version. A day more or less is a time zone.
func judge(date, version string, times map[string]time.Time) (verdict string, wrong bool) {
	at, ok := times[version]
	if !ok {
		return "not decidable: the registry has no such version", false
	}
	newest := true
	for _, other := range slices.SortedFunc(maps.Keys(times), session.CompareVersions) {
		if !plain(other) || session.CompareVersions(other, version) <= 0 {
			continue
		}
		newest = false
		if t := times[other]; t.Before(at) {
			return fmt.Sprintf("not decidable: %s comes after %s of %s", at.Format(time.DateOnly), other, t.Format(time.DateOnly)), false
		}
	}
	day, err := time.Parse(time.DateOnly, date)
	if off := at.Sub(day); err != nil || off < -24*time.Hour || off >= 48*time.Hour {
		if newest {
			return "not decidable: no later version bounds " + at.Format(time.DateOnly), false
		}
		return "WRONG: published on " + at.Format(time.DateOnly), true
	}
	return "right", false
}

// plain reports whether a key of the times is a release: neither a word nor a pre-release.
func plain(version string) bool {
	return strings.Trim(version, "0123456789.") == ""
}
