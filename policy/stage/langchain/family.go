// Package langchain has the stages and policies of LangChain.
package langchain

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is LangChain.
func Family() policy.Family {
	return policy.Family{
		Name: "langchain", Title: "LangChain",
		Stages:  []policy.Definition{defineClearToolResults(), defineSummarization(), defineTrimMessages()},
		Presets: presets,
	}
}
