package codex

import (
	"encoding/json"
	"testing"
	"time"
)

// A model's window is that of the release asked for, else of the day, else of the newest release.
func TestCatalogue(t *testing.T) {
	find := catalogue()
	for _, c := range []struct {
		model, release, day string
		window              int
		hash                string
	}{
		{"gpt-5.5", "", "", 272000, "2911"},
		{"gpt-5.5", "0.142.5", "", 272000, ""},
		{"openai/gpt-5.5", "", "", 272000, "2911"},
		{"gpt-5.6-sol", "0.144.5", "2026-11-28", 372000, "3000"},
		{"gpt-5.6-sol", "0.145.0", "", 272000, "3000"},
		{"gpt-5.6-sol", "", "2026-07-20", 372000, "3000"},
		{"gpt-6.1-sol", "", "", 500000, "3000"},
		{"gpt-6.1-sol", "0.165.0", "", 272000, "3000"},
		{"gpt-6.1-sol", "0.118.0", "", 272000, "3000"}, // the oldest that knows it
		{"gpt-6.1-sol", "0.999.0", "", 500000, "3000"},
		{"claude-opus-5-5", "", "", 0, ""},
	} {
		var day time.Time
		if c.day != "" {
			var err error
			if day, err = time.Parse(time.DateOnly, c.day); err != nil {
				t.Fatal(err)
			}
		}
		m, from := find(c.model, c.release, day)
		if m.Window != c.window || m.Hash != c.hash || (from == "") != (c.window == 0) {
			t.Errorf("%s of %s on %s: %+v %q, want %d %q", c.model, c.release, c.day, m, from, c.window, c.hash)
		}
	}
}

// The catalogue is sound: days and rows rise, and every model has a window.
func TestCatalogueSound(t *testing.T) {
	var table Catalogue
	if err := json.Unmarshal(catalogueText, &table); err != nil || len(table.Models) == 0 {
		t.Fatal(err)
	}
	for i, r := range table.Releases {
		if _, err := time.Parse(time.DateOnly, r.Day); err != nil || i > 0 && table.Releases[i-1].Day >= r.Day {
			t.Errorf("%s: day %s", r.Version, r.Day)
		}
	}
	for model, rows := range table.Models {
		for i, m := range rows {
			if m.Window <= 0 || m.Release < 0 || m.Release >= len(table.Releases) || i > 0 && rows[i-1].Release >= m.Release {
				t.Errorf("%s: %+v", model, rows)
			}
		}
	}
}
