package policy

import (
	"fmt"
	"io/fs"
)

// Family is the stages of one product, library or provider with everything that is known of them. Policies, commands,
// reports and documentation learn of a stage from its family alone.
type Family struct {
	Name   string // the folder's: "claude"
	Title  string // the product's, for people: "Claude Code"
	Stages []Definition

	// Orders are the orders in which the product runs its stages, each a list of their names.
	Orders [][]string

	// Environment changes a policy as the product's environment variables would; nil: it has none.
	Environment func(e *Environment)

	// ClearsThinking reports whether the server clears the thinking of earlier turns of a model where a request does
	// not say otherwise; nil: never.
	ClearsThinking func(model string) bool

	// Microcompaction is the rule by which the product's client microcompacts, for sessions that record one and not
	// what it left; nil: it has none.
	Microcompaction MicrocompactionRule

	// Presets holds the family's built-in policies, NAME.yaml each, and index.yaml with their other names. Nil: it
	// has none.
	Presets fs.FS
}

// MicrocompactionRule is a client's rule for clearing old tool results.
type MicrocompactionRule interface {
	// Leaves reports whether a marked result stays as it is in the view.
	Leaves(v View, texts TextSource, t Target) (bool, error)

	// Stub is the text that takes the place of a result.
	Stub(v View, r Result) string

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
