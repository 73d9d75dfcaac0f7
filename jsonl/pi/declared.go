package pi

import "github.com/ctxkit/ctxkit/jsonl/foreign"

// Declared is what the reader says of itself.
func Declared() foreign.Declared {
	return foreign.Declared{
		Reads:     "session files of versions 1 to 3",
		Exact:     "tokens and cost of each request, branches, compactions with what they kept",
		Estimated: "the requests that summarise, in older versions",
	}
}
