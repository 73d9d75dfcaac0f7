package strict

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// codec reads, writes and describes the values of a type.
type codec struct {
	words  string // what a value is, for people
	decode func(r *Reader, n *Node, s slot) bool
	encode func(v reflect.Value, p *Param) *Node
	schema func(p *Param) map[string]any
}

// codecOf finds the codec of a type; ok is false where a parameter can not be
// of the type.
func codecOf(t reflect.Type) (c codec, ok bool) {
	if c, ok := scalarOf(t); ok {
		return c.codec(), true
	}
	ptr := reflect.PointerTo(t)
	switch {
	case ptr.Implements(reflect.TypeFor[Custom]()):
		return customCodec(t), true
	case ptr.Implements(reflect.TypeFor[NodeReader]()):
		return codec{words: "a value", decode: decodeNode}, true
	case t == reflect.TypeFor[map[string]int]():
		return mapCodec(), true
	}
	switch t.Kind() {
	case reflect.Struct:
		return structCodec(t), true
	case reflect.Pointer:
		return pointerCodec(t)
	case reflect.Slice:
		return listCodec(t)
	}
	return codec{}, false
}

// elementOf finds the codec of what a pointer or a slice type holds, but for
// the refused kinds without a notation of their own.
func elementOf(t reflect.Type, refused ...reflect.Kind) (codec, bool) {
	c, ok := codecOf(t.Elem())
	if _, own := reflect.New(t.Elem()).Interface().(Custom); own {
		return c, ok
	}
	return c, ok && !slices.Contains(refused, t.Elem().Kind())
}

func pointerCodec(t reflect.Type) (codec, bool) {
	c, ok := elementOf(t, reflect.Pointer, reflect.Slice, reflect.Map)
	return codec{
		words: c.words,
		decode: func(r *Reader, n *Node, s slot) bool {
			if s.p.None != noNone && n.Kind == yaml.ScalarNode && (IsNull(n) || n.Value == s.p.None) {
				s.v.SetZero()
				return true
			}
			e := newElement(t.Elem())
			ok := r.decode(n, slot{e, s.p, s.key})
			s.v.Set(e.Addr())
			return ok
		},
		encode: func(v reflect.Value, p *Param) *Node {
			if v.IsNil() {
				return Text(p.None)
			}
			return c.encode(v.Elem(), p)
		},
		schema: func(p *Param) map[string]any { return AnyOf(c.schema(p), map[string]any{"enum": []any{p.None, nil}}) },
	}, ok
}

func newElement(t reflect.Type) reflect.Value {
	e := reflect.New(t)
	if d, ok := e.Interface().(Defaulter); ok {
		d.SetDefaults()
	}
	return e.Elem()
}

// listCodec takes one element for a list of one.
func listCodec(t reflect.Type) (codec, bool) {
	c, ok := elementOf(t, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64)
	return codec{
		words:  "a list of " + c.words,
		decode: func(r *Reader, n *Node, s slot) bool { return decodeList(r, n, s, &c) },
		encode: func(v reflect.Value, p *Param) *Node {
			items := make([]*Node, v.Len())
			for i := range items {
				items[i] = c.encode(v.Index(i), p)
			}
			return inline(List(items...))
		},
		schema: func(p *Param) map[string]any {
			e := c.schema(p)
			return AnyOf(map[string]any{"type": "array", "items": e, "uniqueItems": true}, e)
		},
	}, ok
}

func decodeList(r *Reader, n *Node, s slot, c *codec) bool {
	t := s.v.Type()
	_, own := reflect.New(t.Elem()).Interface().(Custom)
	items := n.Content
	switch {
	case n.Kind == yaml.ScalarNode && !IsNull(n), n.Kind == yaml.MappingNode && own:
		items = []*Node{n}
	case n.Kind != yaml.SequenceNode:
		return r.bad(n, s, KindName(n)+" is not a list", cmp.Or(s.p.Required, "write it as [A, B], or [] for none"))
	case s.p.Form == "filled" && len(n.Content) == 0:
		return r.bad(n, s, "the list is empty", cmp.Or(s.p.Required, "write it as [A, B]"))
	}
	list := reflect.MakeSlice(t, 0, len(items))
	seen, sound := map[string]bool{}, true
	for _, item := range items {
		e := newElement(t.Elem())
		if !r.decode(item, slot{e, s.p, s.key}) {
			sound = false
			continue
		}
		if own || t.Elem().Kind() == reflect.String {
			id := Flow(c.encode(e, s.p))
			if seen[id] {
				sound = r.bad(item, s, id+" is listed twice", "keep one of them")
				continue
			}
			seen[id] = true
		}
		list = reflect.Append(list, e)
	}
	s.v.Set(list)
	return sound
}

func mapCodec() codec {
	return codec{
		words:  "a map of names to whole numbers or none",
		decode: decodeMap,
		encode: func(v reflect.Value, _ *Param) *Node {
			n, m := inline(Map()), v.Interface().(map[string]int)
			for _, k := range slices.Sorted(maps.Keys(m)) {
				if i := m[k]; i == noneN {
					Put(n, k, Text(None))
				} else {
					Put(n, k, FromPlain(i))
				}
			}
			return n
		},
		schema: func(*Param) map[string]any {
			return map[string]any{"type": "object", "additionalProperties": AnyOf(
				map[string]any{"type": "integer", "minimum": 0, "maximum": MaxNumber},
				map[string]any{"enum": []any{None, nil}},
			)}
		},
	}
}

func decodeMap(r *Reader, n *Node, s slot) bool {
	if n.Kind != yaml.MappingNode {
		return r.bad(n, s, KindName(n)+" is not a map", "write it as {NAME: 1000, NAME: none}, or {} for none")
	}
	m, sound := map[string]int{}, true
	q := *s.p
	q.Zero, q.None = "", None
	for _, kv := range Pairs(n) {
		i := noneN
		if kv.Value.Kind != yaml.ScalarNode || !IsNull(kv.Value) && kv.Value.Value != None {
			at := slot{reflect.ValueOf(&i).Elem(), &q, s.key + "." + kv.Key}
			i = 0
			if !r.decode(kv.Value, at) {
				sound = false
			} else if i < 0 {
				sound = r.bad(kv.Value, at, kv.Value.Value+" is out of range", "give 0 or more, or none")
			}
		}
		m[kv.Key] = i
	}
	s.v.Set(reflect.ValueOf(m))
	return sound
}

func structCodec(t reflect.Type) codec {
	return codec{
		words:  "a map of keys",
		decode: func(r *Reader, n *Node, s slot) bool { return r.Struct(n, s.v.Addr().Interface(), s.key) },
		encode: func(v reflect.Value, _ *Param) *Node {
			c := reflect.New(t)
			c.Elem().Set(v)
			fields, _ := Fields(c.Interface())
			return inline(Block(fields))
		},
		schema: func(*Param) map[string]any {
			fields, _ := Fields(reflect.New(t).Interface())
			return Object("", fields)
		},
	}
}

// Block is a map of the fields and their values.
func Block(fields []Field) *Node {
	n := Map()
	for _, f := range fields {
		Put(n, f.Name, f.Node())
	}
	return n
}

func decodeNode(r *Reader, n *Node, s slot) bool {
	before := len(r.Errors)
	s.v.Addr().Interface().(NodeReader).ReadNode(r, n, s.key)
	return len(r.Errors) == before
}

func customCodec(t reflect.Type) codec {
	words, schema := reflect.New(t).Interface().(Custom).ParamForm()
	return codec{
		words: words,
		decode: func(r *Reader, n *Node, s slot) bool {
			value := reflect.New(t)
			x, err := plain(n)
			if err == nil {
				err = value.Interface().(Custom).DecodeParam(x)
			}
			if err != nil {
				return r.refuse(n, s.key, err, "write it as "+words)
			}
			s.v.Set(value.Elem())
			return true
		},
		encode: func(v reflect.Value, _ *Param) *Node {
			c := reflect.New(t)
			c.Elem().Set(v)
			return FromPlain(c.Interface().(Custom).EncodeParam())
		},
		schema: func(*Param) map[string]any { return schema },
	}
}

// refuse reports the error of a type's own method; hint is for an error that
// has none. It returns false.
func (r *Reader) refuse(n *Node, key string, err error, hint string) bool {
	msg := err.Error()
	var e *Error
	if errors.As(err, &e) {
		msg, hint = e.Msg, e.Hint
	}
	r.Report(n, label(key)+msg, hint)
	return false
}

// plain is a node as the values a [Custom] reads.
func plain(n *Node) (any, error) {
	switch n.Kind {
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			x, err := plain(c)
			if err != nil {
				return nil, err
			}
			list = append(list, x)
		}
		return list, nil
	case yaml.MappingNode:
		m := map[string]any{}
		for _, kv := range Pairs(n) {
			x, err := plain(kv.Value)
			if err != nil {
				return nil, err
			}
			m[kv.Key] = x
		}
		return m, nil
	case yaml.ScalarNode:
		return plainScalar(n)
	}
	return nil, &Error{Msg: "cannot be read", Hint: "write the value out"}
}

func plainScalar(n *Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true"), nil
	case "!!int":
		i, ok := whole(n)
		if !ok || i > MaxNumber || i < -MaxNumber {
			return nil, &Error{Msg: Quote(n.Value) + " is not a whole number in range", Hint: fmt.Sprintf("write digits, at most %d", MaxNumber)}
		}
		return i, nil
	case "!!float":
		f, ok := Number(n)
		if !ok {
			return nil, &Error{Msg: Quote(n.Value) + " is not a number", Hint: "write digits"}
		}
		return f, nil
	}
	return n.Value, nil
}

// FromPlain is a plain value as a node on one line; see [Custom].
func FromPlain(x any) *Node {
	switch x := x.(type) {
	case nil:
		return Scalar("!!null", "null")
	case bool:
		return Scalar("!!bool", fmt.Sprint(x))
	case int:
		return Scalar("!!int", fmt.Sprint(x))
	case float64:
		s := FloatText(x)
		if !strings.ContainsAny(s, ".e") {
			return Scalar("!!int", s)
		}
		return Scalar("!!float", s)
	case []any:
		items := make([]*Node, len(x))
		for i, e := range x {
			items[i] = FromPlain(e)
		}
		return inline(List(items...))
	case map[string]any:
		n := Map()
		for _, k := range slices.Sorted(maps.Keys(x)) {
			Put(n, k, FromPlain(x[k]))
		}
		return inline(n)
	}
	return Text(fmt.Sprint(x))
}
