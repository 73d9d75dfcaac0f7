package price_test

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestFind: a model is found by its longest known prefix, whatever the provider or the client writes around it.
func TestFind(t *testing.T) {
	table := price.Default()
	must.Rows(t, `
claude-opus-4-6            | claude-opus-4-6
" Claude-Opus-4-6 "        | claude-opus-4-6
# Dates: eight digits are no minor version.
claude-opus-4-20250514     | claude-opus-4
claude-opus-4-1-20250805   | claude-opus-4-1
claude-opus-4-5-20251101   | claude-opus-4-5
claude-sonnet-4-20250514   | claude-sonnet-4
claude-sonnet-4-5-20250929 | claude-sonnet-4-5
claude-haiku-4-5-20251001  | claude-haiku-4-5
claude-3-5-haiku-20241022  | claude-3-5-haiku
claude-3-haiku-20240307    | claude-3-haiku
claude-opus-4-5@20251101   | claude-opus-4-5
claude-opus-4@20250514     | claude-opus-4
# Providers.
anthropic/claude-opus-4-6  | claude-opus-4-6
openrouter/anthropic/claude-sonnet-4-6 | claude-sonnet-4-6
anthropic.claude-opus-4-5-20251101-v1:0 | claude-opus-4-5
us.anthropic.claude-sonnet-4-5-20250929-v1:0 | claude-sonnet-4-5
claude-haiku-4-5:thinking  | claude-haiku-4-5
openai/gpt-5.4             | gpt-5-4
gpt-5.4-mini               | gpt-5-4-mini
gpt-5-2025-08-07           | gpt-5
gpt-5.4-mini-2026-03-17    | gpt-5-4-mini
gemini-3.1-pro-preview     | gemini-3-1-pro-preview
# The mark of the large window.
claude-opus-4-6[1m]        | claude-opus-4-6
claude-sonnet-4-5-20250929[1m] | claude-sonnet-4-5
us.anthropic.claude-sonnet-4-5-20250929-v1:0[1m] | claude-sonnet-4-5
# The longest prefix, not the first.
claude-fable-5-1-20260901  | claude-fable-5-1
claude-fable-5-20260601    | claude-fable-5
claude-opus-5-5            | claude-opus-5-5
claude-opus-5              | claude-opus-5
# Unknown: a prefix ends where a part of the name does.
""                         | ""
<synthetic>                | ""
claude                     | ""
claude-opus                | ""
claude-opus-40             | ""
claude-opus-4x             | ""
`, func(id, want string) {
		m, ok := table.Find(id)
		if m.ID != want || ok != (want != "") {
			t.Errorf("%q is %q (%v), want %q", id, m.ID, ok, want)
		}
	})
}

// TestRead: the order of the rows does not matter.
func TestRead(t *testing.T) {
	for _, rows := range []string{
		`{"id":"m-4","context":1,"input":1,"output":1},{"id":"m-4-5","context":2,"input":1,"output":1},{"id":"m-4-5-mini","context":3,"input":1,"output":1}`,
		`{"id":"m-4-5-mini","context":3,"input":1,"output":1},{"id":"m-4","context":1,"input":1,"output":1},{"id":"m-4-5","context":2,"input":1,"output":1}`,
	} {
		table := must.Get(price.ReadFile("prices.json", []byte(`{"as_of":"2026-01-01","models":[`+rows+`]}`)))(t)
		must.Equal(t, table.AsOf, "2026-01-01")
		for id, want := range map[string]int{"m-4-20250101": 1, "m-4-5-20250101": 2, "m-4-5-mini-20250101": 3} {
			if m, _ := table.Find(id); m.Context != want {
				t.Errorf("%s is %s", id, m.ID)
			}
		}
	}
	if _, err := price.ReadFile("prices.json", []byte("\ufeff"+`{"models":[{"id":"m","input":1,"output":1}]}`)); err != nil {
		t.Errorf("with a byte order mark: %v", err)
	}
	if _, err := price.ReadFile("prices.json", []byte(`{"models":`)); err == nil {
		t.Error("half a table was read")
	}
}

// TestTable: every row can be found by its own id, and says what a replay needs.
func TestTable(t *testing.T) {
	table := price.Default()
	seen := map[string]bool{}
	for _, m := range table.Models {
		if found, ok := table.Find(m.ID); !ok || found.ID != m.ID {
			t.Errorf("%s is found as %q", m.ID, found.ID)
		}
		if seen[m.ID] {
			t.Errorf("%s is listed twice", m.ID)
		}
		seen[m.ID] = true
		if m.Source == "" {
			t.Errorf("%s: no source", m.ID)
		}
		if !price.Anthropic(m.ID) {
			r := m.Rates
			for _, r := range []price.Rates{r, m.RatesFor(1 << 30)} {
				if r.CacheRead > r.Input || r.Input > r.CacheWrite5m || r.CacheWrite5m > r.CacheWrite1h || r.Input > r.Output || (r.Input == 0) != (r.Output == 0) {
					t.Errorf("%s: prices %v", m.ID, r)
				}
			}
			if m.Context <= 0 || m.MaxInput >= m.Context || m.MaxOutput >= m.Context || m.Tokenizer != "" || !strings.HasPrefix(m.Source, "npm ") {
				t.Errorf("%s: %+v", m.ID, m)
			}
			continue
		}
		if m.Context <= 0 || m.MaxOutput <= 0 || m.MaxOutput >= m.Context {
			t.Errorf("%s: context %d, largest output %d", m.ID, m.Context, m.MaxOutput)
		}
		if m.Tokenizer != "old" && m.Tokenizer != "new" {
			t.Errorf("%s: tokenizer %q", m.ID, m.Tokenizer)
		}
		if !(m.CacheRead < m.Input && m.Input < m.CacheWrite5m && m.CacheWrite5m < m.CacheWrite1h && m.Input < m.Output) {
			t.Errorf("%s: prices %v", m.ID, m)
		}
	}
}

// TestFindNoOlder: a model the table does not have is unknown, and not an older one with the same beginning.
func TestFindNoOlder(t *testing.T) {
	table := price.Default()
	for _, id := range []string{"claude-opus-4-9", "claude-opus-4-10-20270101", "claude-sonnet-4-7", "claude-opus-5-9", "claude-opus-4-turbo", "claude-opus-45", "claude-", "gpt-5.9", "gpt-5-image", "kimi-k2-instruct", "gpt-5-2025"} {
		if m, ok := table.Find(id); ok {
			t.Errorf("%s was taken for %s", id, m.ID)
		}
	}
	must.Rows(t, `
claude-opus-4-1-20250805-v1:0 | claude-opus-4-1
anthropic/claude-sonnet-4.5 | claude-sonnet-4-5
claude-3-5-haiku-latest     | claude-3-5-haiku
claude-opus-4@20250514      | claude-opus-4
claude-sonnet-4-0           | claude-sonnet-4
claude-opus-4-0             | claude-opus-4
`, func(id, want string) {
		if m, ok := table.Find(id); !ok || m.ID != want {
			t.Errorf("%s was taken for %q, want %s", id, m.ID, want)
		}
	})
}
