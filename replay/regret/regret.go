// Package regret finds the blocks that a policy removed too early: they were not in the view when the recorded
// conversation used them.
//
// A use is one of three things (docs/internals/model.md has the rules in full):
//
//   - an Edit whose old_string occurs in what was read, written or edited of
//     the same file before;
//   - a Read of the same file and range again, with the file unchanged in
//     between, where the recorded view had lost the first result (otherwise the
//     agent read it again although it had it, and no policy is to blame);
//   - a response, a tool's input or a typed prompt that quotes names, paths or
//     lines first seen in the block.
//
// A use is a miss if neither the block nor anything else in the view holds what was used: another result, the agent's
// own words, a stub's preview, a summary's text. Each block counts at most one miss. A summary without text (fixed:
// N) holds nothing.
//
// The result is deterministic. What the agent would have done with a smaller view is not known.
package regret

import (
	"slices"
	"sort"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// Evidence says how a use was recognised.
type Evidence string

// The kinds of evidence.
const (
	Edited Evidence = "edit"    // an old_string that the block holds
	Reread Evidence = "re-read" // the same file and range read again
	Quoted Evidence = "quote"   // names, paths or lines first seen in the block
)

// Miss is a block that was not in the view when it was used.
type Miss struct {
	Message  string          `json:"message"`               // uuid of the message with the block
	ToolUse  string          `json:"tool_use_id,omitempty"` // of a tool_result or a tool_use
	Tool     string          `json:"tool,omitempty"`
	Line     int             `json:"line"`            // of the block in the file
	Tokens   int             `json:"tokens"`          // to fetch it again
	Removed  int             `json:"removed_request"` // n of the first request without it
	Stage    string          `json:"stage"`           // that removed it
	Kind     policy.EditKind `json:"kind"`            // of the edit that removed it
	Needed   int             `json:"needed_request"`  // n of the request that used it
	Evidence Evidence        `json:"evidence"`
	Quote    string          `json:"quote"` // what was used, or a part of it
	UsedBy   string          `json:"used_by"`
	UsedLine int             `json:"used_line"`
	block    int32
}

// Distance is the number of requests between the removal of a block and its use; 0 if it was needed at the very
// request.
func (m *Miss) Distance() int { return m.Needed - m.Removed }

// Regret is the regret of one policy over one conversation.
type Regret struct {
	Misses         []Miss  `json:"misses"`          // in the order they were needed
	Tokens         int     `json:"refetch_tokens"`  // of the missed blocks
	MedianDistance float64 `json:"median_distance"` // requests, 0 without a miss
	Used           int     `json:"used_blocks"`     // blocks that were used later at all
	Removed        int     `json:"removed_blocks"`  // blocks that the policy removed
	BoundMisses    int     `json:"bound_misses"`    // no choice under the same budget has fewer
	BoundTokens    int     `json:"bound_tokens"`    // nor fetches fewer tokens again
}

func median(misses []Miss) float64 {
	d := make([]int, len(misses))
	for i := range misses {
		d[i] = misses[i].Distance()
	}
	slices.Sort(d)
	if len(d) == 0 {
		return 0
	}
	return float64(d[(len(d)-1)/2]+d[len(d)/2]) / 2
}

// evictable reports whether blocks of a kind are judged: those that carry words. The server decides about the
// reasoning of earlier turns.
func evictable(k jsonl.Kind) bool {
	return k == jsonl.KindText || k == jsonl.KindToolUse || k == jsonl.KindToolResult
}

// window is a stretch of requests with the blocks that are needed in it. Its bound can be computed for any budget.
type window struct {
	footprints []int  // sums of the smallest one, two … footprints
	shortest   []part // the needed blocks, the shortest stretches first
	tokens     int    // of all needed blocks
}

// part is a needed block in a window, with sums up to and including it.
type part struct {
	tokens, length    int // of this one
	sum, sumFootprint int
}

// newWindow returns the window of the requests from, to (both included) and its size in bytes.
func newWindow(needed []need, from, to int) (*window, int) {
	w := &window{}
	for _, n := range needed {
		if l := min(n.to, to) - max(n.from, from) + 1; l > 0 {
			w.shortest = append(w.shortest, part{tokens: n.tokens, length: l})
			w.footprints = append(w.footprints, n.tokens*l)
			w.tokens += n.tokens
		}
	}
	slices.Sort(w.footprints)
	for i := 1; i < len(w.footprints); i++ {
		w.footprints[i] += w.footprints[i-1]
	}
	slices.SortFunc(w.shortest, func(a, b part) int { return a.length - b.length })
	sum, footprint := 0, 0
	for i := range w.shortest {
		p := &w.shortest[i]
		sum += p.tokens
		footprint += p.tokens * p.length
		p.sum, p.sumFootprint = sum, footprint
	}
	return w, 40 * len(w.shortest)
}

// bound returns the fewest blocks, and the fewest tokens, that do not fit a budget. The budget is in tokens times
// requests.
func (w *window) bound(budget int) (misses, tokens int) {
	fit := sort.Search(len(w.footprints), func(i int) bool { return w.footprints[i] > budget })
	whole := sort.Search(len(w.shortest), func(i int) bool { return w.shortest[i].sumFootprint > budget })
	kept, left := 0, budget
	if whole > 0 {
		kept, left = w.shortest[whole-1].sum, budget-w.shortest[whole-1].sumFootprint
	}
	if whole < len(w.shortest) {
		// The kept part of a block is rounded up: a bound must not be too high.
		length := w.shortest[whole].length
		kept += (left + length - 1) / length
	}
	return len(w.footprints) - fit, max(w.tokens-kept, 0)
}
