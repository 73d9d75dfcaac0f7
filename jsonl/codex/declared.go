package codex

import "github.com/ctxkit/ctxkit/jsonl/foreign"

// declared is what the reader says of itself.
func declared() foreign.Declared {
	return foreign.Declared{
		Reads:     "rollouts, plain, gzip or zstd",
		Exact:     "tokens of each response, the window, compactions with what they kept",
		Estimated: "calls of the server that compact, up to 0.144; what a search found; before September 2025 all token counts",
	}
}
