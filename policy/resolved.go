package policy

import (
	"errors"
	"maps"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Clone copies a policy, parameters included.
func (p *Policy) Clone() *Policy {
	c := *p
	c.Stages = nil
	for _, s := range p.Stages {
		s.Params = cloneParams(s.Params)
		c.Stages = append(c.Stages, s)
	}
	c.at = maps.Clone(p.at)
	return &c
}

// Position is where a key was written: "window.buffer", "snip", "snip.tag",
// "stages", "name" …; a key that was left out is where its owner is. It is
// zero where that is unknown.
func (p *Policy) Position(key string) Position {
	if at, ok := p.at[key]; ok {
		return at
	}
	owner, _, _ := strings.Cut(key, ".")
	return p.at[owner]
}

// Files lists the files the policy was read from, by the names they were opened
// by: its own, then those it extends. A built-in policy has none.
func (p *Policy) Files() []string { return p.files }

func (p *Policy) stage(name string) *StageConfig {
	for i := range p.Stages {
		if p.Stages[i].Definition.Name == name {
			return &p.Stages[i]
		}
	}
	return nil
}

func (p *Policy) owners() []string {
	var list []string
	for _, s := range p.sections() {
		list = append(list, s.key)
	}
	for _, s := range p.Stages {
		list = append(list, s.Definition.Name)
	}
	return list
}

func (p *Policy) fields(owner string) ([]field, bool) {
	var fields []field
	for _, s := range p.sections() {
		if s.key == owner {
			fields, _ = fieldsOf(s.params)
			return fields, true
		}
	}
	s := p.stage(owner)
	if s == nil {
		return nil, false
	}
	fields, _ = fieldsOf(s.Params)
	return fields, true
}

// field finds what a key such as "snip.tag" or "window.buffer" names.
func (p *Policy) field(key string) (field, *Error) {
	owner, name, ok := strings.Cut(key, ".")
	if !ok {
		if fields, known := p.fields(key); known {
			return field{}, &Error{Msg: quote(key) + " names no parameter", Hint: "write " + key + ".NAME: " + Suggest("", names(fields))}
		}
		return field{}, &Error{Msg: quote(key) + " names no parameter", Hint: Suggest(key, p.Keys())}
	}
	fields, ok := p.fields(owner)
	if !ok {
		return field{}, &Error{Msg: "the policy has no stage " + quote(owner), Hint: Suggest(owner, p.owners())}
	}
	f, ok := find(fields, name)
	if !ok {
		return field{}, &Error{Msg: owner + ": unknown parameter " + quote(name), Hint: Suggest(name, names(fields))}
	}
	return f, nil
}

// Keys lists what Set can change, in order: the window's and the cache's parameters, then
// those of each stage.
func (p *Policy) Keys() []string {
	var list []string
	for _, owner := range p.owners() {
		fields, _ := p.fields(owner)
		for _, f := range fields {
			list = append(list, owner+"."+f.Name)
		}
	}
	return list
}

// Get is a parameter's value as YAML on one line.
func (p *Policy) Get(key string) (string, error) {
	f, err := p.field(key)
	if err != nil {
		return "", err
	}
	return f.value(), nil
}

// Set changes one parameter: key is "stage.param" or "window.param", value
// its YAML. A policy that refuses the value is left as it was.
func (p *Policy) Set(key, value string) error {
	changed := p.Clone()
	f, err := changed.field(key)
	if err != nil {
		return err
	}
	if err := setText(f, key, value); err != nil {
		return err
	}
	if changed.at == nil {
		changed.at = map[string]Position{}
	}
	changed.at[key] = Position{File: key}
	if errs := changed.check(); len(errs) > 0 && len(p.check()) == 0 {
		errs[0].Position = Position{}
		return errs[0]
	}
	*p = *changed
	return nil
}

// setText reads a value from YAML text that has no file.
func setText(f field, key, value string) error {
	if value == "" && f.Type == "text" && len(f.Enum) == 0 {
		value = `""`
	}
	n := scalar("!!null", "")
	if strings.TrimSpace(value) != "" {
		var errs Errors
		if n, errs = parse("", []byte(value)); len(errs) > 0 {
			return &Error{Msg: key + ": " + quote(value) + " cannot be read (" + errs[0].Msg + ")", Hint: "give one value, as YAML"}
		}
	}
	var first *Error
	decodeValue(f.v, n, &f.Param, key, func(_ *yaml.Node, msg, hint string) {
		if first == nil {
			first = &Error{Msg: msg, Hint: hint}
		}
	})
	if first != nil {
		return first
	}
	return nil
}

// check finds what no single value tells: a window that means nothing, and
// parameters a stage itself refuses.
func (p *Policy) check() Errors {
	var errs Errors
	if s := p.Window.PctOverride; s != "" {
		if _, ok := ParsePercent(s); !ok {
			errs = append(errs, &Error{p.Position("window.pct_override"), "window.pct_override: " + quote(s) + " is no percentage", "give a number over 0 and up to 100, or \"\" for none"})
		}
	}
	for _, s := range p.Stages {
		name := s.Definition.Name
		if _, err := s.Definition.New(cloneParams(s.Params)); err != nil {
			e := &Error{Position: p.Position(name), Msg: name + ": " + err.Error()}
			var own *Error
			if errors.As(err, &own) {
				e.Msg, e.Hint = name+": "+own.Msg, own.Hint
			}
			errs = append(errs, e)
		}
	}
	return errs
}
