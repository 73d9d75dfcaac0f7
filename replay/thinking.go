package replay

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// newThinking follows the thinking that the server leaves out of a policy's payload by itself; nil where the policy
// says what it leaves out.
func (r *Record) newThinking(pol *policy.Policy) *tokens.Thinking {
	for i := range pol.Stages {
		if s, ok := pol.Stages[i].Params.(policy.ServerEdit); ok {
			if _, thinking := s.ServerEdit(); thinking {
				return nil
			}
		}
	}
	return tokens.NewThinking(r.Conv, r.Counted)
}

// thinkingEdits are the payload-only edits of what the server leaves out of the request that message m answers, by
// the model it goes to, as far as it is in view.
func thinkingEdits(t *tokens.Thinking, v *view.View, m int, model string) (edits []policy.Edit) {
	left, back := t.Request(m, model)
	add := func(kind policy.EditKind, targets []policy.Target, reason string) {
		for _, target := range targets {
			if v.Has(target.Item) {
				edits = append(edits, policy.Edit{Kind: kind, Trigger: triggerAuto, Target: target, Reason: reason})
			}
		}
	}
	add(policy.KindServerClear, left, "the server leaves the thinking of earlier turns out for "+model)
	add(policy.KindServerKeep, slices.DeleteFunc(back, func(t policy.Target) bool {
		_, out := v.PayloadReplacement(t)
		return !out
	}), "the server takes the thinking of earlier turns for "+model)
	return edits
}

// leaveOut makes the edits of what the server leaves out of request k (0-based) by itself. Where the client asks again
// after a turn, that request has written the cache without it.
func (e *engine) leaveOut(k int) {
	if e.thinking == nil || e.err != nil {
		return
	}
	m := e.conv.Requests[k].Message
	edits := thinkingEdits(e.thinking, e.view, m, cmp.Or(e.opt.Model, e.conv.Messages[m].Model))
	if e.r.asksAgain && turnEnded(e.conv, k) {
		for i := range edits {
			edits[i].Warm = edits[i].Kind == policy.KindServerClear
		}
	}
	e.applyAll(policy.StageServer, edits, k, false)
}

// asksAgain reports whether the recorded client sends a request after each turn that no line holds, such as the one for
// a suggestion of the next prompt: the first request of the next turn then reads the last response of this one.
func asksAgain(conv *session.Conversation, cal *tokens.Calibration) bool {
	yes, no := 0, 0
	for k := range conv.Requests {
		m := conv.Requests[k].Message
		u := &conv.Messages[m].Usage
		if !turnEnded(conv, k) || u.CacheRead == 0 {
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

// turnEnded reports whether the response before request k (0-based) ended its turn, and the user did not interrupt it.
func turnEnded(conv *session.Conversation, k int) bool {
	if k == 0 {
		return false
	}
	for m := conv.Requests[k-1].Message + 1; m < conv.Requests[k].Message; m++ {
		switch conv.Messages[m].Class {
		case session.ClassPrompt:
			return !conv.Messages[m].Queued
		case session.ClassToolResult, session.ClassInterrupt:
			return false
		}
	}
	return false
}
