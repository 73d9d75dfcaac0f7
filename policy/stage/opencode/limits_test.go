package opencode

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
)

// A provider's limits are those of the newest table that is no later than the day.
func TestLimits(t *testing.T) {
	find := limits()
	must.Rows(t, `
# provider | model | day | want
github-copilot | claude-sonnet-4.6 | 2026-04-13 | {"Context":200000,"Input":128000,"Output":32000}
github-copilot | claude-sonnet-4.6 | 2026-03-22 | {"Context":128000,"Output":32000}
github-copilot | claude-sonnet-4.6 | 2026-02-18 | {"Context":128000,"Output":32000}  # the oldest that has it
github-copilot | claude-sonnet-4.6 | ""         | {"Context":200000,"Input":168000,"Output":32000}
openai         | gpt-5.3-codex     | 2026-02-16 | {"Context":400000,"Input":272000,"Output":128000}
anthropic      | claude-opus-4-5   | 2026-02-16 | {"Context":200000,"Output":64000}
anthropic      | claude-sonnet-4.6 | 2026-04-13 | {}  # Copilot's name
""             | gpt-5.3-codex     | 2026-02-16 | {}
`, func(provider, model, theDay string, want policy.ModelLimits) {
		var day time.Time
		if theDay != "" {
			var err error
			if day, err = time.Parse(time.DateOnly, theDay); err != nil {
				t.Fatal(err)
			}
		}
		must.Equal(t, find(provider, model, day), want, provider, model, theDay)
	})
}

// The table is sound: days rise, rows are of releases in their order, and no limit is negative.
func TestLimitTable(t *testing.T) {
	var table LimitTable
	must.Do(t, json.Unmarshal(limitTable, &table))
	for i, r := range table.Releases {
		if _, err := time.Parse(time.DateOnly, r.Day); err != nil || i > 0 && table.Releases[i-1].Day >= r.Day {
			t.Errorf("release %d: %+v (%v)", i, r, err)
		}
	}
	for provider, models := range table.Models {
		for model, rows := range models {
			last := -1
			for _, r := range rows {
				if r[0] <= last || r[0] >= len(table.Releases) || r[1] <= 0 || r[2] < 0 || r[3] < 0 {
					t.Errorf("%s %s: %v", provider, model, rows)
				}
				last = r[0]
			}
		}
	}
	if len(table.Models) < 15 {
		t.Errorf("%d providers", len(table.Models))
	}
}

// The usable window of releases between those that the cases are of, as their own isOverflow answers: the least number
// of tokens at which it is true, by npm opencode-linux-x64 1.1.58, and 1.1.65, 1.2.27 and 1.3.2, which agree.
func TestUsableBetween(t *testing.T) {
	limits := []modelLimit{{200000, 0, 64000}, {200000, 0, 8192}, {400000, 272000, 128000}, {200000, 128000, 32000}, {128000, 128000, 64000}, {32000, 0, 64000}}
	for _, c := range []struct {
		version version
		want    []int
	}{
		{v1157(), []int{180000, 191808, 252000, 108000, 108000, 12000}},
		{v1160(), []int{168000, 191808, 252000, 108000, 108000, 0}},
	} {
		for i, limit := range limits {
			got := c.version.usable(limit, unset, defaultOutputTokenMax)
			if got != c.want[i] || !c.version.overflows(got, got) || c.version.overflows(got-1, got) {
				t.Errorf("%s, %+v: usable %d, want %d", c.version.Name, limit, got, c.want[i])
			}
		}
	}
}
