// Package strict reads tagged structs from YAML, of which JSON is a part, and writes them back. It refuses every key
// and value that the tags do not allow, reports all errors of a file at once with their positions and a correction,
// and describes the structs as a JSON Schema.
package strict

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Param describes one field of a struct. Its tags are:
//
//	yaml      its name, snake_case; without it the name of its json tag
//	doc       one sentence
//	unit      "tokens", "characters" …
//	min       the smallest value, in the field's own notation ("0", "1s")
//	max       the largest value
//	enum      the words allowed, comma-separated
//	zero      the word that means 0 ("auto")
//	none      the word that means no value in a pointer (default "none"); "-": there is none
//	form      of a text: "line" (printable, not empty), "lines" (printable) or "date"; of a list: "filled" (not empty);
//	          of a number: "count" (40k is taken too, as it is with the unit "tokens")
//	required  what to write where the key is missing
//
// A field is a bool, int, float64, string or time.Duration; a map[string]int in which -1 means none; a struct of such
// fields; a type that implements [Custom] or [NodeReader]; a pointer to one of these but a map, nil meaning none; a
// slice of strings, structs, [Custom] or [NodeReader]. The fields of an embedded struct, or of one with the tag
// yaml:",inline", are fields of the outer one.
type Param struct {
	Name    string
	Type    string // for people: "a whole number", "a list of text" …
	Doc     string
	Unit    string
	Min     string // "": no limit
	Max     string
	Enum    []string
	Zero    string
	None    string // "" where there must be a value
	Default string // as YAML, on one line

	Form     string
	Required string
}

// Custom is implemented (by pointer) by types with a notation of their own. Plain values are nil, bool, int, float64,
// string, []any and map[string]any.
type Custom interface {
	// DecodeParam sets the value. The error says what is wrong; an *Error also says what to do.
	DecodeParam(plain any) error
	// EncodeParam is the plain value DecodeParam reads back as the same.
	EncodeParam() any
	// ParamForm is the notation in words and as a JSON Schema.
	ParamForm() (words string, schema map[string]any)
}

// Bounded is implemented by [Custom] types of whole numbers, to which the tag min applies: SchemaFrom is the notation's
// JSON Schema with that bound.
type Bounded interface {
	SchemaFrom(least int) map[string]any
}

// NodeReader is implemented (by pointer) by types that are read only and need positions or the order of keys.
// ReadNode reports what is wrong to r; key names the value in messages.
type NodeReader interface {
	ReadNode(r *Decoder, n *Node, key string)
}

const (
	// None is the word for no value.
	None   = "none"
	noNone = "-" // there must be a value
	// MaxNumber is the largest number a parameter takes, -MaxNumber the smallest.
	MaxNumber = 1_000_000_000
	noneN     = -1 // none in a map[string]int
)

// IsName reports whether s is snake_case: a small letter, then small letters, digits and underscores.
func IsName(s string) bool {
	for i := range len(s) {
		small := s[i] >= 'a' && s[i] <= 'z'
		if !small && (i == 0 || s[i] != '_' && (s[i] < '0' || s[i] > '9')) {
			return false
		}
	}
	return s != ""
}

// Field is a parameter and its value in a struct.
type Field struct {
	Param
	Ref reflect.Value
}

// Node is the field's value.
func (f *Field) Node() *Node {
	n := FromPlain(plainOf(f.Ref, &f.Param))
	if f.Form == "date" {
		n.Tag = "!!timestamp" // it needs no quotes
	}
	return n
}

// Text is the field's value as YAML on one line.
func (f *Field) Text() string { return Flow(f.Node()) }

// SetText reads the value from YAML text that is in no file; key names it in the error.
func (f *Field) SetText(key, value string) error {
	if value == "" && f.Type == "text" && len(f.Enum) == 0 {
		value = `""`
	}
	n := &Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	if strings.Trim(value, " \t\r\n") != "" { // what else is blank is text in YAML
		var errs Errors
		if n, errs = parse("", []byte(value), Document{Name: "value"}); len(errs) > 0 {
			return &Error{Msg: key + ": " + Quote(value) + " cannot be read (" + errs[0].Msg + ")", Hint: "give one value, as YAML"}
		}
	}
	r := &Decoder{}
	if r.Value(n, *f, key); len(r.Errors) > 0 {
		return &Error{Msg: r.Errors[0].Msg, Hint: r.Errors[0].Hint}
	}
	return nil
}

// Fields lists the parameters of the struct ptr points to, in the order of its fields, without their Default; nil has
// none. ptr may also be a list of such pointers ([]any). The error says what is wrong with the struct.
func Fields(ptr any) ([]Field, error) { return (&Decoder{}).fieldsOf(ptr) }

// fieldsOf is [Fields]. It computes the tags of a type once for a file with many structs of the type.
func (r *Decoder) fieldsOf(ptr any) (list []Field, err error) {
	structs, several := ptr.([]any)
	if !several && ptr != nil {
		structs = []any{ptr}
	}
	for _, s := range structs {
		v := reflect.ValueOf(s)
		if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
			return nil, fmt.Errorf("parameters are a %T: use a pointer to a struct", s)
		}
		v = v.Elem()
		params, ok := r.tags[v.Type()]
		if !ok {
			if params, err = tagsOf(v.Type()); err != nil {
				return nil, err
			}
			if r.tags == nil {
				r.tags = map[reflect.Type][]tagged{}
			}
			r.tags[v.Type()] = params
		}
		before := list
		list = slices.Grow(list, len(params))
		for _, t := range params {
			if _, twice := Find(before, t.Name); twice {
				return nil, nameTwice(t.Name)
			}
			list = append(list, Field{t.Param, v.FieldByIndex(t.index)})
		}
	}
	return list, nil
}

func nameTwice(name string) error {
	return fmt.Errorf("two fields have the yaml name %s: rename one", name)
}

// tagged is a parameter of a struct type with the index of its field.
type tagged struct {
	Param
	index []int
}

func tagsOf(t reflect.Type) (list []tagged, err error) {
	for i := range t.NumField() {
		f := t.Field(i)
		own := []tagged{{}}
		switch {
		case f.Tag.Get("yaml") == "-" || f.Type == reflect.TypeFor[Position]():
			continue
		case f.Tag.Get("yaml") == ",inline" || f.Anonymous && f.Tag == "" && f.Type.Kind() == reflect.Struct:
			own, err = tagsOf(f.Type)
		case !f.IsExported():
			err = fmt.Errorf("field %s is unexported: export it, or keep it out of the parameters", f.Name)
		default:
			own[0].Param, err = paramOf(&f)
		}
		if err != nil {
			return nil, err
		}
		for _, one := range own {
			if slices.ContainsFunc(list, func(other tagged) bool { return other.Name == one.Name }) {
				return nil, nameTwice(one.Name)
			}
			list = append(list, tagged{one.Param, append([]int{i}, one.index...)})
		}
	}
	return list, nil
}

func paramOf(f *reflect.StructField) (Param, error) {
	tag := f.Tag
	name, ok := tag.Lookup("yaml")
	if !ok {
		name, _, _ = strings.Cut(tag.Get("json"), ",")
	}
	if !IsName(name) {
		return Param{}, fmt.Errorf("field %s has the yaml name %q: use snake_case", f.Name, name)
	}
	c, ok := codecOf(f.Type)
	if !ok {
		return Param{}, fmt.Errorf("field %s is a %s: no parameter can be one", f.Name, f.Type)
	}
	p := Param{
		Name: name, Type: c.words, Doc: tag.Get("doc"), Unit: tag.Get("unit"), Min: tag.Get("min"), Max: tag.Get("max"),
		Zero: tag.Get("zero"), Form: tag.Get("form"), Required: tag.Get("required"),
	}
	if e := tag.Get("enum"); e != "" {
		p.Enum = strings.Split(e, ",")
	}
	if f.Type.Kind() == reflect.Pointer {
		p.None = cmp.Or(tag.Get("none"), None)
	}
	return p, nil
}

// Params lists the parameters of the struct ptr points to with their Default, the value the struct has. It is nil for
// a struct that [CheckDefaults] refuses.
func Params(ptr any) []Param {
	fields, err := Fields(ptr)
	if err != nil {
		return nil
	}
	list := make([]Param, len(fields))
	for i, f := range fields {
		list[i] = f.Param
		list[i].Default = f.Text()
	}
	return list
}

// CheckDefaults reports an error where a field of the struct has no doc tag, or a value that its tags do not allow: a
// policy with every default spelled out must read back.
func CheckDefaults(ptr any) error {
	if _, err := Fields(ptr); err != nil {
		return err
	}
	fields, err := Fields(Clone(ptr))
	for _, f := range fields {
		if f.Doc == "" {
			return fmt.Errorf("%s has no doc tag: say what it does", f.Name)
		}
		if c, _ := codecOf(f.Ref.Type()); c.schema == nil {
			return fmt.Errorf("%s is a %s, which is only read: use another type", f.Name, f.Ref.Type())
		}
		if err := f.SetText(f.Name, f.Text()); err != nil {
			return fmt.Errorf("its own default: %w", err)
		}
	}
	return err
}

// Names lists the names of fields.
func Names(fields []Field) []string {
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = f.Name
	}
	return list
}

// Block is a map of the fields and their values.
func Block(fields []Field) *Node {
	n := Map()
	for _, f := range fields {
		Put(n, f.Name, f.Node())
	}
	return n
}

// Find finds a field by name.
func Find(fields []Field, name string) (Field, bool) {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}

// Clone copies the struct ptr points to and all that it refers to.
func Clone(ptr any) any {
	v := reflect.ValueOf(ptr)
	if v.Kind() != reflect.Pointer { // nil, or a struct that CheckDefaults refuses
		return ptr
	}
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	unshare(c.Elem())
	return c.Interface()
}

func unshare(v reflect.Value) {
	if !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			unshare(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			v.Set(reflect.ValueOf(Clone(v.Interface())))
		}
	case reflect.Slice:
		if !v.IsNil() {
			v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
			for i := range v.Len() {
				unshare(v.Index(i))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			c := reflect.MakeMapWithSize(v.Type(), v.Len())
			for key, value := range v.Seq2() {
				c.SetMapIndex(key, value)
			}
			v.Set(c)
		}
	}
}

// DurationText is a duration without zero units: 1h, not 1h0m0s.
func DurationText(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

// AnyOf is a JSON Schema that admits what one of several schemas admits.
func AnyOf(schemas ...any) map[string]any { return map[string]any{"anyOf": schemas} }

// Object is the JSON Schema of a map of the fields.
func Object(about string, fields []Field) map[string]any {
	properties := map[string]any{}
	for _, f := range fields {
		properties[f.Name] = f.Schema()
	}
	return map[string]any{"type": "object", "description": about, "properties": properties, "additionalProperties": false}
}

// Schema is the JSON Schema of a field; its value is the default.
func (f Field) Schema() map[string]any {
	c, _ := codecOf(f.Ref.Type())
	s := c.schema(&f.Param)
	s["description"] = f.Doc
	if f.Unit != "" {
		s["description"] = f.Doc + " (" + f.Unit + ")"
	}
	s["default"] = plainOf(f.Ref, &f.Param)
	return s
}

func mapSchema(*Param) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": AnyOf(
		map[string]any{"type": "integer", "minimum": 0, "maximum": MaxNumber},
		map[string]any{"enum": []any{None, nil}},
	)}
}

func durationSchema(*Param) map[string]any {
	return map[string]any{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(h|m|s|ms|us|ns))+$|^0$`}
}

func numberSchema(kind string, p *Param) map[string]any {
	s := map[string]any{"type": kind, "maximum": MaxNumber, "minimum": -MaxNumber}
	if f, err := strconv.ParseFloat(p.Min, 64); err == nil {
		s["minimum"] = f
	}
	if f, err := strconv.ParseFloat(p.Max, 64); err == nil {
		s["maximum"] = f
	}
	if p.counts() {
		s = CountSchema(s)
	}
	if p.Zero != "" {
		return AnyOf(s, map[string]any{"const": p.Zero})
	}
	return s
}

// TextSchema is a JSON Schema of text, which may be a number; about describes it.
func TextSchema(about string) map[string]any {
	s := AnyOf(map[string]any{"type": "string"}, map[string]any{"type": "number"})
	if about != "" {
		s["description"] = about
	}
	return s
}

func textSchema(p *Param) map[string]any {
	switch {
	case len(p.Enum) > 0:
		return map[string]any{"enum": p.Enum}
	case p.Form == "date":
		return map[string]any{"type": "string", "format": "date"}
	}
	return TextSchema("")
}
