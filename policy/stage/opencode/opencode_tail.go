package opencode

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// tail splits the view into what is summarised and what a 1.18 compaction keeps verbatim: the newest turns that fit
// the budget, and the largest end of the next older turn that still fits (section 8.1). Sizes are those of the model
// messages' JSON, computed from lengths.
func (s *opencodeCompaction) tail(c *policy.Context) (head, keep []policy.ItemID) {
	if !s.version.KeepsTail {
		return nil, nil // all is summarised, and its size is not asked for
	}
	history := slices.DeleteFunc(c.View.IDs(), func(id policy.ItemID) bool { // completed compaction pairs
		sy := c.View.Synthetic(id)
		return sy != nil && (sy.Label == "compaction" || sy.Summary)
	})
	turns := s.version.TailTurns
	if s.TailTurns != unset {
		turns = s.TailTurns
	}
	if turns <= 0 {
		return history, nil
	}
	budget := s.version.tailBudget(s.limit(c.Window, c.MaxInput, c.MaxOutput), s.PreserveRecent, s.Reserved)
	total := 0
	start := len(history)
	end := len(history)
walk:
	for i := len(history) - 1; i >= 0; i-- {
		for range min(turns, turnsAt(c.View, history[i])) {
			turns--
			size := sliceEstimate(c, history[i:end])
			if total+size <= budget {
				total += size
				start = i
				end = i
				continue
			}
			if left := budget - total; left > 0 {
				for j := i + 1; j < end; j++ {
					if startsMessage(c.View, history[j]) && sliceEstimate(c, history[j:end]) <= left {
						start = j
						break
					}
				}
			}
			break walk
		}
	}
	if start == 0 || start == len(history) {
		return history, nil
	}
	return history[:start], history[start:]
}

// turnsAt is how many turns begin at an item: that of a prompt and, before it, those of messages of which nothing is sent.
func turnsAt(v policy.View, id policy.ItemID) (n int) {
	if startsTurn(v, id) {
		n++
	}
	if m := v.Message(id); m != nil {
		n += m.Unsent
	}
	return n
}

// startsTurn reports whether a turn begins with an item.
func startsTurn(v policy.View, id policy.ItemID) bool {
	if sy := v.Synthetic(id); sy != nil {
		return sy.Turn
	}
	return v.Message(id).Class == session.ClassPrompt
}

// startsMessage reports whether a slice may begin at an item: tool results belong to the assistant message before
// them, as in OpenCode's store.
func startsMessage(v policy.View, id policy.ItemID) bool {
	m := v.Message(id)
	return m == nil || m.Class != session.ClassToolResult
}

// Lengths of the fixed parts of a model message's JSON, in characters.
const (
	userMessageJSON      = len(`{"role":"user","content":[]}`)
	assistantMessageJSON = len(`{"role":"assistant","content":[]}`)
	toolMessageJSON      = len(`{"role":"tool","content":[]}`)
	textItemJSON         = len(`{"type":"text","text":}`)
	reasoningItemJSON    = len(`{"type":"reasoning","text":}`)
	signedItemJSON       = len(`,"providerOptions":{"anthropic":{"signature":""}}`)
	callItemJSON         = len(`{"type":"tool-call","toolCallId":"","toolName":"","input":}`)
	resultItemJSON       = len(`{"type":"tool-result","toolCallId":"","toolName":"","output":{"type":"text","value":}}`)
	errorItemJSON        = len(`{"type":"tool-result","toolCallId":"","toolName":"","output":{"type":"error-text","value":}}`)
)

// sliceEstimate is OpenCode's estimate of adjacent messages, in tokens: a quarter of the length of their JSON array.
func sliceEstimate(c *policy.Context, ids []policy.ItemID) int {
	n := 2 + max(len(ids)-1, 0) // brackets and commas
	for _, id := range ids {
		n += messageJSON(c, id)
	}
	return policy.RoundQuarter(n)
}

func messageJSON(c *policy.Context, id policy.ItemID) int {
	n := userMessageJSON
	switch m := c.View.Message(id); {
	case m == nil && c.View.Role(id) == session.Assistant, m != nil && m.Role == session.Assistant:
		n = assistantMessageJSON
	case m != nil && m.Class == session.ClassToolResult:
		n = toolMessageJSON
	}
	items := 0
	for t := range policy.Targets(c.View, id) {
		l := c.View.Length(t)
		raw := c.View.Raw(t)
		items++
		switch kind := c.View.Kind(t); {
		case kind == jsonl.KindThinking:
			n += reasoningItemJSON + l.JSON
			if raw != nil && raw.Signature > 0 {
				n += signedItemJSON + raw.Signature
			}
		case kind == jsonl.KindToolUse && raw != nil:
			n += callItemJSON + len(raw.ID) + len(raw.Name) + raw.JSON.UTF16
		case kind == jsonl.KindToolResult && raw != nil:
			fixed := resultItemJSON
			if raw.IsError {
				fixed = errorItemJSON
			}
			n += fixed + len(raw.ID) + len(c.Conv.ToolName(raw.ID)) + max(l.JSON, 2)
		default:
			n += textItemJSON + max(l.JSON, 2)
		}
	}
	return n + max(items-1, 0)
}
