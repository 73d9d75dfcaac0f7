// Package tokens counts the tokens of blocks.
//
// Counters: heuristic is the agents' own estimate (UTF-16 length / 4); usage is calibrated to what the API reported
// for the session; o200k_base and cl100k_base are OpenAI's encodings, exact for its models and an estimate for
// others.
package tokens

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Names of the counters.
const (
	NameHeuristic = "heuristic"
	NameUsage     = "usage"
)

// ImageTokens is the agents' estimate of an image in a tool_result (analysis of Claude Code 2.1.19).
const ImageTokens = 2000

// DefaultOverhead is the system prompt (2.2k) and tools (16.6k) of Claude Code 2.1.19's /context, for sessions
// without usage.
const DefaultOverhead = 18800

// WeightTable holds the weight of every block of a conversation, in tokens.
type WeightTable struct {
	conv   *session.Conversation
	start  []int32 // start[m] is the index of message m's first block in weight
	weight []int32
	scale  func(k jsonl.Kind, n jsonl.Metrics) int // for texts that a policy put in
	count  func(text string) int                   // the same for a known text, or nil
	stubs  map[policy.Target]int                   // weight of the recorded stub of a result that was read back
}

func newTable(conv *session.Conversation, scale func(jsonl.Kind, jsonl.Metrics) int) *WeightTable {
	t := &WeightTable{conv: conv, start: make([]int32, len(conv.Messages)+1), scale: scale}
	n := 0
	for m := range conv.Messages {
		t.start[m] = int32(n)
		n += len(conv.Messages[m].Blocks)
	}
	t.start[len(conv.Messages)] = int32(n)
	t.weight = make([]int32, n)
	return t
}

// beside returns a table without weights for the same conversation.
func (t *WeightTable) beside(scale func(jsonl.Kind, jsonl.Metrics) int) *WeightTable {
	return &WeightTable{conv: t.conv, start: t.start, weight: make([]int32, len(t.weight)), scale: scale}
}

// Block is the weight of a recorded block, in tokens.
func (t *WeightTable) Block(message, block int) int {
	return int(t.weight[int(t.start[message])+block])
}

// Message is the weight of a whole recorded message, in tokens.
func (t *WeightTable) Message(message int) int {
	n := 0
	for _, w := range t.weight[t.start[message]:t.start[message+1]] {
		n += int(w)
	}
	return n
}

// Content is the weight of a text a policy put in, in tokens.
func (t *WeightTable) Content(c *policy.Content) int {
	switch {
	case c.Tokens > 0:
		return c.Tokens
	case c.Ref != nil && c.Stub:
		if w, ok := t.stubs[*c.Ref]; ok {
			return w
		}
	case c.Ref != nil:
		return t.Block(int(c.Ref.Item), c.Ref.Block)
	case c.HasText() && t.count != nil:
		return t.count(c.Whole())
	}
	return t.scale(c.Kind, c.Length)
}

func (t *WeightTable) set(message, block, w int) {
	t.weight[int(t.start[message])+block] = int32(min(max(w, 0), 1<<30))
}

// Estimate is the client's own estimate of one block: round(chars/4) of its text; for a tool_use, of name and input;
// for an array result, of each text part, plus ImageTokens per image.
func Estimate(b *session.Block) int {
	switch b.Kind {
	case jsonl.KindToolUse, jsonl.KindServerToolUse:
		return policy.RoundQuarter(len(b.Name) + b.JSON.UTF16)
	case jsonl.KindImage, jsonl.KindDocument:
		return ImageTokens
	case jsonl.KindToolResult:
		if !b.IsString && b.Offload == nil && len(b.Parts) > 0 {
			n := 0
			for _, p := range b.Parts {
				switch p.Kind {
				case jsonl.KindText:
					n += policy.RoundQuarter(p.Text.UTF16)
				case jsonl.KindImage:
					n += ImageTokens
				}
			}
			return n
		}
		return policy.RoundQuarter(b.Whole().UTF16)
	case jsonl.KindUnknown, jsonl.KindToolReference, jsonl.KindRedactedThinking:
		return policy.RoundQuarter(b.JSON.UTF16)
	}
	return policy.RoundQuarter(b.Text.UTF16)
}

// Heuristic is the table of client estimates for the same conversation.
func (t *WeightTable) Heuristic() *WeightTable {
	h := t.beside(func(_ jsonl.Kind, n jsonl.Metrics) int { return policy.RoundQuarter(n.UTF16) })
	for m := range t.conv.Messages {
		for b := range t.conv.Messages[m].Blocks {
			h.set(m, b, Estimate(&t.conv.Messages[m].Blocks[b]))
		}
	}
	return h
}
