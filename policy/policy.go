// Package policy says what a context-management policy is: data. A Policy is a YAML file of limits and an ordered
// list of stages with parameters; a Stage proposes edits to a View; the engine (package replay) applies them.
//
// Raw messages never change: view = raw + edits.
package policy

import "github.com/ctxkit/ctxkit/policy/strict"

// Policy is a resolved policy: every default spelled out, ready to run.
type Policy struct {
	Name     string
	About    string // one sentence
	Source   string // product, version, where it is written down
	Date     string // of the source, YYYY-MM-DD
	Truth    Truth
	Recorded bool // the engine's own track: what the client really did
	Window   Window
	Cache    Caching
	Stages   []StageConfig
	File     string // where it was read from; "" for a built-in one

	shared []*Shared           // of all families; only those that a stage reads count
	at     map[string]Position // where each key was written, where it was
	files  []string            // it was read from: see Files
	base   *Policy             // what it extends, as that was; nil for none
}

// StageConfig is one stage of a policy with its parameters: a pointer to the parameter struct of its definition.
type StageConfig struct {
	Definition Definition
	Params     any
	Shared     any // the shared parameters its definition names, the policy's own
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
