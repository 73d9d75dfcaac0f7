package policy

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"
)

const (
	extendsKey = "extends"
	windowKey  = "window"
	cacheKey   = "cache"
	maxExtends = 16 // policies that extend one another
)

func keys() []string {
	return []string{"name", "about", "source", "date", "truth", extendsKey, "recorded", windowKey, cacheKey, "stages", "set"}
}

func truths() []Truth {
	return []Truth{TruthRecorded, TruthOracle, TruthDocumented, TruthDescribed}
}

// Resolve finds what a policy extends: name is a built-in policy's name, or a
// file's (IsFile), already relative to where the extending file is. It gives
// the YAML and the name to show.
type Resolve func(name string) (data []byte, shown string, err error)

// IsFile reports whether name means a policy file and not a built-in policy:
// it has a slash in it or ends in .yaml or .yml.
func IsFile(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return strings.ContainsAny(name, `/\`) || ext == ".yaml" || ext == ".yml"
}

// Decode reads a policy. name is shown in errors and, where it is a file's,
// is what extends is relative to. The policy comes out resolved; the error is
// an [Errors] with everything that is wrong.
func Decode(name string, data []byte, reg Registry, resolve Resolve) (*Policy, error) {
	d := &decoder{reg: reg, resolve: resolve}
	p := d.policy(name, data)
	if len(d.errs) > 0 {
		sortByPlace(d.errs, func(e *Error) Position { return e.Position })
		return nil, d.errs
	}
	p.files = d.files
	return p, nil
}

type decoder struct {
	reg     Registry
	resolve Resolve
	errs    Errors
	chain   []string // policies being read, outermost first
	file    string   // the last of them
	files   []string // that were read; built-in policies are none
}

func (d *decoder) report(at *yaml.Node, msg, hint string) {
	if at.Kind == yaml.AliasNode { // refused already, whatever it stands for
		return
	}
	d.errs = append(d.errs, &Error{position(d.file, at), msg, hint})
}

// policy reads one file. It gives back what could be read, also when errors
// were reported, so that the rest is checked in the same run.
func (d *decoder) policy(name string, data []byte) *Policy {
	outer := d.file
	d.file = name
	d.chain = append(d.chain, name)
	if IsFile(name) {
		d.files = append(d.files, name)
	}
	defer func() { d.file, d.chain = outer, d.chain[:len(d.chain)-1] }()

	root, errs := parse(name, data)
	d.errs = append(d.errs, errs...)
	if root == nil {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		d.report(root, kindName(root)+" is not a policy", "write keys and values, such as \"stages: []\"")
		return nil
	}
	value := map[string]*yaml.Node{}
	for _, kv := range pairs(root) {
		if !slices.Contains(keys(), kv.key) {
			d.report(kv.at, "unknown key "+quote(kv.key), Suggest(kv.key, keys()))
			continue
		}
		value[kv.key] = kv.value
	}

	p := defaults()
	whole := true // false: what it extends could not be read
	if n := value[extendsKey]; n != nil {
		if base := d.extends(n); base != nil {
			p = base.Clone()
			p.base = base
			p.at[extendsKey] = position(d.file, n)
		} else {
			whole = false
		}
	}
	p.Name, p.File = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), name
	if !IsFile(name) {
		p.Name, p.File = name, ""
	}
	d.text(value, "name", &p.Name, p)
	d.text(value, "about", &p.About, p)
	d.text(value, "source", &p.Source, p)
	d.date(value, p)
	d.truth(value, p)
	if n := value["recorded"]; n != nil {
		p.at["recorded"] = position(d.file, n)
		if n.ShortTag() != "!!bool" {
			d.report(n, "recorded: "+kindName(n)+" is not true or false", "write true or false")
		}
		p.Recorded = strings.EqualFold(n.Value, "true")
	}
	for _, s := range p.sections() {
		if n := value[s.key]; n != nil {
			d.params(n, s.params, s.key, p)
		}
	}
	if n := value["stages"]; n != nil {
		p.at["stages"] = position(d.file, n)
		d.stages(n, p)
	}
	if n := value["set"]; n != nil {
		d.set(n, p, whole)
	}
	d.finish(root, value, p, whole)
	return p
}

func (d *decoder) text(value map[string]*yaml.Node, key string, to *string, p *Policy) {
	n := value[key]
	if n == nil {
		return
	}
	p.at[key] = position(d.file, n)
	if n.Kind != yaml.ScalarNode || isNull(n) || n.ShortTag() == "!!bool" {
		d.report(n, key+": "+kindName(n)+" is not text", "write a word or a sentence, in quotes where it looks like something else")
		return
	}
	if strings.ContainsFunc(n.Value, func(r rune) bool { return !unicode.IsGraphic(r) && (key == "name" || r != '\n' && r != '\t') }) {
		d.report(n, key+": "+quote(n.Value)+" has characters in it that cannot be printed", "leave them out")
		return
	}
	if key == "name" && strings.TrimSpace(n.Value) == "" {
		d.report(n, "name: empty", "give the policy a name, or leave the key out to use the file's")
		return
	}
	*to = n.Value
}

func (d *decoder) date(value map[string]*yaml.Node, p *Policy) {
	d.text(value, "date", &p.Date, p)
	if n := value["date"]; n != nil && n.Kind == yaml.ScalarNode && p.Date != "" {
		if _, err := time.Parse(time.DateOnly, p.Date); err != nil {
			d.report(n, "date: "+quote(p.Date)+" is not a date", "write it as 2026-01-25")
		}
	}
}

func (d *decoder) truth(value map[string]*yaml.Node, p *Policy) {
	n := value["truth"]
	if n == nil {
		return
	}
	p.at["truth"] = position(d.file, n)
	p.Truth = Truth(n.Value)
	if n.Kind != yaml.ScalarNode || !slices.Contains(truths(), p.Truth) {
		var words []string
		for _, t := range truths() {
			words = append(words, string(t))
		}
		d.report(n, "truth: "+kindName(n)+" is not one of its values", Suggest(n.Value, words))
	}
}

func (d *decoder) extends(n *yaml.Node) *Policy {
	if n.Kind != yaml.ScalarNode || isNull(n) || n.Value == "" {
		d.report(n, "extends: "+kindName(n)+" is not a policy", "name a built-in policy or a file")
		return nil
	}
	name := n.Value
	if IsFile(name) && IsFile(d.file) && !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(d.file), name)
		if !IsFile(name) { // what Join made of it is a plain name: keep it a file's
			name = "." + string(filepath.Separator) + name
		}
	}
	if d.resolve == nil {
		d.report(n, "extends: "+quote(n.Value)+" cannot be looked up here", "write the policy out in full")
		return nil
	}
	data, shown, err := d.resolve(name)
	if err != nil {
		d.report(n, "extends: "+err.Error(), "")
		return nil
	}
	if slices.Contains(d.chain, shown) {
		d.report(n, fmt.Sprintf("extends: %s extends itself (%s)", shown, strings.Join(append(slices.Clone(d.chain), shown), " -> ")), "break the circle")
		return nil
	}
	if len(d.chain) >= maxExtends {
		d.report(n, fmt.Sprintf("extends: more than %d policies that extend one another", maxExtends), "write one of them out in full")
		return nil
	}
	before := len(d.errs)
	base := d.policy(shown, data)
	if len(d.errs) > before {
		return nil
	}
	return base
}

// params reads a map of parameters into the struct ptr points to.
func (d *decoder) params(n *yaml.Node, ptr any, owner string, p *Policy) {
	fields, err := fieldsOf(ptr)
	if err != nil {
		d.report(n, owner+": "+err.Error(), "")
		return
	}
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.report(n, owner+": "+kindName(n)+" is no map of parameters", "write them as NAME: VALUE, one a line")
		return
	}
	for _, kv := range pairs(n) {
		f, ok := find(fields, kv.key)
		if !ok {
			d.report(kv.at, owner+": unknown parameter "+quote(kv.key), Suggest(kv.key, names(fields)))
			continue
		}
		key := owner + "." + f.Name
		p.at[key] = position(d.file, kv.value)
		decodeValue(f.v, kv.value, &f.Param, key, d.report)
	}
}

func (d *decoder) stages(n *yaml.Node, p *Policy) {
	for _, s := range p.Stages { // a list replaces that of the extended policy
		maps.DeleteFunc(p.at, func(key string, _ Position) bool {
			return key == s.Definition.Name || strings.HasPrefix(key, s.Definition.Name+".")
		})
	}
	p.Stages = nil
	if isNull(n) || n.Kind != yaml.SequenceNode {
		d.report(n, "stages: "+kindName(n)+" is not a list", "write one stage a line, each after \"- \", or [] for none")
		return
	}
	for _, item := range n.Content {
		d.stage(item, p)
	}
}

func (d *decoder) stage(item *yaml.Node, p *Policy) {
	at, name := item, item.Value
	var params *yaml.Node
	switch {
	case item.Kind == yaml.MappingNode:
		list := pairs(item)
		if len(list) != 1 {
			d.report(item, fmt.Sprintf("a stage with %d keys", len(list)), "write \"- NAME:\" and its parameters below, indented by four more")
			if len(list) == 0 {
				return
			}
		}
		at, name, params = list[0].at, list[0].key, list[0].value
		for _, kv := range list { // where one of the keys is a stage, it is that one
			if _, ok := d.reg.Lookup(kv.key); ok {
				at, name, params = kv.at, kv.key, kv.value
				break
			}
		}
	case item.Kind != yaml.ScalarNode || isNull(item) || item.Value == "":
		d.report(item, kindName(item)+" is not a stage", "write its name")
		return
	}
	def, ok := d.reg.Lookup(name)
	if !ok {
		d.report(at, "unknown stage "+quote(name), Suggest(name, d.reg.Names()))
		return
	}
	if p.stage(name) != nil {
		d.report(at, fmt.Sprintf("stage %s is listed twice, first on line %d", name, p.at[name].Line), "keep one of them")
		return
	}
	p.at[name] = position(d.file, at)
	s := StageConfig{Definition: def, Params: cloneParams(def.Params)}
	if params != nil {
		if s.Params == nil {
			if !isNull(params) {
				d.report(params, name+": it has no parameters", "leave them out")
			}
		} else {
			d.params(params, s.Params, name, p)
		}
	}
	p.Stages = append(p.Stages, s)
}

func (d *decoder) set(n *yaml.Node, p *Policy, whole bool) {
	if n.Kind != yaml.MappingNode {
		d.report(n, "set: "+kindName(n)+" is not a map", "write {stage.param: value}")
		return
	}
	for _, kv := range pairs(n) {
		f, err := p.field(kv.key)
		if err != nil {
			if owner, _, ok := strings.Cut(kv.key, "."); ok && p.stage(owner) == nil && !isSection(owner) && !whole {
				continue // it may be a stage of the policy that could not be read
			}
			d.report(kv.at, err.Msg, err.Hint)
			continue
		}
		p.at[kv.key] = position(d.file, kv.value)
		decodeValue(f.v, kv.value, &f.Param, kv.key, d.report)
	}
}

// finish checks what only the whole policy can tell.
func (d *decoder) finish(root *yaml.Node, value map[string]*yaml.Node, p *Policy, whole bool) {
	if !whole {
		return
	}
	if p.Recorded && len(p.Stages) > 0 {
		at := value["recorded"]
		for _, key := range []string{"stages", extendsKey} {
			if n := value[key]; n != nil {
				at = n
			}
		}
		if at == nil {
			at = root
		}
		d.report(at, "a recorded policy has stages", "leave out either: the record is what the client did")
	}
	if !p.Recorded && value["stages"] == nil && value[extendsKey] == nil {
		d.report(root, "the policy has no stages", "list them under \"stages:\", [] for none, or say what it extends")
	}
	for _, err := range p.check() {
		if err.File != d.file { // what this file changed does not go with what it extends
			at := root
			if n := value["set"]; n != nil {
				at = n
			}
			err.Position = position(d.file, at)
		}
		d.errs = append(d.errs, err)
	}
}
