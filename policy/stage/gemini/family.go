// Package gemini has the stages and policies of Gemini CLI.
package gemini

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is Gemini CLI.
func Family() policy.Family {
	return policy.Family{
		Name: "gemini", Title: "Gemini CLI", Stages: []policy.Definition{defineGeminiCompression(), defineGeminiMasking()}, Presets: presets,
		Orders: [][]string{{"gemini_compression", "gemini_masking"}},
	}
}
