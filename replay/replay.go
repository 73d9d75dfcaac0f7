package replay

import (
	"cmp"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/internal/account"
	"github.com/ctxkit/ctxkit/replay/internal/engine"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/regret"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// Run replays a conversation through pol. It computes a Record for this one replay only.
func Run(conv *session.Conversation, pol *policy.Policy, opt Options) (*Timeline, error) {
	rec, err := NewRecordWith(conv, RecordOptions{Encoders: opt.Encoders, Families: opt.Families})
	if err != nil {
		return nil, err
	}
	return rec.Replay(pol, opt)
}

// Replay runs the conversation through pol. It is safe for concurrent use. It returns an error if opt is invalid, if a
// stage fails, or if the session's file cannot be read.
func (r *Record) Replay(pol *policy.Policy, opt Options) (*Timeline, error) {
	t, _, err := r.ReplayAlike(pol, nil, opt)
	return t, err
}

// ReplayAlike replays pol and reports which of the other policies would do the same at every step. If same[i] is true,
// a replay of others[i] has the same figures as t; only its limits and the reasons of its events may differ. If same[i]
// is false, the figures may be equal all the same: ReplayAlike compares a policy with pol only if both have the same
// stages and conditions in the same order, and the same settings of the cache and the overhead.
func (r *Record) ReplayAlike(pol *policy.Policy, others []*policy.Policy, opt Options) (t *Timeline, same []bool, err error) {
	e, err := engine.New(r.record, pol, opt)
	if err != nil {
		return nil, nil, err
	}
	defer e.Close()
	if same, err = e.Alike(others); err != nil {
		return nil, nil, err
	}
	result, err := e.Result()
	if err != nil {
		return nil, nil, err
	}
	t, err = r.timeline(result, pol, opt)
	return t, same, err
}

// timeline is a replay's result with its sums.
func (r *Record) timeline(of *engine.ReplayResult, pol *policy.Policy, opt Options) (*Timeline, error) {
	conv := r.Conv
	t := &Timeline{
		Schema: Schema, Session: conv.SessionID, Agent: conv.Agent, File: conv.Path, Title: conv.Title, Policy: pol.Name,
		Chosen: pol.Chosen, Newer: pol.Newer, Truth: pol.Truth, Score: pol.Score, Counter: of.Counter.Name, Cache: cmp.Or(opt.Cache, CacheOwn),
		Caches: of.Account.Automatic(), Model: cmp.Or(opt.Model, conv.Model), Converted: of.Record.Conversion(), Version: conv.Version,
		Earlier: of.Record.Earlier(), Window: of.Window, Fit: of.Fit, Shown: of.Shown, AutoOff: of.AutoOff, Limits: of.Limits, Notes: of.Notes, LimitsOf: of.LimitsOf,
		Stages: of.Stages, Conditions: of.Conditions, Requests: of.Requests, Events: of.Events, Findings: of.Findings, Warnings: of.Warnings, Trace: of.Trace,
		Lines:    Lines{Read: conv.Lines.Read, Used: conv.Lines.Used, Fused: conv.Lines.Fused, SetAside: map[string]int{}, Recorded: conv.Lines.Recorded},
		unpriced: of.Account.Unpriced(),
	}
	for reason, n := range conv.Lines.SetAside {
		t.Lines.SetAside[string(reason)] = n
	}
	tot := &t.Totals
	tot.NotReadBack = of.Unread
	tot.Cleared = of.Cleared
	tot.ClearedTokens = of.Freed
	tot.Violations = of.Counts[FindingViolation]
	tot.Transcript = of.Counts[FindingTranscript]
	tot.Preserved = of.Counts[FindingPreserved]
	count, characters, err := wire.Placeholders(of.View)
	if err != nil {
		return nil, err
	}
	tot.Placeholders = count
	tot.PlaceholderTokens = (characters + 3) / 4
	t.total()
	t.Bill, _ = r.bill(opt)
	tot.Brief = t.Bill.Short()
	if pol.Recorded && opt.Model == "" && opt.Cache != CacheNone && !t.InsteadOfUsage() {
		t.CacheFit = account.FitOf(conv, t.Requests, r.record.Table(opt.Prices), r.record.Kinds)
	}
	if !opt.Regret {
		return t, nil
	}
	uses, err := r.record.Uses()
	if err != nil {
		return nil, err
	}
	main := t.Main()
	judged := regret.Judged{
		Edits: of.View.Edits(), Recorded: pol.Recorded, Weigh: of.Counter.Report,
		Refetch: func(n, tokens int) price.USD { return of.Account.Refetch(main[n-1], tokens) },
	}
	if t.Regret, err = uses.Judge(judged); err != nil {
		return nil, err
	}
	n := len(t.Regret.Misses)
	tot.Misses = &n
	return t, nil
}
