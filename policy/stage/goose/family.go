// Package goose has the stages and policies of Goose.
package goose

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is Goose.
func Family() policy.Family {
	return policy.Family{
		Name: "goose", Title: "Goose", Stages: []policy.Definition{defineGooseCompaction(), defineGooseToolPairs()}, Presets: presets,
		Orders: [][]string{{toolPairsName, compactionName}},
	}
}
