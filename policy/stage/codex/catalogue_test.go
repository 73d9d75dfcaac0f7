package codex

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// A model's window is that of the release asked for, else of the day, else of the newest release. One that the catalogue
// lacks has the row whose name begins its own, else the client's fallback: both are assumed.
func TestCatalogue(t *testing.T) {
	find := catalogue()
	must.Rows(t, `
# model | release | day | window | hash | assumed
gpt-5.5                | ""      | ""         | 272000 | 2911 | false
gpt-5.5                | 0.142.5 | ""         | 272000 | ""   | false
openai/gpt-5.5         | ""      | ""         | 272000 | 2911 | false
gpt-5.6-sol            | 0.144.5 | 2026-11-28 | 372000 | 3000 | false
gpt-5.6-sol            | 0.145.0 | ""         | 272000 | 3000 | false
gpt-5.6-sol            | ""      | 2026-07-20 | 372000 | 3000 | false
gpt-6.1-sol            | ""      | ""         | 500000 | 3000 | false
gpt-6.1-sol            | 0.165.0 | ""         | 272000 | 3000 | false
gpt-6.1-sol            | 0.118.0 | ""         | 272000 | 3000 | false  # the oldest that knows it
gpt-6.1-sol            | 0.999.0 | ""         | 500000 | 3000 | false
gpt-5.9                | ""      | ""         | 272000 | ""   | true
gpt-6                  | ""      | ""         | 272000 | ""   | true
gpt-5.6                | 0.171.0 | ""         | 272000 | ""   | true
openai/gpt-7-sol       | ""      | 2026-11-28 | 272000 | ""   | true
gpt-6.1-sol-2027-01-05 | ""      | ""         | 500000 | 3000 | true
claude-opus-5-5        | ""      | ""         | 0      | ""   | false
""                     | ""      | ""         | 0      | ""   | false
`, func(model, release, theDay string, window int, hash string, assumed bool) {
		var day time.Time
		if theDay != "" {
			var err error
			if day, err = time.Parse(time.DateOnly, theDay); err != nil {
				t.Fatal(err)
			}
		}
		m, l := find(model, release, day)
		if l.Context != window || m.Hash != hash || (l.From == "") != (window == 0) || l.Assumed != assumed {
			t.Errorf("%s of %s on %s: %+v %+v, want %d %q", model, release, theDay, m, l, window, hash)
		}
	})
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
