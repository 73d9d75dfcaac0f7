// Package gemini has the stages and policies of Gemini CLI.
package gemini

import "github.com/ctxkit/ctxkit/policy"

// Family is Gemini CLI.
func Family() policy.Family {
	return policy.Family{
		Name: "gemini", Title: "Gemini CLI", Stages: []policy.Definition{defineGeminiCompression(), defineGeminiMasking()},
		Orders: [][]string{{"gemini_compression", "gemini_masking"}},
	}
}
