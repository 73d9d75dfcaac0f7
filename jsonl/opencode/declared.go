package opencode

import "github.com/ctxkit/ctxkit/jsonl/foreign"

// declared is what the reader says of itself.
func declared() foreign.Declared {
	return foreign.Declared{
		Reads:     "the database (1.2 to 2.x), `opencode export`, the older storage folder, early JSON lines",
		Exact:     "tokens and cost of each request and of compactions, prunes, what compactions kept",
		Estimated: "what a provider takes: by its tables of that day",
	}
}
