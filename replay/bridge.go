package replay

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// RecordedBill is what the API reported of a conversation's requests, at the table's prices.
type RecordedBill struct {
	Bill                 // calls are samplings: several where the API iterated within a request; recorded calls that compact are among them
	Models   []ModelBill `json:"models"`                 // by model, sorted
	Requests int         `json:"requests"`               // with usage
	Without  int         `json:"requests_without_usage"` // of them nothing is known
	Agents   int         `json:"subagents,omitempty"`    // whose requests are included
	Client   price.USD   `json:"client_usd,omitzero"`    // what the client itself recorded as the cost of its requests and compactions
}

// ModelBill is the bill of one model.
type ModelBill struct {
	Model string `json:"model"`
	Bill
}

// Add adds another bill.
func (b *RecordedBill) Add(o *RecordedBill) {
	b.Bill.Add(o.Bill)
	b.Requests += o.Requests
	b.Without += o.Without
	b.Agents += o.Agents
	b.Client.Add(o.Client)
	for _, m := range o.Models {
		b.model(m.Model).Add(m.Bill)
	}
}

// model is the bill of a model.
func (b *RecordedBill) model(name string) *Bill {
	at, found := slices.BinarySearchFunc(b.Models, name, func(m ModelBill, name string) int { return strings.Compare(m.Model, name) })
	if !found {
		b.Models = slices.Insert(b.Models, at, ModelBill{Model: name})
	}
	return &b.Models[at].Bill
}

// sampled is a usage as the API bills it: what the request sent last, and the samplings before it. Writes of an unknown
// lifetime are for five minutes, the only one of the clients that did not record it.
type sampled struct {
	last, rounds, compactions cache.Split
	output, summary           int // of the request, and of its compactions
	calls                     int
}

func samplings(u *jsonl.Usage) sampled {
	s := sampled{last: RecordedSplit(u), output: u.Output, calls: 1}
	if !u.Iterated() {
		return s
	}
	long := u.Write1h > u.Write5m
	split := func(x jsonl.Spent) cache.Split {
		if long {
			return cache.Split{Read: x.CacheRead, Write1h: x.CacheWrite, Uncached: x.Input}
		}
		return cache.Split{Read: x.CacheRead, Write5m: x.CacheWrite, Uncached: x.Input}
	}
	rounds, compactions := u.Rounds(), u.Compactions()
	s.rounds, s.compactions, s.summary = split(rounds), split(compactions), compactions.Output
	s.calls += rounds.Calls + compactions.Calls
	return s
}

// RecordedSplit is the input that the API reported of a request, its last iteration alone. Writes of an unknown
// lifetime are for five minutes.
func RecordedSplit(u *jsonl.Usage) cache.Split {
	long := min(u.Write1h, u.CacheWrite)
	return cache.Split{Read: u.CacheRead, Write1h: long, Write5m: u.CacheWrite - long, Uncached: u.Input}
}

// bill is what all samplings cost.
func (s *sampled) bill(m *price.Model) (b Bill) {
	b = Bill{Calls: s.calls, Input: s.last, Output: s.output + s.summary}
	b.Input.Add(s.rounds)
	b.Input.Add(s.compactions)
	if m.ID == "" {
		b.Unpriced = 1
		return b
	}
	b.CostUSD.Add(m.Cost(s.last, s.output))
	b.CostUSD.Add(m.Cost(s.rounds, 0))
	b.CostUSD.Add(m.Cost(s.compactions, s.summary))
	return b
}

// BilledBy is what the API reported of a conversation's requests, at the prices of a table; nil: the embedded one.
func BilledBy(conv *session.Conversation, table *price.Table) *RecordedBill {
	c := &caching{models: cmp.Or(table, price.Default()), known: map[string]*price.Model{}}
	b := &RecordedBill{Models: []ModelBill{}}
	models := map[string]Bill{}
	add := func(model string, one Bill) {
		b.Bill.Add(one)
		sum := models[model]
		sum.Add(one)
		models[model] = sum
	}
	for _, q := range conv.Requests {
		m := &conv.Messages[q.Message]
		if !m.HasUsage {
			b.Without++
			continue
		}
		u := m.Usage()
		s := samplings(&u)
		b.Requests++
		add(m.Model(), s.bill(c.find(m.Model())))
		b.says(&u)
	}
	for i := range conv.Boundaries {
		of := &conv.Boundaries[i]
		if of.Usage == nil {
			continue
		}
		b.says(of.Usage)
		if b.Requests > 0 { // else the bill is not known
			add(c.recordedCall(conv, of))
		}
	}
	for _, model := range slices.Sorted(maps.Keys(models)) {
		b.Models = append(b.Models, ModelBill{model, models[model]})
	}
	return b
}

// recordedCall is the bill of the call that wrote the summary of a compaction, which has a recorded usage, and its model:
// that of the request after it, else of the last one.
func (c *caching) recordedCall(conv *session.Conversation, of *session.Boundary) (model string, b Bill) {
	if k := min(of.Request, len(conv.Requests)) - 1; k >= 0 {
		model = conv.Messages[conv.Requests[k].Message].Model()
	}
	s := samplings(of.Usage)
	return model, s.bill(c.find(model))
}

// says adds what the client recorded as the cost of a call.
func (b *RecordedBill) says(u *jsonl.Usage) {
	if u.Nano > 0 {
		b.Client.Add(price.USD{Nano: u.Nano, Known: true})
	}
}

// The steps of a bridge, in their order.
const (
	StepSubagents  = "subagents"         // their requests, which this replay leaves out
	StepRounds     = "iterations"        // samplings within a request before its last one
	StepUnreported = "without_usage"     // requests without recorded usage
	StepOutputs    = "estimated_outputs" // outputs without a reliable count
	StepCounted    = "counted_otherwise" // inputs of another size than recorded
	StepFirst      = "first_request"     // its cache: what other sessions, or requests before the file's start, left there
	StepRead       = "cache_read"        // the same input of the other requests, by the simulated cache: what is read,
	StepWritten    = "cache_written"     // written
	StepUncached   = "cache_uncached"    // and neither
	StepClient     = "client_calls"      // calls of the recorded client whose usage is on no line: compactions
	StepModel      = "model"             // another model: its prices and tokenizer
	StepIdeal      = OfPolicy + "ideal"
	StepBreaks     = OfPolicy + "breaks"
	StepLifetime   = OfPolicy + "lifetime"
	StepPlacement  = OfPolicy + "placement"
	StepOwnCalls   = OfPolicy + "own_calls"
	StepOutput     = OfPolicy + "output"
)

// OfPolicy begins the names of the steps from the simulated record to the policy: the differences of the parts.
const OfPolicy = "policy_"

// Steps lists the steps of a bridge in their order.
func Steps() []string {
	return []string{
		StepSubagents, StepRounds, StepUnreported, StepOutputs, StepCounted, StepFirst, StepRead, StepWritten, StepUncached, StepClient, StepModel,
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
	Recorded  *RecordedBill `json:"recorded"`
	Own       price.USD     `json:"own_models_usd,omitzero"` // what the record itself costs by the same simulation, under its own models
	Simulated price.USD     `json:"simulated_usd,omitzero"`  // and under the model that replaces them, where one does
	Model     string        `json:"model,omitempty"`         // which that is
	Steps     []BridgeStep  `json:"steps"`                   // in the order of Steps, without those of no amount
	Cost      price.USD     `json:"cost_usd,omitzero"`       // of the replay
}

// Billed is the bill of what the replay replays: without the subagents that it leaves out.
func (b *Bridge) Billed() price.USD {
	billed := b.Recorded.CostUSD
	billed.Nano += b.Step(StepSubagents).USD.Nano
	return billed
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
	at, found := slices.BinarySearchFunc(b.Steps, name, func(s BridgeStep, name string) int {
		return cmp.Compare(slices.Index(order, s.Step), slices.Index(order, name))
	})
	if !found {
		b.Steps = slices.Insert(b.Steps, at, BridgeStep{Step: name, USD: price.USD{Known: true}})
	}
	b.Steps[at].Calls += calls
	b.Steps[at].USD.Nano += nano
}

// Add adds another conversation's bridge.
func (b *Bridge) Add(o *Bridge) {
	if b.Recorded == nil {
		b.Recorded = &RecordedBill{Models: []ModelBill{}}
	}
	b.Recorded.Add(o.Recorded)
	b.Model = cmp.Or(b.Model, o.Model)
	b.Own.Add(o.Own)
	b.Simulated.Add(o.Simulated)
	b.Cost.Add(o.Cost)
	for _, s := range o.Steps {
		b.step(s.Step, s.Calls, s.USD.Nano)
	}
}

// Bridge leads from what the API billed to the cost of a replay of the record under a policy with these options.
// others are the subagents that the session's bill includes and the replay does not.
func (r *Record) Bridge(tl *Timeline, pol *policy.Policy, opt Options, others ...*session.Conversation) (*Bridge, error) {
	table := r.table(opt)
	b := &Bridge{Recorded: BilledBy(r.Conv, table), Model: opt.Model, Steps: []BridgeStep{}}
	for _, conv := range others {
		other := BilledBy(conv, table)
		other.Agents = 1
		b.step(StepSubagents, other.Calls, -other.CostUSD.Nano)
		b.Recorded.Add(other)
	}
	same := opt
	same.Regret, same.CompactAt, same.Observe, same.Send, same.Trace = false, nil, nil, nil, nil
	replayed := func(model string) (*Timeline, error) {
		if pol.Recorded && model == opt.Model {
			return tl, nil
		}
		same.Model = model
		return r.Replay(RecordedTrack(), same)
	}
	own, err := replayed("")
	if err != nil {
		return nil, err
	}
	r.bridgeRequests(b, own, table)
	b.Own, b.Simulated = own.Totals.CostUSD, own.Totals.CostUSD
	if opt.Model != "" {
		if own, err = replayed(opt.Model); err != nil {
			return nil, err
		}
		b.step(StepModel, 0, own.Totals.CostUSD.Nano-b.Simulated.Nano)
		b.Simulated = own.Totals.CostUSD
	}
	b.Cost = tl.Totals.CostUSD
	from, to := own.Totals.CostParts, tl.Totals.CostParts
	from, to = cmp.Or(from, &CostParts{}), cmp.Or(to, &CostParts{})
	b.step(StepIdeal, 0, to.Ideal.Nano-from.Ideal.Nano)
	b.step(StepBreaks, 0, to.Breaks.Nano-from.Breaks.Nano)
	b.step(StepLifetime, 0, to.Lifetime.Nano-from.Lifetime.Nano)
	b.step(StepPlacement, 0, to.Placement.Nano-from.Placement.Nano)
	b.step(StepOwnCalls, 0, to.OwnCalls.Nano-from.OwnCalls.Nano)
	b.step(StepOutput, 0, to.Output.Nano-from.Output.Nano)
	return b, nil
}

// bridgeRequests makes the steps from the usage of each request to its simulation.
func (r *Record) bridgeRequests(b *Bridge, own *Timeline, table *price.Table) {
	c := &caching{models: table, known: map[string]*price.Model{}}
	billed := map[int]int64{} // what compactions before a request were billed
	for i := range r.Conv.Boundaries {
		if of := &r.Conv.Boundaries[i]; of.Usage != nil && slices.ContainsFunc(r.Conv.Requests, r.hasUsage) {
			_, one := c.recordedCall(r.Conv, of)
			billed[of.Request] += one.CostUSD.Nano
		}
	}
	for _, row := range own.Requests {
		if nano, ok := billed[row.N]; ok && row.Kind != "main" {
			b.step(StepUncached, 0, row.CostUSD.Nano-nano)
			delete(billed, row.N)
			continue
		}
		if row.Kind != "main" {
			b.step(StepClient, 1, row.CostUSD.Nano)
			continue
		}
		msg := &r.Conv.Messages[r.Conv.Requests[row.N-1].Message]
		if !msg.HasUsage {
			b.step(StepUnreported, 1, row.CostUSD.Nano)
			continue
		}
		m := c.find(msg.Model())
		if m.ID == "" {
			continue
		}
		u := msg.Usage()
		s := samplings(&u)
		b.step(StepRounds, 0, -m.Cost(s.rounds, 0).Nano)
		b.step(StepClient, 0, -m.Cost(s.compactions, s.summary).Nano)
		at := m.Cost(s.last, s.output).Nano
		if row.Estimated {
			b.step(StepOutputs, 1, m.Cost(s.last, row.Output).Nano-at)
			at = m.Cost(s.last, row.Output).Nano
		}
		if sent := resized(s.last, row.Payload); sent != s.last {
			b.step(StepCounted, 1, m.Cost(sent, row.Output).Nano-at)
			s.last, at = sent, m.Cost(sent, row.Output).Nano
		}
		if row.N == 1 {
			b.step(StepFirst, 1, row.CostUSD.Nano-at)
			continue
		}
		// The input is as large: both are billed by the same rates.
		rates := &price.Model{Rates: m.RatesFor(row.Payload)}
		read := rates.Cost(cache.Split{Read: row.Cache.Read}, 0).Nano - rates.Cost(cache.Split{Read: s.last.Read}, 0).Nano
		written := rates.Cost(cache.Split{Write5m: row.Cache.Write5m, Write1h: row.Cache.Write1h}, 0).Nano -
			rates.Cost(cache.Split{Write5m: s.last.Write5m, Write1h: s.last.Write1h}, 0).Nano
		b.step(StepRead, 0, read)
		b.step(StepWritten, 0, written)
		b.step(StepUncached, 0, row.CostUSD.Nano-at-read-written)
	}
	for _, nano := range billed {
		b.step(StepUncached, 0, -nano) // that the replay has no call for
	}
}

// hasUsage reports whether the usage of a request is recorded.
func (r *Record) hasUsage(q session.APICall) bool { return r.Conv.Messages[q.Message].HasUsage }

// resized is a split of another total, in the same proportions.
func resized(s cache.Split, total int) cache.Split {
	if s.Input() == total {
		return s
	}
	u := scaled(s, total)
	return RecordedSplit(&u)
}
