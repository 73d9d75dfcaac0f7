package replay

import (
	"github.com/ctxkit/ctxkit/policy"
)

// Decision is what a policy would have done before one request, had it been
// in the record's place up to then.
type Decision struct {
	Request int    // n of the request
	Used    int    // the client's arithmetic there, tokens
	Window  int    // context window, tokens
	Limit   int    // at which the policy's compaction acts, tokens; 0: at none
	Compact bool   // it would have compacted
	Reason  string // why
}

// Decide scores a policy's compactions one by one: before each request its
// stages are asked on the recorded view, and what they propose is noted and
// not done. So one decision that differs from the record's does not move the
// next, as it does in a replay.
func (r *Record) Decide(pol *policy.Policy, opt Options) ([]Decision, error) {
	recorded := *pol
	recorded.Recorded, recorded.Stages = true, nil
	e, err := r.prepare(&recorded, opt)
	if err != nil {
		return nil, err
	}
	asked, err := r.prepare(pol, opt)
	if err != nil {
		return nil, err
	}
	t := &deciding{replayedRecord: replayedRecord{engine: e}, asks: pol, stages: asked.stages}
	walk(r.Conv, t)
	if e.err != nil {
		return nil, e.err
	}
	return t.decisions, nil
}

// deciding goes the record's way and asks a policy's stages on it.
type deciding struct {
	replayedRecord
	asks      *policy.Policy
	stages    []running
	window    int // that compacts is for
	output    int // largest output that it is for
	compacts  int
	decisions []Decision // one a request, in order
}

// boundary asks before the record's own compaction takes the view away.
func (t *deciding) boundary(i int) {
	if k := len(t.weight); t.conv.Boundaries[i].Trigger == "auto" && k < len(t.conv.Requests) && len(t.decisions) == k {
		t.ask(k)
	}
	t.replayedRecord.boundary(i)
}

func (t *deciding) request(k int) {
	t.weigh()
	if len(t.decisions) == k {
		t.ask(k)
	}
	t.account(k, t.decisions[k].Used)
}

// ask runs the policy's stages on the recorded view and keeps what they would
// have decided.
func (t *deciding) ask(k int) {
	c := policy.Context{Now: t.now}
	c.Used, c.UsedTail = t.used(k)
	t.fill(&c, policy.Prepare, k)
	d := Decision{Request: k + 1, Used: c.Used, Window: c.Window, Limit: t.limit(policy.Circumstances{Window: c.Window, MaxOutput: c.MaxOutput})}
	for i := range t.stages {
		s := &t.stages[i]
		if s.Definition.Moments&policy.Prepare == 0 {
			continue
		}
		c.Shared = s.Shared
		edits, err := s.stage.Run(&c)
		if err != nil {
			t.fail(err)
			return
		}
		for j := range edits {
			if edits[j].Kind == policy.KindSummarize {
				d.Compact, d.Reason = true, edits[j].Reason
			}
		}
	}
	t.decisions = append(t.decisions, d)
}

// limit is where the policy compacts in given circumstances, tokens.
func (t *deciding) limit(c policy.Circumstances) int {
	if c.Window != t.window || c.MaxOutput != t.output {
		t.window, t.output, t.compacts = c.Window, c.MaxOutput, t.asks.CompactsAt(c)
	}
	return t.compacts
}
