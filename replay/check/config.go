// Package check judges replays: by what is expected of their figures, and by what they were in a baseline. It replays
// nothing itself: results go in, a report comes out.
package check

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ctxkit/ctxkit/policy/strict"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/price"
)

const (
	// Version is the version of ctxkit.yaml that is read.
	Version = 1

	// DefaultFile is the configuration where none is named.
	DefaultFile = "ctxkit.yaml"
)

// Config is a ctxkit.yaml.
type Config struct {
	File         string                     `yaml:"-"`
	Version      int                        `yaml:"version" required:"write \"version: 1\" at the top"`
	Sessions     []TextLine                 `yaml:"sessions" form:"filled"` // of the cases that have none of their own
	Counting     Counting                   `yaml:",inline"`
	Prices       string                     `yaml:"prices" form:"line"` // a file, relative to this one; "": the embedded table
	Shared       SharedConfig               `yaml:",inline"`
	Baseline     string                     `yaml:"baseline" form:"line"` // a file, relative to this one; "": none
	Within       *Tolerance                 `yaml:"within" none:"-"`      // of figures a case says nothing of
	AllowChanges bool                       `yaml:"allow_changes"`
	Allow        []string                   `yaml:"allow" enum:"misses,refused,violations,preserved_thinking,thrash,failed_compactions"` // faults that are not limited
	Cases        []Case                     `yaml:"cases" form:"filled" required:"list them under \"cases:\", each after \"- \" with a name and a policy"`
	Places       map[string]strict.Position `yaml:"-"` // of the values of its keys
}

// TextLine is a line of text and its place: session files, relative to the configuration, or a policy.
type TextLine struct {
	Text string
	strict.Position
}

// Case is one policy over some sessions, and what is expected of it.
type Case struct {
	strict.Position
	Name         string       `yaml:"name" form:"line"`
	Policy       TextLine     `yaml:"policy" required:"write \"policy: NAME\", a built-in name or a file"` // settings follow behind commas
	Set          Settings     `yaml:"set"`
	Sessions     []TextLine   `yaml:"sessions" form:"filled"`
	Expect       Expectations `yaml:"expect"`
	Within       *Tolerance   `yaml:"within" none:"-"`
	AllowChanges *bool        `yaml:"allow_changes" none:"-"`
	Allow        []string     `yaml:"allow" enum:"misses,refused,violations,preserved_thinking,thrash,failed_compactions"`
}

// ChangedSetting is a changed parameter of a case's policy.
type ChangedSetting struct {
	Key   string
	Value string // as YAML
	strict.Position
}

// Settings are in the order of the file.
type Settings []ChangedSetting

// ReadNode reads a line of text.
func (t *TextLine) ReadNode(r *strict.Decoder, n *strict.Node, key string) {
	r.Read(n, &t.Text, strict.Param{Form: "line"}, key)
}

// ReadNode reads {stage.param: value}.
func (s *Settings) ReadNode(r *strict.Decoder, n *strict.Node, key string) {
	for _, kv := range r.Map(n, key, "write {stage.param: value}") {
		*s = append(*s, ChangedSetting{kv.Key, strict.Flow(kv.Value), strict.At(r.File, kv.Value)})
	}
}

// Decode reads a configuration. The error is a strict.Errors with everything that is wrong, each with its place.
func Decode(file string, data []byte) (*Config, error) {
	root, errs := strict.Parse(file, data, strict.Document{
		Name: "configuration", Example: "version: 1", Start: "write version, sessions and cases (docs/check.md has an example)", Keys: strict.Keys(&Config{}),
	})
	c := &Config{File: file, Counting: Counting{Tokens: "usage", Agent: "main", Cache: string(replay.CacheEqual), Regret: true}, Places: map[string]strict.Position{}}
	r := &strict.Decoder{File: file, Errors: errs, Found: func(key string, at strict.Position) { c.Places[key] = at }}
	if root != nil {
		r.Struct(root, c, "")
		c.finish(r)
	}
	if err := r.Errors.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// SharedConfig is the part of a ctxkit.yaml that every command reads.
type SharedConfig struct {
	File     string          `yaml:"-"`
	Defaults Defaults        `yaml:"defaults"`
	Models   price.OwnModels `yaml:"models"` // of one's own
}

// Defaults are values of flags that the command line leaves out, in the order of the file.
type Defaults []ChangedSetting

// DefaultNames are the flags that Defaults can have.
func DefaultNames() []string {
	return []string{"policy", "window", "prices", "color", "timezone", "pager"}
}

// ReadNode reads {flag: value}.
func (d *Defaults) ReadNode(r *strict.Decoder, n *strict.Node, key string) {
	for _, kv := range r.Map(n, key, "write {window: 200k}") {
		switch name := key + "." + kv.Key; {
		case !slices.Contains(DefaultNames(), kv.Key):
			r.Report(kv.At, key+": unknown flag "+strict.Quote(kv.Key), strict.Suggest(kv.Key, DefaultNames()))
		case kv.Value.Value == "":
			r.Report(kv.Value, name+": no value", "write it as the flag takes it")
		default:
			*d = append(*d, ChangedSetting{kv.Key, kv.Value.Value, strict.At(r.File, kv.Value)})
		}
	}
}

// DecodeShared reads what every command reads of a configuration, which may have nothing else.
func DecodeShared(file string, data []byte) (*SharedConfig, error) {
	keys := strict.Keys(&Config{})
	root, errs := strict.Parse(file, data, strict.Document{
		Name: "configuration", Example: "models: {acme-1: {window: 256k}}", Start: "write models: {acme-1: {window: 256k}} (docs/check.md has the other keys)", Keys: keys,
	})
	r := &strict.Decoder{File: file, Errors: errs}
	c := &SharedConfig{File: file}
	if root != nil {
		for _, kv := range r.Map(root, "configuration", "write {models: {acme-1: {window: 256k}}}") {
			switch {
			case kv.Key == "models":
				c.Models.ReadNode(r, kv.Value, kv.Key)
			case kv.Key == "defaults":
				c.Defaults.ReadNode(r, kv.Value, kv.Key)
			case !slices.Contains(keys, kv.Key):
				r.Report(kv.At, "unknown key "+strict.Quote(kv.Key), strict.Suggest(kv.Key, keys))
			}
		}
	}
	return c, r.Errors.Err()
}

// finish fills in what the cases leave to the configuration, and checks what no single value shows.
func (c *Config) finish(r *strict.Decoder) {
	if c.Version != Version && (c.Version != 0 || len(r.Errors) == 0) { // 0: it could not be read
		r.Errors.Report(c.Places["version"], fmt.Sprintf("version: %d is not a version that is known", c.Version), fmt.Sprintf("write %d, or use a newer ctxkit", Version))
	}
	lines := map[string]int{}
	for i := range c.Cases {
		one := &c.Cases[i]
		one.complete(c)
		name := "case " + strconv.Quote(one.Name)
		if line, twice := lines[one.Name]; twice {
			r.Errors.Report(one.Position, fmt.Sprintf("%s is here twice, first on line %d", name, line), "give each case a name of its own")
		}
		lines[one.Name] = one.Line
		if one.Sessions == nil && !c.gives("sessions") {
			r.Errors.Report(one.Position, name+" has no sessions", "list them under \"sessions:\", in the case or at the top")
		}
		if c.gives("baseline") {
			continue
		}
		for _, e := range one.Expect {
			if e.Within != nil {
				r.Errors.Report(e.Position, e.Figure+": within needs a baseline, and there is none", "name a baseline file at the top, or give a min and a max")
			}
		}
		if !one.Expects() && len(r.Errors) == 0 {
			r.Errors.Report(one.Position, name+" expects nothing, allows every fault, and there is no baseline", "write what to expect under \"expect:\", such as {compactions: {max: 2}}, or name a baseline file")
		}
	}
}

func (c *Config) gives(key string) bool { _, ok := c.Places[key]; return ok }

// complete fills in what a case leaves to the configuration.
func (c *Case) complete(config *Config) {
	if c.Name == "" {
		c.Name = c.Policy.Text
	}
	if c.Within == nil {
		c.Within = config.Within
	}
	if c.AllowChanges == nil {
		c.AllowChanges = &config.AllowChanges
	}
	if c.Allow == nil {
		c.Allow = config.Allow
	}
	for _, e := range c.Expect {
		config.Counting.Regret = config.Counting.Regret || compare.OfRegret(e.Figure) && !e.Any
	}
}

// SessionsOf are the patterns of a case.
func (c *Config) SessionsOf(i int) []TextLine {
	if c.Cases[i].Sessions != nil {
		return c.Cases[i].Sessions
	}
	return c.Sessions
}

// allows reports whether a fault has no limit: it is allowed by name, or anything is expected of it.
func (c *Case) allows(fault string) bool {
	e := c.expectation(fault)
	return slices.Contains(c.Allow, fault) || e != nil && e.Any
}

// mayChange reports whether changes that are neither better nor worse pass.
func (c *Case) mayChange() bool { return c.AllowChanges != nil && *c.AllowChanges }

// Expects reports whether anything is expected of a case without a baseline.
func (c *Case) Expects() bool {
	for _, name := range compare.FaultNames() {
		if !c.allows(name) {
			return true
		}
	}
	for _, e := range c.Expect {
		if !e.Any && (e.Min != nil || e.Max != nil || e.Equals != nil) {
			return true
		}
	}
	return false
}
