//go:build ci

package main

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
)

func TestJudge(t *testing.T) {
	at := func(day string) time.Time {
		d := must.Get(time.Parse(time.DateOnly, day))(t)
		return d.Add(20 * time.Hour)
	}
	times := map[string]time.Time{
		"created": at("2025-01-01"), "1.0.0": at("2026-05-05"), "1.1.0": at("2026-02-02"), "1.2.0-rc.1": at("2026-01-01"), "1.2.0": at("2026-03-03"),
	}
	for _, c := range []struct {
		date, version string
		found         verdict
		why           string
	}{
		{"2026-03-03", "1.2.0", right, "published on 2026-03-03"},
		{"2026-03-04", "1.2.0", right, "published on 2026-03-03"},
		{"2026-11-20", "1.2.0", wrong, "published by 2026-03-03"},
		{"2026-02-20", "1.2.0", undecidable, "no later version bounds 2026-03-03"},
		{"2026-11-20", "1.1.0", wrong, "published by 2026-02-02"},
		{"2026-01-20", "1.1.0", wrong, "published on 2026-02-02"},
		{"2026-02-02", "1.1.0", right, "published on 2026-02-02"},
		{"2026-01-01", "1.0.0", undecidable, "2026-05-05 is after 1.1.0 of 2026-02-02"},
		{"2026-11-20", "1.0.0", wrong, "published by 2026-05-05"},
		{"2026-01-01", "0.9.0", undecidable, "the registry has no such version"},
	} {
		if found, why := judge(c.date, c.version, times); found != c.found || why != c.why {
			t.Errorf("%s of %s: %s, %q, want %s, %q", c.date, c.version, found, why, c.found, c.why)
		}
	}
}

// TestCheck checks that every policy has a line and that the last one counts them.
func TestCheck(t *testing.T) {
	files := fstest.MapFS{}
	for name, source := range map[string]string{"late": "npm some 1.0.0", "known": "npm some 1.0.0", "commit": "Some, commit 1234abcd"} {
		date := "2026-01-02"
		if name == "late" {
			date = "2026-01-20"
		}
		files[name+".yaml"] = &fstest.MapFile{Data: []byte("name: " + name + "\nabout: One.\nsource: " + source + "\ndate: " + date + "\ntruth: described\nrecorded: true\n")}
	}
	reg, err := policy.NewRegistry(policy.Family{Name: "own", Title: "Own", Presets: files})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	bad, err := check(&b, reg, func(string) (map[string]time.Time, error) {
		return map[string]time.Time{"1.0.0": time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, nil
	})
	want := `unchecked: commit: date 2026-01-02, its source begins with no npm package and version
right: known: date 2026-01-02, some 1.0.0: published on 2026-01-02
wrong: late: date 2026-01-20, some 1.0.0: published by 2026-01-02
3 policies: 1 right, 1 wrong, 0 undecidable, 1 unchecked
`
	if b.String() != want || !bad || err != nil {
		t.Errorf("%s%v, %v, want %s", b.String(), bad, err, want)
	}
	if _, err := check(&b, reg, func(string) (map[string]time.Time, error) { return nil, errNoAnswer }); !errors.Is(err, errNoAnswer) {
		t.Errorf("no answer: %v", err)
	}
}

func TestPackageOf(t *testing.T) {
	for text, want := range map[string]string{
		"@a-b/c.d 1.2.3, dist/x.js":    "@a-b/c.d 1.2.3",
		"npm cline 2.18.0 (dist/x.js)": "cline 2.18.0",
		"A product 1.2.3":              "",
	} {
		pkg, version, ok := packageOf(text)
		if got := strings.TrimSpace(pkg + " " + version); got != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
