package policy

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/policy/strict"
)

const (
	extendsKey = "extends"
	windowKey  = "window"
	cacheKey   = "cache"
	maxExtends = 16 // policies that extend one another
)

// head is what a policy says of itself.
type head struct {
	Name     string `yaml:"name" form:"line" doc:"the policy's name; without it the file's"`
	About    string `yaml:"about" form:"lines" doc:"one sentence"`
	Source   string `yaml:"source" form:"lines" doc:"product and version, and where it is documented"`
	Differs  string `yaml:"differs" form:"lines" doc:"what the client does otherwise"`
	Product  string `yaml:"product" form:"line" doc:"whose release it is: its bare name means the release that was current when a session was recorded"`
	Date     string `yaml:"date" form:"date" doc:"of the commit or release that the source names, YYYY-MM-DD"`
	Valid    Valid  `yaml:"valid" doc:"when that release was the current one"`
	Truth    Truth  `yaml:"truth" enum:"recorded,oracle,documented,described,own" doc:"what the policy's source is"`
	Version  string `yaml:"version" form:"line" doc:"first release the policy stands for; texts that changed between releases are that one's"`
	Recorded bool   `yaml:"recorded" doc:"what the client really did, instead of stages"`
}

func (p *Policy) head() *head {
	return &head{p.Name, p.About, p.Source, p.Differs, p.Product, p.Date, p.Valid, p.Truth, p.Version, p.Recorded}
}

// keys are those of a policy file.
func keys() []string {
	return []string{"name", "about", "source", "differs", "product", "version", "date", "valid", "truth", extendsKey, "recorded", windowKey, cacheKey, numbersKey, "stages", "set"}
}

// Resolve is a function that finds a policy that another policy extends. name is the name of a built-in policy, or the
// path of a file (IsFile) relative to the working directory. A Resolve returns the YAML, and in shown the name to use
// in messages.
type Resolve func(name string) (data []byte, shown string, err error)

// IsFile reports whether name is the name of a policy file and not of a built-in policy. The name of a file contains a
// slash or ends in .yaml or .yml.
func IsFile(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return strings.ContainsAny(name, `/\`) || ext == ".yaml" || ext == ".yml"
}

// Decode reads a policy from YAML. name stands for the policy in error messages. If name is that of a file, names of
// files in extends are relative to its folder. resolve finds the policies that the policy extends. The error is an
// [Errors] that lists everything that is wrong.
func Decode(name string, data []byte, reg Registry, resolve Resolve) (*Policy, error) {
	d := &decoder{Decoder: strict.Decoder{Noun: "parameter"}, reg: reg, resolve: resolve}
	p := d.policy(name, data)
	if err := d.Errors.Err(); err != nil {
		return nil, err
	}
	p.files = d.files
	return p, nil
}

type decoder struct {
	strict.Decoder // of the file being read
	reg            Registry
	resolve        Resolve
	chain          []string // policies being read, outermost first
	files          []string // that were read; built-in policies are none
}

// policyDocument is the file this package is about.
func policyDocument() strict.Document {
	return strict.Document{Name: "policy", Example: "stages: []", Start: "write a policy", Keys: keys()}
}

// policy reads one file. It gives back what could be read, also when errors were reported, so that the rest is
// checked in the same run.
func (d *decoder) policy(name string, data []byte) *Policy {
	file := d.File
	found := d.Found
	d.File = name
	d.chain = append(d.chain, name)
	if IsFile(name) {
		d.files = append(d.files, name)
	}
	defer func() {
		d.File = file
		d.Found = found
		d.chain = d.chain[:len(d.chain)-1]
	}()

	root, errs := strict.Parse(name, data, policyDocument())
	d.Errors = append(d.Errors, errs...)
	if root == nil {
		return nil
	}
	value := map[string]*strict.Node{}
	for _, kv := range strict.Pairs(root) {
		if !slices.Contains(keys(), kv.Key) {
			d.Report(kv.At, "unknown key "+strict.Quote(kv.Key), strict.Suggest(kv.Key, keys()))
			continue
		}
		value[kv.Key] = kv.Value
	}

	p := defaults(d.reg)
	whole := true // false: what it extends could not be read
	if n := value[extendsKey]; n != nil {
		if base := d.extends(n); base != nil {
			p = base.Clone()
			p.base, p.Product, p.Valid = base, "", Valid{} // it is no release
			switch name := n.Value; {
			case d.reg.former(name):
				p.Former = append(slices.Clone(p.Former), name)
			case !IsFile(name) && name != base.Name && !strings.Contains(name, "@"):
				p.moving = name
			}
		} else {
			whole = false
		}
	}
	p.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	p.File = name
	if !IsFile(name) {
		p.Name = name
		p.File = ""
	}
	d.Found = func(key string, at Position) { p.at[key] = at }
	for _, key := range []string{extendsKey, "stages"} {
		if n := value[key]; n != nil {
			d.Found(key, strict.At(name, n))
		}
	}
	d.head(value, p)
	for _, s := range p.allSections() {
		if n := value[s.key]; n != nil && !strict.IsNull(n) {
			d.Struct(n, s.params, s.key)
		}
	}
	if n := value[numbersKey]; n != nil {
		d.numbers(n, p)
	}
	if n := value["stages"]; n != nil {
		d.stages(n, p)
	}
	if n := value["set"]; n != nil {
		d.set(n, p, whole)
	}
	d.finish(root, value, p, whole)
	if p.base != nil && value["truth"] == nil && len(d.Errors) == 0 && len(DiffSettings(p.base.Resolved(), p.Resolved())) > 0 {
		p.Truth = TruthOwn
	}
	return p
}

func (d *decoder) head(value map[string]*strict.Node, p *Policy) {
	h := p.head()
	fields, _ := strict.Fields(h)
	for _, f := range fields {
		if n := value[f.Name]; n != nil {
			d.Found(f.Name, strict.At(d.File, n))
			d.Value(n, f, f.Name)
		}
	}
	p.Name = h.Name
	p.About = h.About
	p.Source = h.Source
	p.Differs = h.Differs
	p.Product = h.Product
	p.Date = h.Date
	p.Valid = h.Valid
	p.Truth = h.Truth
	p.Version = h.Version
	p.Recorded = h.Recorded
}

func (d *decoder) extends(n *strict.Node) *Policy {
	if n.Kind != yaml.ScalarNode || strict.IsNull(n) || n.Value == "" {
		d.Report(n, "extends: "+strict.KindName(n)+" is not a policy", "name a built-in policy or a file")
		return nil
	}
	name := n.Value
	if IsFile(name) && IsFile(d.File) && !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(d.File), name)
		if !IsFile(name) { // Join removed the slash that marks a file
			name = "." + string(filepath.Separator) + name
		}
	}
	if d.resolve == nil {
		d.Report(n, "extends: "+strict.Quote(n.Value)+" cannot be looked up here", "write the policy out in full")
		return nil
	}
	data, shown, err := d.resolve(name)
	if err != nil {
		d.Report(n, "extends: "+err.Error(), "")
		return nil
	}
	if slices.Contains(d.chain, shown) {
		d.Report(n, fmt.Sprintf("extends: %s extends itself (%s)", shown, strings.Join(append(slices.Clone(d.chain), shown), " -> ")), "break the circle")
		return nil
	}
	if len(d.chain) >= maxExtends {
		d.Report(n, fmt.Sprintf("extends: more than %d policies that extend one another", maxExtends), "write one of them out in full")
		return nil
	}
	before := len(d.Errors)
	base := d.policy(shown, data)
	if len(d.Errors) > before {
		return nil
	}
	return base
}

func (d *decoder) stages(n *strict.Node, p *Policy) {
	for _, s := range p.Stages { // a list replaces that of the extended policy
		maps.DeleteFunc(p.at, func(key string, _ Position) bool {
			return key == s.Definition.Name || strings.HasPrefix(key, s.Definition.Name+".")
		})
	}
	p.Stages = nil
	if strict.IsNull(n) || n.Kind != yaml.SequenceNode {
		d.Report(n, "stages: "+strict.KindName(n)+" is not a list", "write one stage a line, each after \"- \", or [] for none")
		return
	}
	for _, item := range n.Content {
		d.stage(item, p)
	}
}

func (d *decoder) stage(item *strict.Node, p *Policy) {
	at := item
	name := item.Value
	var params *strict.Node
	switch {
	case item.Kind == yaml.MappingNode:
		list := strict.Pairs(item)
		if len(list) != 1 {
			d.Report(item, fmt.Sprintf("a stage with %d keys", len(list)), "write \"- NAME:\" and its parameters below, indented by four more")
			if len(list) == 0 {
				return
			}
		}
		at = list[0].At
		name = list[0].Key
		params = list[0].Value
		for _, kv := range list { // where one of the keys is a stage, it is that one
			if _, ok := d.reg.Lookup(kv.Key); ok {
				at = kv.At
				name = kv.Key
				params = kv.Value
				break
			}
		}
	case item.Kind != yaml.ScalarNode || strict.IsNull(item) || item.Value == "":
		d.Report(item, strict.KindName(item)+" is not a stage", "write its name")
		return
	}
	def, ok := d.reg.Lookup(name)
	if !ok {
		d.Report(at, "unknown stage "+strict.Quote(name), strict.Suggest(name, d.reg.Names()))
		return
	}
	if p.stage(name) != nil {
		d.Report(at, fmt.Sprintf("stage %s is listed twice, first on line %d", name, p.at[name].Line), "keep one of them")
		return
	}
	p.at[name] = strict.At(d.File, at)
	s := StageConfig{Definition: def, Params: strict.Clone(def.Params)}
	switch {
	case params == nil || strict.IsNull(params):
	default:
		known := []any{&s.When}
		if s.Params != nil {
			known = []any{s.Params, &s.When}
		}
		d.Struct(params, known, name)
		for _, kv := range strict.Pairs(params) {
			if kv.Key == whenKey {
				s.When.place(d.File, kv.Value)
			}
		}
	}
	p.Stages = append(p.Stages, s)
	p.share()
}

func (d *decoder) set(n *strict.Node, p *Policy, whole bool) {
	for _, kv := range d.Map(n, "set", "write {stage.param: value}") {
		f, err := p.field(kv.Key)
		if err != nil {
			owner, name, ok := strings.Cut(kv.Key, ".")
			if ok && !whole && p.stage(owner) == nil && (!isSection(owner) || p.readByNone(name)) {
				continue // it may be of a stage of the policy that could not be read
			}
			d.Report(kv.At, err.Msg, err.Hint)
			continue
		}
		p.at[kv.Key] = strict.At(d.File, kv.Value)
		d.Value(kv.Value, f, kv.Key)
		if s := p.stage(strings.TrimSuffix(kv.Key, "."+whenKey)); s != nil {
			s.When.place(d.File, kv.Value)
		}
	}
}

// finish checks the combinations of keys.
func (d *decoder) finish(root *strict.Node, value map[string]*strict.Node, p *Policy, whole bool) {
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
		d.Report(at, "a recorded policy has stages", "leave out either: `recorded` repeats the client's own edits")
	}
	if !p.Recorded && value["stages"] == nil && value[extendsKey] == nil {
		d.Report(root, "the policy has no stages", "list them under \"stages:\", [] for none, or say what it extends")
	}
	for _, err := range p.check() {
		if err.File != d.File { // a change of this file contradicts the extended policy
			at := root
			if n := value["set"]; n != nil {
				at = n
			}
			err.Position = strict.At(d.File, at)
		}
		d.Errors = append(d.Errors, err)
	}
}
