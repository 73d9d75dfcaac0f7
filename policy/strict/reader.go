package strict

import (
	"cmp"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Decoder reads the nodes of a file into structs and collects what is wrong.
type Decoder struct {
	File   string
	Errors Errors
	Noun   string                        // of a key of a struct, in messages; "": "key"
	Found  func(key string, at Position) // called for each key of a struct; nil: not

	tags map[reflect.Type][]tagged // of the structs read before
}

// Keys are those of a struct that a map is read into.
func Keys(ptr any) []string {
	fields, _ := Fields(ptr) // a struct without them is refused where it is read
	return Names(fields)
}

// Report adds an error at a node.
func (r *Decoder) Report(at *Node, msg, hint string) {
	if at.Kind == yaml.AliasNode { // refused already
		return
	}
	r.Errors.Report(At(r.File, at), msg, hint)
}

// Defaulter is implemented by structs whose fields do not start at zero where they are read as elements of a list or
// behind a pointer.
type Defaulter interface{ SetDefaults() }

// FieldChecker is implemented by structs that refuse combinations of their fields. CheckFields is called once all
// fields could be read. The error is reported at the struct; see [Custom].
type FieldChecker interface{ CheckFields() error }

// Struct reads a map into the struct ptr points to; owner names it in messages. It reports whether there was no
// error.
func (r *Decoder) Struct(n *Node, ptr any, owner string) bool {
	noun := cmp.Or(r.Noun, "key")
	before := len(r.Errors)
	fields, err := r.fieldsOf(ptr)
	switch {
	case err != nil:
		r.Report(n, owner+": "+err.Error(), "")
	case n.Kind != yaml.MappingNode:
		r.Report(n, label(owner)+KindName(n)+" is not a map of "+noun+"s", "write them as NAME: VALUE, one a line")
	default:
		r.fields(n, fields, owner, noun)
	}
	if c, ok := ptr.(FieldChecker); ok && len(r.Errors) == before {
		if err := c.CheckFields(); err != nil {
			r.Errors.Add(At(r.File, n), owner, err)
		}
	}
	return len(r.Errors) == before
}

func (r *Decoder) fields(n *Node, fields []Field, owner, noun string) {
	given := map[string]bool{}
	for _, kv := range Pairs(n) {
		f, ok := Find(fields, kv.Key)
		if !ok {
			r.Report(kv.At, label(owner)+"unknown "+noun+" "+Quote(kv.Key), Suggest(kv.Key, Names(fields)))
			continue
		}
		given[f.Name] = true
		key := strings.TrimPrefix(owner+"."+f.Name, ".")
		if r.Found != nil {
			r.Found(key, At(r.File, kv.Value))
		}
		r.Value(kv.Value, f, key)
	}
	for _, f := range fields {
		if f.Required != "" && !given[f.Name] {
			r.Report(n, label(owner)+"no "+f.Name, f.Required)
		}
	}
}

// Value reads the value of field f, called key in messages. It reports whether there was no error; otherwise the
// field is as it was or partly changed.
func (r *Decoder) Value(n *Node, f Field, key string) bool {
	return r.decode(n, slot{f.Ref, &f.Param, key})
}

// Read reads a value into what ptr points to, as a field with the tags of p.
func (r *Decoder) Read(n *Node, ptr any, p Param, key string) bool {
	return r.decode(n, slot{reflect.ValueOf(ptr).Elem(), &p, key})
}

// Map lists the keys of a map in the order of the file; key names it in messages, hint says what to write in place of
// another kind of node.
func (r *Decoder) Map(n *Node, key, hint string) []Pair {
	if n.Kind != yaml.MappingNode {
		r.Report(n, key+": "+KindName(n)+" is not a map", hint)
		return nil
	}
	return Pairs(n)
}

// slot is where a value goes.
type slot struct {
	v reflect.Value
	*Param
	key string
}

func (r *Decoder) decode(n *Node, s slot) bool {
	c, ok := codecOf(s.v.Type())
	if !ok || !c.decode(r, n, s) { // not ok: Fields has refused the type
		return false
	}
	if at, ok := s.v.Addr().Interface().(interface{ setPosition(Position) }); ok {
		at.setPosition(At(r.File, n))
	}
	return true
}

// bad reports what is wrong with the value of a slot; it returns false.
func (r *Decoder) bad(at *Node, s slot, msg, hint string) bool {
	r.Report(at, s.key+": "+msg, hint)
	return false
}
