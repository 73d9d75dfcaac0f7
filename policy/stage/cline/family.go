// Package cline has the stages and policies of Cline.
package cline

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is Cline.
func Family() policy.Family {
	return policy.Family{
		Name: "cline", Title: "Cline",
		Stages: []policy.Definition{
			defineClineCompaction(),
			defineClineOutdatedReads(),
			defineClineTruncate(),
			defineClineTruncation(),
		},
		Presets: presets,
		Orders:  [][]string{{"cline_truncate", "cline_outdated_reads", "cline_compaction"}},
	}
}
