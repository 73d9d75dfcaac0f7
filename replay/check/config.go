// Package check judges replays: by what is expected of their figures, and by
// what they were in a baseline. It replays nothing itself: results go in, a
// report comes out.
package check

import (
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/strict"
	"github.com/ctxkit/ctxkit/replay/compare"
)

const (
	// Version is the version of ctxkit.yaml that is read.
	Version = 1

	// DefaultFile is the configuration where none is named.
	DefaultFile = "ctxkit.yaml"
)

// Config is a ctxkit.yaml.
type Config struct {
	File         string
	Sessions     []Pattern // of the cases that have none of their own
	Counting     Counting
	Prices       string                     // a file, relative to this one; "": the embedded table
	Baseline     string                     // a file, relative to this one; "": none
	Places       map[string]policy.Position // of the values of its keys
	Within       *Tolerance                 // of figures a case says nothing of
	AllowChanges bool
	Cases        []Case
}

// Pattern names session files, relative to the configuration.
type Pattern struct {
	Text string
	policy.Position
}

// Case is one policy over some sessions, and what is expected of it.
type Case struct {
	Name         string
	Policy       string // a built-in name or a file relative to the configuration, with settings behind commas
	Set          []Setting
	Sessions     []Pattern
	Expect       []Expectation
	Within       *Tolerance
	AllowChanges bool

	At       policy.Position
	PolicyAt policy.Position
}

// Setting is a changed parameter of a case's policy.
type Setting struct {
	Key   string
	Value string // as YAML
	policy.Position
}

// Expectation is what is expected of a figure of each session.
type Expectation struct {
	Figure string
	Min    *float64
	Max    *float64
	Equals *float64
	Within *Tolerance // of the baseline
	Any    bool       // nothing is expected
	policy.Position
}

// Tolerance is how far a figure may be from that of the baseline, both ways.
type Tolerance struct {
	Share  float64 // of the baseline's figure
	Amount float64 // in the figure's unit
}

// String is the tolerance as it is written.
func (t Tolerance) String() string {
	if t.Share > 0 {
		return strconv.FormatFloat(t.Share*100, 'g', 12, 64) + "%"
	}
	return strconv.FormatFloat(t.Amount, 'f', -1, 64)
}

// allows reports whether a change from before to after is within the tolerance.
func (t Tolerance) allows(before, after float64) bool {
	return math.Abs(after-before) <= max(t.Amount, t.Share*math.Abs(before))*(1+1e-12)
}

// expectsRegret reports whether something is expected of misses.
func (c *Config) expectsRegret() bool {
	for i := range c.Cases {
		for _, e := range c.Cases[i].Expect {
			if (e.Figure == "misses" || e.Figure == "refetch_tokens") && !e.Any {
				return true
			}
		}
	}
	return false
}

// SessionsOf are the patterns of a case.
func (c *Config) SessionsOf(i int) []Pattern {
	if c.Cases[i].Sessions != nil {
		return c.Cases[i].Sessions
	}
	return c.Sessions
}

// Expects reports whether anything is expected of a case by itself.
func (c *Case) Expects() bool {
	for _, e := range c.Expect {
		if !e.Any && (e.Min != nil || e.Max != nil || e.Equals != nil) {
			return true
		}
	}
	return false
}

func topKeys() []string {
	return []string{"version", "sessions", "cases", "baseline", "tokens", "agent", "model", "window", "overhead", "prices", "regret", "within", "allow_changes"}
}

func caseKeys() []string {
	return []string{"name", "policy", "set", "sessions", "expect", "within", "allow_changes"}
}

// Decode reads a configuration. The error is a policy.Errors with everything
// that is wrong, each with its place.
func Decode(file string, data []byte) (*Config, error) {
	root, errs := strict.Parse(file, data, strict.Document{Name: "configuration", Example: "version: 1", Start: "write version, sessions and cases (docs/check.md has an example)"})
	d := &decoder{file: file, errs: errs}
	if root == nil {
		return nil, d.errs
	}
	c := d.config(root)
	if len(d.errs) > 0 {
		d.errs.Sort()
		return nil, d.errs
	}
	return c, nil
}

type decoder struct {
	file string
	errs policy.Errors
}

func (d *decoder) report(at *yaml.Node, msg, hint string) {
	if at.Kind == yaml.AliasNode { // refused already
		return
	}
	d.errs = append(d.errs, &policy.Error{Position: strict.At(d.file, at), Msg: msg, Hint: hint})
}

// keys reads a map into its values by key, refusing those that are unknown.
func (d *decoder) keys(n *yaml.Node, what string, known []string) (map[string]*yaml.Node, bool) {
	if n.Kind != yaml.MappingNode {
		d.report(n, what+": "+strict.KindName(n)+" is no map", "write keys and values: "+strings.Join(known, ", "))
		return nil, false
	}
	values := map[string]*yaml.Node{}
	strict.EachKey(n, func(key string, at, value *yaml.Node) {
		for _, k := range known {
			if k == key {
				values[key] = value
				return
			}
		}
		d.report(at, what+": unknown key "+strconv.Quote(key), strict.Suggest(key, known))
	})
	return values, true
}

func (d *decoder) config(root *yaml.Node) *Config {
	c := &Config{File: d.file, Counting: Counting{Tokens: "usage", Agent: "main"}, Places: map[string]policy.Position{}}
	values, ok := d.keys(root, "configuration", topKeys())
	if !ok {
		return c
	}
	for key, n := range values {
		c.Places[key] = strict.At(d.file, n)
	}
	switch n := values["version"]; {
	case n == nil:
		d.report(root, "no version", "write \"version: 1\" at the top")
	case n.ShortTag() != "!!int" || n.Value != strconv.Itoa(Version):
		d.report(n, "version: "+strict.KindName(n)+" is not a version that is known", "write 1, or take a newer ctxkit")
	}
	c.Sessions = d.patterns(values["sessions"], "sessions")
	for _, f := range []struct {
		key string
		to  *string
	}{{"tokens", &c.Counting.Tokens}, {"agent", &c.Counting.Agent}, {"model", &c.Counting.Model}, {"window", &c.Counting.Window}, {"overhead", &c.Counting.Overhead},
		{"prices", &c.Prices}, {"baseline", &c.Baseline}} {
		if n := values[f.key]; n != nil {
			*f.to = d.text(n, f.key)
		}
	}
	regret := d.flag(values["regret"], "regret")
	c.Within = d.tolerance(values["within"], "within")
	c.AllowChanges = d.flag(values["allow_changes"], "allow_changes")
	d.cases(root, values["cases"], c)
	c.Counting.Regret = regret || c.expectsRegret()
	return c
}

func (d *decoder) cases(root, n *yaml.Node, c *Config) {
	if n == nil || n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		at, is := root, "no cases"
		switch {
		case n != nil && n.Kind == yaml.SequenceNode:
			at, is = n, "cases: the list is empty"
		case n != nil:
			at, is = n, "cases: "+strict.KindName(n)+" is no list of cases"
		}
		d.report(at, is, "list them under \"cases:\", each after \"- \" with a name and a policy")
		return
	}
	lines := map[string]int{}
	for _, item := range n.Content {
		one, ok := d.one(item, c)
		if !ok {
			continue
		}
		if line, twice := lines[one.Name]; twice {
			d.report(item, "case "+strconv.Quote(one.Name)+" is here twice, first on line "+strconv.Itoa(line), "give each case a name of its own")
		}
		lines[one.Name] = one.At.Line
		c.Cases = append(c.Cases, one)
	}
}

func (d *decoder) one(n *yaml.Node, c *Config) (Case, bool) {
	one := Case{At: strict.At(d.file, n), Within: c.Within, AllowChanges: c.AllowChanges}
	values, ok := d.keys(n, "case", caseKeys())
	if !ok {
		return one, false
	}
	p := values["policy"]
	if p == nil {
		d.report(n, "a case without a policy", "write \"policy: NAME\", a built-in name or a file")
		return one, false
	}
	one.PolicyAt = strict.At(d.file, p)
	one.Policy = d.text(p, "policy")
	one.Name = one.Policy
	if v := values["name"]; v != nil {
		one.Name = d.text(v, "name")
	}
	if v := values["set"]; v != nil {
		d.set(v, &one)
	}
	if v := values["sessions"]; v != nil {
		one.Sessions = d.patterns(v, "sessions")
	} else if c.Sessions == nil {
		d.report(n, "case "+strconv.Quote(one.Name)+" has no sessions", "list them under \"sessions:\", in the case or at the top")
	}
	if v := values["within"]; v != nil {
		one.Within = d.tolerance(v, "within")
	}
	if v := values["allow_changes"]; v != nil {
		one.AllowChanges = d.flag(v, "allow_changes")
	}
	if v := values["expect"]; v != nil {
		d.expect(v, &one, c)
	}
	if c.Baseline == "" && !one.Expects() && len(d.errs) == 0 {
		d.report(n, "case "+strconv.Quote(one.Name)+" expects nothing, and there is no baseline", "write what to expect under \"expect:\", such as {compactions: {max: 2}}, or name a baseline file")
	}
	return one, true
}

func (d *decoder) set(n *yaml.Node, one *Case) {
	if n.Kind != yaml.MappingNode {
		d.report(n, "set: "+strict.KindName(n)+" is no map", "write {stage.param: value}")
		return
	}
	strict.EachKey(n, func(key string, _, value *yaml.Node) {
		one.Set = append(one.Set, Setting{Key: key, Value: strict.Flow(value), Position: strict.At(d.file, value)})
	})
}

// patterns reads a list of session files.
func (d *decoder) patterns(n *yaml.Node, key string) []Pattern {
	if n == nil {
		return nil
	}
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	if len(items) == 0 || n.Kind == yaml.MappingNode || strict.IsNull(n) {
		d.report(n, key+": "+strict.KindName(n)+" names no session", "write files, such as [testdata/sessions/*.jsonl]")
		return []Pattern{}
	}
	list := []Pattern{}
	for _, item := range items {
		if text := d.text(item, key); text != "" {
			list = append(list, Pattern{text, strict.At(d.file, item)})
		}
	}
	return list
}

func (d *decoder) text(n *yaml.Node, key string) string {
	if n.Kind != yaml.ScalarNode || strict.IsNull(n) || n.ShortTag() == "!!bool" || strings.TrimSpace(n.Value) == "" {
		d.report(n, key+": "+strict.KindName(n)+" is not text", "write a word, in quotes where it looks like something else")
		return ""
	}
	if strings.ContainsFunc(n.Value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		d.report(n, key+": "+strict.KindName(n)+" has characters in it that cannot be printed", "leave them out")
		return ""
	}
	return n.Value
}

func (d *decoder) flag(n *yaml.Node, key string) bool {
	if n == nil {
		return false
	}
	if n.ShortTag() != "!!bool" {
		d.report(n, key+": "+strict.KindName(n)+" is not true or false", "write true or false")
	}
	return strings.EqualFold(n.Value, "true")
}

// figureNames are what can be expected of.
func figureNames() []string { return compare.Names() }
