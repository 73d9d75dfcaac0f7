// Package regret finds the blocks that a policy removed too early: they were not in the view when the recorded
// conversation used them.
//
// A use is one of three things (docs/internals/model.md has the rules in full):
//
//   - an Edit, or sed in place, whose old text occurs in what was read, written
//     or edited of the same file before;
//   - the same again: a Read or a command that shows a file, with the file
//     unchanged in between, any other call with the same result, a sentence of a
//     person, where the recorded view had lost the first one (otherwise the agent
//     asked again although it had it, and no policy is to blame);
//   - a response, a tool's input or a typed prompt that quotes names, paths or
//     lines first seen in the block.
//
// A block is needed later at a use if the block and everything else in the view lack what was used: another result, the
// agent's own words, a stub's preview, a summary's text. Each line of what is read again may stand in another of these.
// Each block counts at most once. A placeholder of a summary holds the words of the recorded one before it, where it
// is typical, and else nothing.
//
// The result is deterministic. What the agent would have done with a smaller view is not known.
package regret

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Evidence says how a use was recognised.
type Evidence string

// The kinds of evidence.
const (
	Edited Evidence = "edit"    // an old_string that the block holds
	Reread Evidence = "re-read" // a file read again, a call made again, a sentence said again
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
	Offset   int             `json:"used_offset"`  // of the quote in the text of the use, bytes
	USD      price.USD       `json:"usd,omitzero"` // of getting it back
}

// Distance is the number of requests between the removal of a block and its use; 0 if it was needed at the very
// request.
func (m *Miss) Distance() int { return m.Needed - m.Removed }

// Regret is the regret of one policy over one conversation.
type Regret struct {
	Misses  []Miss    `json:"misses"`         // in the order they were needed
	Tokens  int       `json:"refetch_tokens"` // of the missed blocks
	USD     price.USD `json:"refetch_usd,omitzero"`
	Removed int       `json:"removed_blocks"` // results and messages that the policy removed

	MedianDistance float64 `json:"median_distance"` // requests, 0 without a block needed later
}

// Count is the number of blocks needed later with evidence of one kind.
func (r *Regret) Count(e Evidence) (n int) {
	for i := range r.Misses {
		if r.Misses[i].Evidence == e {
			n++
		}
	}
	return n
}

// Cost is the cost of getting all of them back; not known where that of one is not.
func (r *Regret) Cost() price.USD {
	sum := price.USD{Known: true}
	for i := range r.Misses {
		if !r.Misses[i].USD.Known {
			return price.USD{}
		}
		sum.Add(r.Misses[i].USD)
	}
	return sum
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
