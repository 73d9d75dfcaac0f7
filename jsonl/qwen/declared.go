package qwen

import "github.com/ctxkit/ctxkit/jsonl/foreign"

// declared is what the reader says of itself.
func declared() foreign.Declared {
	return foreign.Declared{
		Reads:     "chats",
		Exact:     "tokens of each request, with the cache that it read, branches, compressions with what they kept",
		Estimated: "the request of a compression",
	}
}
