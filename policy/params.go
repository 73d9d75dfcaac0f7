package policy

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Param describes one parameter of a stage, or of the window. It is read off
// a field of the parameter struct and its tags:
//
//	yaml  its name, snake_case
//	doc   one sentence
//	unit  "tokens", "characters" …
//	min   the least, in the field's own notation ("0", "1s")
//	max   the most
//	enum  the words allowed, comma-separated
//	zero  the word that means 0 ("auto")
//	none  the word that means no value in a pointer (default "none")
//
// A field is a bool, int, float64, string or time.Duration; a pointer to one
// of these, nil meaning none; a []string; a map[string]int in which -1 means
// none; a type that implements [Value], a pointer to or a slice of one.
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
}

// Value is implemented (by pointer) by parameter types with a notation of
// their own. Plain values are nil, bool, int, float64, string, []any and
// map[string]any.
type Value interface {
	// DecodeParam sets the value. The error says what is wrong; an *Error
	// also says what to do.
	DecodeParam(plain any) error
	// EncodeParam is the plain value DecodeParam reads back as the same.
	EncodeParam() any
	// ParamForm is the notation in words and as a JSON Schema.
	ParamForm() (words string, schema map[string]any)
}

const (
	none   = "none"
	noneN  = -1            // none in a map[string]int
	limitN = 1_000_000_000 // no figure of a policy is larger
)

var (
	valueType    = reflect.TypeFor[Value]()
	mapType      = reflect.TypeFor[map[string]int]()
	durationType = reflect.TypeFor[time.Duration]()
	nameForm     = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// field is a parameter with its place in a struct.
type field struct {
	Param
	v reflect.Value
}

// value is the parameter's value as YAML, on one line.
func (f *field) value() string { return flow(encode(f.v, &f.Param)) }

// fieldsOf lists the parameters of the struct ptr points to, in the order of
// its fields, without their Default; nil has none. The error says what is
// wrong with the struct.
func fieldsOf(ptr any) ([]field, error) {
	if ptr == nil {
		return nil, nil
	}
	v := reflect.ValueOf(ptr)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("parameters are a %T: use a pointer to a struct", ptr)
	}
	v = v.Elem()
	var list []field
	seen := map[string]bool{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag := f.Tag
		p := Param{
			Name: tag.Get("yaml"), Doc: tag.Get("doc"), Unit: tag.Get("unit"),
			Min: tag.Get("min"), Max: tag.Get("max"), Zero: tag.Get("zero"),
		}
		if p.Name == "-" {
			continue
		}
		switch {
		case !f.IsExported():
			return nil, fmt.Errorf("field %s is unexported: export it, or keep it out of the parameters", f.Name)
		case !nameForm.MatchString(p.Name):
			return nil, fmt.Errorf("field %s has the yaml name %q: use snake_case", f.Name, p.Name)
		case seen[p.Name]:
			return nil, fmt.Errorf("two fields have the yaml name %s: rename one", p.Name)
		case p.Doc == "":
			return nil, fmt.Errorf("field %s has no doc tag: say what it does", f.Name)
		}
		seen[p.Name] = true
		if e := tag.Get("enum"); e != "" {
			p.Enum = strings.Split(e, ",")
		}
		if f.Type.Kind() == reflect.Pointer {
			p.None = none
			if n := tag.Get("none"); n != "" {
				p.None = n
			}
		}
		words, ok := typeWords(f.Type)
		if !ok {
			return nil, fmt.Errorf("field %s is a %s: no parameter can be one", f.Name, f.Type)
		}
		p.Type = words
		list = append(list, field{p, v.Field(i)})
	}
	return list, nil
}

func isValue(t reflect.Type) bool { return reflect.PointerTo(t).Implements(valueType) }

// typeWords says what a parameter type is, for people.
func typeWords(t reflect.Type) (string, bool) {
	if isValue(t) {
		words, _ := reflect.New(t).Interface().(Value).ParamForm()
		return words, true
	}
	if t == durationType {
		return "a duration", true
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false", true
	case reflect.Int:
		return "a whole number", true
	case reflect.Float64:
		return "a number", true
	case reflect.String:
		return "text", true
	case reflect.Pointer:
		if e := t.Elem(); e.Kind() != reflect.Pointer && (isValue(e) || e.Kind() != reflect.Slice && e.Kind() != reflect.Map) {
			return typeWords(e)
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String && !isValue(t.Elem()) {
			return "a list of text", true
		}
		if isValue(t.Elem()) {
			words, _ := typeWords(t.Elem())
			return "a list of " + words, true
		}
	case reflect.Map:
		return "a map of names to whole numbers or none", t == mapType
	}
	return "", false
}

// Parameters lists the parameters of a stage with their defaults.
func (d Definition) Parameters() []Param { return paramsOf(d.Params) }

// WindowParameters lists the parameters of a policy's window.
func WindowParameters() []Param {
	w := DefaultWindow()
	return paramsOf(&w)
}

func paramsOf(ptr any) []Param {
	fields, err := fieldsOf(ptr)
	if err != nil { // NewRegistry has refused it
		return nil
	}
	list := make([]Param, len(fields))
	for i, f := range fields {
		list[i] = f.Param
		list[i].Default = f.value()
	}
	return list
}

func names(fields []field) []string {
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = f.Name
	}
	return list
}

func find(fields []field, name string) (field, bool) {
	for _, f := range fields {
		if f.Name == name {
			return f, true
		}
	}
	return field{}, false
}

// cloneParams copies a parameter struct, so that changing one changes no
// other.
func cloneParams(ptr any) any {
	if ptr == nil {
		return nil
	}
	v := reflect.ValueOf(ptr)
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
			c := reflect.New(v.Type().Elem())
			c.Elem().Set(v.Elem())
			unshare(c.Elem())
			v.Set(c)
		}
	case reflect.Slice:
		if !v.IsNil() {
			c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(c, v)
			for i := range c.Len() {
				unshare(c.Index(i))
			}
			v.Set(c)
		}
	case reflect.Map:
		if !v.IsNil() {
			c := reflect.MakeMapWithSize(v.Type(), v.Len())
			for it := v.MapRange(); it.Next(); {
				c.SetMapIndex(it.Key(), it.Value())
			}
			v.Set(c)
		}
	}
}

// durationText is a duration as people write it: 1h, not 1h0m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func floatText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
