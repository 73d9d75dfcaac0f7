package codex

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// allResults sums up the results in view as items join it: a compaction that fails although all of them are left out is
// tried again at each request.
type allResults struct {
	seen   measure.Follower
	tokens int
	oldest *policy.Target // the last result of the first message with any
}

// without is how many tokens the results have that no item of a list holds, and the oldest of them; nil: there are none.
// ok is false where the list holds the oldest result of the view: then it is not known.
func (r *allResults) without(v policy.View, keep []policy.ItemID) (tokens int, oldest *policy.Target, ok bool) {
	joined, anew := r.seen.Arrived(v, func(e policy.Edit) bool { return e.Moves() || e.New != nil })
	if anew {
		r.tokens = 0
		r.oldest = nil
	}
	for _, id := range joined {
		n, last := resultsOf(v, id)
		if r.tokens += n; r.oldest == nil {
			r.oldest = last
		}
	}
	if r.oldest != nil && slices.Contains(keep, r.oldest.Item) {
		return 0, nil, false
	}
	tokens = r.tokens
	for _, id := range keep {
		n, _ := resultsOf(v, id)
		tokens -= n
	}
	return tokens, r.oldest, true
}

// resultsOf is how many tokens the results of an item have, and the last of them; nil: it has none.
func resultsOf(v policy.View, id policy.ItemID) (tokens int, last *policy.Target) {
	for t := range policy.Targets(v, id) {
		if v.Kind(t) == jsonl.KindToolResult {
			tokens += v.BlockTokens(t)
			last = &t
		}
	}
	return tokens, last
}
