// Package program has the stage that asks a program of the user's.
package program

import "github.com/ctxkit/ctxkit/policy"

// Family is programs.
func Family() policy.Family {
	return policy.Family{Name: "program", Title: "Your own program", Stages: []policy.Definition{defineProgram()}}
}
