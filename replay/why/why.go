// Package why divides what a conversation cost by what was paid for: reading the context again, new content, cache misses
// by cause, output, summaries, subagents. It tells where the prompt cache broke, and what filled the context before each
// compaction.
package why

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/spend"
	"github.com/ctxkit/ctxkit/replay/stats"
)

// SessionBreaks is where the prompt cache of one conversation broke under a policy. It is pure data.
type SessionBreaks struct {
	Session  string           `json:"session"`
	Agent    string           `json:"agent,omitempty"`
	File     string           `json:"file"`
	Title    string           `json:"title,omitempty"`
	Policy   string           `json:"policy"`
	Recorded bool             `json:"recorded"` // the policy is the recorded track: cache misses have what the API reported of them
	Counter  string           `json:"counter"`
	Cache    replay.CacheMode `json:"prompt_cache,omitempty"`
	Model    string           `json:"model"`

	Requests    int       `json:"requests"`                     // main requests
	Held        int       `json:"requests_on_record,omitempty"` // that can be put together
	Lines       int       `json:"request_lines,omitempty"`      // of the file
	Usage       int       `json:"requests_with_usage"`          // of them
	Uncacheable int       `json:"requests_without_cache"`       // simulated: without a breakpoint, or too short: they have nothing to lose
	Refused     int       `json:"refused,omitempty"`            // of the main requests: over the window, or blocked by the client
	Cost        price.USD `json:"cost_usd,omitzero"`            // of the replay, simulated
	bill.Brief
	Bill        *bill.Bill             `json:"-"`                              // Billed in full
	CacheFit    *replay.CacheFit       `json:"cache_fit,omitempty"`            // of the recorded session's own replay
	Breaks      []CacheBreak           `json:"breaks"`                         // the most expensive first
	Causes      []BreakSum             `json:"causes"`                         // the most expensive first
	Total       BreakSum               `json:"total"`                          // of all cache misses
	InRecord    *RecordedBreaks        `json:"breaks_of_the_record,omitempty"` // of another policy: what the recorded session lost
	Spent       price.USD              `json:"spent_usd,omitzero"`             // what was billed, and for a policy or without usage Cost
	Expenses    []Expense              `json:"expenses"`                       // of Spent, to the last digit; the most expensive first
	Contents    []stats.CategoryTokens `json:"contents"`                       // of the input of main requests: what it cost
	Hour        *HourCache             `json:"one_hour_cache,omitempty"`
	Changes     []RequestChange        `json:"changes,omitempty"` // between consecutive requests on record, in order
	Compactions int                    `json:"compactions"`
	Thrash      int                    `json:"thrash"`  // of them: those that freed less than a tenth of what they read
	Refills     []stats.Refill         `json:"refills"` // one before each compaction, in their order

	prices *price.Table
}

// ByUsage reports whether cache misses and expenses are those that the API reported, and not those of the simulated cache.
func (s *SessionBreaks) ByUsage() bool { return s.Recorded && s.Usage > 0 }

// CacheBreak is a main request that read less from the cache than the one before it had left there.
type CacheBreak struct {
	Request int              `json:"request"`
	Time    time.Time        `json:"time,omitzero"`
	Line    int              `json:"line"` // of the response
	Cause   cache.BreakCause `json:"cause"`
	Stage   string           `json:"stage,omitempty"` // of an edit or a compaction: the stage that made it
	Event   *int             `json:"event,omitempty"` // and its event
	Edit    policy.EditKind  `json:"kind,omitempty"`  // of the event
	Trigger string           `json:"trigger,omitempty"`
	Model   string           `json:"model,omitempty"`         // of a switch: the request's
	Before  string           `json:"model_before,omitempty"`  // and that of the request before
	Idle    float64          `json:"idle_seconds"`            // between the response before and the request
	Tool    bool             `json:"idle_in_tool,omitempty"`  // it waited for a tool
	InFile  *spend.CacheMiss `json:"in_record,omitempty"`     // nil: the recorded session did not break here, or the policy is another
	Sim     *SimulatedBreak  `json:"in_simulation,omitempty"` // nil: the simulation did not break here
	Sent    *RecordedCause   `json:"sent,omitempty"`          // nil: the request, or the one before, is not on record
}

// SimulatedBreak is a break of the simulated cache, with the parts of the request's cost that come of it.
type SimulatedBreak struct {
	Lost int       `json:"lost_tokens"` // that the request before had sent, too, and that were not read
	USD  price.USD `json:"cost_usd,omitzero"`
	Parts
}

// Parts are the parts of a cost that cache misses make: those of replay.CostParts.
type Parts struct {
	Restarts  price.USD `json:"restarts_usd,omitzero"`
	Changes   price.USD `json:"changes_usd,omitzero"`
	Edits     price.USD `json:"breaks_usd,omitzero"`
	Lifetime  price.USD `json:"lifetime_usd,omitzero"`
	Placement price.USD `json:"placement_usd,omitzero"`
}

// BreakSum is a number of cache misses.
type BreakSum struct {
	Cause cache.BreakCause `json:"cause,omitempty"`
	Stage string           `json:"stage,omitempty"`
	Edit  policy.EditKind  `json:"kind,omitempty"`
	RecordedBreaks
	Simulated int       `json:"simulated_breaks"`
	SimLost   int       `json:"simulated_lost_tokens"`
	SimUSD    price.USD `json:"simulated_usd,omitzero"`
	Only      int       `json:"only_simulated"` // of Simulated, on the recorded track: the recorded session did not break there
}

// RecordedBreaks are cache misses of the recorded session, by the usage.
type RecordedBreaks struct {
	Breaks int       `json:"recorded_breaks"`
	Lost   int       `json:"recorded_lost_tokens"`
	USD    price.USD `json:"recorded_usd,omitzero"`
}

// join adds other cache misses of the recorded session.
func (r *RecordedBreaks) join(o *RecordedBreaks) { price.AddUp(r, o) }

// Add adds other cache misses.
func (s *BreakSum) Add(o *BreakSum) { price.AddUp(s, o) }

// Replay replays a record under a policy and returns where the cache broke. log is the requests that the file holds, nil
// without any: they name the causes of the recorded session's cache misses.
func Replay(rec *replay.Record, pol *policy.Policy, opt replay.Options, log *requests.Log) (*SessionBreaks, *replay.Timeline, error) {
	opt.Prices = rec.Prices(opt)
	var misses map[int]*spend.CacheMiss
	var fit *replay.CacheFit
	if !pol.Recorded { // first, so that the two timelines are not in memory together
		track, err := rec.Replay(replay.RecordedTrack(), replay.Options{Prices: opt.Prices})
		if err != nil {
			return nil, nil, err
		}
		fit = track.CacheFit
		_, misses = spend.Recorded(rec.Conv, track, opt.Prices)
	}
	l := stats.NewLedger(rec.Conv)
	opt.Observe = func(n int, v *view.View) { l.Observe(n, v) }
	tl, err := rec.Replay(pol, opt)
	if err != nil {
		return nil, nil, err
	}
	l.Close()
	var spent []spend.PaidInput
	if pol.Recorded {
		fit = tl.CacheFit
		spent, misses = spend.Recorded(rec.Conv, tl, opt.Prices)
	}
	if !pol.Recorded {
		log = nil
	}
	s, err := newBreaks(rec, tl, misses, pol.Recorded, log)
	if err != nil {
		return nil, nil, err
	}
	if log != nil {
		s.Held = log.Whole()
	}
	s.CacheFit = fit
	s.prices = opt.Prices
	if !s.ByUsage() {
		spent = spend.Simulated(tl, func(r *replay.Request) bool { return r.N > 1 && simulated(r) != nil })
	}
	s.spending(rec, tl, spent)
	s.Contents = stats.Contents(rec.Conv, tl, l, stats.Extent{Request: l.Requests, Until: l.Requests, Spent: spent})
	if s.ByUsage() {
		s.Hour = s.hourCache(spent)
	}
	s.Refills, err = stats.Refills(rec.Conv, tl, l)
	return s, tl, err
}

// newBreaks returns the cache misses of a timeline; cache misses are those of the recorded session, by request.
func newBreaks(rec *replay.Record, tl *replay.Timeline, misses map[int]*spend.CacheMiss, recorded bool, log *requests.Log) (*SessionBreaks, error) {
	s := &SessionBreaks{
		Session: tl.Session, Agent: tl.Agent, File: tl.File, Lines: rec.Conv.Lines.Recorded.Of, Title: tl.Title, Policy: tl.Policy, Recorded: recorded, Counter: tl.Counter,
		Cache: tl.Cache, Model: tl.Model, Requests: tl.Totals.Requests, Refused: tl.Totals.Refused, Cost: tl.Totals.CostUSD, Breaks: []CacheBreak{},
		Compactions: tl.Totals.Compactions, Thrash: tl.Totals.Thrash,
	}
	sent, err := sentOf(rec, log)
	if err != nil {
		return nil, err
	}
	if s.Changes, err = changesOf(rec, tl, log, sent, misses); err != nil {
		return nil, err
	}
	s.Bill = tl.Bill
	s.Usage, s.Brief = bill.Of(rec.Conv, nil).Requests, s.Bill.Short()
	if !recorded {
		s.InRecord = &RecordedBreaks{}
		for _, m := range misses {
			s.InRecord.join(&RecordedBreaks{1, m.Lost, m.USD})
		}
		misses = nil
	}
	pauses, first, before := rec.Pauses(), true, "" // the model of the request before
	for _, r := range tl.Main() {
		b := CacheBreak{Request: r.N, Time: r.Time, Line: rec.LineAt(r.N), InFile: misses[r.N]}
		if !first { // there was something to lose
			b.Sim = simulated(r)
		}
		if uncacheable(r) {
			s.Uncacheable++
		}
		if b.InFile != nil || b.Sim != nil {
			b.explain(tl, r)
			if p := pauses[r.N-1]; p.Length > 0 {
				b.Idle = p.Length.Seconds()
				b.Tool = p.Tool
			}
			if one, ok := sent[r.N]; ok {
				b.compare(one, lifetime(rec, r.N-1))
			}
			if b.InFile != nil {
				b.believe(lifetime(rec, r.N-1))
			}
			if b.Cause == cache.ModelSwitch && before != r.Model {
				b.Model = r.Model
				b.Before = before
			}
			s.Breaks = append(s.Breaks, b)
		}
		first = false
		before = r.Model
	}
	s.sum()
	return s, nil
}

// lifetime is how long the cache holds what request n wrote, by its usage.
func lifetime(rec *replay.Record, n int) time.Duration {
	if u := rec.Conv.Response(n - 1).Usage; bill.RecordedSplit(&u).Write1h > 0 {
		return time.Hour
	}
	return 5 * time.Minute
}

// simulated is the break of the simulated cache at a main request; nil where there is none.
func simulated(r *replay.Request) *SimulatedBreak {
	if uncacheable(r) {
		return nil // there was nothing to lose
	}
	var b SimulatedBreak
	if r.Cache.Miss != nil {
		b.Lost = max(r.Repeated-r.Cache.Read, 0)
	}
	if p := r.CostParts; p != nil {
		b.Parts = Parts{known(p.Restarts), known(p.Changes), known(p.Breaks), known(p.Lifetime), known(p.Placement)}
		b.USD.Known = true
		for _, u := range []price.USD{p.Restarts, p.Changes, p.Breaks, p.Lifetime, p.Placement} {
			b.USD.Nano += u.Nano
		}
	}
	if b.Lost == 0 && !b.Restarts.Known && !b.Changes.Known && !b.Edits.Known && !b.Lifetime.Known {
		return nil
	}
	found := b
	return &found
}

// known leaves out an amount of nothing.
func known(u price.USD) price.USD { return price.USD{Nano: u.Nano, Known: u.Nano != 0} }

// uncacheable reports a request that the cache holds nothing of.
func uncacheable(r *replay.Request) bool {
	return r.Cache.Miss != nil && slices.Contains([]cache.BreakCause{cache.Unmarked, cache.Uncached, cache.BelowMinimum}, r.Cache.Miss.Kind)
}

// explain finds the cause. A recorded break that the simulation does not have is not explained: no line says why.
func (b *CacheBreak) explain(tl *replay.Timeline, r *replay.Request) {
	switch m := r.Cache.Miss; {
	case b.InFile != nil && b.InFile.Unexplained:
		b.Cause = backtest.Unexplained
		return
	case m != nil && !uncacheable(r):
		b.Cause = m.Kind
		b.Stage = m.Stage
	case b.Sim != nil: // a part of the cost is lost
		b.Cause, b.Stage = b.Sim.largest(r.CostParts)
	}
	if b.Cause != cache.Edited && b.Cause != cache.Compacted {
		return
	}
	for _, n := range r.Events {
		ev := tl.Events[n]
		if (b.Cause == cache.Compacted) == (ev.Kind == policy.KindSummarize) && (b.Stage == "" || b.Stage == ev.Stage) && changes(ev.Kind) {
			b.Stage = ev.Stage
			b.Event = &ev.N
			b.Edit = ev.Kind
			b.Trigger = ev.Trigger
			return
		}
	}
}

// changes reports whether an edit changes the payload.
func changes(k policy.EditKind) bool { return k.PayloadOnly() || !k.KeepsView() }

// largest is the cause of the largest part.
func (b *SimulatedBreak) largest(p *replay.CostParts) (c cache.BreakCause, stage string) {
	most := int64(-1)
	for _, x := range []struct {
		usd   price.USD
		cause cache.BreakCause
	}{{b.Restarts, cache.Restart}, {b.Changes, cache.ToolsChanged}, {b.Edits, cache.Edited}, {b.Lifetime, cache.Expired}} {
		if x.usd.Known && x.usd.Nano > most {
			most = x.usd.Nano
			c = x.cause
		}
	}
	if c == cache.Edited && len(p.ByStage) > 0 {
		stage = p.ByStage[0].Stage
	}
	return c, stage
}

// USD is what a break cost: by the usage where that is recorded, else simulated.
func (b *CacheBreak) USD() price.USD {
	switch {
	case b.InFile != nil:
		return b.InFile.USD
	case b.Sim != nil:
		return b.Sim.USD
	}
	return price.USD{}
}

// Lost is what a break lost in tokens, likewise.
func (b *CacheBreak) Lost() int {
	switch {
	case b.InFile != nil:
		return b.InFile.Lost
	case b.Sim != nil:
		return b.Sim.Lost
	}
	return 0
}

// one is a break as a sum.
func (b *CacheBreak) one(recorded bool) *BreakSum {
	s := &BreakSum{Cause: b.Cause, Stage: b.Stage, Edit: b.Edit}
	if b.InFile != nil {
		s.RecordedBreaks = RecordedBreaks{1, b.InFile.Lost, b.InFile.USD}
	}
	if b.Sim != nil {
		s.Simulated = 1
		s.SimLost = b.Sim.Lost
		s.SimUSD = b.Sim.USD
		if recorded && b.InFile == nil {
			s.Only = 1
		}
	}
	return s
}

// sum sorts the cache misses and adds them up.
func (s *SessionBreaks) sum() {
	slices.SortStableFunc(s.Breaks, func(a, b CacheBreak) int {
		return cmp.Or(truth(b.InFile != nil)-truth(a.InFile != nil), cmp.Compare(b.USD().Nano, a.USD().Nano), cmp.Compare(b.Lost(), a.Lost()))
	})
	for i := range s.Breaks {
		one := s.Breaks[i].one(s.Recorded)
		s.Total.Add(one)
		s.Causes = addCause(s.Causes, one)
	}
	s.Causes = sortCauses(s.Causes)
}

func truth(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

func addCause(list []BreakSum, one *BreakSum) []BreakSum {
	at := slices.IndexFunc(list, func(c BreakSum) bool { return c.Cause == one.Cause && c.Stage == one.Stage && c.Edit == one.Edit })
	if at < 0 {
		at = len(list)
		list = append(list, BreakSum{Cause: one.Cause, Stage: one.Stage, Edit: one.Edit})
	}
	list[at].Add(one)
	return list
}

// sortCauses puts the most expensive first: by the usage, else simulated.
func sortCauses(list []BreakSum) []BreakSum {
	slices.SortFunc(list, func(a, b BreakSum) int {
		return cmp.Or(cmp.Compare(b.USD.Nano, a.USD.Nano), cmp.Compare(b.SimUSD.Nano, a.SimUSD.Nano), b.Breaks-a.Breaks, b.Simulated-a.Simulated,
			strings.Compare(string(a.Cause), string(b.Cause)), strings.Compare(a.Stage, b.Stage), strings.Compare(string(a.Edit), string(b.Edit)))
	})
	if list == nil {
		return []BreakSum{}
	}
	return list
}

// BreaksTotal is the sum over several conversations.
type BreaksTotal struct {
	Sessions    int       `json:"sessions"`
	Requests    int       `json:"requests"`
	Usage       int       `json:"requests_with_usage"`
	Uncacheable int       `json:"requests_without_cache"`
	Refused     int       `json:"refused,omitempty"`
	Cost        price.USD `json:"cost_usd,omitzero"`
	bill.Brief
	Bill        *bill.Bill             `json:"-"` // Billed in full
	CacheFit    *replay.CacheFit       `json:"cache_fit,omitempty"`
	Causes      []BreakSum             `json:"causes"`
	Total       BreakSum               `json:"total"`
	InRecord    *RecordedBreaks        `json:"breaks_of_the_record,omitempty"`
	Spent       price.USD              `json:"spent_usd,omitzero"`
	Expenses    []Expense              `json:"expenses"`
	Contents    []stats.CategoryTokens `json:"contents"`
	Compactions int                    `json:"compactions"`
	Thrash      int                    `json:"thrash"`
}

// Sum adds up conversations.
func Sum(list []*SessionBreaks) *BreaksTotal {
	t := &BreaksTotal{Sessions: len(list), CacheFit: &replay.CacheFit{}}
	var ledger bill.Ledger
	var billed int64 // of the sessions whose expenses are those of their bill
	copies := 0      // that a session's own bill leaves out already
	contents := stats.ContentSums{}
	for _, s := range list {
		t.Spent.Add(s.Spent)
		if s.ByUsage() {
			billed += s.Spent.Nano
		}
		for i := range s.Expenses {
			t.Expenses = addExpense(t.Expenses, &s.Expenses[i])
		}
		for _, c := range s.Contents {
			contents.Add(c)
		}
		t.Requests += s.Requests
		t.Usage += s.Usage
		t.Refused += s.Refused
		t.Uncacheable += s.Uncacheable
		t.Cost.Add(s.Cost)
		ledger.Add(s.Bill)
		if s.Bill != nil {
			copies += s.Bill.Copies.Calls
		}
		t.CacheFit.Add(s.CacheFit)
		t.Total.Add(&s.Total)
		if s.InRecord != nil {
			if t.InRecord == nil {
				t.InRecord = &RecordedBreaks{}
			}
			t.InRecord.join(s.InRecord)
		}
		for i := range s.Causes {
			t.Causes = addCause(t.Causes, &s.Causes[i])
		}
		t.Compactions += s.Compactions
		t.Thrash += s.Thrash
	}
	t.Causes = sortCauses(t.Causes)
	t.Bill = ledger.Bill()
	t.Brief = t.Bill.Short()
	if over := t.Bill.CostUSD.Nano - billed; billed > 0 && over != 0 {
		t.Spent.Nano += over
		t.Expenses = append(t.Expenses, Expense{Part: PartCopies, Times: t.Bill.Copies.Calls - copies, USD: price.USD{Nano: over, Known: true}})
	}
	t.Expenses, t.Contents = sortExpenses(t.Expenses), contents.List()
	return t
}
