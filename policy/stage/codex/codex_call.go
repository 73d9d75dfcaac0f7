package codex

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// call is the compaction's own request: the history and the prompt. While it exceeds the window the oldest message is
// dropped, a call with its results.
func (s *codexCompaction) call(c *policy.Context, keep []policy.ItemID) (call *policy.Call, dropped int) {
	if s.Form != formLocal {
		return s.remoteCall(c, keep), 0
	}
	v := c.View
	input := c.Before + s.Prompt
	for _, id := range keep {
		input -= v.Weight(id)
	}
	limit := c.Window - c.Overhead
	gone := map[policy.ItemID]bool{}
	left := v.Len() - len(keep)
	for id := range v.Items {
		with := answers(c, v.Message(id), gone)
		if !with && (input <= limit || left <= 1) {
			continue
		}
		gone[id] = true
		input -= v.Weight(id)
		left--
		if !with {
			dropped++
		}
	}
	return &policy.Call{Kind: "compaction", Prompt: s.Prompt, Prefix: "own", Input: max(input, s.Prompt), Retries: dropped}, dropped
}

// remoteCall is the request to the provider: the session's own, with the results left out, the newest first, that make
// it exceed the window.
func (s *codexCompaction) remoteCall(c *policy.Context, keep []policy.ItemID) *policy.Call {
	call := &policy.Call{Kind: "compaction", Prefix: "session", Input: c.Before + c.Overhead}
	for _, id := range keep {
		call.Input -= c.View.Weight(id)
	}
	if c.Window > 0 && call.Input > c.Window {
		if all, oldest, ok := s.results.without(c.View, keep); ok && call.Input-all > c.Window {
			call.Input -= all
			call.Cut = oldest
		} else {
			leaveOut(c, keep, call)
		}
	}
	call.Input = max(call.Input, 1)
	return call
}

// leaveOut leaves results out of a call, the newest first, until it fits the window.
func leaveOut(c *policy.Context, keep []policy.ItemID, call *policy.Call) {
	for id := range c.View.Backward {
		if call.Input <= c.Window {
			return
		}
		if slices.Contains(keep, id) {
			continue
		}
		for t := range policy.Targets(c.View, id) {
			if c.View.Kind(t) == jsonl.KindToolResult {
				call.Input -= c.View.BlockTokens(t)
				call.Cut = &t
			}
		}
	}
}

// answers reports whether a message answers a call that is gone.
func answers(c *policy.Context, m *session.Message, gone map[policy.ItemID]bool) bool {
	return m != nil && len(gone) > 0 && slices.ContainsFunc(m.Blocks, func(b session.Block) bool {
		call, _, ok := c.Conv.ToolUse(b.ID)
		return b.Kind == jsonl.KindToolResult && ok && gone[policy.ItemID(call)]
	})
}
