// Package policy defines a context-management policy as data. A Policy is a YAML file of limits and an ordered list of
// stages with parameters. A Stage proposes edits of a View; package replay applies them and runs the stages.
//
// # Terms
//
// The terms of package session apply: client, chain, main request, raw history, recorded track, on no line. The view,
// or model view, is what a policy leaves of the raw history for the model at one request: view = raw + edits; recorded
// messages never change. An item is a message of the view. The payload is the part of the view that the server
// processes, without content that it clears itself; a payload-only edit changes the payload and not the view. The
// overhead is everything else that each request sends: system prompt, tool definitions and words on no line. The weight
// of an item is its tokens by the counter of the replay (Timeline.Counter of package replay). A round is a response
// with the results of its calls. To prune is to clear old tool results at the end of a turn, as OpenCode does. Regret
// is the content that a policy removed and the session used later. A bare name is a product's name without a version,
// such as claude-code. Requests are numbered from 1.
package policy

import (
	"cmp"
	"fmt"
	"io/fs"
	"time"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// Policy is a resolved policy: every default is written out.
type Policy struct {
	Name     string
	About    string   // one sentence
	Source   string   // product and version that it reproduces, and where that is described
	Differs  string   // how the client differs, in addition to what the stages say (Definition.Differs); "": nothing is known
	Product  string   // bare name of the product whose release it is; "": none
	Version  string   // first release with these rules, or the release that was asked for; the wording (placeholders, prompts) follows it
	Date     string   // date of the commit or release in Source, YYYY-MM-DD
	Valid    Valid    // when the release was current
	Chosen   string   // why a bare name stands for this policy; "": the policy was given by its own name
	Older    bool     // with Chosen: the session is older than the oldest known release, which this is
	Newer    string   // a note that the release is newer than every examined one, or that a newer one exists; part of Chosen where that is set
	Former   []string // former names of the policy, or of one that it extends, that the caller used
	Truth    Truth    // evidence that the policy acts as the product does
	Score    *Score   // for a built-in policy without changed settings that recorded sessions can score; else nil
	Recorded bool     // it is the recorded track: what the client really did
	Window   Window
	Cache    Caching
	Numbers  []Number      // named numbers for its conditions, sorted by name
	Stages   []StageConfig // in the order in which they run
	File     string        // the file; "" for a built-in policy

	asked  string              // the very release that Version is, where it is one; "": Version is the first of several
	shared []*Shared           // of all families; only those that a stage reads count
	at     map[string]Position // where each key was written, where it was
	files  []string            // it was read from: see Files
	base   *Policy             // what it extends, as that was; nil for none
	moving string              // the name by which it, or what it extends, extends a release, where that means another one in another session
}

// As returns p as if it were the release version of its product ("": that of p), with Chosen, Newer and Older set as
// given. The copy shares everything else with p.
func (p *Policy) As(version, chosen, newer string, older bool) *Policy {
	c := *p
	c.Version = cmp.Or(version, p.Version)
	c.Chosen = chosen
	c.Newer = newer
	c.Older = older
	c.asked = version
	return &c
}

// Moving returns the bare name in extends, of the policy or of one that it extends; "": none.
func (p *Policy) Moving() string { return p.moving }

// Extended separates, in Policy.Chosen, the release that a bare name in extends stands for from the reason for it.
const Extended = " is extended: "

// ModelWindow returns the limits that the policy's client assumes for a model on a day, or in the release that As set.
// A zero result means that the model's own limits apply.
func (p *Policy) ModelWindow(model string, day time.Time) (l ModelLimits) {
	for i := range p.Stages {
		if find := p.Stages[i].Definition.Models; find != nil && l.Context == 0 {
			l = find(model, p.asked, day)
		}
	}
	return l
}

// StageConfig is one stage of a policy with its parameters.
type StageConfig struct {
	Definition Definition
	Params     any // pointer to the parameter struct of Definition
	Shared     any // pointer to the policy's values of Definition.Shared
	When       When
}

// What policies share with the other files that are read strictly.
type (
	// Position is a place in a policy file.
	Position = strict.Position
	// Error is an error in a policy, with its position.
	Error = strict.Error
	// Errors is a list of all errors in a policy.
	Errors = strict.Errors
	// Param describes a parameter of a stage or of a block of a policy.
	Param = strict.Param
)

// Family is the stages of one product, library or provider with everything that is known of them. Other packages know a
// stage only through its family.
type Family struct {
	Name   string // name of its folder: "claude"
	Title  string // name of the product: "Claude Code"
	Stages []Definition

	// Orders are the orders in which the product runs its stages, each a list of their names.
	Orders [][]string

	// Environment changes a policy as the product's environment variables would; nil: it has none. Variables lists
	// their names.
	Environment func(e *Environment)
	Variables   []string

	// ClearsThinking reports whether the server drops, by default, the thinking of earlier turns for this model; nil:
	// never.
	ClearsThinking func(model string) bool

	// KeepsUnanswered reports whether, for a model with ClearsThinking, the server keeps the thinking of a turn that
	// ended without a final answer until a later turn gives one; nil: never.
	KeepsUnanswered func(model string) bool

	// Recorder is the product's client, where its sessions can be read; else nil.
	Recorder *Recorder

	// Presets holds the built-in policies of the family, each in a file NAME.yaml; nil: none. In a file that belongs to
	// a product, the keys product, version and valid each stand on one line, unquoted, before extends and stages. A
	// file that does not follow this rule fails to load.
	Presets fs.FS

	Aliases []Alias // other names of its built-in policies
}

// Alias is another name of a built-in policy, such as a release with the same rules.
type Alias struct {
	Name, Policy     string
	Product, Version string // the release that the name stands for; "": none
	Valid            Valid
	Former           bool // a former name of the policy; its use gives a warning with the present name
}

// MicrocompactionRule is a client's rule for clearing old tool results (microcompaction).
type MicrocompactionRule interface {
	// Leaves reports whether the rule lists a result as cleared but does not change it, for example one that is a
	// placeholder already.
	Leaves(v View, texts TextSource, t Target) (bool, error)

	// Stub returns the content that takes the place of a result.
	Stub(v View, r Result) Content

	// Stage returns a stage that clears what the rule clears, whether or not its conditions hold.
	Stage() Stage
}

// Environment applies environment variables to a policy.
type Environment struct {
	Policy   *Policy                  // the policy, which Change changes
	Get      func(name string) string // value of an environment variable; "": not set
	From     map[string]string        // by key of a parameter: the variable that set it
	Warnings []string                 // what Warn adds
}

// Has reports whether the policy has the parameter key.
func (e *Environment) Has(key string) bool {
	_, err := e.Policy.field(key)
	return err == nil
}

// Change sets the parameter key, which the policy has, to the value of a variable. It reports whether the policy
// accepts the value.
func (e *Environment) Change(key, value, variable string) bool {
	if e.Policy.Set(key, value) != nil {
		return false
	}
	e.From[key] = variable
	return true
}

// Warn adds a warning about a variable that is ignored.
func (e *Environment) Warn(variable, format string, args ...any) {
	e.Warnings = append(e.Warnings, "environment variable "+variable+": "+fmt.Sprintf(format, args...))
}

// Shared returns the parameters that stages of the family share; nil: none.
func (f *Family) Shared() *Shared {
	for i := range f.Stages {
		if s := f.Stages[i].Shared; s != nil {
			return s
		}
	}
	return nil
}
