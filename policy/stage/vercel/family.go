// Package vercel has the stage of Vercel's AI SDK.
package vercel

import "github.com/ctxkit/ctxkit/policy"

// Family is the AI SDK.
func Family() policy.Family {
	return policy.Family{Name: "vercel", Title: "Vercel AI SDK", Stages: []policy.Definition{definePruneMessages()}}
}
