package pi

import "github.com/ctxkit/ctxkit/jsonl/foreign"

// declared is what the reader says of itself.
func declared() foreign.Declared {
	return foreign.Declared{
		Reads:     "session files of versions 1 to 3",
		Exact:     "tokens and cost of each request, branches, compactions with what they kept",
		Estimated: "the requests that summarise, in older versions",
	}
}
