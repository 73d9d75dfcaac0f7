// Package policy defines a context-management policy as data. A Policy is a YAML file of limits and an ordered
// list of stages with parameters; a Stage proposes edits to a View; the engine (package replay) applies them.
//
// Raw messages never change: view = raw + edits.
package policy

import (
	"cmp"
	"fmt"
	"io/fs"
	"time"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// Policy is a resolved policy: every default spelled out, ready to run.
type Policy struct {
	Name     string
	About    string // one sentence
	Source   string // product, version, where it is written down
	Differs  string // what the client does otherwise, next to what its stages say; "": nothing is known
	Product  string // whose release it is: the bare name that means it for sessions of its time; "": no product's
	Version  string // first release it stands for, or the very one that was asked for; texts follow it
	Date     string // of the commit or release that Source names, YYYY-MM-DD
	Valid    Valid
	Chosen   string   // why a bare name means this policy for a session; "": it was named
	Older    bool     // with Chosen: the session is older than the release, which is the oldest known
	Newer    string   // that the release is newer than those that were read, or that there is a newer one; part of Chosen where that is set
	Former   []string // names that it, or what it extends, had once, and by which it was named
	Truth    Truth
	Score    *Score // of a built-in policy that recordings of its product can score, unchanged by settings; else nil
	Recorded bool   // the engine's own track: what the client really did
	Window   Window
	Cache    Caching
	Numbers  []Number // that its conditions use, by name
	Stages   []StageConfig
	File     string // where it was read from; "" for a built-in one

	asked  string              // the very release that Version is, where it is one; "": Version is the first of several
	shared []*Shared           // of all families; only those that a stage reads count
	at     map[string]Position // where each key was written, where it was
	files  []string            // it was read from: see Files
	base   *Policy             // what it extends, as that was; nil for none
	moving string              // the name by which it, or what it extends, extends a release, where that means another one in another session
}

// As is the policy as a release of its product, chosen for a session: its texts are that release's, version "" is p's
// own. It shares everything else with p.
func (p *Policy) As(version, chosen, newer string, older bool) *Policy {
	c := *p
	c.Version = cmp.Or(version, p.Version)
	c.Chosen = chosen
	c.Newer = newer
	c.Older = older
	c.asked = version
	return &c
}

// Moving is the product's bare name that the policy extends, or what it extends does; "": it extends none.
func (p *Policy) Moving() string { return p.moving }

// Extended stands in Chosen between the release that a policy extends by a bare name and why that means it.
const Extended = " is extended: "

// ModelWindow is the window that the client of a stage takes a model to have on a day, or in the release that was asked
// for; zero: the model's own.
func (p *Policy) ModelWindow(model string, day time.Time) (l ModelLimits) {
	for i := range p.Stages {
		if find := p.Stages[i].Definition.Models; find != nil && l.Context == 0 {
			l = find(model, p.asked, day)
		}
	}
	return l
}

// StageConfig is one stage of a policy with its parameters: a pointer to the parameter struct of its definition.
type StageConfig struct {
	Definition Definition
	Params     any
	Shared     any // the shared parameters its definition names, the policy's own
	When       When
}

// What policies share with the other files that are read strictly.
type (
	// Position is a place in a policy file.
	Position = strict.Position
	// Error is something wrong in a policy, with its place.
	Error = strict.Error
	// Errors is everything that is wrong in a policy.
	Errors = strict.Errors
	// Param describes one parameter of a stage or of a block.
	Param = strict.Param
)

// Family is the stages of one product, library or provider with everything that is known of them. Policies, commands,
// reports and documentation learn of a stage from its family alone.
type Family struct {
	Name   string // the folder's: "claude"
	Title  string // the product's, for people: "Claude Code"
	Stages []Definition

	// Orders are the orders in which the product runs its stages, each a list of their names.
	Orders [][]string

	// Environment changes a policy as the product's environment variables would; nil: it has none. Variables are their
	// names.
	Environment func(e *Environment)
	Variables   []string

	// ClearsThinking reports whether the server clears the thinking of earlier turns of a model where a request does
	// not say otherwise; nil: never.
	ClearsThinking func(model string) bool

	// KeepsUnanswered reports whether the server keeps the thinking of such a model's turn that ended without a final
	// answer until one is given; nil: never.
	KeepsUnanswered func(model string) bool

	// Recorder is the product's client where its sessions are read; nil: they are not.
	Recorder *Recorder

	// Presets holds the family's built-in policies, NAME.yaml each. A file of a product has its keys product, version and
	// valid each on a line, unquoted, before extends and stages; loading another one fails. Nil: it has none.
	Presets fs.FS

	Aliases []Alias
}

// Alias is another name of a built-in policy, where a product has the same rules.
type Alias struct {
	Name, Policy     string
	Product, Version string // of which it is a release; "": of none
	Valid            Valid
	Former           bool // the policy had this name once: a warning names the present one
}

// MicrocompactionRule is a client's rule for clearing old tool results.
type MicrocompactionRule interface {
	// Leaves reports whether a marked result stays as it is in the view.
	Leaves(v View, texts TextSource, t Target) (bool, error)

	// Stub makes what takes the place of a result.
	Stub(v View, r Result) Content

	// Stage clears what the rule clears, whether its conditions hold or not.
	Stage() Stage
}

// Environment is what environment variables do to a policy.
type Environment struct {
	Policy   *Policy
	Get      func(name string) string
	From     map[string]string // by key: the variable that set it
	Warnings []string
}

// Has reports whether the policy has a parameter.
func (e *Environment) Has(key string) bool {
	_, err := e.Policy.field(key)
	return err == nil
}

// Change sets a parameter that the policy has for a variable. It reports whether the policy takes the value.
func (e *Environment) Change(key, value, variable string) bool {
	if e.Policy.Set(key, value) != nil {
		return false
	}
	e.From[key] = variable
	return true
}

// Warn adds a sentence about a variable that is not followed.
func (e *Environment) Warn(variable, format string, args ...any) {
	e.Warnings = append(e.Warnings, "environment variable "+variable+": "+fmt.Sprintf(format, args...))
}

// Shared are the parameters that stages of the family share, nil for none.
func (f *Family) Shared() *Shared {
	for i := range f.Stages {
		if s := f.Stages[i].Shared; s != nil {
			return s
		}
	}
	return nil
}
