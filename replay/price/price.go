// Package price holds what is published about models: context windows, output limits and prices, each row with its
// source and date. Prices are in US dollars per million tokens; amounts of money are counted in billionths of a dollar.
package price

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
)

// Model is one row of the table. Context, MaxInput, MaxOutput and MinCacheable are tokens.
type Model struct {
	ID string `json:"id" form:"line" required:"write \"id\": \"claude-…\""`
	Rates
	Context      int       `json:"context" min:"0"`                                   // context window
	Before       *Since    `json:"context_before,omitempty"`                          // the context window that the model had earlier; nil: none
	MaxInput     int       `json:"max_input,omitempty" min:"0"`                       // largest input; 0: the whole context window
	MaxOutput    int       `json:"max_output" min:"0"`                                // largest output
	MinCacheable int       `json:"min_cacheable" min:"0"`                             // shortest prefix that the prompt cache stores
	Cache        string    `json:"cache,omitempty" enum:"automatic,breakpoints,none"` // how prompts are cached (cache.Mode); "": as usual for the provider
	Tokenizer    string    `json:"tokenizer"`                                         // "old": models of Anthropic up to Opus 4.6, Sonnet 4.6 and Haiku 4.5; "new": later models of Anthropic; "": unknown
	ImageTier    string    `json:"image_tier,omitempty"`                              // "standard" or "high": how many tokens an image may take; "": unknown
	Preserved    bool      `json:"preserved_thinking,omitempty"`                      // thinking stays valid only while the client leaves everything before it unchanged
	Source       string    `json:"source"`                                            // source of the row
	Confidence   string    `json:"confidence"`                                        // "documented", "listed" (in another table), "single source" or "stated by the user"
	Released     string    `json:"released,omitempty"`                                // day of the release, YYYY-MM-DD; "": unknown
	Retired      bool      `json:"retired,omitempty"`
	Note         string    `json:"note,omitempty"`
	Tier         *Tier     `json:"tier,omitempty"`    // prices of long prompts; nil: all prompts have the same prices
	Fast         *Rates    `json:"fast,omitempty"`    // prices in the fast mode, for inputs of all sizes; nil: unknown
	Earlier      []Earlier `json:"earlier,omitempty"` // earlier prices, oldest first
	Own          bool      `json:"-" yaml:"-"`        // the user has stated the window
}

// Earlier holds the prices that a model had until a day. The prices of the fast mode (Model.Fast) are assumed to be the
// same on all days.
type Earlier struct {
	Until string `json:"until" form:"date" required:"write the last day of these prices as 2026-10-06"` // last day of these prices, UTC
	Rates
	Tier   *Tier  `json:"tier,omitempty"`
	Source string `json:"source"`
}

// Since holds the context window, in tokens, that a model had before its present window. The field Day is the first day
// of the present window.
type Since struct {
	Day     string `json:"day" form:"date" required:"write the day as 2026-03-13"`
	Context int    `json:"context" min:"1" required:"give the earlier window, tokens"`
	Source  string `json:"source"`
}

// ContextOn returns the context window that the model had on a day, in tokens; 0: unknown.
func (m *Model) ContextOn(day time.Time) int {
	if m.Before != nil && day.UTC().Format(time.DateOnly) < m.Before.Day {
		return m.Before.Context
	}
	return m.Context
}

// Rates holds the price of each class of tokens.
type Rates struct {
	Input        Price `json:"input" required:"give the prices of input and output"`
	CacheWrite5m Price `json:"cache_write_5m"`
	CacheWrite1h Price `json:"cache_write_1h"`
	CacheRead    Price `json:"cache_read"`
	Output       Price `json:"output" required:"give the prices of input and output"`
}

// Tier holds the prices of requests that have more input tokens, cached ones included, than the field Above.
type Tier struct {
	Above int `json:"above_prompt_tokens" min:"1" required:"write the number of input tokens above which it applies"`
	// the prices apply to all tokens of the request; must be true, as no other tier is known
	Whole bool `json:"whole_request"`
	Rates
}

// Table is a table of models and modifiers.
type Table struct {
	AsOf      string     `json:"as_of"` // day of the table, YYYY-MM-DD
	Unit      string     `json:"unit"`
	Models    []Model    `json:"models"`
	Modifiers []Modifier `json:"modifiers"` // of several modifiers with the same Of that fit a call, the first applies

	unpriced []Model // of which a user states other things than prices
}

//go:embed models.json providers.json
var tables embed.FS

// Default returns the embedded table. It is made from two files: models.json, which also has sources, earlier prices
// and modifiers, and providers.json, which scripts/genprices makes from other published tables. Copy the table before
// you change it.
func Default() *Table { return builtIn() }

var builtIn = sync.OnceValue(func() *Table {
	own := embedded("models.json")
	others := embedded("providers.json")
	return own.Over(&others)
})

func embedded(name string) (t Table) {
	data, err := tables.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	return t
}

// order puts the longest ids first, so that Find finds the longest prefix.
func (t *Table) order() {
	for _, models := range [...][]Model{t.Models, t.unpriced} {
		slices.SortStableFunc(models, func(a, b Model) int { return len(b.ID) - len(a.ID) })
	}
}

// Find returns the model with an id. It ignores prefixes of providers, marks such as [1m], and what follows the model's
// version: a date, "latest", or a provider's revision such as -v1:0. A version that the table lacks, such as a newer
// minor version of a listed model, is not found: ok is false.
func (t *Table) Find(id string) (m Model, ok bool) {
	id = Normalize(id)
	return find(t.Models, id)
}

// find is the model whose id a normalized one begins with.
func find(models []Model, id string) (m Model, ok bool) {
	for _, m := range models {
		if rest, found := strings.CutPrefix(id, m.ID); found && onlyMarks(rest) {
			return m, true
		}
	}
	return Model{}, false
}

// dated is a date with dashes behind a model's id.
var dated = pattern.New(`^-\d{4}-\d\d-\d\d`)

// onlyMarks reports whether what follows a model's id is a date (six digits or more, or 2026-03-05), a version ("-v1:0",
// "@…"), "latest", or the 0 of a generation's first ("claude-opus-4-0" is Claude Opus 4).
func onlyMarks(rest string) bool {
	if len(rest) >= len("-2026-03-05") {
		rest = dated().ReplaceAllString(rest, "")
	}
	if rest == "" || rest[0] == '@' || rest[0] == ':' {
		return true
	}
	for _, part := range strings.Split(rest, "-")[1:] {
		part, _, _ = strings.Cut(part, "@")
		part, _, _ = strings.Cut(part, ":")
		digits := strings.Trim(part, "0123456789") == ""
		switch {
		case part == "latest", part == "0", digits && len(part) >= 6:
		case strings.HasPrefix(part, "v") && len(part) > 1 && strings.Trim(part[1:], "0123456789") == "":
		default:
			return false
		}
	}
	return rest[0] == '-'
}

// Anthropic reports whether a model id is that of one of Anthropic's models.
func Anthropic(model string) bool {
	return strings.Contains(model, "anthropic") || strings.Contains(model, "claude")
}

// Normalize returns a model id in lower case, without prefixes of providers and marks such as [1m], and with hyphens in
// place of dots.
func Normalize(id string) string {
	id = strings.ToLower(strings.TrimSpace(id))
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		id = id[i+1:]
	}
	if i := strings.Index(id, "claude"); i > 0 {
		id = id[i:]
	}
	if i := strings.IndexByte(id, '['); i >= 0 {
		id = id[:i]
	}
	return strings.ReplaceAll(id, ".", "-")
}
