package anthropic

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// serverSide is what a server-side edit clears of the payload. The server keeps no state: each request derives the
// set from the whole history. Here the set is the oldest units of a list; from one request to the next only the
// difference becomes edits, and only what is new is read. Without it a replay, whose view never shrinks, grows faster than
// its requests (bar in docs/performance.md).
type serverSide struct {
	units   []unit // oldest first
	applied int    // units[:applied] are cleared
	on      map[policy.Target]bool
	seen    measure.Follower
	stale   bool // the list is new: applied says nothing
}

// unit is what is cleared together: a result with its call's input, or the thinking of a turn.
type unit []substitute

type substitute struct {
	target policy.Target
	with   *policy.Content // nil: no replacement
}

// follow reads what other stages did since the last request and returns the items that joined. anew is true where
// messages left the view and the units must be listed again. touch is called for each block that was changed, in the
// view or in the payload.
func (s *serverSide) follow(v policy.View, touch func(policy.Target)) (joined []policy.ItemID, anew bool) {
	edits, joined, anew := s.seen.Follow(v)
	for _, e := range edits {
		switch e.Kind {
		case policy.KindRemove, policy.KindCollapse, policy.KindSummarize:
			anew = true
		case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindCacheEdit, policy.KindServerKeep:
			touch(e.Target)
		}
	}
	if anew {
		s.units = nil
		s.applied = 0
		s.stale = true
		for t := range s.on {
			if !v.Has(t.Item) {
				delete(s.on, t)
			}
		}
	}
	return joined, anew
}

// unchanged reports whether exactly the oldest want units are cleared already.
func (s *serverSide) unchanged(want int) bool { return !s.stale && s.applied == want }

// set clears the oldest want units and none else. e is the edit to make for each block.
func (s *serverSide) set(want int, e policy.Edit) []policy.Edit {
	if s.on == nil {
		s.on = map[policy.Target]bool{}
	}
	var edits []policy.Edit
	from := min(s.applied, want)
	to := max(s.applied, want)
	if s.stale {
		from = 0
		to = len(s.units)
		edits = s.orphans(e)
	}
	for i, u := range s.units[from:to] {
		for _, b := range u {
			clear := from+i < want
			if s.on[b.target] == clear {
				continue
			}
			e.Kind = policy.KindServerKeep
			e.Target = b.target
			e.New = nil
			delete(s.on, b.target)
			if clear {
				e.Kind = policy.KindServerClear
				e.New = b.with
				s.on[b.target] = true
			}
			edits = append(edits, e)
		}
	}
	s.applied = want
	s.stale = false
	return edits
}

// orphans restores what is cleared and belongs to no unit any more, such as the input of a call whose result has left
// the view.
func (s *serverSide) orphans(e policy.Edit) []policy.Edit {
	in := map[policy.Target]bool{}
	for _, u := range s.units {
		for _, b := range u {
			in[b.target] = true
		}
	}
	var edits []policy.Edit
	for t := range s.on {
		if !in[t] {
			e.Kind = policy.KindServerKeep
			e.Target = t
			e.New = nil
			edits = append(edits, e)
			delete(s.on, t)
		}
	}
	slices.SortFunc(edits, func(a, b policy.Edit) int {
		return cmp.Or(cmp.Compare(a.Target.Item, b.Target.Item), cmp.Compare(a.Target.Block, b.Target.Block))
	})
	return edits
}

// serverEdit is an element of context_management.edits as the API takes it.
type serverEdit struct {
	Type            string    `json:"type"`
	Trigger         *quantity `json:"trigger,omitempty"`
	Keep            any       `json:"keep,omitempty"`
	ClearAtLeast    *quantity `json:"clear_at_least,omitempty"`
	ExcludeTools    []string  `json:"exclude_tools,omitempty"`
	ClearToolInputs any       `json:"clear_tool_inputs,omitempty"`
	PauseAfter      bool      `json:"pause_after_compaction,omitempty"`
	Instructions    string    `json:"instructions,omitempty"`
}

type quantity struct {
	Type  string `json:"type"`
	Value int    `json:"value"`
}

const inputTokens = string(policy.TriggerInputTokens)

// ServerEdit is the strategy clear_tool_uses_20250919.
func (p *ClearToolUses) ServerEdit() (edit any, first bool) {
	e := serverEdit{
		Type:         "clear_tool_uses_20250919",
		Trigger:      &quantity{string(p.Trigger.Type), p.Trigger.Value},
		Keep:         quantity{"tool_uses", int(p.Keep)},
		ExcludeTools: p.ExcludeTools,
	}
	if p.ClearAtLeast > 0 {
		e.ClearAtLeast = &quantity{inputTokens, int(p.ClearAtLeast)}
	}
	switch {
	case p.ClearToolInputs.All:
		e.ClearToolInputs = true
	case len(p.ClearToolInputs.Tools) > 0:
		e.ClearToolInputs = p.ClearToolInputs.Tools
	}
	return e, false
}

// ServerEdit is the strategy clear_thinking_20251015; the model's own default is left to the server.
func (p *ClearThinking) ServerEdit() (edit any, first bool) {
	e := serverEdit{Type: "clear_thinking_20251015"}
	switch {
	case p.Keep == nil:
		e.Keep = "all"
	case *p.Keep > 0:
		e.Keep = quantity{"thinking_turns", *p.Keep}
	}
	return e, true
}

// ServerEdit is the strategy compact_20260112.
func (p *CompactAPI) ServerEdit() (edit any, first bool) {
	return serverEdit{
		Type: "compact_20260112", Trigger: &quantity{inputTokens, int(p.Trigger)},
		PauseAfter: p.PauseAfter, Instructions: p.Instructions,
	}, false
}
