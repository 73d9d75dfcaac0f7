package strict

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// scalar reads and describes values of one word.
type scalar struct {
	words  string // what a value is, for people
	sample string // a value to show in a hint
	hint   string // how to write one; "": digits
	// parse reads a value and its size, which min, max and limit bound.
	parse  func(n *Node) (value any, size float64, ok bool)
	limit  float64 // of the size where there is no max
	schema func(p *Param) map[string]any
}

// scalarOf finds the scalar of a type without its own notation.
func scalarOf(t reflect.Type) (s scalar, ok bool) {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		s = scalar{"a duration", "60m", "write it with its units, such as 60m or 1h30m", func(n *Node) (any, float64, bool) {
			d, err := time.ParseDuration(n.Value)
			return d, float64(d), err == nil
		}, math.Inf(1), durationSchema}
	case t.Kind() == reflect.Bool:
		s = scalar{"true or false", "true", "write true or false", func(n *Node) (any, float64, bool) {
			return strings.EqualFold(n.Value, "true"), 0, n.ShortTag() == "!!bool"
		}, 1, func(*Param) map[string]any { return map[string]any{"type": "boolean"} }}
	case t.Kind() == reflect.Int:
		s = scalar{"a whole number", "1000", "", func(n *Node) (any, float64, bool) {
			i, ok := whole(n)
			return i, float64(i), ok
		}, MaxNumber, func(p *Param) map[string]any { return numberSchema("integer", p) }}
	case t.Kind() == reflect.Float64:
		s = scalar{"a number", "0.5", "", func(n *Node) (any, float64, bool) {
			f, ok := Number(n)
			return f, f, ok
		}, MaxNumber, func(p *Param) map[string]any { return numberSchema("number", p) }}
	}
	return s, s.parse != nil
}

func (c scalar) decode(r *Decoder, n *Node, s slot) bool {
	if s.Zero != "" && n.Kind == yaml.ScalarNode && n.Value == s.Zero {
		s.v.SetZero()
		return true
	}
	if !r.word(n, s, c.words, c.sample) {
		return false
	}
	value, size, ok := c.parse(n)
	if i, isCount := textCount(n); !ok && isCount && s.counts() {
		value = i
		size = float64(i)
		ok = true
	}
	if !ok {
		hint := cmp.Or(c.hint, "write digits, such as "+example(s, c.sample))
		if c.words != "true or false" {
			hint = orWords(hint, s.Param)
		}
		return r.bad(n, s, Quote(n.Value)+" is not "+c.words, hint)
	}
	if hint := c.outside(s.Param, size); hint != "" {
		return r.bad(n, s, n.Value+" is out of range", hint)
	}
	s.v.Set(reflect.ValueOf(value).Convert(s.v.Type()))
	return true
}

// word reports a node that is not one word.
func (r *Decoder) word(n *Node, s slot, words, sample string) bool {
	if n.Kind != yaml.ScalarNode || IsNull(n) {
		return r.bad(n, s, KindName(n)+" where "+words+" belongs", orWords("give it, such as "+example(s, sample), s.Param))
	}
	return true
}

// orWords adds to a hint the words that a parameter accepts in place of values.
func orWords(hint string, p *Param) string {
	for _, word := range []string{p.Zero, p.None} {
		if word != "" && word != noNone {
			hint += ", or " + word
		}
	}
	return hint
}

// example is a value to show in a hint: the current one, unless it is zero or one of the parameter's words.
func example(s slot, sample string) string {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	if s.v.IsZero() {
		return sample
	}
	return (&Field{*s.Param, s.v}).Text()
}

// bound is a min or max as a size; NaN, with which no comparison holds, for "".
func bound(s string) float64 {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f
	}
	if d, err := time.ParseDuration(s); err == nil {
		return float64(d)
	}
	return math.NaN()
}

// outside says what to give where a size is out of range, "" where it is not.
func (c scalar) outside(p *Param, size float64) string {
	least := size < bound(p.Min)
	most := size > bound(p.Max)
	switch {
	case p.Max == "" && math.Abs(size) > c.limit && !least:
		return fmt.Sprintf("give %.0f or less", c.limit)
	case !least && !most:
		return ""
	case p.Min != "" && p.Max != "":
		return "give " + p.Min + " to " + p.Max
	case least:
		return "give " + p.Min + " or more"
	}
	return "give " + p.Max + " or less"
}

// decodeText reads text. A number or a date is taken as the text it is, true and false are refused.
func decodeText(r *Decoder, n *Node, s slot) bool {
	form := s.Form
	unprintable := func(r rune) bool { return !unicode.IsGraphic(r) && (form != "lines" || r != '\n' && r != '\t') }
	switch {
	case !r.word(n, s, "text", "a word"):
		return false
	case n.ShortTag() == "!!bool":
		return r.bad(n, s, n.Value+" is not text", "put it in quotes")
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, n.Value):
		return r.bad(n, s, Quote(n.Value)+" is not one of its values", Suggest(n.Value, s.Enum))
	case form != "" && strings.ContainsFunc(n.Value, unprintable):
		return r.bad(n, s, Quote(n.Value)+" has characters in it that cannot be printed", "leave them out")
	case form == "line" && strings.TrimSpace(n.Value) == "":
		return r.bad(n, s, "empty", "write a word, or leave the key out")
	case form == "date" && n.Value != "":
		if _, err := time.Parse(time.DateOnly, n.Value); err != nil {
			return r.bad(n, s, Quote(n.Value)+" is not a date", "write it as 2026-01-25")
		}
	}
	s.v.SetString(n.Value)
	return true
}

// whole reads a whole number: digits, with _ between them allowed. It refuses 010, 0x10 and 1e3, which people write
// for other numbers.
func whole(n *Node) (int, bool) {
	if n.ShortTag() != "!!int" {
		return 0, false
	}
	s := strings.ReplaceAll(n.Value, "_", "")
	if digits := strings.TrimLeft(s, "+-"); len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	i, err := strconv.Atoi(s)
	return i, err == nil
}

// Number reads a finite number.
func Number(n *Node) (float64, bool) {
	if i, ok := whole(n); ok {
		return float64(i), true
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!float" {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// FloatText is a number with the digits it needs.
func FloatText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
