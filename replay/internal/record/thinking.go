package record

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
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

// NewThinkingEdits is nil where the policy says what the server leaves out. A model takes the place of those of the record.
func (r *Record) NewThinkingEdits(pol *policy.Policy, model string) *ThinkingEdits {
	for i := range pol.Stages {
		if s, ok := pol.Stages[i].Params.(policy.ServerEdit); ok {
			if _, thinking := s.ServerEdit(); thinking {
				return nil
			}
		}
	}
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

// asksAgain reports whether the recorded client sends a request after each turn that no line holds, such as the one for
// a suggestion of the next prompt: the first request of the next turn then reads the last response of this one.
func asksAgain(conv *session.Conversation, cal *tokens.Calibration) bool {
	yes, no := 0, 0
	for k := range conv.Requests {
		m := conv.Requests[k].Message
		u := conv.Messages[m].Usage
		if !TurnEnded(conv, k) || u.CacheRead == 0 {
			continue
		}
		response, joined := 0, 0
		for i := conv.Requests[k-1].Message; i < m; i++ {
			for b := range conv.Messages[i].Blocks {
				if kind := conv.Messages[i].Blocks[b].Kind; kind != jsonl.KindThinking && kind != jsonl.KindRedactedThinking {
					joined += cal.Block(i, b)
				}
			}
			if response == 0 {
				response = joined
			}
		}
		switch before := u.Context() - joined; {
		case u.CacheRead > before+response/2:
			yes++
		case u.CacheRead > before-before/10: // else the cache was lost
			no++
		}
	}
	return yes > no
}

// TurnEnded reports whether the response before request k (0-based) ended its turn, and the user did not interrupt it.
func TurnEnded(conv *session.Conversation, k int) bool {
	if k == 0 {
		return false
	}
	for m := conv.Requests[k-1].Message + 1; m < conv.Requests[k].Message; m++ {
		switch conv.Messages[m].Class {
		case session.ClassPrompt:
			return !conv.Messages[m].Is(session.Queued)
		case session.ClassToolResult, session.ClassInterrupt:
			return false
		}
	}
	return false
}
