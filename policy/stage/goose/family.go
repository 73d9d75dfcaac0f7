// Package goose has the stages and policies of Goose.
package goose

import "github.com/ctxkit/ctxkit/policy"

// Family is Goose.
func Family() policy.Family {
	return policy.Family{
		Name: "goose", Title: "Goose", Stages: []policy.Definition{defineGooseCompaction(), defineGooseToolPairs()},
		Orders: [][]string{{toolPairsName, compactionName}},
	}
}
