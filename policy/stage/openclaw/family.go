// Package openclaw has the stages and policies of OpenClaw.
package openclaw

import "github.com/ctxkit/ctxkit/policy"

// Family is OpenClaw.
func Family() policy.Family {
	return policy.Family{Name: "openclaw", Title: "OpenClaw", Stages: []policy.Definition{defineCacheTTLPrune()}}
}
