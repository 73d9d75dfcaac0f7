// Package langchain has the stages and policies of LangChain.
package langchain

import "github.com/ctxkit/ctxkit/policy"

// Family is LangChain.
func Family() policy.Family {
	return policy.Family{
		Name: "langchain", Title: "LangChain",
		Stages: []policy.Definition{defineClearToolResults(), defineSummarization(), defineTrimMessages()},
	}
}
