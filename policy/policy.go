// Package policy says what a context-management policy is: data. A Policy is
// a YAML file of limits and an ordered list of stages with parameters; a
// Stage proposes edits to a View; the engine (package replay) applies them.
//
// Raw messages never change: view = raw + edits.
package policy

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

	at    map[string]Position // where each key was written, where it was
	files []string            // it was read from: see Files
	base  *Policy             // what it extends, as that was; nil for none
}

// StageConfig is one stage of a policy with its parameters: a pointer to the
// parameter struct of its definition.
type StageConfig struct {
	Definition Definition
	Params     any
}

// Position is a place in a policy file, 1-based.
type Position struct {
	File         string
	Line, Column int
}

// Error is something wrong in a policy, with its place.
type Error struct {
	Position
	Msg  string
	Hint string // what to do
}
