package engine

import (
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/internal/account"
	"github.com/ctxkit/ctxkit/replay/internal/record"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Continuation is what the next request of a session would send and cost: as it stands, and after a compaction by its
// client. What would be typed and answered is not in it. Costs follow the simulated cache.
type Continuation struct {
	Model   string           `json:"model"`
	Context int              `json:"context_tokens"`               // of the next request
	Last    time.Time        `json:"last_response,omitzero"`       // its end
	Expires time.Time        `json:"cache_expires,omitzero"`       // zero: not known
	Unknown bool             `json:"lifetime_not_known,omitempty"` // how long the provider keeps the cache
	Warm    bool             `json:"cache_warm"`                   // now is not after Expires; false where that is not known
	IfWarm  account.NextCost `json:"if_warm"`
	IfCold  account.NextCost `json:"if_cold"` // only what other sessions keep in the cache is read; nothing where Unknown
	Compact *NextCompaction  `json:"compacted,omitempty"`
	Misfit  bool             `json:"usage_misfits,omitempty"` // the recorded usage does not fit the content: what a compaction leaves is not known

	CacheFit *account.CacheFit    `json:"cache_fit,omitempty"`     // of the session so far: its simulated cache to the recorded session
	Lines    int                  `json:"request_lines,omitempty"` // that the client recorded in the file
	Recorded session.RequestTally `json:"-"`
}

// NextCompaction is a session after a compaction.
type NextCompaction struct {
	Policy  string         `json:"policy"`         // that compacts: of the release that recorded the session, or the next one
	Context int            `json:"context_tokens"` // of the first request after it
	Summary int            `json:"summary_tokens"` // that the compaction writes
	IfWarm  CompactionCost `json:"if_warm"`
	IfCold  CompactionCost `json:"if_cold"`
}

// CompactionCost is what a compaction costs, and the first request after it.
type CompactionCost struct {
	Call  account.NextCost `json:"compaction"` // with the summary's output
	First account.NextCost `json:"first_request"`
	USD   price.USD        `json:"cost_usd,omitzero"`        // of both
	Pays  int              `json:"pays_back_after,omitzero"` // requests, from which on it has cost less than to go on without, if the cache stays warm; 0: never, or not known
}

// Now is the cost by the state of the cache.
func (c *Continuation) Now() *account.NextCost {
	if c.Warm {
		return &c.IfWarm
	}
	return &c.IfCold
}

// CompactedNow is the cost of a compaction by the state of the cache.
func (c *Continuation) CompactedNow() *CompactionCost {
	switch {
	case c.Compact == nil:
		return nil
	case c.Warm:
		return &c.Compact.IfWarm
	}
	return &c.Compact.IfCold
}

// never is how long after a response nothing of it is in the cache: longer than any TTL, unknown ones too.
const never = 200 * 365 * 24 * time.Hour

// Continue returns what continuing the recorded session costs at a time, and after a compaction by a policy, that of its
// client; nil: that is not known. It returns nil where there is no request.
func Continue(r *record.Record, pol *policy.Policy, opt Options, now time.Time) (*Continuation, error) {
	k := len(r.Conv.Requests) - 1
	if k < 0 {
		return nil, nil
	}
	e, err := New(r, RecordedTrack(), opt)
	if err != nil {
		return nil, err
	}
	if record.Walk(r.Conv, e); e.err != nil {
		return nil, e.err
	}
	msg := r.Conv.Response(k)
	c := &Continuation{Model: msg.Model, Last: msg.End, Lines: r.Conv.Lines.Recorded.Of, Recorded: r.Conv.Lines.Recorded}
	c.CacheFit = account.FitOf(r.Conv, e.rows.requests, r.Table(opt.Prices), r.Kinds)
	life, known := e.account.Lifetime()
	c.Unknown = !known
	if !c.Last.IsZero() && known {
		c.Expires = c.Last.Add(life)
		c.Warm = !now.After(c.Expires)
	}
	c.Context = e.nextPayload(k)
	e.account.NoteNext(e.view, c.Context)
	states := []cacheState{{e.account.Clone(), c.Last, &c.IfWarm}, {e.account.Clone(), c.Last.Add(never), &c.IfCold}}
	if c.Unknown {
		states[1].account.ForgetShared() // nor is it known how long what other sessions share is kept
	}
	for _, s := range states {
		if *s.next, err = s.account.Clone().Next(e.view, msg.Model, s.start, c.Context); err != nil {
			return nil, err
		}
	}
	stage, edits, err := e.compactNow(pol, opt)
	if err != nil || len(edits) == 0 {
		return c, err
	}
	to := &NextCompaction{Policy: pol.Name}
	costs := []*CompactionCost{&to.IfWarm, &to.IfCold}
	for i, s := range states {
		e.account = s.account
		e.progress.now = s.start
		n := len(e.rows.requests)
		for j := range edits {
			for call := edits[j].Call; call != nil; call = call.Then {
				one := *call
				e.call(&one, edits[j].Made(), k+1)
			}
		}
		for _, row := range e.rows.requests[n:] {
			costs[i].Call.Input.Add(row.Cache.Split)
			costs[i].Call.USD.Add(row.CostUSD)
			if i == 0 {
				to.Summary += row.Output
			}
		}
	}
	e.account = e.account.Clone()
	if e.applyAll(edits, editSource{stage: stage, next: k + 1}); e.err != nil {
		return nil, e.err
	}
	if to.Context = e.nextPayload(k); to.Context < to.Summary { // it has the summary, and more
		c.Misfit = true
		return c, nil
	}
	for i, s := range states {
		s.account.NoteNext(e.view, to.Context)
		if costs[i].First, err = s.account.Next(e.view, msg.Model, s.start, to.Context); err != nil {
			return nil, err
		}
		costs[i].USD.Add(costs[i].Call.USD)
		costs[i].USD.Add(costs[i].First.USD)
		costs[i].Pays = e.paysBack(msg.Model, costs[i].USD, s.next.USD, c.Context, to.Context)
	}
	c.Compact = to
	return c, nil
}

// cacheState is a state of the prompt cache before the next request.
type cacheState struct {
	account *account.Account
	start   time.Time // of that request
	next    *account.NextCost
}

// nextPayload is the payload of a request after the last one, k (0-based), tokens.
func (e *Engine) nextPayload(k int) int { return max(e.view.PayloadTokens()+e.OverheadAt(k), 0) }

// compactNow returns the edits by which a policy's stages compact the recorded view as it is now, by hand; none where they
// do not, or fail.
func (e *Engine) compactNow(pol *policy.Policy, opt Options) (stage string, edits []policy.Edit, err error) {
	if pol == nil {
		return "", nil, nil
	}
	other, err := New(e.record, pol, opt)
	if err != nil {
		return "", nil, err
	}
	defer other.Close()
	n := len(e.conv.Requests)
	args := runArgs{asked: &policy.ManualCompaction{Recorded: -1}}
	args.used, args.tail = e.used()
	c := e.newContext(policy.Manual, n, args)
	for i := range other.stages.list {
		s := &other.stages.list[i]
		if s.Definition.Moments&policy.Manual == 0 {
			continue
		}
		c.Shared = s.Shared
		if edits, err = s.stage.Run(c); err != nil {
			return "", nil, err
		}
		if slices.ContainsFunc(edits, func(ed policy.Edit) bool { return ed.Kind == policy.KindSummarize }) {
			return s.Definition.Name, edits, nil
		}
	}
	return "", nil, nil
}

// paysBack is the number of requests after which it has cost less to compact: from the second one on each reads the
// context from the cache, which is smaller then. What joins meanwhile costs both the same.
func (e *Engine) paysBack(model string, compacted, next price.USD, context, after int) int {
	if !compacted.Known || !next.Known {
		return 0
	}
	more := compacted.Nano - next.Nano
	if more <= 0 {
		return 1
	}
	saved := e.account.ReadCost(model, context).Nano - e.account.ReadCost(model, after).Nano
	if saved <= 0 {
		return 0
	}
	return 1 + int((more+saved-1)/saved)
}
