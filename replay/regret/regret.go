// Package regret finds what a policy threw away too early: blocks of the
// conversation that were gone from the view when the recorded conversation
// used them.
//
// A use is one of three things (docs/internals/model.md has the rules in full):
//
//   - an Edit whose old_string stands in what was read, written or edited of
//     the same file before;
//   - a Read of the same file and range again, the file unchanged in between,
//     where the record's own view had lost the first (else the agent read it
//     again with it before its eyes, and no policy is to blame);
//   - an answer, a tool's input or a typed prompt that quotes names, paths or
//     lines first seen in the block.
//
// A use is a miss where neither the block nor anything else in the view holds
// what was used: another result, the agent's own words, a stub's preview, a
// summary's text. Each block counts at most one miss. A summary without a text
// (fixed: N) holds nothing that can be looked up.
//
// It is deterministic and knows the recorded conversation only: what the agent
// would have done with less is not known, which is what regret makes visible.
package regret

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// Evidence says by what a use was recognised.
type Evidence string

// The kinds of evidence.
const (
	Edited Evidence = "edit"    // an old_string that stands in the block
	Reread Evidence = "re-read" // the same file and range read again
	Quoted Evidence = "quote"   // names, paths or lines first seen in the block
)

// Miss is a block that was gone when it was used.
type Miss struct {
	Message  string      `json:"message"`               // uuid of the message the block stands in
	ToolUse  string      `json:"tool_use_id,omitempty"` // of a tool_result or a tool_use
	Tool     string      `json:"tool,omitempty"`
	Line     int         `json:"line"`            // where the block stands in the file
	Tokens   int         `json:"tokens"`          // that would have been fetched again
	Removed  int         `json:"removed_request"` // n of the first request without it
	Stage    string      `json:"stage"`           // that took it away
	Kind     policy.Kind `json:"kind"`            // what it did
	Needed   int         `json:"needed_request"`  // n of the request that used it
	Evidence Evidence    `json:"evidence"`
	Quote    string      `json:"quote"` // what was used, or a part of it
	UsedBy   string      `json:"used_by"`
	UsedLine int         `json:"used_line"`
	block    int32
}

// Distance is how many requests lie between taking a block away and needing
// it; 0: it was needed at the very request.
func (m *Miss) Distance() int { return m.Needed - m.Removed }

// Result is the regret of one policy over one conversation.
type Result struct {
	Misses         []Miss  `json:"misses"`          // in the order they were needed
	Tokens         int     `json:"refetch_tokens"`  // of the missed blocks
	MedianDistance float64 `json:"median_distance"` // requests, 0 without a miss
	Used           int     `json:"used_blocks"`     // blocks that were used later at all
	Removed        int     `json:"removed_blocks"`  // blocks the policy took away
	BoundMisses    int     `json:"bound_misses"`    // no choice under the same budget has fewer
	BoundTokens    int     `json:"bound_tokens"`    // nor fetches fewer tokens again
}

func median(misses []Miss) float64 {
	if len(misses) == 0 {
		return 0
	}
	d := make([]int, len(misses))
	for i := range misses {
		d[i] = misses[i].Distance()
	}
	slices.Sort(d)
	mid := len(d) / 2
	if len(d)%2 == 1 {
		return float64(d[mid])
	}
	return float64(d[mid-1]+d[mid]) / 2
}

// evictable are the kinds of blocks that are judged: what carries words. The
// reasoning of earlier turns is the server's to drop.
func evictable(k jsonl.Kind) bool {
	return k == jsonl.KindText || k == jsonl.KindToolUse || k == jsonl.KindToolResult
}
