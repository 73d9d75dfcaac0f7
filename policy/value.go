package policy

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// decodeValue reads the value of parameter p, called key in messages, into v.
// What was wrong goes to report; v is then as it was or half done.
func decodeValue(v reflect.Value, n *yaml.Node, p *Param, key string, report func(at *yaml.Node, msg, hint string)) {
	bad := func(at *yaml.Node, msg, hint string) { report(at, key+": "+msg, hint) }
	example := func(s string) string {
		for _, word := range []string{p.Zero, p.None} {
			if word != "" {
				s += ", or " + word
			}
		}
		return s
	}
	t := v.Type()
	if isValue(t) {
		decodeCustom(v, n, bad)
		return
	}
	switch {
	case t.Kind() == reflect.Pointer:
		if n.Kind == yaml.ScalarNode && (isNull(n) || n.Value == p.None) {
			v.SetZero()
			return
		}
		c := reflect.New(t.Elem())
		decodeValue(c.Elem(), n, p, key, report)
		v.Set(c)
		return
	case t.Kind() == reflect.Slice:
		decodeList(v, n, p, key, report)
		return
	case t.Kind() == reflect.Map:
		decodeMap(v, n, p, key, report)
		return
	}
	if n.Kind != yaml.ScalarNode || isNull(n) {
		words, _ := typeWords(t)
		bad(n, kindName(n)+" where "+words+" belongs", example("give it, such as "+sample(v, p)))
		return
	}
	switch {
	case t == durationType:
		d, err := time.ParseDuration(n.Value)
		if err != nil {
			bad(n, quote(n.Value)+" is not a duration", example("write it with its units, such as 60m or 1h30m"))
			return
		}
		if hint := outside(p, float64(d), func(s string) float64 { d, _ := time.ParseDuration(s); return float64(d) }); hint != "" {
			bad(n, n.Value+" is out of range", hint)
			return
		}
		v.SetInt(int64(d))
	case t.Kind() == reflect.Bool:
		if n.ShortTag() != "!!bool" {
			bad(n, quote(n.Value)+" is not true or false", "write true or false")
			return
		}
		v.SetBool(strings.EqualFold(n.Value, "true"))
	case t.Kind() == reflect.Int:
		if p.Zero != "" && n.Value == p.Zero {
			v.SetInt(0)
			return
		}
		i, ok := whole(n)
		if !ok {
			bad(n, quote(n.Value)+" is not a whole number", example("write digits, such as "+sample(v, p)))
			return
		}
		if hint := outside(p, float64(i), number); hint != "" {
			bad(n, n.Value+" is out of range", hint)
			return
		}
		v.SetInt(int64(i))
	case t.Kind() == reflect.Float64:
		f, ok := decimal(n)
		if !ok {
			bad(n, quote(n.Value)+" is not a number", example("write digits, such as "+sample(v, p)))
			return
		}
		if hint := outside(p, f, number); hint != "" {
			bad(n, n.Value+" is out of range", hint)
			return
		}
		v.SetFloat(f)
	case t.Kind() == reflect.String:
		// A number or a date is text as it stands; true and false are not.
		if n.ShortTag() == "!!bool" {
			bad(n, n.Value+" is not text", "put it in quotes")
			return
		}
		if len(p.Enum) > 0 && !slices.Contains(p.Enum, n.Value) {
			bad(n, quote(n.Value)+" is not one of its values", Suggest(n.Value, p.Enum))
			return
		}
		v.SetString(n.Value)
	}
}

func decodeCustom(v reflect.Value, n *yaml.Node, bad func(at *yaml.Node, msg, hint string)) {
	value := reflect.New(v.Type()).Interface().(Value)
	words, _ := value.ParamForm()
	x, err := plain(n)
	if err == nil {
		err = value.DecodeParam(x)
	}
	var e *Error
	switch {
	case err == nil:
		v.Set(reflect.ValueOf(value).Elem())
	case errors.As(err, &e):
		bad(n, e.Msg, e.Hint)
	default:
		bad(n, err.Error(), "write it as "+words)
	}
}

// decodeList takes one element for a list of one.
func decodeList(v reflect.Value, n *yaml.Node, p *Param, key string, report func(at *yaml.Node, msg, hint string)) {
	t := v.Type()
	items := []*yaml.Node{n}
	switch {
	case n.Kind == yaml.SequenceNode:
		items = n.Content
	case isNull(n), n.Kind == yaml.MappingNode && !isValue(t.Elem()):
		report(n, key+": "+kindName(n)+" is not a list", "write it as [A, B], or [] for none")
		return
	}
	list := reflect.MakeSlice(t, 0, len(items))
	seen := map[string]bool{}
	for _, item := range items {
		e, sound := reflect.New(t.Elem()).Elem(), true
		decodeValue(e, item, p, key, func(at *yaml.Node, msg, hint string) {
			sound = false
			report(at, msg, hint)
		})
		if !sound {
			continue
		}
		if id := flow(encode(e, p)); seen[id] {
			report(item, key+": "+id+" is listed twice", "keep one of them")
		} else {
			seen[id] = true
			list = reflect.Append(list, e)
		}
	}
	v.Set(list)
}

func decodeMap(v reflect.Value, n *yaml.Node, p *Param, key string, report func(at *yaml.Node, msg, hint string)) {
	if n.Kind != yaml.MappingNode {
		report(n, key+": "+kindName(n)+" is not a map", "write it as {NAME: 1000, NAME: none}, or {} for none")
		return
	}
	t := v.Type()
	m := reflect.MakeMap(t)
	q := *p
	q.Zero, q.None = "", none
	for _, kv := range pairs(n) {
		e := reflect.New(t.Elem()).Elem()
		if kv.value.Kind == yaml.ScalarNode && (isNull(kv.value) || kv.value.Value == none) {
			e.SetInt(noneN)
		} else {
			decodeValue(e, kv.value, &q, key+"."+kv.key, report)
			if e.Int() < 0 {
				report(kv.value, key+"."+kv.key+": "+kv.value.Value+" is out of range", "give 0 or more, or none")
			}
		}
		m.SetMapIndex(reflect.ValueOf(kv.key).Convert(t.Key()), e)
	}
	v.Set(m)
}

// whole reads a whole number: digits, with _ between them where they are
// many. 010, 0x10 and 1e3 are not what people mean by one.
func whole(n *yaml.Node) (int, bool) {
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

func decimal(n *yaml.Node) (float64, bool) {
	if i, ok := whole(n); ok {
		return float64(i), true
	}
	if n.ShortTag() != "!!float" {
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

// outside says what to give where f is out of the range of p, "" where it is
// not.
func outside(p *Param, f float64, parse func(string) float64) string {
	least, most := p.Min != "" && f < parse(p.Min), p.Max != "" && f > parse(p.Max)
	switch {
	case (least || most) && p.Min != "" && p.Max != "":
		return "give " + p.Min + " to " + p.Max
	case least:
		return "give " + p.Min + " or more"
	case most:
		return "give " + p.Max + " or less"
	case p.Type != "a duration" && math.Abs(f) > limitN:
		return fmt.Sprintf("give %d or less", limitN)
	}
	return ""
}

// sample is a value to show in a hint: the one there is, where it tells much.
func sample(v reflect.Value, p *Param) string {
	t, now := v.Type(), flow(encode(v, p))
	switch {
	case len(p.Enum) > 0:
		return p.Enum[0]
	case now != "0" && now != p.None && now != p.Zero && now != "''":
		return now
	case t == durationType:
		return "60m"
	case t.Kind() == reflect.Bool:
		return "true"
	case t.Kind() == reflect.Float64:
		return "0.5"
	case t.Kind() == reflect.Int:
		return "1000"
	}
	return "a word"
}

// plain is a node as the values a [Value] reads.
func plain(n *yaml.Node) (any, error) {
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
		for _, kv := range pairs(n) {
			x, err := plain(kv.value)
			if err != nil {
				return nil, err
			}
			m[kv.key] = x
		}
		return m, nil
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!null":
			return nil, nil
		case "!!bool":
			return strings.EqualFold(n.Value, "true"), nil
		case "!!int":
			i, ok := whole(n)
			if !ok || i > limitN || i < -limitN {
				return nil, &Error{Msg: quote(n.Value) + " is not a whole number in range", Hint: fmt.Sprintf("write digits, at most %d", limitN)}
			}
			return i, nil
		case "!!float":
			f, ok := decimal(n)
			if !ok {
				return nil, &Error{Msg: quote(n.Value) + " is not a number", Hint: "write digits"}
			}
			return f, nil
		}
		return n.Value, nil
	}
	return nil, &Error{Msg: "cannot be read", Hint: "write the value out"}
}

// encode is the value of parameter p as a node that decodeValue reads back.
func encode(v reflect.Value, p *Param) *yaml.Node {
	t := v.Type()
	if isValue(t) {
		c := reflect.New(t)
		c.Elem().Set(v)
		return fromPlain(c.Interface().(Value).EncodeParam())
	}
	switch {
	case t == durationType:
		return text(durationText(time.Duration(v.Int())))
	case t.Kind() == reflect.Bool:
		return scalar("!!bool", strconv.FormatBool(v.Bool()))
	case t.Kind() == reflect.Int:
		if p.Zero != "" && v.Int() == 0 {
			return text(p.Zero)
		}
		return scalar("!!int", strconv.FormatInt(v.Int(), 10))
	case t.Kind() == reflect.Float64:
		return fromPlain(v.Float())
	case t.Kind() == reflect.Pointer:
		if v.IsNil() {
			return text(p.None)
		}
		return encode(v.Elem(), p)
	case t.Kind() == reflect.Slice:
		n := sequence(yaml.FlowStyle)
		for i := range v.Len() {
			n.Content = append(n.Content, encode(v.Index(i), p))
		}
		return n
	case t.Kind() == reflect.Map:
		n, m := mapping(yaml.FlowStyle), v.Interface().(map[string]int)
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if i := m[k]; i == noneN {
				put(n, k, text(none))
			} else {
				put(n, k, fromPlain(i))
			}
		}
		return n
	}
	return text(v.String())
}

func fromPlain(x any) *yaml.Node {
	switch x := x.(type) {
	case nil:
		return scalar("!!null", "null")
	case bool:
		return scalar("!!bool", strconv.FormatBool(x))
	case int:
		return scalar("!!int", strconv.Itoa(x))
	case float64:
		s := floatText(x)
		if !strings.ContainsAny(s, ".e") {
			return scalar("!!int", s)
		}
		return scalar("!!float", s)
	case []any:
		n := sequence(yaml.FlowStyle)
		for _, e := range x {
			n.Content = append(n.Content, fromPlain(e))
		}
		return n
	case map[string]any:
		n := mapping(yaml.FlowStyle)
		for _, k := range slices.Sorted(maps.Keys(x)) {
			put(n, k, fromPlain(x[k]))
		}
		return n
	}
	return text(fmt.Sprint(x))
}
