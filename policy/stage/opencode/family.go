// Package opencode reproduces how OpenCode manages the context of a session: which tool outputs it clears (prune),
// when it compacts (overflow) and what is visible after a compaction.
//
// Three versions are reproduced: 1.1.36 (commit 8c4bf225), 1.18.3 and 1.18.34. What differs between them is data in a
// version. "Section" in a comment is a section of docs/internals/opencode.md.
//
// The files reference_*_test.go reproduce OpenCode on its own message store: the prompt loop, the visible messages
// and what the model is sent, with the stages' own arithmetic where they have it. testdata/cases holds inputs with
// the answers of OpenCode's own code in each version; the tests compare the reference with those answers, and the
// stages with the reference.
package opencode

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is OpenCode.
func Family() policy.Family {
	return policy.Family{
		Name: "opencode", Title: "OpenCode", Stages: stages(), Environment: environment, Presets: presets,
		Orders: [][]string{{"opencode_truncate", "opencode_prune"}, {"opencode_truncate", "opencode_compaction"}},
	}
}
