// Package openhands has the stages and policies of OpenHands.
package openhands

import "github.com/ctxkit/ctxkit/policy"

// Family is OpenHands.
func Family() policy.Family {
	return policy.Family{Name: "openhands", Title: "OpenHands", Stages: []policy.Definition{defineCondenserEvents()}}
}
