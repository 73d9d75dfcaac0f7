package policy

import "io/fs"

// Family is the stages of one product, library or provider with everything
// that is known of them. Policies, commands, reports and documentation learn of
// a stage from its family alone.
type Family struct {
	Name   string // the folder's: "claude"
	Title  string // the product's, for people: "Claude Code"
	Stages []Definition

	// Orders are the orders in which the product runs its stages, each a list
	// of their names.
	Orders [][]string

	// Presets holds the family's built-in policies, NAME.yaml each, and
	// index.yaml with their other names. Nil: it has none.
	Presets fs.FS
}
