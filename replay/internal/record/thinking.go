package record

import (
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// ThinkingEdits makes edits of the thinking that the server leaves out of requests by itself.
type ThinkingEdits struct {
	thinking *tokens.Thinking // nil: known is for the models that requests go to
	known    []ThinkingChange // those to come
}

// ThinkingChange is the thinking that the server leaves out from a request on, and that it sends again.
type ThinkingChange struct {
	Request    int // 0-based
	Left, Back []policy.Target
}

// NewThinkingEdits makes those of a replay from its start. A model takes the place of those of the recorded session;
// empty: none does.
func (r *Record) NewThinkingEdits(model string) *ThinkingEdits {
	if model == "" {
		return &ThinkingEdits{known: r.Thinking}
	}
	return &ThinkingEdits{thinking: tokens.NewThinking(r.Conv, r.Counted)}
}

// Change is what changes with request k (0-based), which message m answers, by the model it goes to. All requests are
// asked for, in order.
func (l *ThinkingEdits) Change(k, m int, model string) (c ThinkingChange) {
	if l.thinking != nil {
		c.Left, c.Back = l.thinking.Request(m, model)
		return c
	}
	for len(l.known) > 0 && l.known[0].Request <= k {
		if c, l.known = l.known[0], l.known[1:]; c.Request == k {
			return c
		}
	}
	return ThinkingChange{}
}

// Edits are the payload-only edits of a change before the request to a model, as far as it is in view.
func (c *ThinkingChange) Edits(v *view.View, model string) (edits []policy.Edit) {
	add := func(kind policy.EditKind, target policy.Target, reason string) {
		if v.Has(target.Item) {
			edits = append(edits, policy.Edit{Kind: kind, Trigger: TriggerAuto, Target: target, Reason: reason + model})
		}
	}
	for _, target := range c.Left {
		add(policy.KindServerClear, target, "the server leaves the thinking of earlier turns out for ")
	}
	for _, target := range c.Back {
		if _, out := v.PayloadReplacement(target); out {
			add(policy.KindServerKeep, target, "the server takes the thinking of earlier turns for ")
		}
	}
	return edits
}
