package opencode

import (
	_ "embed" // the prompt
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// compactionRequest is the message that asks for the summary. OpenCode 1.1.36: section 8.
//
//go:embed compaction_prompt_1.1.36.txt
var compactionRequest string

// Request is what the compaction's call is sent. OpenCode 1.1.36 sends every visible message, the compaction message
// and a prompt; 1.18 the head as text, tool outputs cut, inside a prompt whose text is not known here. Section 8.
func (s *opencodeCompaction) Request(c *policy.Context, _ *policy.Edit) (policy.CallRequest, error) {
	if !s.version.KeepsTail {
		ask := policy.Asking(compactionRequest, s.Prompt)
		ask.Insert = append([]policy.Synthetic{compactionMessage()}, ask.Insert...)
		return policy.CallRequest{Edits: []policy.Edit{ask}, Unknown: "its system prompt, the compaction agent's, is counted and not shown"}, nil
	}
	r := policy.CallRequest{Unknown: "the messages are sent as text inside the prompt, with an earlier summary in a section of its own"}
	head, _ := s.tail(c)
	sent := map[policy.ItemID]bool{}
	for _, id := range head {
		sent[id] = true
		for t := range policy.Targets(c.View, id) {
			if c.View.Kind(t) != jsonl.KindToolResult || c.View.Length(t).UTF16 <= summarisedOutput {
				continue
			}
			text, err := c.Texts.Text(t)
			if err != nil {
				return r, err
			}
			content := policy.NewContent(jsonl.KindToolResult, measure.FirstUnits(text, summarisedOutput)+"\n[truncated]")
			content.Partial = true
			r.Edits = append(r.Edits, policy.Edit{
				Kind: policy.KindTruncate, Target: t, New: &content, Reason: fmt.Sprintf("cut at %d characters", summarisedOutput),
			})
		}
	}
	if kept := slices.DeleteFunc(c.View.IDs(), func(id policy.ItemID) bool { return sent[id] }); len(kept) > 0 {
		r.Edits = append(r.Edits, policy.Edit{Kind: policy.KindRemove, Items: kept, Reason: "it is no part of what is summarized"})
	}
	r.Edits = append(r.Edits, policy.Asking("", s.Prompt))
	return r, nil
}
