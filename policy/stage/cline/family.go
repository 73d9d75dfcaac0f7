// Package cline has the stages and policies of Cline.
package cline

import "github.com/ctxkit/ctxkit/policy"

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
		Orders: [][]string{{"cline_truncate", "cline_outdated_reads", "cline_compaction"}},
	}
}
