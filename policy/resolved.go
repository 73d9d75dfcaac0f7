package policy

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// Clone returns a copy of the policy and of its parameters.
func (p *Policy) Clone() *Policy {
	c := *p
	c.Stages = nil
	for _, s := range p.Stages {
		s.Params = strict.Clone(s.Params)
		c.Stages = append(c.Stages, s)
	}
	c.Numbers = slices.Clone(p.Numbers)
	c.shared = nil
	for _, s := range p.shared {
		c.shared = append(c.shared, s.clone())
	}
	c.share()
	c.at = maps.Clone(p.at)
	return &c
}

// Position returns the place where a key is written in the policy file. Examples of keys are "window.buffer", "snip",
// "snip.tag", "stages" and "name". A key that the file leaves out has the position of its stage or section. The zero
// value means that the position is unknown.
func (p *Policy) Position(key string) Position {
	if at, ok := p.at[key]; ok {
		return at
	}
	owner, _, _ := strings.Cut(key, ".")
	return p.at[owner]
}

// Files returns the names of the files from which the policy was read: its own file, then the files that it extends. A
// built-in policy has none.
func (p *Policy) Files() []string { return p.files }

func (p *Policy) stage(name string) *StageConfig {
	i := slices.IndexFunc(p.Stages, func(s StageConfig) bool { return s.Definition.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Stages[i]
}

// block is a section or a stage of a policy with its parameters.
type block struct {
	name    string
	params  any
	numbers []Number
	when    *When // of a stage
}

func (b block) fields() []strict.Field {
	fields, _ := strict.Fields(b.params) // Registry.Check refuses wrong ones
	if b.when != nil {
		fields = append(fields, b.when.fields()...)
	}
	return append(fields, numberFields(b.numbers)...)
}

// given are the fields of a block as a file shows them: a condition first, and only where there is one.
func (b block) given() []strict.Field {
	fields := b.fields()
	if b.when == nil {
		return fields
	}
	last := len(fields) - 1
	if b.when.Expression == "" {
		return fields[:last]
	}
	return append(fields[last:len(fields):len(fields)], fields[:last]...)
}

// blocks lists the sections and the numbers, then the stages.
func (p *Policy) blocks() (list []block) {
	for _, s := range p.sections() {
		list = append(list, block{name: s.key, params: s.params})
	}
	if len(p.Numbers) > 0 {
		list = append(list, block{name: numbersKey, numbers: p.Numbers})
	}
	for i := range p.Stages {
		s := &p.Stages[i]
		list = append(list, block{name: s.Definition.Name, params: s.Params, when: &s.When})
	}
	return list
}

// Has reports whether the policy has a stage with this name.
func (p *Policy) Has(stage string) bool { return p.stage(stage) != nil }

// Try adds the action t.Text to the stage t.Stage, which the policy must have. It returns an error for a text that the
// stage does not understand.
func (p *Policy) Try(t Try) error {
	s := p.stage(t.Stage)
	p.Score = nil
	p.Truth = TruthOwn
	return s.Definition.Trial.Add(s.Params, t.Text)
}

func (p *Policy) owners() (list []string) {
	for _, b := range p.blocks() {
		list = append(list, b.name)
	}
	return list
}

func (p *Policy) fields(owner string) ([]strict.Field, bool) {
	list := p.blocks()
	i := slices.IndexFunc(list, func(b block) bool { return b.name == owner })
	if i < 0 {
		return nil, false
	}
	return list[i].fields(), true
}

// field finds what a key such as "snip.tag" or "window.buffer" names.
func (p *Policy) field(key string) (strict.Field, *Error) {
	owner, name, ok := strings.Cut(key, ".")
	if !ok {
		if fields, known := p.fields(key); known {
			return strict.Field{}, &Error{Msg: strict.Quote(key) + " names no parameter", Hint: "write " + key + ".NAME: " + strict.Suggest("", strict.Names(fields))}
		}
		return strict.Field{}, &Error{Msg: strict.Quote(key) + " names no parameter", Hint: strict.Suggest(key, p.Keys())}
	}
	fields, ok := p.fields(owner)
	if !ok {
		return strict.Field{}, &Error{Msg: "the policy " + p.Name + " has no stage " + strict.Quote(owner), Hint: strict.Suggest(owner, p.owners())}
	}
	f, ok := strict.Find(fields, name)
	if !ok {
		if owner == windowKey && p.readByNone(name) {
			return strict.Field{}, &Error{Msg: "no stage of the policy reads " + key, Hint: "leave it out"}
		}
		return strict.Field{}, &Error{Msg: owner + ": unknown parameter " + strict.Quote(name), Hint: strict.Suggest(name, strict.Names(fields))}
	}
	return f, nil
}

// readByNone reports whether name is a shared parameter that no stage of the policy reads.
func (p *Policy) readByNone(name string) bool {
	for _, s := range p.shared {
		fields, _ := strict.Fields(s.Params)
		if _, ok := strict.Find(fields, name); ok {
			return true
		}
	}
	return false
}

// Keys returns the keys of all parameters: those of the sections "window" and "cache", then those of each stage.
func (p *Policy) Keys() []string {
	var list []string
	for _, b := range p.blocks() {
		for _, f := range b.fields() {
			list = append(list, b.name+"."+f.Name)
		}
	}
	return list
}

// Get returns the value of a parameter as YAML on one line. It returns an error for an unknown key.
func (p *Policy) Get(key string) (string, error) {
	if at := p.CompactsAt(roomy()[0]); key == ThresholdKey && at > 0 {
		return strconv.Itoa(at), nil
	}
	f, err := p.field(key)
	if err != nil {
		return "", err
	}
	return f.Text(), nil
}

// Set changes one parameter. key has the form "stage.param" or "window.param", or is ThresholdKey; value is YAML. For
// an unknown key or an invalid value Set returns an error and does not change the policy.
func (p *Policy) Set(key, value string) error {
	if key == ThresholdKey {
		return p.setThreshold(value)
	}
	changed := p.Clone()
	f, err := changed.field(key)
	if err != nil {
		return err
	}
	if err := f.SetText(key, value); err != nil {
		return err
	}
	if changed.at == nil {
		changed.at = map[string]Position{}
	}
	changed.at[key] = Position{File: key}
	if s, name, _ := strings.Cut(key, "."); name == whenKey && changed.stage(s) != nil {
		changed.stage(s).When.start = Position{}
	}
	changed.Score = nil
	changed.Truth = TruthOwn
	if errs := changed.check(); len(errs) > 0 && len(p.check()) == 0 {
		errs[0].Position = Position{}
		return errs[0]
	}
	*p = *changed
	return nil
}

// check finds errors of combinations of values: an invalid percentage, and parameters a stage itself refuses.
func (p *Policy) check() Errors {
	var errs Errors
	for _, s := range p.shared {
		if s.Check == nil {
			continue
		}
		if param, err := s.Check(s.Params); err != nil {
			key := windowKey + "." + param
			errs.Add(p.Position(key), key, err)
		}
	}
	for _, s := range p.Stages {
		name := s.Definition.Name
		if _, err := s.Definition.New(strict.Clone(s.Params)); err != nil {
			errs.Add(p.Position(name), name, err)
		}
	}
	return append(errs, p.conditions()...)
}
