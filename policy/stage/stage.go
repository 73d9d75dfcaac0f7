// Package stage lists the families of stages. Each folder is one: a product, a library or a provider, with its stages
// (one file and one function defineX each), their texts and limits, and its built-in policies (*.yaml). The lists are
// generated.
//
// Package measure has the lengths and estimates that several families use, summarize what a summary is made of,
// stagetest a bench for the tests of stages.
package stage

import "github.com/ctxkit/ctxkit/policy"

//go:generate go run ../../scripts/genstages .

// Registry holds the stages and policies of all families.
func Registry() (policy.Registry, error) { return policy.NewRegistry(Families()...) }
