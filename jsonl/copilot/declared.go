package copilot

import "github.com/ctxkit/ctxkit/jsonl/foreign"

// declared is what the reader says of itself.
func declared() foreign.Declared {
	return foreign.Declared{
		Reads:     "`events.jsonl`",
		Exact:     "output of each request, compactions, since 1.0.102 the whole usage",
		Estimated: "the input before 1.0.102; the context after a compaction",
	}
}
