// Package generic has the stages and policies that belong to no product.
package generic

import "github.com/ctxkit/ctxkit/policy"

// Family is the stages and policies of no product.
func Family() policy.Family {
	return policy.Family{
		Name: "generic", Title: "Generic",
		Stages: []policy.Definition{
			defineDecay(),
			defineDedupe(),
			defineDropImages(),
			defineDropThinking(),
			defineMask(),
			defineSummarize(),
			defineSupersede(),
			defineTruncateResults(),
		},
	}
}
