package replay

import (
	"cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// leftOut makes edits of the thinking that the server leaves out of requests by itself.
type leftOut struct {
	thinking *tokens.Thinking // nil: known is for the models that requests go to
	known    []thinkingChange // those to come
}

// thinkingChange is the thinking that the server leaves out from a request on, and that it sends again.
type thinkingChange struct {
	request    int // 0-based
	left, back []policy.Target
}

// newLeftOut is nil where the policy says what the server leaves out. A model takes the place of those of the record.
func (r *Record) newLeftOut(pol *policy.Policy, model string) *leftOut {
	for i := range pol.Stages {
		if s, ok := pol.Stages[i].Params.(policy.ServerEdit); ok {
			if _, thinking := s.ServerEdit(); thinking {
				return nil
			}
		}
	}
	if model == "" {
		return &leftOut{known: r.thinking}
	}
	return &leftOut{thinking: tokens.NewThinking(r.Conv, r.Counted)}
}

// change is what changes with request k (0-based), which message m answers, by the model it goes to. All requests are
// asked for, in order.
func (l *leftOut) change(k, m int, model string) (c thinkingChange) {
	if l.thinking != nil {
		c.left, c.back = l.thinking.Request(m, model)
		return c
	}
	for len(l.known) > 0 && l.known[0].request <= k {
		if c, l.known = l.known[0], l.known[1:]; c.request == k {
			return c
		}
	}
	return thinkingChange{}
}

// edits are the payload-only edits of a change before the request to a model, as far as it is in view.
func (c *thinkingChange) edits(v *view.View, model string) (edits []policy.Edit) {
	add := func(kind policy.EditKind, target policy.Target, reason string) {
		if v.Has(target.Item) {
			edits = append(edits, policy.Edit{Kind: kind, Trigger: triggerAuto, Target: target, Reason: reason + model})
		}
	}
	for _, target := range c.left {
		add(policy.KindServerClear, target, "the server leaves the thinking of earlier turns out for ")
	}
	for _, target := range c.back {
		if _, out := v.PayloadReplacement(target); out {
			add(policy.KindServerKeep, target, "the server takes the thinking of earlier turns for ")
		}
	}
	return edits
}

// leaveOut makes the edits of what the server leaves out of request k (0-based) by itself. Where the client asks again
// after a turn, that request has written the cache without it.
func (e *engine) leaveOut(k int) {
	if e.thinking == nil || e.err != nil {
		return
	}
	m := e.conv.Requests[k].Message
	model := cmp.Or(e.opt.Model, e.conv.Messages[m].Model)
	change := e.thinking.change(k, m, model)
	edits := change.edits(e.view, model)
	if len(edits) == 0 {
		return
	}
	if e.r.asksAgain && turnEnded(e.conv, k) {
		for i := range edits {
			edits[i].Warm = edits[i].Kind == policy.KindServerClear
		}
	}
	e.applyAll(policy.StageServer, edits, k, false, nil)
}

// asksAgain reports whether the recorded client sends a request after each turn that no line holds, such as the one for
// a suggestion of the next prompt: the first request of the next turn then reads the last response of this one.
func asksAgain(conv *session.Conversation, cal *tokens.Calibration) bool {
	yes, no := 0, 0
	for k := range conv.Requests {
		m := conv.Requests[k].Message
		u := conv.Messages[m].Usage
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
			return !conv.Messages[m].Is(session.Queued)
		case session.ClassToolResult, session.ClassInterrupt:
			return false
		}
	}
	return false
}
