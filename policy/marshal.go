package policy

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Marshal writes a policy with every default spelled out, in an order that
// never changes. Decode reads it back as the same policy.
func Marshal(p *Policy) []byte {
	root := mapping(0)
	for _, kv := range p.about() {
		if kv[1] == "" {
			continue
		}
		value := text(kv[1])
		if _, err := time.Parse(time.DateOnly, kv[1]); err == nil && kv[0] == "date" {
			value.Tag = "!!timestamp" // so that it needs no quotes
		}
		put(root, kv[0], value)
	}
	if p.Recorded {
		put(root, "recorded", scalar("!!bool", "true"))
	}
	c := p.Clone()
	for _, s := range c.sections() {
		fields, _ := fieldsOf(s.params)
		put(root, s.key, block(fields))
	}
	stages := sequence(0)
	for _, s := range c.Stages {
		name := s.Definition.Name
		fields, _ := fieldsOf(s.Params)
		if len(fields) == 0 {
			stages.Content = append(stages.Content, text(name))
			continue
		}
		item := mapping(0)
		put(item, name, block(fields))
		stages.Content = append(stages.Content, item)
	}
	if len(stages.Content) == 0 {
		stages.Style = yaml.FlowStyle
	}
	put(root, "stages", stages)
	return dump(root)
}

// about lists the keys that say where a policy comes from.
func (p *Policy) about() [][2]string {
	return [][2]string{
		{"name", p.Name},
		{"about", p.About},
		{"source", p.Source},
		{"date", p.Date},
		{"truth", string(p.Truth)},
	}
}

func block(fields []field) *yaml.Node {
	n := mapping(0)
	for _, f := range fields {
		put(n, f.Name, encode(f.v, &f.Param))
	}
	return n
}

// Change is one key in which two policies differ. Values are YAML on one
// line; "" means that the policy has no such key.
type Change struct {
	Key  string
	From string
	To   string
}

// Diff lists what differs between two policies, key by key, every default
// spelled out: where they come from, the window, the cache, the list of stages, then the
// parameters of each stage. Policies without a difference do the same.
func Diff(a, b *Policy) []Change {
	var list []Change
	add := func(key, from, to string) {
		if from != to {
			list = append(list, Change{key, from, to})
		}
	}
	from, to := a.about(), b.about()
	for i := range from {
		add(from[i][0], from[i][1], to[i][1])
	}
	return append(list, DiffSettings(a.Resolved(), b.Resolved())...)
}

// Setting is one key of a policy and its value, as YAML on one line.
type Setting struct {
	Key   string
	Value string
}

// Resolved lists all that decides how a policy acts, every default spelled
// out: whether it is the recorded one, the list of stages, the window, the
// cache, the parameters of each stage. Where it comes from is left out.
func (p *Policy) Resolved() []Setting {
	list := []Setting{{"recorded", flow(fromPlain(p.Recorded))}, {"stages", p.stageList()}}
	for _, key := range p.Keys() {
		value, err := p.Get(key)
		if err != nil { // the keys are the policy's own
			continue
		}
		list = append(list, Setting{key, value})
	}
	return list
}

// DiffSettings lists what differs between two lists of settings: the keys of
// the first in their order, then those that only the second has.
func DiffSettings(a, b []Setting) []Change {
	from, to := map[string]string{}, map[string]string{}
	for _, s := range a {
		from[s.Key] = s.Value
	}
	for _, s := range b {
		to[s.Key] = s.Value
	}
	var list []Change
	for _, s := range a {
		if to[s.Key] != s.Value {
			list = append(list, Change{s.Key, s.Value, to[s.Key]})
		}
	}
	for _, s := range b {
		if _, ok := from[s.Key]; !ok && s.Value != "" {
			list = append(list, Change{s.Key, "", s.Value})
		}
	}
	return list
}

func (p *Policy) stageList() string {
	return "[" + strings.Join(p.owners()[len(p.sections()):], ", ") + "]"
}
