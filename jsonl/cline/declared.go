package cline

import "github.com/ctxkit/ctxkit/jsonl/foreign"

// declared is what the reader says of itself.
func declared() foreign.Declared {
	return foreign.Declared{
		Reads:     "task folders: `api_conversation_history.json` and `ui_messages.json`",
		Exact:     "tokens and cost of each request, messages that are left out or summed up",
		Estimated: "the request that summarises",
	}
}
