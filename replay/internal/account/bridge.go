package account

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// The names of the steps of a bridge, in their order. The steps before StepModel lead from the bill to the cost of
// replaying the recorded track. StepModel leads from there to the cost of replaying it with Options.Model. The steps
// after StepModel lead to the cost of replaying the policy.
const (
	StepCopies     = "copies"               // calls that several sessions record: counted once in the bill, but in the replay of each session
	StepSubagents  = "subagents"            // calls of subagents, which this replay leaves out
	StepBranches   = "left_branches"        // calls on abandoned branches, which no replay makes
	StepAttempts   = "attempts"             // calls of other models within a request: models that declined, and advisors
	StepSearches   = "searches"             // web searches by the API
	StepWarming    = "warming"              // renewals of the prompt cache
	StepOther      = "other_calls"          // other requests of the client, which no replay makes
	StepRuns       = "runs"                 // calls of which the file has only a sum for each client process
	StepModifiers  = "modifiers"            // surcharges and discounts for speed, region, service tier and time, which the simulation leaves out
	StepRounds     = "iterations"           // runs of the model within one request, except the last run
	StepUnreported = "without_usage"        // requests without recorded usage
	StepOutputs    = "estimated_outputs"    // responses without a reliable output count
	StepCounted    = "counted_otherwise"    // requests whose simulated input is larger or smaller than the recorded input
	StepFirst      = "first_request"        // the first request: what it read from the prompt cache that other sessions, or requests before the file, had written
	StepRead       = "cache_read"           // the other requests: simulated minus recorded cache reads
	StepWritten    = "cache_written"        // the other requests: simulated minus recorded cache writes
	StepUncached   = "cache_uncached"       // the other requests: simulated minus recorded uncached input
	StepClient     = "client_calls"         // compactions of the recorded client: a replay makes their calls, and no line of the file records their usage
	StepModel      = "model"                // the prices and the tokenizer of Options.Model
	StepIdeal      = OfPolicy + "ideal"     // input under a prompt cache that keeps every prefix; this step and all later ones are policy minus recorded track
	StepBreaks     = OfPolicy + "breaks"    // input that is not read from the prompt cache because edits changed the prefix
	StepLifetime   = OfPolicy + "lifetime"  // content that is written again because its cache entry has expired
	StepPlacement  = OfPolicy + "placement" // content that no cache breakpoint or look-back covers, or that is too short to be cached
	StepOwnCalls   = OfPolicy + "own_calls" // own requests of the policy
	StepOutput     = OfPolicy + "output"    // output of main requests
)

// OfPolicy is the prefix of the names of StepIdeal and the steps after it. These steps compare the policy with a replay
// of the recorded track.
const OfPolicy = "policy_"

// Steps returns the names of the steps of a bridge in their order.
func Steps() []string {
	return []string{
		StepCopies, StepSubagents, StepBranches, StepAttempts, StepSearches, StepWarming, StepOther, StepRuns, StepModifiers, StepRounds, StepUnreported, StepOutputs, StepCounted, StepFirst, StepRead, StepWritten, StepUncached, StepClient, StepModel,
		StepIdeal, StepBreaks, StepLifetime, StepPlacement, StepOwnCalls, StepOutput,
	}
}

// BridgeStep is one difference on the way from the recorded bill to the cost of a replay.
type BridgeStep struct {
	Step  string    `json:"step"`
	Calls int       `json:"calls,omitempty"` // that it concerns, where they are counted
	USD   price.USD `json:"usd"`
}

// Bridge leads from what the API billed to what a replay costs: Recorded.CostUSD and the steps before StepModel are Own,
// with it Simulated, and with the others Cost, to the last digit. Requests of a model without a price are left out of all.
type Bridge struct {
	Recorded  *bill.Bill   `json:"recorded"`
	Own       price.USD    `json:"own_models_usd,omitzero"` // what the recorded session itself costs by the same simulation, under its own models
	Simulated price.USD    `json:"simulated_usd,omitzero"`  // and under the model that replaces them, where one does
	Model     string       `json:"model,omitempty"`         // which that is
	Steps     []BridgeStep `json:"steps"`                   // in the order of Steps, without those of no amount
	Fit       *CacheFit    `json:"cache_fit,omitempty"`     // nil: none; of the recorded session's own simulation to it
	Cost      price.USD    `json:"cost_usd,omitzero"`       // of the replay
}

// Alike is what was billed for the usage of the requests that the replay has, and what that costs by the simulation: both with
// the copies of other sessions' calls, and without calls that only one of them has.
func (b *Bridge) Alike() (billed, simulated price.USD) {
	billed = b.Recorded.CostUSD
	simulated = b.Own
	for _, s := range b.Steps {
		switch s.Step {
		case StepCopies, StepSubagents, StepBranches, StepAttempts, StepSearches, StepWarming, StepOther, StepRuns:
			billed.Nano += s.USD.Nano
		case StepUnreported, StepOutputs, StepClient:
			simulated.Nano -= s.USD.Nano
		}
	}
	return billed, simulated
}

// Step finds a step; one of no amount is not there.
func (b *Bridge) Step(name string) BridgeStep {
	for _, s := range b.Steps {
		if s.Step == name {
			return s
		}
	}
	return BridgeStep{Step: name, USD: price.USD{Known: true}}
}

func (b *Bridge) step(name string, calls int, nano int64) {
	if calls == 0 && nano == 0 {
		return
	}
	order := Steps()
	i, found := slices.BinarySearchFunc(b.Steps, name, func(s BridgeStep, name string) int {
		return cmp.Compare(slices.Index(order, s.Step), slices.Index(order, name))
	})
	if !found {
		b.Steps = slices.Insert(b.Steps, i, BridgeStep{Step: name, USD: price.USD{Known: true}})
	}
	b.Steps[i].Calls += calls
	b.Steps[i].USD.Nano += nano
}

// SumBridges returns the sum of the bridges of conversations. Calls that several of them record count once in the bill.
func SumBridges(list []*Bridge) *Bridge {
	b := &Bridge{Steps: []BridgeStep{}, Fit: &CacheFit{}}
	ledger := bill.Ledger{}
	alone := price.USD{}
	for _, o := range list {
		ledger.Add(o.Recorded)
		alone.Add(o.Recorded.CostUSD)
		b.Model = cmp.Or(b.Model, o.Model)
		b.Own.Add(o.Own)
		b.Simulated.Add(o.Simulated)
		b.Cost.Add(o.Cost)
		b.Fit.Add(o.Fit)
		for _, s := range o.Steps {
			b.step(s.Step, s.Calls, s.USD.Nano)
		}
	}
	b.Recorded = ledger.Bill()
	copies := b.Recorded.Copies.Calls
	for _, o := range list {
		copies -= o.Recorded.Copies.Calls
	}
	b.step(StepCopies, copies, alone.Nano-b.Recorded.CostUSD.Nano)
	return b
}

// ReplayCost is the cost of a replay: of its requests, and the sums.
type ReplayCost struct {
	Requests  []Request
	CostUSD   price.USD
	CostParts *CostParts // nil: none of its requests has a price
}

// NewBridge leads from what was billed, for all of a session and for a conversation of it alone, to what a replay of the
// conversation costs. own is the recorded session's own track under its own models, and replaced is it under the model
// that replaces them.
func NewBridge(conv *session.Conversation, all, alone *bill.Bill, table *price.Table, kinds *cache.KindTable, own, replaced, replay *ReplayCost) *Bridge {
	b := &Bridge{Recorded: all, Steps: []BridgeStep{}, Own: own.CostUSD, Simulated: replaced.CostUSD, Cost: replay.CostUSD}
	b.step(StepSubagents, b.Recorded.Calls-alone.Calls, alone.CostUSD.Nano-b.Recorded.CostUSD.Nano)
	b.Fit = FitOf(conv, own.Requests, table, kinds)
	b.requests(conv, alone.List, own.Requests, newPriceList(table, false))
	b.step(StepModel, 0, b.Simulated.Nano-b.Own.Nano)
	from := cmp.Or(replaced.CostParts, &CostParts{}).amounts()
	to := cmp.Or(replay.CostParts, &CostParts{}).amounts()
	for i, name := range [...]string{StepIdeal, StepBreaks, StepLifetime, StepPlacement, StepOwnCalls, StepOutput} {
		b.step(name, 0, to[i].Nano-from[i].Nano)
	}
	return b
}

// notReplayed are the steps of calls that no replay makes.
var notReplayed = map[session.ChargeKind]string{
	session.ChargeBranch: StepBranches, session.ChargeSummary: StepOther, session.ChargeWarming: StepWarming, session.ChargeOther: StepOther,
	session.ChargeRun: StepRuns,
}

// charge is a billed call that a replay makes, too.
type charge struct {
	usage *jsonl.Usage
	nano  int64 // of the request itself, its iterations included
}

// charges takes off what no replay makes, and returns the others: the calls that answer a request by its number, and the
// amounts of compactions by the number of the request after them.
func (b *Bridge) charges(conv *session.Conversation, calls []bill.Call) (answers map[int]charge, compactions map[int]int64) {
	answers = map[int]charge{}
	compactions = map[int]int64{}
	var boundaries []*session.Boundary
	for i := range conv.Boundaries {
		if of := &conv.Boundaries[i]; of.Usage != nil {
			boundaries = append(boundaries, of)
		}
	}
	for i := range conv.Charges {
		c := &conv.Charges[i]
		one := &calls[i]
		if one.Parts == nil {
			continue // nothing is known of it
		}
		if step, ok := notReplayed[c.Kind]; ok {
			if usd := one.Sum("").CostUSD; usd.Known {
				b.step(step, max(c.Calls, 1), -usd.Nano)
			}
			continue
		}
		attempts := one.Sum(bill.KindAttempt).CostUSD.Nano
		searches := one.Sum(bill.KindSearch).CostUSD.Nano
		if attempts != 0 {
			b.step(StepAttempts, 1, -attempts)
		}
		if searches != 0 {
			b.step(StepSearches, c.Usage.Searches, -searches)
		}
		nano := one.Sum("").CostUSD.Nano - attempts - searches
		switch {
		case c.Kind == session.ChargeRequest:
			answers[c.Request] = charge{&c.Usage, nano}
		case c.Kind == session.ChargeCompaction && len(boundaries) > 0:
			compactions[boundaries[0].Request] += nano
			boundaries = boundaries[1:]
		default:
			b.step(StepOther, 1, -nano)
		}
	}
	return answers, compactions
}

// requests makes the steps from the bill of each call to its simulation.
func (b *Bridge) requests(conv *session.Conversation, calls []bill.Call, rows []Request, p *priceList) {
	answers, compactions := b.charges(conv, calls)
	for _, row := range rows {
		if nano, ok := compactions[row.N]; ok && row.Kind != "main" {
			b.step(StepUncached, 0, row.CostUSD.Nano-nano)
			delete(compactions, row.N)
			continue
		}
		if row.Kind != "main" {
			b.step(StepClient, 1, row.CostUSD.Nano)
			continue
		}
		answer, ok := answers[row.N]
		if !ok {
			b.step(StepUnreported, 1, row.CostUSD.Nano)
			continue
		}
		delete(answers, row.N)
		m := p.find(conv.Response(row.N-1).Model, row.Time)
		if m.ID == "" {
			if other := row.CostUSD.Nano - answer.nano; other != 0 {
				b.step(StepModifiers, 1, other)
			}
			continue
		}
		u := answer.usage
		last := bill.RecordedSplit(u)
		its := u.Others()
		cost := m.Cost(last, u.Output).Nano
		rounds := int64(0)
		compaction := int64(0)
		for _, s := range its.Rounds {
			rounds += m.Cost(bill.SpentSplit(s), 0).Nano
		}
		for _, s := range its.Compactions {
			compaction += m.Cost(bill.SpentSplit(s), s.Output).Nano
		}
		if other := cost + rounds + compaction - answer.nano; other != 0 {
			b.step(StepModifiers, 1, other)
		}
		b.step(StepRounds, 0, -rounds)
		b.step(StepClient, 0, -compaction)
		if row.Estimated {
			b.step(StepOutputs, 1, m.Cost(last, row.Output).Nano-cost)
			cost = m.Cost(last, row.Output).Nano
		}
		if sent := resized(last, row.Payload); sent != last {
			b.step(StepCounted, 1, m.Cost(sent, row.Output).Nano-cost)
			last = sent
			cost = m.Cost(sent, row.Output).Nano
		}
		if row.N == 1 {
			b.step(StepFirst, 1, row.CostUSD.Nano-cost)
			continue
		}
		// The input is as large: both are billed by the same rates.
		rates := m.RatesFor(row.Payload)
		read := rates.Cost(cache.Split{Read: row.Cache.Read}, 0).Nano - rates.Cost(cache.Split{Read: last.Read}, 0).Nano
		written := rates.Cost(cache.Split{Write5m: row.Cache.Write5m, Write1h: row.Cache.Write1h}, 0).Nano -
			rates.Cost(cache.Split{Write5m: last.Write5m, Write1h: last.Write1h}, 0).Nano
		b.step(StepRead, 0, read)
		b.step(StepWritten, 0, written)
		b.step(StepUncached, 0, row.CostUSD.Nano-cost-read-written)
	}
	for _, nano := range compactions {
		b.step(StepUncached, 0, -nano) // that the replay has no call for
	}
	for _, left := range answers {
		b.step(StepOther, 1, -left.nano)
	}
}

// resized is a split of another total, in the same proportions.
func resized(s cache.Split, total int) cache.Split {
	if s.Input() == total {
		return s
	}
	u := Scaled(s, total)
	return bill.RecordedSplit(&u)
}

// Scaled is the usage of a total in the proportions of s.
func Scaled(s cache.Split, total int) jsonl.Usage {
	in := s.Input()
	if in <= 0 {
		return jsonl.Usage{Input: total}
	}
	part := func(n int) int { return int(int64(n) * int64(total) / int64(in)) }
	u := jsonl.Usage{CacheRead: part(s.Read), Write5m: part(s.Write5m), Write1h: part(s.Write1h)}
	u.CacheWrite = u.Write5m + u.Write1h
	u.Input = total - u.CacheRead - u.CacheWrite
	return u
}
