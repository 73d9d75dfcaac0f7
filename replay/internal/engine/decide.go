package engine

import (
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/internal/record"
)

// Decision is what a policy decides before one request on the recorded view.
type Decision struct {
	Request int    // n of the request
	Used    int    // the client's own estimate, tokens
	Window  int    // context window, tokens
	Limit   int    // at which the policy's compaction acts, tokens; 0: at none
	Compact bool   // it compacts, or tries to
	Reason  string // why

	// Count is what the compaction compares with Limit, in parts; nil: Used.
	Count []policy.Counted
}

// Decide runs a policy's stages on the recorded view before each request and returns what they propose without
// applying it. So a decision that differs from the recorded session does not change the next one, as it does in a replay.
//
// It is here and not with the scores in replay/backtest because stages need the engine's context: the client's
// estimate, the window, the last response.
func Decide(r *record.Record, pol *policy.Policy, opt Options) ([]Decision, error) {
	recorded := *pol
	recorded.Recorded = true
	recorded.Stages = nil
	e, err := New(r, &recorded, opt)
	if err != nil {
		return nil, err
	}
	other, err := New(r, pol, opt)
	if err != nil {
		return nil, err
	}
	defer other.Close()
	t := &decider{Engine: e, other: other}
	e.observers.decide = t.decide
	record.Walk(r.Conv, t)
	return t.decisions, e.err
}

// decider follows the recorded track and runs another policy's stages on it.
type decider struct {
	*Engine
	other     *Engine
	decisions []Decision // one a request, in order
}

// Recorded decides before a recorded compaction rebuilds the view.
func (t *decider) Recorded(act record.Act) {
	if k := len(t.weights); act.Kind == record.ActBoundary && t.conv.Boundaries[act.Index].Trigger == "auto" && k < len(t.conv.Requests) {
		args := runArgs{now: t.progress.now}
		args.used, args.tail = t.used()
		t.decide(k, args)
	}
	t.Engine.Recorded(act)
}

// decide runs the policy's stages before request k (0-based), once.
func (t *decider) decide(k int, args runArgs) {
	if len(t.decisions) > k {
		return
	}
	args.now = t.progress.now
	c := t.newContext(policy.Prepare, k, args)
	d := Decision{Request: k + 1, Used: c.Used, Window: c.Window}
	d.Limit = t.other.policy.CompactsAt(policy.Circumstances{Window: c.Window, MaxInput: c.MaxInput, MaxOutput: c.MaxOutput, Model: c.Model, Set: c.WindowSet})
	for i := range t.other.stages.list {
		s := &t.other.stages.list[i]
		if s.Definition.Moments&policy.Prepare == 0 || s.waits(policy.Prepare, k) {
			continue
		}
		c.Shared = s.Shared
		if counter, ok := s.stage.(policy.OwnCounter); ok {
			d.Count = counter.Count(c)
		}
		if !t.may(s, c) {
			continue
		}
		edits, err := t.propose(s, c)
		if err != nil {
			t.fail(err)
			return
		}
		for j := range edits {
			if kind := edits[j].Kind; kind == policy.KindSummarize || kind == policy.KindFail {
				d.Compact = true
				d.Reason = edits[j].Reason
			}
		}
	}
	t.decisions = append(t.decisions, d)
}
