package policy

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// Marshal returns a policy as YAML in a fixed order, with the value of every setting. Decode reads it back as the same
// policy.
func Marshal(p *Policy) []byte {
	root := strict.Map()
	c := p.Clone()
	for _, f := range c.about() {
		strict.Put(root, f.Name, f.Node())
	}
	var stages []*strict.Node
	for _, b := range c.blocks() {
		if b.when == nil {
			strict.Put(root, b.name, strict.Block(b.fields()))
			continue
		}
		item := strict.Text(b.name)
		if fields := b.given(); len(fields) > 0 {
			item = strict.Map()
			strict.Put(item, b.name, strict.Block(fields))
		}
		stages = append(stages, item)
	}
	strict.Put(root, "stages", strict.List(stages...))
	return strict.Dump(root)
}

// about lists what a policy says of itself, without the keys that are empty.
func (p *Policy) about() []strict.Field {
	fields, _ := strict.Fields(p.head())
	return slices.DeleteFunc(fields, func(f strict.Field) bool { return f.Ref.IsZero() })
}

// Change is a key whose values differ between two policies. The values are YAML on one line; "" means that the policy
// lacks the key.
type Change struct {
	Key  string `json:"key"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Diff lists the keys whose values differ between two policies, defaults included: first those of the source, the
// window, the cache and the list of stages, then the parameters of each stage. Product and validity are compared only
// if both policies stand for releases. Two policies without a difference act in the same way.
func Diff(a, b *Policy) []Change {
	var list []Change
	add := func(key, from, to string) {
		if from != to {
			list = append(list, Change{key, from, to})
		}
	}
	from, _ := strict.Fields(a.head())
	to, _ := strict.Fields(b.head())
	release := a.Product != "" && b.Product != ""
	for i := range from[:len(from)-2] { // version and recorded are settings
		if name := from[i].Name; release || name != "product" && name != "valid" {
			add(name, aboutText(from[i]), aboutText(to[i]))
		}
	}
	return append(list, DiffSettings(a.Resolved(), b.Resolved())...)
}

// aboutText is a key of the head, text without quotes.
func aboutText(f strict.Field) string {
	switch {
	case f.Ref.IsZero():
		return ""
	case f.Ref.Kind() == reflect.String:
		return f.Ref.String()
	}
	return f.Text()
}

// Setting is one key of a policy and its value, as YAML on one line.
type Setting struct {
	Key   string
	Value string
}

// Resolved returns everything that decides how the policy acts, defaults included: whether it is the policy of the
// recorded track, the list of stages, the window, the cache, and the parameters of each stage. It leaves out the
// policy's source.
func (p *Policy) Resolved() []Setting {
	list := []Setting{
		{"version", p.Version},
		{"recorded", strconv.FormatBool(p.Recorded)},
		{"stages", "[" + strings.Join(p.stageNames(), ", ") + "]"},
	}
	for _, b := range p.blocks() {
		for _, f := range b.given() {
			list = append(list, Setting{b.name + "." + f.Name, f.Text()})
		}
	}
	return list
}

func (p *Policy) stageNames() (list []string) {
	for i := range p.Stages {
		list = append(list, p.Stages[i].Definition.Name)
	}
	return list
}

// DiffSettings lists the differences between two lists of settings. Keys of a come first, in the order of a; keys that
// only b has come last.
func DiffSettings(a, b []Setting) []Change {
	from := map[string]string{}
	to := map[string]string{}
	done := map[string]bool{}
	for _, s := range a {
		from[s.Key] = s.Value
	}
	for _, s := range b {
		to[s.Key] = s.Value
	}
	var list []Change
	for _, s := range slices.Concat(a, b) {
		if x, y := from[s.Key], to[s.Key]; x != y && !done[s.Key] {
			done[s.Key] = true
			list = append(list, Change{s.Key, x, y})
		}
	}
	return list
}
