// Package policy defines a context-management policy as data. A policy is written as a YAML file with settings and an
// ordered list of stages with parameters; Decode reads it as a Policy. A Stage looks at a View and proposes edits of it. Package replay runs the stages and applies
// the edits.
//
// # Terms
//
// The terms of package session apply: client, chain, main request, raw history, recorded track. The view, or model
// view, is what a policy leaves of the raw history for the model at one request: the raw history changed by edits.
// Recorded messages never change. An item is a message of the view. The payload is the part of the view that the server
// processes: the view without the content that the server itself clears. A payload-only edit changes the payload and
// not the view. The overhead is everything else that each request sends: system prompt, tool definitions and words that
// no line of the file records. Tokens are counted with the counter of the replay (Timeline.Counter of package replay),
// except where they are called the client's. The weight of an item is its number of tokens. A round is a response with
// the results of its calls. To prune is to clear old tool results at the end of a turn, as OpenCode does. Regret is the
// content that a policy removed and the session used later. A bare name is a product's name without a version, such as
// claude-code. Requests are numbered from 1.
package policy

import (
	"cmp"
	"fmt"
	"io/fs"
	"time"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// Policy is a context-management policy. Each of its settings has a value: settings that the policy file leaves out
// have their defaults.
type Policy struct {
	Name     string
	About    string   // one sentence
	Source   string   // product and version that the policy reproduces, and where these are described
	Differs  string   // how the client differs from the policy, in addition to what Definition.Differs says for each stage; "": no difference is known
	Product  string   // bare name of the product for whose release the policy stands; "": none
	Version  string   // first release with these rules, or the release that was asked for; placeholders and prompts have the wording of this release
	Date     string   // date of the commit or release in Source, YYYY-MM-DD
	Valid    Valid    // when the release was current
	Chosen   string   // why a bare name stands for this policy; "": the policy was given by its own name
	Older    bool     // with Chosen: the session is older than every release for which there is a built-in policy; this policy is that of the oldest of these releases
	Newer    string   // a note that Version is newer than every examined release, or that a newer policy of the product exists; Chosen contains the same note
	Former   []string // former names that the caller used for the policy or for a policy that it extends
	Truth    Truth    // evidence that the policy acts as the product does
	Score    *Score   // how well the policy predicts recorded sessions; nil: not known, or settings were changed
	Recorded bool     // it is the policy of the recorded track: it does what the client really did
	Window   Window
	Cache    Caching
	Numbers  []Number      // named numbers for its conditions, sorted by name
	Stages   []StageConfig // in the order in which they run
	File     string        // name of the file; "" for a built-in policy

	asked  string              // the very release that Version is, where it is one; "": Version is the first of several
	shared []*Shared           // of all families; only those that a stage reads count
	at     map[string]Position // where each key was written, where it was
	files  []string            // it was read from: see Files
	base   *Policy             // what it extends, as that was; nil for none
	moving string              // the name by which it, or what it extends, extends a release, where that means another one in another session
}

// As returns a copy of p with the given Chosen, Newer and Older. If version is not "", it is the Version of the copy.
// The copy shares everything else with p.
func (p *Policy) As(version, chosen, newer string, older bool) *Policy {
	c := *p
	c.Version = cmp.Or(version, p.Version)
	c.Chosen = chosen
	c.Newer = newer
	c.Older = older
	c.asked = version
	return &c
}

// Moving returns the bare name that the policy extends, directly or through another policy, or "". Which policy the
// bare name stands for depends on the session and on the built-in policies.
func (p *Policy) Moving() string { return p.moving }

// Extended is the text in Policy.Chosen between two parts: the release that the bare name under the key "extends"
// stands for, and the reason why.
const Extended = " is extended: "

// ModelWindow returns the limits that the policy's client assumes for a model on a day. For a policy that the method As
// made for a version, they are the limits in that version of the client instead. A zero result means that the model's
// own limits apply.
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
	// Param describes a parameter of a stage or of a section of a policy file.
	Param = strict.Param
)

// Family is the stages of one product, library or provider, with everything that is known of them. Other packages know
// a stage only through its family.
type Family struct {
	Name   string // name of its folder: "claude"
	Title  string // name of the product: "Claude Code"
	Stages []Definition

	// Orders are the orders in which the product runs its stages. Each is a list of names of stages.
	Orders [][]string

	// Environment changes a policy as the environment variables of the product would; nil: the product has none.
	// Variables lists their names.
	Environment func(e *Environment)
	Variables   []string

	// ClearsThinking reports whether the server, by default, drops the thinking of earlier turns for a model. Nil means
	// that it never does.
	ClearsThinking func(model string) bool

	// KeepsUnanswered is about models for which ClearsThinking is true and turns that ended without a final answer. It
	// reports whether the server keeps the thinking of such a turn until a later turn ends with a final answer. Nil
	// means that it never does.
	KeepsUnanswered func(model string) bool

	// Recorder describes the product's client; nil: the product's sessions cannot be read.
	Recorder *Recorder

	// Presets holds the built-in policies of the family, each in a file NAME.yaml; nil: none. In the file of a policy with
	// a product, the keys "product", "version" and "valid" must each be on one line, without quotes, before the keys
	// "extends" and "stages". A file that violates this rule fails to load.
	Presets fs.FS

	Aliases []Alias // other names of its built-in policies
}

// Alias is another name of a built-in policy, for example the name of a later release with the same rules.
type Alias struct {
	Name, Policy     string
	Product, Version string // the release that the name stands for; "": none
	Valid            Valid
	Former           bool // the name is a former name of the policy: a program that reads it warns and says the present name
}

// MicrocompactionRule is a client's rule for clearing old tool results (microcompaction).
type MicrocompactionRule interface {
	// Leaves reports whether the client records a result as cleared and yet leaves its text as it is, for example
	// because the text is already a placeholder.
	Leaves(v View, texts TextSource, t Target) (bool, error)

	// Stub returns the content that takes the place of a result.
	Stub(v View, r Result) Content

	// Stage returns a stage that clears what the rule clears, even if the conditions of the rule are not met.
	Stage() Stage
}

// Environment applies environment variables to a policy.
type Environment struct {
	Policy   *Policy                  // the policy, which Change changes
	Get      func(name string) string // returns the value of an environment variable; "": not set
	From     map[string]string        // the variable that set a parameter, by the key of the parameter
	Warnings []string                 // the warnings that Warn has added
}

// Has reports whether the policy has a parameter with this key.
func (e *Environment) Has(key string) bool {
	_, err := e.Policy.field(key)
	return err == nil
}

// Change sets the parameter with this key, which the policy must have, to a value that comes from an environment
// variable. It reports whether the policy accepts the value.
func (e *Environment) Change(key, value, variable string) bool {
	if e.Policy.Set(key, value) != nil {
		return false
	}
	e.From[key] = variable
	return true
}

// Warn adds a warning about an environment variable that is ignored.
func (e *Environment) Warn(variable, format string, args ...any) {
	e.Warnings = append(e.Warnings, "environment variable "+variable+": "+fmt.Sprintf(format, args...))
}

// Shared returns the parameters that several stages of the family share; nil: none.
func (f *Family) Shared() *Shared {
	for i := range f.Stages {
		if s := f.Stages[i].Shared; s != nil {
			return s
		}
	}
	return nil
}
