package price

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Unit is what prices are in.
const Unit = "USD per million tokens"

// Error is something wrong in a price table, with its place.
type Error struct {
	File         string
	Line, Column int // 1-based; the column counts bytes
	Msg          string
	Hint         string
}

// Error is "FILE:LINE:COLUMN: what is wrong: what to do".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s", e.File, e.Line, e.Column, e.Msg, e.Hint)
}

// ReadFile decodes a table a user wrote, in the form of the embedded one. What is
// unknown, missing, given twice or out of range is an [Error]. A model needs an
// id, input and output; cache prices that are left out are the documented
// multiples of the input price: 1.25, 2 and 0.1. A byte order mark is passed over.
func ReadFile(name string, data []byte) (*Table, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	r := &reader{name: name, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	t := &Table{Unit: Unit}
	err := r.object(map[string]func() error{
		"schema":        func() error { return r.text(new(string)) },
		"as_of":         func() error { return r.text(&t.AsOf) },
		"snapshot_note": func() error { return r.text(new(string)) },
		"unit":          func() error { return r.unit(&t.Unit) },
		"models":        func() error { return r.models(t) },
	})
	if err == nil {
		if _, end := r.dec.Token(); end != io.EOF {
			err = r.fail("something stands behind the table", "remove it")
		}
	}
	if err != nil {
		return nil, err
	}
	if len(t.Models) == 0 {
		return nil, r.fail("no models", `list them under "models"`)
	}
	t.order()
	return t, nil
}

// reader decodes a table token by token, so that each error has its place.
type reader struct {
	name string
	data []byte
	dec  *json.Decoder
	at   int // where the token read last begins
}

// fail is an error at the token read last.
func (r *reader) fail(msg, hint string) error {
	head := r.data[:r.at]
	return &Error{r.name, bytes.Count(head, []byte("\n")) + 1, r.at - bytes.LastIndexByte(head, '\n'), msg, hint}
}

func (r *reader) token() (json.Token, error) {
	r.at = min(int(r.dec.InputOffset()), len(r.data))
	for r.at < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[r.at]) >= 0 {
		r.at++
	}
	tok, err := r.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return tok, nil
	case errors.As(err, &syntax):
		return nil, r.fail("no JSON: "+syntax.Error(), "write a table of models, as docs/schemas/prices.v1.json describes it")
	case len(bytes.TrimSpace(r.data)) == 0:
		return nil, r.fail("there is nothing in it", "write a table of models, as docs/schemas/prices.v1.json describes it")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.fail("the table breaks off", "close its braces and brackets")
	}
	return nil, r.fail(err.Error(), "write a table of models, as docs/schemas/prices.v1.json describes it")
}

// object reads an object whose keys are all known and given once.
func (r *reader) object(fields map[string]func() error) error {
	tok, err := r.token()
	if err != nil {
		return err
	}
	if tok != json.Delim('{') {
		return r.fail("no object", "write {…}")
	}
	seen := map[string]bool{}
	for r.dec.More() {
		tok, err := r.token()
		if err != nil {
			return err
		}
		key, _ := tok.(string)
		read, known := fields[key]
		switch {
		case !known:
			return r.fail(fmt.Sprintf("unknown key %q", key), "remove it, or use a key of docs/schemas/prices.v1.json")
		case seen[key]:
			return r.fail(fmt.Sprintf("%q is given twice", key), "keep one of them")
		}
		seen[key] = true
		if err := read(); err != nil {
			return err
		}
	}
	_, err = r.token()
	return err
}

func (r *reader) text(to *string) error {
	tok, err := r.token()
	if err != nil {
		return err
	}
	s, ok := tok.(string)
	if !ok {
		return r.fail("no text", "write it in quotes")
	}
	*to = s
	return nil
}

func (r *reader) unit(to *string) error {
	if err := r.text(to); err != nil {
		return err
	}
	if *to != Unit {
		return r.fail(fmt.Sprintf("the unit is %q", *to), "give prices in "+Unit)
	}
	return nil
}

func (r *reader) number(to *float64) error {
	tok, err := r.token()
	if err != nil {
		return err
	}
	n, ok := tok.(json.Number)
	if !ok {
		return r.fail("no number", "write one without quotes")
	}
	if *to, err = n.Float64(); err != nil || *to < 0 || *to > 1e9 || math.IsNaN(*to) {
		return r.fail(n.String()+" is out of range", "give 0 or more")
	}
	return nil
}

func (r *reader) count(to *int) error {
	var f float64
	if err := r.number(&f); err != nil {
		return err
	}
	if f != math.Trunc(f) {
		return r.fail("no whole number", "give a number of tokens")
	}
	*to = int(f)
	return nil
}

func (r *reader) flag(to *bool) error {
	tok, err := r.token()
	if err != nil {
		return err
	}
	b, ok := tok.(bool)
	if !ok {
		return r.fail("neither true nor false", "write one of them")
	}
	*to = b
	return nil
}

func (r *reader) models(t *Table) error {
	tok, err := r.token()
	if err != nil {
		return err
	}
	if tok != json.Delim('[') {
		return r.fail("no list", "write [ … ] with one object a model")
	}
	seen := map[string]bool{}
	for r.dec.More() {
		m, err := r.model()
		if err != nil {
			return err
		}
		if seen[m.ID] {
			return r.fail(fmt.Sprintf("the model %q is listed twice", m.ID), "keep one of them")
		}
		seen[m.ID] = true
		t.Models = append(t.Models, m)
	}
	_, err = r.token()
	return err
}

// unset marks a price that was left out.
const unset = -1

func (r *reader) model() (Model, error) {
	m := Model{Input: unset, CacheWrite5m: unset, CacheWrite1h: unset, CacheRead: unset, Output: unset}
	fields := r.prices(&m.Input, &m.CacheWrite5m, &m.CacheWrite1h, &m.CacheRead, &m.Output)
	for key, to := range map[string]*string{
		"id": &m.ID, "tokenizer": &m.Tokenizer, "image_tier": &m.ImageTier, "source": &m.Source,
		"confidence": &m.Confidence, "released": &m.Released, "note": &m.Note,
	} {
		fields[key] = func() error { return r.text(to) }
	}
	for key, to := range map[string]*int{"context": &m.Context, "max_output": &m.MaxOutput, "min_cacheable": &m.MinCacheable} {
		fields[key] = func() error { return r.count(to) }
	}
	fields["retired"] = func() error { return r.flag(&m.Retired) }
	fields["preserved_thinking"] = func() error { return r.flag(&m.Preserved) }
	fields["tier"] = func() error { return r.tier(&m) }
	fields["fast"] = func() error {
		m.Fast = &Fast{}
		return r.object(map[string]func() error{
			"input":  func() error { return r.number(&m.Fast.Input) },
			"output": func() error { return r.number(&m.Fast.Output) },
		})
	}
	if err := r.object(fields); err != nil {
		return m, err
	}
	m.ID = Normalize(m.ID)
	switch {
	case m.ID == "":
		return m, r.fail("a model without an id", `write "id": "claude-…"`)
	case m.Input == unset || m.Output == unset:
		return m, r.fail(m.ID+" has no price for input or output", "give both")
	case m.Tokenizer != "" && m.Tokenizer != "old" && m.Tokenizer != "new":
		return m, r.fail(fmt.Sprintf("%s has the tokenizer %q", m.ID, m.Tokenizer), "write old or new")
	}
	complete(m.Input, &m.CacheWrite5m, &m.CacheWrite1h, &m.CacheRead)
	return m, nil
}

func (r *reader) prices(input, write5m, write1h, read, output *float64) map[string]func() error {
	fields := map[string]func() error{}
	for key, to := range map[string]*float64{
		"input": input, "cache_write_5m": write5m, "cache_write_1h": write1h, "cache_read": read, "output": output,
	} {
		fields[key] = func() error { return r.number(to) }
	}
	return fields
}

func (r *reader) tier(m *Model) error {
	t := &Tier{Input: unset, CacheWrite5m: unset, CacheWrite1h: unset, CacheRead: unset, Output: unset, Whole: true}
	fields := r.prices(&t.Input, &t.CacheWrite5m, &t.CacheWrite1h, &t.CacheRead, &t.Output)
	fields["above_prompt_tokens"] = func() error { return r.count(&t.Above) }
	fields["whole_request"] = func() error { return r.flag(&t.Whole) }
	if err := r.object(fields); err != nil {
		return err
	}
	switch {
	case t.Above <= 0:
		return r.fail("a tier without above_prompt_tokens", "say from how many tokens of input on it holds")
	case t.Input == unset || t.Output == unset:
		return r.fail("a tier without a price for input or output", "give both")
	case !t.Whole:
		return r.fail("a tier for a part of the request", "only tiers that the whole request is billed by are known: write true")
	}
	complete(t.Input, &t.CacheWrite5m, &t.CacheWrite1h, &t.CacheRead)
	m.Tier = t
	return nil
}

// complete fills in the cache prices that were left out.
func complete(input float64, write5m, write1h, read *float64) {
	for _, p := range []struct {
		price *float64
		times float64
	}{{write5m, 1.25}, {write1h, 2}, {read, 0.1}} {
		if *p.price == unset {
			*p.price = input * p.times
		}
	}
}

// Over gives a table in which t's rows stand for those of base with the same id;
// the other rows of base stay.
func (t *Table) Over(base *Table) *Table {
	own := map[string]bool{}
	for i := range t.Models {
		own[t.Models[i].ID] = true
	}
	out := &Table{AsOf: t.AsOf, Unit: t.Unit, Models: append([]Model{}, t.Models...)}
	if out.AsOf == "" {
		out.AsOf = base.AsOf
	}
	for _, m := range base.Models {
		if !own[m.ID] {
			out.Models = append(out.Models, m)
		}
	}
	out.order()
	return out
}

// Sorted is the rows by id.
func (t *Table) Sorted() []Model {
	rows := append([]Model{}, t.Models...)
	sortModels(rows, func(a, b *Model) int { return strings.Compare(a.ID, b.ID) })
	return rows
}
