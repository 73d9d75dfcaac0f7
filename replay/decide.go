package replay

import "github.com/ctxkit/ctxkit/policy"

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
// applying it. So a decision that differs from the record does not change the next one, as it does in a replay.
//
// It is here and not with the scores in replay/backtest because stages need the engine's context: the client's
// estimate, the window, the last response.
func (r *Record) Decide(pol *policy.Policy, opt Options) ([]Decision, error) {
	recorded := *pol
	recorded.Recorded, recorded.Stages = true, nil
	e, err := r.prepare(&recorded, opt)
	if err != nil {
		return nil, err
	}
	other, err := r.prepare(pol, opt)
	if err != nil {
		return nil, err
	}
	defer other.close()
	t := &deciding{replayedRecord: *e.ownTrack(), other: other}
	walk(r.Conv, t)
	return t.decisions, e.err
}

// deciding follows the recorded track and runs another policy's stages on it.
type deciding struct {
	replayedRecord
	other     *engine
	decisions []Decision // one a request, in order
}

// recorded decides before a recorded compaction rebuilds the view.
func (t *deciding) recorded(act recordedAct) {
	if k := len(t.weight); act.kind == actBoundary && t.conv.Boundaries[act.at].Trigger == "auto" && k < len(t.conv.Requests) {
		t.decide(k)
	}
	t.replayedRecord.recorded(act)
}

func (t *deciding) request(k int) {
	t.weigh(k)
	if t.decide(k); t.err == nil {
		t.account(k, t.decisions[k].Used)
	}
}

// decide runs the policy's stages before request k (0-based), once.
func (t *deciding) decide(k int) {
	if len(t.decisions) > k {
		return
	}
	var c policy.Context
	used, tail := t.used(k)
	t.fill(&c, policy.Prepare, k, occasion{now: t.now, used: used, tail: tail})
	at := policy.Circumstances{Window: c.Window, MaxInput: c.MaxInput, MaxOutput: c.MaxOutput}
	d := Decision{Request: k + 1, Used: c.Used, Window: c.Window, Limit: t.other.pol.CompactsAt(at)}
	for i := range t.other.stages {
		s := &t.other.stages[i]
		if s.Definition.Moments&policy.Prepare == 0 || s.waits(policy.Prepare, k) {
			continue
		}
		c.Shared = s.Shared
		if counter, ok := s.stage.(policy.OwnCounter); ok {
			d.Count = counter.Count(&c)
		}
		if !t.may(s, &c) {
			continue
		}
		edits, err := t.propose(s, &c)
		if err != nil {
			t.fail(err)
			return
		}
		for j := range edits {
			if kind := edits[j].Kind; kind == policy.KindSummarize || kind == policy.KindFail {
				d.Compact, d.Reason = true, edits[j].Reason
			}
		}
	}
	t.decisions = append(t.decisions, d)
}
