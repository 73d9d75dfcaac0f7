package strict

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// codec reads and describes the values of a type.
type codec struct {
	words  string // what a value is, for people
	decode func(r *Decoder, n *Node, s slot) bool
	schema func(p *Param) map[string]any // nil: values of the type are only read
}

// codecOf finds the codec of a type; ok is false where a parameter cannot be of the type.
func codecOf(t reflect.Type) (c codec, ok bool) {
	switch ptr := reflect.PointerTo(t); {
	case ptr.Implements(reflect.TypeFor[Custom]()):
		return customCodec(t), true
	case ptr.Implements(reflect.TypeFor[NodeReader]()):
		return codec{words: "a value", decode: decodeNode}, true
	case t == reflect.TypeFor[map[string]int]():
		return codec{"a map of names to whole numbers or none", decodeMap, mapSchema}, true
	}
	if s, ok := scalarOf(t); ok {
		return codec{s.words, s.decode, s.schema}, true
	}
	switch t.Kind() {
	case reflect.String:
		return codec{"text", decodeText, textSchema}, true
	case reflect.Struct:
		return codec{words: "a map of keys", decode: func(r *Decoder, n *Node, s slot) bool {
			return r.Struct(n, s.v.Addr().Interface(), s.key)
		}}, true
	case reflect.Pointer:
		return pointerCodec(t)
	case reflect.Slice:
		return listCodec(t)
	}
	return codec{}, false
}

// isCustom reports whether a type has its own notation.
func isCustom(t reflect.Type) bool { return reflect.PointerTo(t).Implements(reflect.TypeFor[Custom]()) }

func pointerCodec(t reflect.Type) (codec, bool) {
	e := t.Elem()
	c, ok := codecOf(e)
	c.decode = func(r *Decoder, n *Node, s slot) bool {
		if s.None != noNone && n.Kind == yaml.ScalarNode && (IsNull(n) || n.Value == s.None) {
			s.v.SetZero()
			return true
		}
		v := newElement(e)
		ok := r.decode(n, slot{v, s.Param, s.key})
		s.v.Set(v.Addr())
		return ok
	}
	if schema := c.schema; schema != nil {
		c.schema = func(p *Param) map[string]any { return AnyOf(schema(p), map[string]any{"enum": []any{p.None, nil}}) }
	}
	return c, ok && (isCustom(e) || !slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, e.Kind()))
}

func newElement(t reflect.Type) reflect.Value {
	e := reflect.New(t)
	if d, ok := e.Interface().(Defaulter); ok {
		d.SetDefaults()
	}
	return e.Elem()
}

func listCodec(t reflect.Type) (codec, bool) {
	c, ok := codecOf(t.Elem())
	list := codec{words: "a list of " + c.words, decode: decodeList}
	if c.schema != nil {
		list.schema = func(p *Param) map[string]any {
			e := c.schema(p)
			return AnyOf(map[string]any{"type": "array", "items": e, "uniqueItems": true}, e)
		}
	}
	return list, ok && (isCustom(t.Elem()) || slices.Contains([]reflect.Kind{reflect.String, reflect.Struct}, t.Elem().Kind()))
}

// decodeList takes one element for a list of one.
func decodeList(r *Decoder, n *Node, s slot) bool {
	e := s.v.Type().Elem()
	items := n.Content
	switch {
	case n.Kind == yaml.ScalarNode && !IsNull(n), n.Kind == yaml.MappingNode && isCustom(e):
		items = []*Node{n}
	case n.Kind != yaml.SequenceNode:
		return r.bad(n, s, KindName(n)+" is not a list", cmp.Or(s.Required, "write it as [A, B], or [] for none"))
	case s.Form == "filled" && len(items) == 0:
		return r.bad(n, s, "the list is empty", cmp.Or(s.Required, "write it as [A, B]"))
	}
	list := reflect.MakeSlice(s.v.Type(), 0, len(items))
	seen := map[string]bool{}
	sound := true
	for _, item := range items {
		v := newElement(e)
		if !r.decode(item, slot{v, s.Param, s.key}) {
			sound = false
			continue
		}
		if isCustom(e) || e.Kind() == reflect.String {
			plain := plainOf(v, s.Param)
			id := fmt.Sprintf("%#v", plain) // quicker than Flow, which only the message needs
			if seen[id] {
				sound = r.bad(item, s, Flow(FromPlain(plain))+" is listed twice", "keep one of them")
				continue
			}
			seen[id] = true
		}
		list = reflect.Append(list, v)
	}
	s.v.Set(list)
	return sound
}

func decodeMap(r *Decoder, n *Node, s slot) bool {
	if n.Kind != yaml.MappingNode {
		return r.bad(n, s, KindName(n)+" is not a map", "write it as {NAME: 1000, NAME: none}, or {} for none")
	}
	m := map[string]int{}
	sound := true
	q := *s.Param
	q.Zero = ""
	q.None = None
	for _, kv := range Pairs(n) {
		i := noneN
		if !IsNull(kv.Value) && kv.Value.Value != None {
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

func decodeNode(r *Decoder, n *Node, s slot) bool {
	before := len(r.Errors)
	s.v.Addr().Interface().(NodeReader).ReadNode(r, n, s.key)
	return len(r.Errors) == before
}

func customCodec(t reflect.Type) codec {
	words, schema := reflect.New(t).Interface().(Custom).ParamForm()
	decode := func(r *Decoder, n *Node, s slot) bool {
		value := reflect.New(t)
		x, err := plain(n)
		if err == nil {
			err = value.Interface().(Custom).DecodeParam(x)
		}
		own := &Error{Hint: "write it as " + words}
		switch {
		case err == nil && value.Elem().CanInt() && float64(value.Elem().Int()) < bound(s.Min):
			return r.bad(n, s, fmt.Sprintf("%d is out of range", value.Elem().Int()), "give "+s.Min+" or more")
		case err == nil:
			s.v.Set(value.Elem())
			return true
		case !errors.As(err, &own):
			own.Msg = err.Error()
		}
		return r.bad(n, s, own.Msg, own.Hint)
	}
	return codec{words, decode, func(p *Param) map[string]any {
		if b, ok := reflect.New(t).Interface().(Bounded); ok {
			if least, err := strconv.Atoi(p.Min); err == nil {
				return b.SchemaFrom(least)
			}
		}
		return schema
	}}
}

// plain is a node as the values a [Custom] reads.
func plain(n *Node) (x any, err error) {
	switch n.Kind {
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			if list[i], err = plain(c); err != nil {
				return nil, err
			}
		}
		return list, nil
	case yaml.MappingNode:
		m := map[string]any{}
		for _, kv := range Pairs(n) {
			if m[kv.Key], err = plain(kv.Value); err != nil {
				return nil, err
			}
		}
		return m, nil
	case yaml.AliasNode:
		return nil, &Error{Msg: "cannot be read", Hint: "write the value out"}
	}
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

// plainOf is the value of parameter p as a plain value that is read back.
func plainOf(v reflect.Value, p *Param) any {
	t := v.Type()
	switch x := v.Interface().(type) {
	case time.Duration:
		return DurationText(x)
	case map[string]int:
		m := map[string]any{}
		for k, i := range x {
			if m[k] = i; i == noneN {
				m[k] = None
			}
		}
		return m
	}
	switch {
	case isCustom(t):
		c := reflect.New(t)
		c.Elem().Set(v)
		return c.Interface().(Custom).EncodeParam()
	case p.Zero != "" && t.Kind() == reflect.Int && v.IsZero():
		return p.Zero
	case t.Kind() == reflect.Pointer && v.IsNil():
		return p.None
	case t.Kind() == reflect.Pointer:
		return plainOf(v.Elem(), p)
	case t.Kind() == reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plainOf(v.Index(i), p)
		}
		return list
	}
	return v.Interface()
}

// FromPlain is a plain value (see [Custom]) as a node on one line.
func FromPlain(x any) *Node {
	switch x := x.(type) { // the library's encoder takes a hundred times as long
	case string:
		return Text(x)
	case bool:
		return &Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(x)}
	case int:
		return &Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(x)}
	case nil:
		return &Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case []any:
		n := &Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		for _, e := range x {
			n.Content = append(n.Content, FromPlain(e))
		}
		return n
	case map[string]any:
		n := Map()
		n.Style = yaml.FlowStyle
		for _, key := range slices.Sorted(maps.Keys(x)) {
			Put(n, key, FromPlain(x[key]))
		}
		return n
	}
	n := &Node{}
	if err := n.Encode(x); err != nil {
		return Text(fmt.Sprint(x))
	}
	return n
}
