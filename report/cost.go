package report

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
)

// CostSchema is the version of the JSON form of costs.
const CostSchema = "ctxkit.cost/v1"

// SessionCost is what one conversation costs under a policy.
type SessionCost struct {
	named
	Model     string             `json:"model"`
	Converted *replay.Conversion `json:"converted,omitempty"` // of the tokens, to those of another model; nil: none
	Cache     replay.CacheMode   `json:"prompt_cache,omitempty"`
	*replay.Cost
	Total      bill.Sum          `json:"total"`
	Parts      *replay.CostParts `json:"cost_parts,omitempty"` // of the total's cost
	Bridge     *replay.Bridge    `json:"bridge,omitempty"`
	Refused    int               `json:"refused"`
	Violations int               `json:"violations"`

	periods map[string]bill.Sum // of all requests
	totals  replay.Totals
	held    session.RequestTally
}

// CostOf returns the cost of a timeline, to be printed by a layout. bridge leads to it from what the API billed; nil: that
// is not shown.
func CostOf(tl *replay.Timeline, bridge *replay.Bridge, opt Layout) SessionCost {
	c := tl.Cost()
	return SessionCost{
		named: names(tl), Model: tl.Model, Cache: tl.Cache, Cost: c, Total: c.Total(), Parts: tl.Totals.CostParts, Bridge: bridge,
		Refused: tl.Totals.Refused, Violations: tl.Totals.Violations, totals: tl.Totals, held: recordedRequests(tl), Converted: tl.Converted, periods: requestPeriods(tl, &opt),
	}
}

// costSum is the sum of costs.
func costSum(list []SessionCost) *SessionCost {
	sum := &SessionCost{Cost: &replay.Cost{}, Parts: &replay.CostParts{}}
	var bridges []*replay.Bridge
	for _, s := range list {
		sum.Total.Add(s.Total)
		sum.Own.Add(s.Own)
		sum.Conversation += s.Conversation
		sum.Lost = append(sum.Lost, s.Lost...)
		sum.Parts.Add(s.Parts)
		if s.Bridge != nil {
			bridges = append(bridges, s.Bridge)
		}
		sum.Refused += s.Refused
		sum.Violations += s.Violations
		sum.Policy = s.Policy
		sum.Cache = s.Cache
		sum.Converted = cmp.Or(sum.Converted, s.Converted)
		sum.held.Add(s.held)
		t := &sum.totals
		t.Requests += s.totals.Requests
		t.Refused += s.totals.Refused
		t.Blocked += s.totals.Blocked
	}
	sum.Bridge = replay.SumBridges(bridges)
	return sum
}

// Costs prints what conversations cost under the policies that use names.
func Costs(w io.Writer, list []SessionCost, use policy.Use, opt Layout) error {
	sum := costSum(list)
	t := costTable(list, sum)
	json := object{{"schema", CostSchema}, {"sessions", list}, {"total", sum.Total}, {"cost_parts", sum.Parts}, {"bridge", sum.Bridge}}
	periods := costPeriods(list)
	d := listing("", t, json)
	d.kind = "Cost"
	if opt.By != "" {
		d.csv = func() *table { return costPeriodTable(periods) }
		d.json = func() any { return append(json, object{{"periods", notNil(periods)}}...) }
	}
	d.page = func(p *page) {
		p.note(bold, costAnswer(sum, use.Name))
		p.notes(yellow, append(troubleNotes(&sum.totals), copiesText(sum.Bridge.Recorded.Copies), clientText(sum.Bridge.Recorded)))
		p.fields(field{"requests", heldText(sum.held, "")})
		p.section("cost by "+string(opt.By), costPeriodTable(periods))
		p.section("cost by session", t)
		if sum.Bridge.Cost.Known {
			p.section("from the bill to this cost", bridgeTable(sum, use.Name))
			p.section("what the cost is made of", partsTable(sum))
		}
		billSections(p, sum.Bridge.Recorded, sum.Bridge.Fit)
		p.notes(faint, costNotes(sum))
	}
	return d.after(use).print(w, opt)
}

// costTable has a row per conversation, and one for the policy's own requests in it.
func costTable(list []SessionCost, sum *SessionCost) *table {
	t := newTable(columnsOf[costCells](),
		keys("unpriced_requests conversation_tokens recorded_usd simulated_usd"), keys("bridge_"+strings.Join(replay.Steps(), " bridge_")), keys("recorded_at_least client_usd cache_fits"))
	add := func(st style, title, kind string, s *SessionCost, b bill.Sum) *row {
		cells := append([]any{title}, s.cells()...)
		cells = append(cells, s.Model, kind, b.Calls, b.Input.Read, b.Input.Write5m+b.Input.Write1h, b.Input.Write5m, b.Input.Write1h,
			b.Input.Uncached, b.Output, b.Estimated, b.CostUSD, b.Unpriced, s.Conversation)
		if kind == kindMain && s.Bridge != nil {
			b := s.Bridge.Recorded
			cells = append(cells, b.CostUSD, s.Bridge.Simulated)
			for _, name := range replay.Steps() {
				cells = append(cells, s.Bridge.Step(name).USD)
			}
			cells = append(cells, b.AtLeast(), b.ClientUSD, s.Bridge.Fit.Holds())
		}
		return t.add(st, cells...)
	}
	for i := range list {
		s := &list[i]
		add(none, strings.TrimSpace(s.Session+" "+s.Agent), kindMain, s, s.Main)
		add(yellow, phrase("+ the %v's own requests", caller(s.Policy)), "own", s, s.Own).noTab = s.Own.Calls == 0
	}
	if len(list) != 1 || list[0].Own.Calls > 0 {
		add(bold, "sum", "", sum, sum.Total).noCSV = true
	}
	return t
}

// costAnswer is the answer in words: what the recorded session was billed, and what it costs by the simulation: as it
// was, under another model, and under the policy. The bill is compared with the simulation only where both have the same
// model and a prompt cache, and costs with each other only where the simulated cache fits.
func costAnswer(sum *SessionCost, name string) string {
	b := sum.Bridge
	if !b.Cost.Known {
		return billText(b.Recorded, b.Fit)
	}
	calls := joined(", ", phraseIf(b.Recorded.Agents > 0, "without the subagents"), phraseIf(b.Step(replay.StepCopies).Calls > 0, "with copied calls in each session"))
	switched := b.Model != "" && b.Own.Known
	is := joined(" ", billText(b.Recorded, b.Fit), phrase("Simulated%v%v%v, it costs", before(" ", calls), phraseIf(b.Model != "" && !switched, " under %v", b.Model),
		phraseIf(sum.Cache == replay.CacheNone, " with no prompt cache")))
	bound := phraseIf(sum.Refused+sum.Violations > 0, " (a lower bound)")
	than := func(u price.USD) string {
		return before(", ", either(b.Fit.Holds(), shareText(u, b.Cost, ""), "")) + bound
	}
	usd := func(u price.USD) string { return b.Fit.Mark() + usdText(u) }
	other := b.Cost != b.Simulated || slices.ContainsFunc(b.Steps, ofPolicy)
	switch {
	case switched && other:
		return phrase("%v %v, and under %v %v; there, under %v, it would have cost %v%v.", is, usd(b.Own), b.Model, usd(b.Simulated), name,
			usd(b.Cost), than(b.Simulated))
	case switched:
		return phrase("%v %v, and under %v %v%v.", is, usd(b.Own), b.Model, usd(b.Cost), than(b.Own))
	case other:
		return phrase("%v %v; under %v it would have cost %v%v.", is, usd(b.Simulated), name, usd(b.Cost), than(b.Simulated))
	case b.Model != "" || sum.Cache == replay.CacheNone || b.Recorded.Requests == 0:
		return phrase("%v %v%v.", is, usd(b.Cost), bound)
	}
	billed, usage := b.Alike()
	that := either(billed == b.Recorded.CostUSD, "the bill", phrase("the %v billed for the same calls", usdText(billed)))
	part := usdText(usage)
	return phrase("%v %v%v%v%v.", is, usd(b.Cost), phraseIf(part != usdText(b.Cost), "; without the outputs and summary requests that are estimated, %v", part), before(", ", shareText(billed, usage, that)), bound)
}

// shareText says by how much b is more or less than a, which is called name: "5.1 % less than the bill"; "" where a is nothing.
func shareText(a, b price.USD, name string) string {
	share := exact.Ratio(exact.Whole(100*(b.Nano-a.Nano)), exact.Whole(a.Nano), 1)
	switch {
	case !share.Known:
		return ""
	case share.N == 0:
		return "as much" + before(" as ", name)
	}
	return share.Abs().Text(1) + " % " + either(share.N > 0, "more", "less") + before(" than ", name)
}

// bridgeTable leads from the recorded bill to the cost.
func bridgeTable(sum *SessionCost, name string) *table {
	b := sum.Bridge
	t := tableOf[bridgeCells]()
	signed := func(u price.USD) number { return number(either(u.Nano > 0, "+", "") + u.String()) }
	t.put(bold, bridgeCells{"billed" + phraseIf(b.Recorded.AtLeast(), ", at least") + ", by the recorded usage", b.Recorded.Calls, b.Recorded.CostUSD})
	texts := stepTexts(sum.Parts.ByStage)
	totals := []struct {
		after string // the last step to it
		title string
		usd   price.USD
		shown bool
	}{
		{replay.StepClient, "= the recorded session, simulated", b.Own, b.Own.Known},
		{replay.StepModel, "= under " + b.Model, b.Simulated, b.Model != ""},
		{replay.StepOutput, "= under " + name, b.Cost, b.Cost != b.Simulated || slices.ContainsFunc(b.Steps, ofPolicy)},
	}
	for _, name := range replay.Steps() {
		if s := b.Step(name); s.Calls != 0 || s.USD.Nano != 0 {
			t.put(none, bridgeCells{texts[name], either[any](s.Calls > 0, s.Calls, ""), signed(s.USD)})
		}
		for _, at := range totals {
			if name == at.after && at.shown {
				t.put(bold, bridgeCells{at.title, "", at.usd})
			}
		}
	}
	return t
}

// ofPolicy reports whether a step leads from the simulated record to the policy.
func ofPolicy(s replay.BridgeStep) bool { return strings.HasPrefix(s.Step, replay.OfPolicy) }

// stepTexts are the steps of a bridge in words; stages are those whose edits broke the prefix.
func stepTexts(stages []replay.StageCost) map[string]string {
	var named []string
	for _, s := range stages {
		named = append(named, s.Stage)
	}
	return map[string]string{
		replay.StepSubagents:  "subagents, which this replay leaves out",
		replay.StepCopies:     "copies of calls in other sessions, which are replayed in each",
		replay.StepBranches:   "abandoned branches, which are not replayed",
		replay.StepAttempts:   "other models within requests: fallback, advisor",
		replay.StepSearches:   "web searches",
		replay.StepWarming:    "cache warming",
		replay.StepOther:      "the client's other calls",
		replay.StepRuns:       "calls that only the totals of their run count",
		replay.StepModifiers:  "speed, region, service tier",
		replay.StepRounds:     "samplings within requests, before their last",
		replay.StepUnreported: "requests without recorded usage",
		replay.StepOutputs:    "outputs estimated, where no reliable count is recorded",
		replay.StepCounted:    "input counted otherwise than recorded",
		replay.StepFirst:      "prompt cache at the first request, simulated as empty",
		replay.StepRead:       "prompt cache simulated: reads",
		replay.StepWritten:    "prompt cache simulated: writes",
		replay.StepUncached:   "prompt cache simulated: uncached",
		replay.StepClient:     "the client's own requests, whose usage is not in the file",
		replay.StepModel:      "another model: prices, tokenizer, cache",
		replay.StepIdeal:      "policy: content",
		replay.StepBreaks:     "policy: cache misses after clearing and compaction" + phraseIf(len(named) > 0, " (%v)", strings.Join(named, ", ")),
		replay.StepLifetime:   "policy: expired",
		replay.StepPlacement:  "policy: not covered by breakpoints",
		replay.StepOwnCalls:   "policy: its summarization requests, for the client's",
		replay.StepOutput:     "policy: output",
	}
}

// partsTable splits the cost by its reasons.
func partsTable(sum *SessionCost) *table {
	t := tableOf[partsCells]()
	add := func(title string, u price.USD) {
		share := exact.Ratio(exact.Whole(u.Nano).Times(100), exact.Whole(sum.Total.CostUSD.Nano), 1)
		t.put(none, partsCells{title, either(u.Known, u, price.USD{Known: true}), number(either(share.Known, share.Text(1)+" %", ""))})
	}
	p := sum.Parts
	add("ideal: all input, read from the cache wherever it was sent before", p.Ideal)
	if p.Restarts.Known {
		add("of ideal: what restarts of the client lost", p.Restarts)
	}
	if p.Changes.Known {
		add("of ideal: what another model, tools or settings, and thinking that the server left out, lost", p.Changes)
	}
	add("cache misses after clearing and compaction", p.Breaks)
	for _, s := range p.ByStage {
		if len(p.ByStage) > 1 {
			add("cache misses by "+s.Stage, s.Breaks)
		}
	}
	add("expired: the cache TTL was over", p.Lifetime)
	add("not read: behind the last cache breakpoint that fits, or in a session without a cache", p.Placement)
	add("summarization requests", p.OwnCalls)
	add("output", p.Output)
	return t
}

// costNotes explain the sum.
func costNotes(sum *SessionCost) []string {
	total := sum.Total
	own := sum.Own.Tokens()
	in := total.Input.Input()
	lost := lostText(sum.Lost)
	return []string{
		phraseIf(in > 0, "%v of the %v input tokens are cache reads (simulated).", percent(total.Input.Read, in), in),
		phraseIf(own > 0, "The %v's own requests (summaries) took %v tokens.", caller(sum.Policy), own),
		phraseIf(lost != "", "Tokens that missed the simulated cache, by cause: %v.", lost),
		phraseIf(lost != "" && caller(sum.Policy) == "client", "What these cost is in the rows \"cache misses\", \"expired\" and \"not read\"; `why` shows the recorded cache misses."),
		phraseIf(sum.Converted != nil, "Tokens are %v.", ConversionText(sum.Converted)), cacheNote(sum.Cache), fitText(sum.Bridge.Fit),
		phraseIf(total.Estimated > 0, "The output of %v of %v is estimated: the file has no final output count.", total.Estimated, count(total.Calls, "response")),
		phraseIf(total.Unpriced > 0, "No known price for %v of %v: left out of the cost.", total.Unpriced, count(total.Calls, "request")),
	}
}

// lostText lists the tokens lost by cause, most tokens first.
func lostText(list []replay.CacheLoss) string {
	tokens := map[string]int{}
	requests := map[string]int{}
	for _, x := range list {
		name := either(x.Cause == cache.Edited, "clearing by "+either(x.Stage == "recorded", "the client", x.Stage), cache.Cause{Kind: x.Cause}.String())
		tokens[name] += x.Tokens
		requests[name] += x.Requests
	}
	var parts []string
	for _, name := range byCount(tokens) {
		if tokens[name] > 0 {
			parts = append(parts, phrase("%v %v (%v)", name, tokens[name], count(requests[name], "request")))
		}
	}
	return strings.Join(parts, ", ")
}

// cacheName is whose prompt cache was simulated.
func cacheName(mode replay.CacheMode) string {
	return map[replay.CacheMode]string{
		replay.CacheEqual: "simulated with the session's own prompt cache", replay.CacheOwn: "simulated with the policy's own prompt cache",
		replay.CacheNone: "simulated without a prompt cache",
	}[mode]
}

// cacheNote says whose prompt cache was simulated.
func cacheNote(mode replay.CacheMode) string {
	return map[replay.CacheMode]string{
		replay.CacheEqual: "All policies use the prompt cache of the session's client; replay and cost use that of the policy's own client, so their costs may differ.",
		replay.CacheOwn:   "The prompt cache is that of the policy's own client; `compare` uses that of the session's client for every policy.",
		replay.CacheNone:  "No prompt cache is simulated.",
	}[mode]
}
