// Checkdates compares the dates of built-in policies with the publication of the npm packages that their sources name,
// as npm view prints them. A registry that mirrors another gives the day of its own copy for old versions, which is never
// before the publication: a date later than the time is wrong; an earlier one is undecidable unless the times of the
// later versions are in order. Policies whose source begins with no package are named as unchecked, and the last line
// counts. It exits with 1 if a date is wrong or a policy cannot be read, with 2 if npm cannot be asked.
//
// Run it in the root of the repository: go run ./scripts/checkdates
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

// verdict is what is found of a date.
type verdict string

const (
	right       verdict = "right"
	wrong       verdict = "wrong"
	undecidable verdict = "undecidable"
	unchecked   verdict = "unchecked"
)

var errNoAnswer = errors.New("npm gives no answer")

func main() {
	reg, err := stage.Registry()
	if err == nil {
		var bad bool
		if bad, err = check(os.Stdout, reg, published); err == nil && bad {
			os.Exit(1)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "checkdates:", err)
		if errors.Is(err, errNoAnswer) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// check writes a line for each built-in policy, and how many there are of each verdict. ask gives the times of a
// package's versions. It reports whether a date is wrong.
func check(w io.Writer, reg policy.Registry, ask func(pkg string) (map[string]time.Time, error)) (bool, error) {
	known, counts := map[string]map[string]time.Time{}, map[verdict]int{}
	names := preset.Names(reg)
	for _, name := range names {
		p, err := preset.Load(name, reg)
		if err != nil {
			return false, err
		}
		found, why := unchecked, "its source begins with no npm package and version"
		if pkg, version, ok := packageOf(p.Source); ok {
			if known[pkg] == nil {
				if known[pkg], err = ask(pkg); err != nil {
					return false, err
				}
			}
			found, why = judge(p.Date, version, known[pkg])
			why = pkg + " " + version + ": " + why
		}
		// A line whose newest release was read goes on after the product's name has gone to the next one.
		if last, err := time.Parse(time.DateOnly, p.Valid.Until); err == nil && p.Valid.Read == "" && p.Date > last.AddDate(0, 0, 1).Format(time.DateOnly) {
			found, why = wrong, "after its last day, "+p.Valid.Until
		}
		counts[found]++
		fmt.Fprintf(w, "%s: %s: date %s, %s\n", found, name, p.Date, why)
	}
	fmt.Fprintf(w, "%d policies:", len(names))
	for i, v := range []verdict{right, wrong, undecidable, unchecked} {
		fmt.Fprintf(w, "%s %d %s", strings.Repeat(",", min(i, 1)), counts[v], v)
	}
	fmt.Fprintln(w)
	return counts[wrong] > 0, nil
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
	out, err := exec.Command("npm", "view", pkg, "time", "--json", "--fetch-retries=0", "--fetch-timeout=30000").Output()
	if err != nil {
		return nil, fmt.Errorf("npm view %s time: %w: %w", pkg, err, errNoAnswer)
	}
	times := map[string]time.Time{}
	if err := json.Unmarshal(out, &times); err != nil {
		return nil, fmt.Errorf("npm view %s time: %w: %w", pkg, err, errNoAnswer)
	}
	return times, nil
}

// judge compares a date with the time of a version. A day more or less is a time zone.
func judge(date, version string, times map[string]time.Time) (found verdict, why string) {
	at, ok := times[version]
	if !ok {
		return undecidable, "the registry has no such version"
	}
	day, err := time.Parse(time.DateOnly, date)
	switch off := at.Sub(day); {
	case err != nil:
		return wrong, "it is no day"
	case off < -24*time.Hour:
		return wrong, "published by " + at.Format(time.DateOnly)
	case off < 48*time.Hour:
		return right, "published on " + at.Format(time.DateOnly)
	}
	newest := true
	for _, other := range slices.SortedFunc(maps.Keys(times), session.CompareVersions) {
		if !plain(other) || session.CompareVersions(other, version) <= 0 {
			continue
		}
		newest = false
		if t := times[other]; t.Before(at) {
			return undecidable, fmt.Sprintf("%s is after %s of %s", at.Format(time.DateOnly), other, t.Format(time.DateOnly))
		}
	}
	if newest {
		return undecidable, "no later version bounds " + at.Format(time.DateOnly)
	}
	return wrong, "published on " + at.Format(time.DateOnly)
}

// plain reports whether a key of the times is a release: neither a word nor a pre-release.
func plain(version string) bool {
	return strings.Trim(version, "0123456789.") == ""
}
