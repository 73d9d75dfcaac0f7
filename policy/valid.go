package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// Valid is the period in which a release of a product was the newest one.
type Valid struct {
	From   string // first day, YYYY-MM-DD
	Until  string // last day; "": the release is still the newest
	Read   string // newest examined release that has these rules; "": only the first release with them was examined
	Source string // source of From and Until
}

func (v *Valid) keys() map[string]*string {
	return map[string]*string{"from": &v.From, "until": &v.Until, "read": &v.Read, "source": &v.Source}
}

// DecodeParam reads {from: DATE, until: DATE, read: VERSION, source: TEXT}.
func (v *Valid) DecodeParam(plain any) error {
	m, ok := plain.(map[string]any)
	if !ok {
		return &Error{Msg: "not a time of validity", Hint: "write {from: 2026-01-25, until: 2026-04-25, source: where both are from}"}
	}
	var out Valid
	keys := out.keys()
	for _, key := range slices.Sorted(maps.Keys(m)) {
		to, known := keys[key]
		if !known {
			return &Error{Msg: "unknown key " + strict.Quote(key), Hint: strict.Suggest(key, slices.Sorted(maps.Keys(keys)))}
		}
		text, ok := m[key].(string)
		if !ok || strings.TrimSpace(text) == "" {
			return &Error{Msg: fmt.Sprintf("%s: %v is no text", key, m[key]), Hint: "write a date or where it is from"}
		}
		if _, err := time.Parse(time.DateOnly, text); err != nil && key != "source" && key != "read" {
			return &Error{Msg: key + ": " + strict.Quote(text) + " is not a date", Hint: "write it as 2026-01-25"}
		}
		*to = text
	}
	switch {
	case out.From == "":
		return &Error{Msg: "the first day is missing", Hint: "add from: 2026-01-25"}
	case out.Until != "" && out.Until < out.From:
		return &Error{Msg: "until is before from", Hint: "exchange them"}
	}
	*v = out
	return nil
}

// EncodeParam returns the YAML value that Marshal writes.
func (v *Valid) EncodeParam() any {
	m := map[string]any{}
	for key, text := range v.keys() {
		if *text != "" {
			m[key] = *text
		}
	}
	return m
}

// ParamForm returns how to write a value, in words and as a JSON Schema.
func (v *Valid) ParamForm() (string, map[string]any) {
	date := map[string]any{"type": "string", "format": "date"}
	return "{from: DATE, until: DATE, read: VERSION, source: TEXT}", map[string]any{
		"type": "object", "required": []any{"from"}, "additionalProperties": false,
		"properties": map[string]any{"from": date, "until": date, "read": map[string]any{"type": "string"}, "source": map[string]any{"type": "string"}},
	}
}
