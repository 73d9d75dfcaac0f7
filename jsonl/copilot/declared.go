package copilot

import "github.com/ctxkit/ctxkit/jsonl/foreign"

// Declared is what the reader says of itself.
func Declared() foreign.Declared {
	return foreign.Declared{
		Reads:     "`events.jsonl`",
		Exact:     "output of each request, compactions, since 1.0.102 the whole usage",
		Estimated: "the input before 1.0.102; the context after a compaction",
	}
}
