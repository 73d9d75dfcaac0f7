package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
)

// billedAs says of an amount that was billed what it is: "at least 0.31 USD, 0.09 USD of it by 1 subagent".
func billedAs(b *bill.Bill, amount string) string {
	return phraseIf(b.AtLeast(), "at least ") + amount + phraseIf(b.AgentsUSD.Known, ", %v of it by %v", usdText(b.AgentsUSD), either(b.Agents > 0, count(b.Agents, "subagent"), "subagents"))
}

// ofBilled is a part of a bill: "2.00 USD of the 20.00 USD billed (10.0 %)".
func ofBilled(u price.USD, b *bill.Bill) string {
	all := b.MainUSD
	return phrase("%v of the %v%v billed%v%v", usdText(u), usdText(all), phraseIf(b.AtLeast() && all.Known, " or more"), phraseIf(b.Agents > 0, " without subagents"), shareOf(u, all))
}

// billText says what the recorded session was billed, by how much that may be short, and why; "" where nothing was billed.
func billText(b *bill.Bill) string {
	if b == nil || b.Calls+b.Without == 0 {
		return ""
	}
	text := "The bill of the recorded session is not known"
	if b.CostUSD.Known {
		text = "The recorded session was billed " + billedAs(b, usdText(b.CostUSD))
	}
	return text + before(": ", shortText(b)) + "."
}

// besideText holds a bill next to what the replay under a policy costs, where that is known; "" where nothing was billed.
func besideText(b *bill.Bill, simulated price.USD, policy string, fit *replay.CacheFit) string {
	billed := billText(b)
	if billed == "" {
		return ""
	}
	return joined(" ", billed, phraseIf(simulated.Known, "Simulated%v%v, it costs %v.", phraseIf(b.Agents > 0, " without the subagents"),
		before(" under ", either(policy == "recorded", "", policy)), usdText(simulated)),
		copiesText(b.Copies), fitText(fit))
}

// moneyText is besideText of several sessions. Without names it is nameless.
func moneyText(m *compare.Money, hidden bool) string {
	return joined(" ", besideText(nameless(m.Bill, hidden), price.USD{}, "", m.CacheFit), roughText(m.CacheFit))
}

// nameless is a bill that does not say, where that is hidden, which models have no price: a file may call them anything.
func nameless(b *bill.Bill, hidden bool) *bill.Bill {
	if b == nil || !hidden {
		return b
	}
	without := *b
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
}

// lacks are what makes a bill a lower bound.
func lacks(b *bill.Bill) []lack {
	part, of := &b.Partial, " of "+count(b.Calls+b.Without, "response")
	list := []lack{
		{"no final output count", thousands(part.Calls) + of, phraseIf(part.Tokens > 0, " (about %v tokens%v more)", rounded(part.Tokens), phraseIf(part.CostUSD.Known, ", %v", usdText(part.CostUSD))),
			part.Calls, part.Tokens, part.CostUSD},
		{"no usage", thousands(b.Without) + of, "", b.Without, "", "-"},
		{"no usage in the file", "the summary request of " + count(b.Unbilled, "compaction"), "", b.Unbilled, "", "-"},
	}
	for _, u := range b.NotPriced {
		list = append(list, lack{"no price", u.What, phrase(" (%v%v)", count(u.Calls, "call"), phraseIf(u.Tokens > 0, ", %v tokens", u.Tokens)), u.Calls, u.Tokens, "-"})
	}
	return slices.DeleteFunc(list, func(l lack) bool { return l.calls == 0 })
}

// shortText says why a bill is a lower bound, and by how much it may be short.
func shortText(b *bill.Bill) string {
	var list []string
	for _, l := range lacks(b) {
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
	part := phraseIf(c.Calls < b.Calls, " for %v of %v", c.Calls, count(b.Calls, "call"))
	gap := c.CostUSD
	gap.Nano -= c.Billed.Nano
	if gap.Nano == 0 && len(c.Differences) == 0 {
		return phrase("The client itself reports %v USD%v, the same.", c.CostUSD, part)
	}
	than := phrase("%v USD %v than the lines say", number(exact.Decimal{N: gap.Nano, Places: 9, Known: true}.Abs().Text(4)), either(gap.Nano < 0, "less", "more"))
	var models []string
	for _, m := range c.Differences {
		models = append(models, m.Model+" "+gapText(&m.Sum))
	}
	return phrase("The client itself reports %v USD%v, %v: %v.%v", c.CostUSD, part, either(gap.Nano == 0, "as much as the lines say", than), strings.Join(models, "; "),
		phraseIf(c.Guessed, " It had no price for a model, and assumed one."))
}

// gapText is a difference of the client's count to that of the lines, by token class.
func gapText(s *bill.Sum) string {
	var parts []string
	add := func(n int, what string) {
		if n != 0 {
			parts = append(parts, phraseIf(n > 0, "+")+thousands(n)+" "+what)
		}
	}
	add(s.Input.Uncached, "uncached input")
	add(s.Input.Read, "cache read")
	add(s.Input.Write5m+s.Input.Write1h, "cache write")
	add(s.Output, "output")
	add(s.Searches, "searches")
	usd := phrase("%v%v USD", phraseIf(s.CostUSD.Nano > 0, "+"), s.CostUSD)
	if len(parts) == 0 {
		return "for the same tokens " + usd
	}
	return strings.Join(parts, ", ") + " (" + usd + ")"
}

// fitText says how well the simulated prompt cache fits the sessions; "" where there is nothing to fit to.
func fitText(f *replay.CacheFit) string {
	short := fitShort(f)
	return joined(" ", phraseIf(short != "", "The simulated prompt cache %v.", short), phraseIf(!f.Holds(), "That is not enough for a verdict in money."))
}

// roughText says what the mark of an amount of money means.
func roughText(f *replay.CacheFit) string {
	return phraseIf(!f.Holds(), "~ marks amounts that rest on the simulation.")
}

// fitShort is fitText of the cache as the subject.
func fitShort(f *replay.CacheFit) string {
	switch {
	case f == nil || f.Requests == 0:
		return ""
	case f.Recorded == 0:
		return "cannot be checked, as no request has recorded usage"
	}
	return phrase("reads within 5 %% of the recorded amount on %v of %v%v", f.Near, count(f.Requests, "request"), phraseIf(f.Recorded < f.Requests, " (%v without usage)", f.Requests-f.Recorded)) +
		before("; in the simulation, the input of the recorded requests costs ", shareText(f.Billed, f.Simulated, "billed")) + expectedText(f)
}

// expectedText is what cache misses that no line shows are expected to add; "" where that is less than 0.1 %.
func expectedText(f *replay.CacheFit) string {
	percent := func(usd price.USD) exact.Decimal {
		return exact.Ratio(exact.Whole(100*usd.Nano), exact.Whole(f.Simulated.Nano), 1)
	}
	lower, upper := percent(f.Lower), percent(f.Upper)
	return phraseIf(upper.N > 0, ", and cache misses that no line shows are expected to add %v to %v %%", lower.Text(1), upper.Text(1))
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

// kindTable is the bill by what the calls were for.
func kindTable(b *bill.Bill) *table {
	return rowsOf(b.Kinds, func(k *bill.KindSum, r *billKindCells) style {
		r.CallsFor, r.Input = kindTexts[k.Kind], k.Input.Input()
		if k.Kind == bill.KindSearch {
			r.Calls = k.Searches
		}
		return none
	})
}

// shortTable is what a bill may be short of.
func shortTable(b *bill.Bill) *table {
	return rowsOf(lacks(b), func(l *lack, r *billShortCells) style {
		*r = billShortCells{l.what + " for " + l.of, l.calls, l.tokens, l.usd}
		return none
	})
}

// billSections are the lines of a bill.
func billSections(p *page, b *bill.Bill) {
	if len(b.Models) == 0 && b.Without == 0 {
		return
	}
	p.heading("what was billed")
	p.table(rowsOf(b.Models, func(m *bill.ModelSum, r *billedCells) style {
		r.Model = cmp.Or(m.Model, "not recorded")
		return none
	}))
	if len(b.Kinds) > 1 {
		p.section("what for", kindTable(b))
	}
	p.section("what the bill may be short of", shortTable(b))
}
