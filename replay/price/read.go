package price

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// Unit is the unit of the prices in a table.
const Unit = "USD per million tokens"

// file is a table as users write it.
type file struct {
	Schema    string     `yaml:"schema"`
	AsOf      string     `yaml:"as_of"`
	Note      string     `yaml:"snapshot_note"`
	Unit      string     `yaml:"unit" enum:"USD per million tokens"`
	Models    []row      `yaml:"models" form:"filled" required:"list them under \"models\""`
	Modifiers []Modifier `yaml:"modifiers"`
}

type row struct {
	strict.Position
	Model
}

// ReadFile decodes a user's table, which has the form of the embedded table. A byte order mark is ignored. Cache prices
// that are left out are computed from the input price (Rates.CheckFields). The error is a strict.Errors that lists
// every key that is unknown, missing, repeated or out of range. Positions in the error have name as the name of the
// file.
func ReadFile(name string, data []byte) (*Table, error) {
	data = surrogates().ReplaceAllFunc(bytes.TrimPrefix(data, []byte("\ufeff")), joinSurrogates)
	root, errs := strict.Parse(name, data, strict.Document{
		Name: "price table", Example: `"models": []`, Start: "write a table of models, as docs/schemas/prices.v1.json describes it", MaxBytes: 16 << 20, Keys: strict.Keys(&file{}),
	})
	r := &strict.Decoder{File: name, Errors: errs}
	var f file
	if root != nil {
		r.Struct(root, &f, "")
	}
	t := &Table{AsOf: f.AsOf, Unit: Unit, Modifiers: f.Modifiers}
	seen := map[string]bool{}
	for _, m := range f.Models {
		if seen[m.ID] {
			r.Errors.Report(m.Position, fmt.Sprintf("the model %q is listed twice", m.ID), "keep one of them")
		}
		seen[m.ID] = true
		t.Models = append(t.Models, m.Model)
	}
	if err := r.Errors.Err(); err != nil {
		return nil, err
	}
	t.order()
	return t, nil
}

// surrogates is how JSON, but not YAML, escapes a character above U+FFFF.
var surrogates = pattern.New(`\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}`)

func joinSurrogates(pair []byte) []byte {
	var high, low rune
	if _, err := fmt.Sscanf(string(pair), `\u%4x\u%4x`, &high, &low); err != nil {
		return pair
	}
	return fmt.Appendf(nil, `\U%08x`, utf16.DecodeRune(high, low))
}

// unset marks a price that was left out.
const unset = -1

// SetDefaults marks the cache prices as left out. A decoder calls it before it reads the prices.
func (r *Rates) SetDefaults() {
	r.CacheWrite5m = unset
	r.CacheWrite1h = unset
	r.CacheRead = unset
}

// CheckFields completes a row of the table after decoding: it normalizes the id, sorts Earlier and fills in cache
// prices. It returns an error for a missing id or an unknown tokenizer.
func (m *Model) CheckFields() error {
	m.ID = Normalize(m.ID)
	switch {
	case m.ID == "":
		return &strict.Error{Msg: "a model without an id", Hint: `write "id": "claude-…"`}
	case m.Tokenizer != "" && m.Tokenizer != "old" && m.Tokenizer != "new":
		return &strict.Error{Msg: fmt.Sprintf("%s has the tokenizer %q", m.ID, m.Tokenizer), Hint: "write old or new"}
	}
	slices.SortStableFunc(m.Earlier, func(a, b Earlier) int { return strings.Compare(a.Until, b.Until) })
	return m.Rates.CheckFields()
}

// SetDefaults sets Whole to true and marks the cache prices as left out. A decoder calls it before it reads the tier.
func (t *Tier) SetDefaults() {
	t.Whole = true
	t.Rates.SetDefaults()
}

// CheckFields fills in the cache prices that were left out. It returns an error if Whole is false.
func (t *Tier) CheckFields() error {
	if !t.Whole {
		return &strict.Error{Msg: "a tier for a part of the request", Hint: "only tiers that the whole request is billed by are known: write true"}
	}
	return t.Rates.CheckFields()
}

// CheckFields fills in the cache prices that were left out, with Anthropic's multiples of the field Input: 1.25 for
// 5-minute writes, 2 for 1-hour writes, 0.1 for reads. It returns an error if a computed price has too many digits for
// a Price.
func (r *Rates) CheckFields() error {
	for _, c := range []struct {
		price        *Price
		times, parts Price
	}{{&r.CacheWrite5m, 5, 4}, {&r.CacheWrite1h, 2, 1}, {&r.CacheRead, 1, 10}} {
		if *c.price != unset {
			continue
		}
		if r.Input*c.times%c.parts != 0 {
			return &strict.Error{Msg: "the cache prices that follow from input " + r.Input.Dollars().String() + " have too many digits to be counted exactly",
				Hint: "give cache_write_5m and cache_read"}
		}
		*c.price = r.Input * c.times / c.parts
	}
	return nil
}

// Over returns a table with all rows of t, and with the rows of base whose ids t lacks. It has the modifiers of t,
// followed by those of base. A modifier of base is left out if t has one with the same Of, Values and Models.
func (t *Table) Over(base *Table) *Table {
	out := &Table{AsOf: cmp.Or(t.AsOf, base.AsOf), Unit: t.Unit, Models: slices.Clone(t.Models), Modifiers: slices.Clone(t.Modifiers), unpriced: base.unpriced}
	for _, m := range base.Modifiers {
		if !slices.ContainsFunc(t.Modifiers, func(own Modifier) bool {
			return own.Of == m.Of && slices.Equal(own.Values, m.Values) && slices.Equal(own.Models, m.Models)
		}) {
			out.Modifiers = append(out.Modifiers, m)
		}
	}
	for _, m := range base.Models {
		if !slices.ContainsFunc(t.Models, func(own Model) bool { return own.ID == m.ID }) {
			out.Models = append(out.Models, m)
		}
	}
	out.order()
	return out
}

// Sorted returns the rows of the table sorted by id.
func (t *Table) Sorted() []Model {
	return slices.SortedStableFunc(slices.Values(t.Models), func(a, b Model) int { return strings.Compare(a.ID, b.ID) })
}
