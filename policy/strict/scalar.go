package strict

import (
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

// scalar reads, writes and describes values of one word.
type scalar struct {
	words  string // what a value is, for people
	sample string // a value to show in a hint
	// read sets v. It gives what is wrong and what to do; "" to do means to
	// write a value such as the sample.
	read   func(v reflect.Value, n *Node, p *Param) (msg, hint string)
	write  func(v reflect.Value, p *Param) *Node
	schema func(p *Param) map[string]any
}

func scalarOf(t reflect.Type) (scalar, bool) {
	if t == reflect.TypeFor[time.Duration]() {
		return scalar{"a duration", "60m", readDuration, writeDuration, durationSchema}, true
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[Custom]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[NodeReader]()) {
		return scalar{}, false
	}
	switch t.Kind() {
	case reflect.Bool:
		return scalar{"true or false", "true", readBool, writeBool, func(*Param) map[string]any { return map[string]any{"type": "boolean"} }}, true
	case reflect.Int:
		return scalar{"a whole number", "1000", readInt, writeInt, func(p *Param) map[string]any { return numberSchema("integer", p) }}, true
	case reflect.Float64:
		return scalar{"a number", "0.5", readFloat, writeFloat, func(p *Param) map[string]any { return numberSchema("number", p) }}, true
	case reflect.String:
		return scalar{"text", "a word", readText, writeText, textSchema}, true
	}
	return scalar{}, false
}

func (c scalar) codec() codec {
	return codec{words: c.words, decode: c.decode, encode: c.write, schema: c.schema}
}

func (c scalar) decode(r *Reader, n *Node, s slot) bool {
	if n.Kind != yaml.ScalarNode || IsNull(n) {
		return r.bad(n, s, KindName(n)+" where "+c.words+" belongs", words("give it, such as "+c.example(s.v, s.p), s.p))
	}
	msg, hint := c.read(s.v, n, s.p)
	if msg == "" {
		return true
	}
	if hint == "" {
		hint = words("write digits, such as "+c.example(s.v, s.p), s.p)
	}
	return r.bad(n, s, msg, hint)
}

// words adds to a hint the words a parameter takes besides values.
func words(hint string, p *Param) string {
	for _, word := range []string{p.Zero, p.None} {
		if word != "" && word != noNone {
			hint += ", or " + word
		}
	}
	return hint
}

// example is a value to show in a hint: the current one, unless it is zero,
// empty or one of the parameter's words.
func (c scalar) example(v reflect.Value, p *Param) string {
	if len(p.Enum) > 0 {
		return p.Enum[0]
	}
	if now := Flow(c.write(v, p)); now != "0" && now != p.None && now != p.Zero && now != "''" && now != "0s" && now != "false" {
		return now
	}
	return c.sample
}

func writeBool(v reflect.Value, _ *Param) *Node  { return FromPlain(v.Bool()) }
func writeFloat(v reflect.Value, _ *Param) *Node { return FromPlain(v.Float()) }
func writeDuration(v reflect.Value, _ *Param) *Node {
	return Text(DurationText(time.Duration(v.Int())))
}

func readBool(v reflect.Value, n *Node, _ *Param) (msg, hint string) {
	if n.ShortTag() != "!!bool" {
		return Quote(n.Value) + " is not true or false", "write true or false"
	}
	v.SetBool(strings.EqualFold(n.Value, "true"))
	return "", ""
}

func readDuration(v reflect.Value, n *Node, p *Param) (msg, hint string) {
	d, err := time.ParseDuration(n.Value)
	if err != nil {
		return Quote(n.Value) + " is not a duration", words("write it with its units, such as 60m or 1h30m", p)
	}
	limit := func(s string) float64 { d, _ := time.ParseDuration(s); return float64(d) }
	if hint := outside(p, float64(d), math.Inf(1), limit); hint != "" {
		return n.Value + " is out of range", hint
	}
	v.SetInt(int64(d))
	return "", ""
}

func readInt(v reflect.Value, n *Node, p *Param) (msg, hint string) {
	if p.Zero != "" && n.Value == p.Zero {
		v.SetInt(0)
		return "", ""
	}
	i, ok := whole(n)
	if !ok {
		return Quote(n.Value) + " is not a whole number", ""
	}
	if hint := outside(p, float64(i), MaxNumber, number); hint != "" {
		return n.Value + " is out of range", hint
	}
	v.SetInt(int64(i))
	return "", ""
}

func readFloat(v reflect.Value, n *Node, p *Param) (msg, hint string) {
	f, ok := Number(n)
	if !ok {
		return Quote(n.Value) + " is not a number", ""
	}
	if hint := outside(p, f, MaxNumber, number); hint != "" {
		return n.Value + " is out of range", hint
	}
	v.SetFloat(f)
	return "", ""
}

// readText takes a number or a date as the text it is, but neither true nor
// false.
func readText(v reflect.Value, n *Node, p *Param) (msg, hint string) {
	switch unprintable := func(r rune) bool {
		return !unicode.IsGraphic(r) && (p.Form != "lines" || r != '\n' && r != '\t')
	}; {
	case n.ShortTag() == "!!bool":
		return n.Value + " is not text", "put it in quotes"
	case len(p.Enum) > 0 && !slices.Contains(p.Enum, n.Value):
		return Quote(n.Value) + " is not one of its values", Suggest(n.Value, p.Enum)
	case p.Form != "" && strings.ContainsFunc(n.Value, unprintable):
		return Quote(n.Value) + " has characters in it that cannot be printed", "leave them out"
	case p.Form == "line" && strings.TrimSpace(n.Value) == "":
		return "empty", "write a word, or leave the key out"
	case p.Form == "date" && n.Value != "":
		if _, err := time.Parse(time.DateOnly, n.Value); err != nil {
			return Quote(n.Value) + " is not a date", "write it as 2026-01-25"
		}
	}
	v.SetString(n.Value)
	return "", ""
}

func writeInt(v reflect.Value, p *Param) *Node {
	if p.Zero != "" && v.Int() == 0 {
		return Text(p.Zero)
	}
	return Scalar("!!int", strconv.FormatInt(v.Int(), 10))
}

func writeText(v reflect.Value, p *Param) *Node {
	n := Text(v.String())
	if p.Form == "date" {
		n.Tag = "!!timestamp" // it needs no quotes
	}
	return n
}

// whole reads a whole number: digits, with _ between them where they are
// many. 010, 0x10 and 1e3 are not what people mean by one.
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

func number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN() // no comparison holds
	}
	return f
}

// FloatText is a number with the digits it needs.
func FloatText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// outside says what to give where f is out of the range of p or its size is
// over limit, "" where it is not.
func outside(p *Param, f, limit float64, parse func(string) float64) string {
	least, most := p.Min != "" && f < parse(p.Min), p.Max != "" && f > parse(p.Max)
	switch {
	case (least || most) && p.Min != "" && p.Max != "":
		return "give " + p.Min + " to " + p.Max
	case least:
		return "give " + p.Min + " or more"
	case most:
		return "give " + p.Max + " or less"
	case p.Max == "" && math.Abs(f) > limit:
		return fmt.Sprintf("give %.0f or less", limit)
	}
	return ""
}
