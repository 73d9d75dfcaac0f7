package gemini

import "github.com/ctxkit/ctxkit/jsonl/foreign"

// declared is what the reader says of itself.
func declared() foreign.Declared {
	return foreign.Declared{
		Reads:     "chats: one document, or JSON lines",
		Exact:     "tokens of each request, with the cache that it read",
		Estimated: "the request of a compression; writes to the cache",
	}
}
