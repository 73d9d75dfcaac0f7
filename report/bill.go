package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/price"
)

// billedAs says of an amount that was billed what it is: "at least 0.22 USD (the client reports 0.35 USD), 0.09 USD of it by 1 subagent".
func billedAs(b *bill.Bill, amount string) string {
	return phraseIf(b.AtLeast(), "at least ") + amount + freeText(b) + clientReports(b) + phraseIf(b.AgentsUSD.Known, ", %v of it by %v", usdText(b.AgentsUSD), either(b.Agents > 0, count(b.Agents, "subagent"), "subagents"))
}

// freeText names models that cost nothing: " (big-pickle: free of charge)"; "" where there are none.
func freeText(b *bill.Bill) string {
	var names []string
	for i := range b.Models {
		if m := &b.Models[i]; m.Model != "" && m.CostUSD.Known && m.CostUSD.Nano == 0 && m.Tokens() > 0 {
			names = append(names, m.Model)
		}
	}
	free := names != nil || b.CostUSD.Known && b.CostUSD.Nano == 0
	return phraseIf(free, " (%vfree of charge)", phraseIf(names != nil, "%v: ", strings.Join(names, ", ")))
}

// clientReports is what the client itself recorded as the cost where that is more than the bill: " (the client reports 0.35 USD)";
// "" where it is not.
func clientReports(b *bill.Bill) string {
	c := b.Client
	if c == nil {
		return ""
	}
	more := ""
	if extra := c.More.Nano + c.Twice.Nano; extra > 0 {
		more = usdText(price.USD{Nano: extra, Known: true}) + " more"
		all := price.USD{Nano: c.CostUSD.Nano - c.Unpriced.Nano, Known: true}
		if coverage(b) != "" {
			more += coverage(b)
		} else if text := usdText(all); all.Nano > b.CostUSD.Nano && text != usdText(b.CostUSD) {
			more = text
		}
		more += phraseIf(c.Twice.Known, ", which counts reasoning twice")
	}
	reports := joined(" and ", more, phraseIf(c.Unpriced.Known, "%v for what has no price", usdText(c.Unpriced)))
	return phraseIf(reports != "", " (the client reports %v)", reports)
}

// coverage says for how many calls of a bill the client reports a cost: " for 3 of 4 calls"; "" where for all.
func coverage(b *bill.Bill) string {
	return phraseIf(b.Client.Calls < b.Calls, " for %v of %v", b.Client.Calls, count(b.Calls, "call"))
}

// ofBilled is a part of a bill: "2.00 USD of the 20.00 USD billed (10.0 %)".
func ofBilled(u price.USD, b *bill.Bill) string {
	all := b.MainUSD
	return phrase("%v of the %v%v billed%v%v", usdText(u), usdText(all), phraseIf(b.AtLeast() && all.Known, " or more"), phraseIf(b.Agents > 0, " without subagents"), shareOf(u, all))
}

// billText says what the recorded session was billed, by how much that may be short, and why; "" where nothing was billed.
func billText(b *bill.Bill, fit *replay.CacheFit) string {
	if b == nil || b.Calls+b.Without == 0 {
		return ""
	}
	text := "The bill of the recorded session is not known" + clientReports(b)
	if b.CostUSD.Known {
		text = "The recorded session was billed " + billedAs(b, usdText(b.CostUSD))
	}
	return text + before(": ", shortText(b, fit)) + wholeText(b, fit) + "."
}

// besideText holds a bill next to what the replay under a policy costs, where that is known; "" where nothing was billed.
func besideText(b *bill.Bill, simulated price.USD, policy string, fit *replay.CacheFit) string {
	billed := billText(b, fit)
	if billed == "" {
		return ""
	}
	return joined(" ", billed, phraseIf(simulated.Known, "Simulated%v%v, it costs %v%v.", phraseIf(b.Agents > 0, " without the subagents"),
		before(" under ", either(policy == "recorded", "", policy)), fit.Mark(), usdText(simulated)),
		copiesText(b.Copies), fitText(fit))
}

// moneyText is besideText of several sessions. Without names it is nameless.
func moneyText(m *compare.Money, hidden bool) string {
	return besideText(nameless(m.Bill, hidden), price.USD{}, "", m.CacheFit)
}

// nameless is a bill that does not name models, where they are hidden: a file may call them anything.
func nameless(b *bill.Bill, hidden bool) *bill.Bill {
	if b == nil || !hidden {
		return b
	}
	without := *b
	without.Models = nil
	without.NotPriced = slices.Clone(b.NotPriced)
	for i := range without.NotPriced {
		without.NotPriced[i].What = "a model or mode"
	}
	return &without
}

// lack is something that a bill lacks.
type lack struct {
	what, of string // "no usage", "3 of 20 responses"
	size     string // in words, for texts
	calls    int
	tokens   any
	usd      any
	more     price.USD // usd as an amount
}

// lacks are what makes a bill a lower bound. What calls without usage cost is what the client's own total leaves for them, or by
// the simulation of the recorded session; nil: there is none.
func lacks(b *bill.Bill, fit *replay.CacheFit) []lack {
	part := &b.Partial
	of := " of " + count(b.Calls+b.Without, "response")
	sim := cmp.Or(fit, &replay.CacheFit{})
	unknown := func(what, of, word, by string, calls, others, simulated int, about price.USD) lack {
		if c := b.Client; c != nil && c.More.Known && c.Calls >= b.Calls && others == 0 {
			rest := price.USD{Nano: max(c.More.Nano-part.CostUSD.Nano, 0), Known: true}
			return lack{what, of, phrase(" (%v by the client's total)", usdText(rest)), calls, "", rest, rest}
		}
		return lack{what, of, phraseIf(about.Known, " (%v %v more%v%v)", word, usdText(about), phraseIf(simulated < calls, " for %v of them", simulated), by), calls, "",
			either[any](about.Known, pair{number(word + " " + about.String()), about}, "-"), either(simulated == calls, about, price.USD{})}
	}
	list := []lack{
		{"no final output count", thousands(part.Calls) + of, phraseIf(part.Tokens > 0, " (about %v tokens%v more)", rounded(part.Tokens), phraseIf(part.CostUSD.Known, ", %v", usdText(part.CostUSD))),
			part.Calls, part.Tokens, part.CostUSD, part.CostUSD},
		unknown("no usage", thousands(b.Without)+of, "about", "", b.Without, b.Unbilled+b.Unfiled.Agents, sim.Requests-sim.Recorded, sim.UnreportedUSD),
		unknown("no file", count(b.Unfiled.Agents, "subagent"), "at least", ", by their progress lines", b.Unfiled.Agents, b.Without+b.Unbilled, b.Unfiled.Known, b.Unfiled.CostUSD),
		unknown("no usage in the file", "the summary request of "+count(b.Unbilled, "compaction"), "about", "", b.Unbilled, b.Without+b.Unfiled.Agents, sim.Compactions, sim.CompactionsUSD),
	}
	for _, u := range b.NotPriced {
		list = append(list, lack{"no price", u.What, phrase(" (%v%v)", count(u.Calls, "call"), phraseIf(u.Tokens > 0, ", %v tokens", u.Tokens)), u.Calls, u.Tokens, "-", price.USD{}})
	}
	return slices.DeleteFunc(list, func(l lack) bool { return l.calls == 0 })
}

// wholeText is what a bill comes to with all that it lacks, where each part is known; "" where it lacks nothing.
func wholeText(b *bill.Bill, fit *replay.CacheFit) string {
	list, whole := lacks(b, fit), b.CostUSD
	if c := b.Client; !b.CostUSD.Known || c != nil && c.More.Known { // the client's total says it
		return ""
	}
	for i := range list {
		if !list[i].more.Known {
			return ""
		}
		whole.Add(list[i].more)
	}
	return phraseIf(len(list) > 0 && whole.Known && usdText(whole) != usdText(b.CostUSD), "; with that, %vabout %v", phraseIf(b.Unfiled.Known > 0, "at least "), usdText(whole))
}

// shortText says why a bill is a lower bound, and by how much it may be short.
func shortText(b *bill.Bill, fit *replay.CacheFit) string {
	var list []string
	for _, l := range lacks(b, fit) {
		list = append(list, l.what+" for "+l.of+l.size)
	}
	return strings.Join(list, "; ")
}

// rounded is an estimate without digits that it does not have.
func rounded(n int) int {
	for step := 10; step <= 100; step *= 10 {
		if n >= 10*step {
			n = (n + step/2) / step * step
		}
	}
	return n
}

// copiesText says how many calls a sum leaves out because they are recorded more than once.
func copiesText(c bill.Copies) string {
	return phraseIf(c.Calls > 0, "%v of other sessions (forks, resumed sessions, subagents that begin with their conversation): the bill counts each call once%v; simulated sums count it in each session.", count(c.Calls, "copied call"),
		phraseIf(c.CostUSD.Known, " and leaves out %v", usdText(c.CostUSD)))
}

// clientText says what the client itself recorded as the cost, and what explains the difference.
func clientText(b *bill.Bill) string {
	c := b.Client
	if c == nil {
		return ""
	}
	of := coverage(b) + phraseIf(c.Unpriced.Known, "%v for what has no price", either(c.Billed.Known, phrase(", %v USD of it", c.Unpriced), ""))
	var models []string
	for i := range c.Differences {
		models = append(models, gapText(&c.Differences[i]))
	}
	if c.Twice.Known {
		models = append(models, phrase("reasoning counted in the output and again (+%v USD)", c.Twice))
	}
	priced := price.USD{Nano: c.CostUSD.Nano - c.Unpriced.Nano - c.Billed.Nano, Known: c.Billed.Known}
	than := phrase("%v USD %v than the lines say", number(priced.Decimal().Abs().Text(4)), either(priced.Nano < 0, "less", "more"))
	return phrase("The client itself reports %v USD%v%v%v.%v", c.CostUSD, of, phraseIf(priced.Known, ", %v", either(models == nil, "the same", than)), before(": ", strings.Join(models, "; ")),
		phraseIf(c.Guessed, " It had no price for a model, and assumed one."))
}

// gapText is a difference of the client's count of a model to that of the lines, by token class, and what explains it.
func gapText(m *bill.ModelSum) string {
	var parts []string
	more := 0
	less := 0
	add := func(n int, what string) {
		if n != 0 {
			parts = append(parts, phraseIf(n > 0, "+")+thousands(n)+" "+what)
		}
		more += max(n, 0)
		less -= min(n, 0)
	}
	add(m.Input.Uncached, "uncached input")
	add(m.Input.Read, "cache read")
	add(m.Input.Write5m+m.Input.Write1h, "cache write")
	input := more
	add(m.Output, "output")
	add(m.Searches, "searches")
	cause := ": calls that are on no line"
	switch {
	case len(parts) == 0:
		cause = " by other prices for the same tokens"
	case less > 0:
		cause = ": calls that the client does not count"
	case input == 0:
		cause = ": output that is on no line"
	}
	return m.Model + before(" ", strings.Join(parts, ", ")) + phrase(" (%v%v USD%v)", phraseIf(m.CostUSD.Nano > 0, "+"), m.CostUSD, cause)
}

// fitText says how well the simulated prompt cache fits the sessions; "" where there is nothing to fit to.
func fitText(f *replay.CacheFit) string {
	if f == nil || f.Requests == 0 {
		return ""
	}
	text := "cannot be checked, as no request has recorded usage"
	if f.Recorded > 0 {
		less := joined("; ", phraseIf(f.Recorded < f.Requests, "%v without usage", f.Requests-f.Recorded),
			phraseIf(f.Uncached > 0, "%v to models without recorded cached input, of which the simulation caches none either", f.Uncached))
		text = phrase("reads within 5 %% of the recorded amount on %v of %v%v", f.Near, count(f.Requests, "request"), phraseIf(less != "", " (%v)", less)) +
			before("; in the simulation, the input of the recorded requests costs ", shareText(f.Billed, f.Simulated, "billed")) + expectedText(f)
	}
	return "The simulated prompt cache " + text + "." +
		phraseIf(!f.Holds(), " That is not enough for a verdict in money, which needs 95 %% of the requests and a cost within 5 %%: amounts with ~, and the simulated ones in tables, are rough.")
}

// expectedText is what the input costs with the cache misses that no line shows; "" where they add less than 0.1 %.
func expectedText(f *replay.CacheFit) string {
	with := func(loss price.USD) string {
		return shareText(f.Billed, price.USD{Nano: f.Simulated.Nano + loss.Nano, Known: true}, "")
	}
	return phraseIf(f.Upper.Nano*1000 > f.Simulated.Nano, ", and with the expected cache misses that no line shows %v (from recorded sessions of %v: between %v and %v)",
		with(f.Expected), count(f.Authors, "author"), with(f.Lower), with(f.Upper))
}

// billCell is a bill in a table, with n places: ">=" before one that is a lower bound.
func billCell(usd price.USD, atLeast bool, places int) number {
	return number(phraseIf(usd.Known, "%v%v", phraseIf(atLeast, ">= "), usd.Decimal().Text(places)))
}

// kindTexts are the kinds of calls in words.
var kindTexts = map[bill.Kind]string{
	bill.KindRequest: "requests", bill.KindBranch: "abandoned branches", bill.KindAttempt: "other models within a request: fallback, advisor",
	bill.KindCompaction: "compactions", bill.KindSummary: "summaries of branches", bill.KindWarming: "cache warming", bill.KindSearch: "web searches",
	bill.KindRun: "calls that only the totals of their run count", bill.KindOther: "other calls of the client",
}

// billSections are the lines of a bill.
func billSections(p *page, b *bill.Bill, fit *replay.CacheFit) {
	if len(b.Models) == 0 && b.Without == 0 {
		return
	}
	p.heading("what was billed")
	p.table(rowsOf(b.Models, func(m *bill.ModelSum, r *billedCells) style {
		r.Model = cmp.Or(m.Model, "not recorded")
		return none
	}))
	if len(b.Kinds) > 1 {
		p.section("what for", rowsOf(b.Kinds, func(k *bill.KindSum, r *billKindCells) style {
			r.CallsFor, r.Input = kindTexts[k.Kind], k.Input.Input()
			if k.Kind == bill.KindSearch {
				r.Calls = k.Searches
			}
			return none
		}))
	}
	p.section("what the bill may be short of", rowsOf(lacks(b, fit), func(l *lack, r *billShortCells) style {
		*r = billShortCells{l.what + " for " + l.of, either[any](l.what == "no file", "-", l.calls), l.tokens, l.usd}
		return none
	}))
}
