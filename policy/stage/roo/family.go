// Package roo has the stages and policies of Roo Code, and of Kilo Code as long as it was a fork of that.
package roo

import "github.com/ctxkit/ctxkit/policy"

// Family is Roo Code and Kilo Code.
func Family() policy.Family {
	return policy.Family{
		Name: "roo", Title: "Roo Code", Stages: []policy.Definition{defineRooCondense()},
		// Kilo Code's extension up to 5.x, from 2026-02-15 (issue 5887 of Kilo-Org/kilocode, of 5.7.0) to 2026-04-01 (the
		// answer of 2026-04-02 that the new extension is released): src/core/condense/index.ts (commit 0fc86cec) and
		// src/core/context-management/index.ts (commit bf2f3b64). The extension of April 2026 and Kilo's command line are
		// forks of OpenCode, whose policies stand for them: the alias is no release that a bare name could mean.
		Aliases: []policy.Alias{{Name: "kilo-code-5", Policy: "roo-code-3.43"}},
	}
}
