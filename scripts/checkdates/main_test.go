package main

import (
	"strings"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	at := func(day string) time.Time {
		d, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		return d.Add(20 * time.Hour)
	}
	times := map[string]time.Time{
		"created": at("2025-01-01"), "1.0.0": at("2026-05-05"), "1.1.0": at("2026-02-02"), "1.2.0-rc.1": at("2026-01-01"), "1.2.0": at("2026-03-03"),
	}
	for _, c := range []struct {
		date, version, want string
		wrong               bool
	}{
		{"2026-03-03", "1.2.0", "right", false},
		{"2026-03-04", "1.2.0", "right", false},
		{"2026-11-20", "1.2.0", "not decidable: no later version bounds 2026-03-03", false},
		{"2026-11-20", "1.1.0", "WRONG: published on 2026-02-02", true},
		{"2026-02-02", "1.1.0", "right", false},
		{"2026-01-01", "1.0.0", "not decidable: 2026-05-05 comes after 1.", false},
		{"2026-01-01", "0.9.0", "not decidable: the registry has no such version", false},
	} {
		if got, wrong := judge(c.date, c.version, times); !strings.HasPrefix(got, c.want) || wrong != c.wrong {
			t.Errorf("%s of %s: %q, %v, want %q, %v", c.date, c.version, got, wrong, c.want, c.wrong)
		}
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
