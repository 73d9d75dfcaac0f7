package report

import (
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
)

// billedText says what was billed: "20.00 USD", "at least 0.31 USD".
func billedText(b *bill.Bill) string {
	return phraseIf(b.AtLeast() && b.CostUSD.Known, "at least ") + usdText(b.CostUSD)
}

// ofBilled is a bill of which a part is named: "the 20.00 USD billed".
func ofBilled(b *bill.Bill) string {
	return phrase("the %v%v billed", usdText(b.CostUSD), phraseIf(b.AtLeast() && b.CostUSD.Known, " or more"))
}

// recordBilled says what the record was billed, and by how much that may be short; than is put behind the amount.
func recordBilled(b *bill.Bill, than string) string {
	short := strings.Join(shortTexts(b), "; ")
	switch {
	case b.Calls == 0:
		return "The record has no usage: what it was billed is not known."
	case !b.CostUSD.Known:
		return phrase("What the record was billed is not known: %v.", short)
	case short != "":
		return phrase("The record was billed %v%v: %v.", billedText(b), than, short)
	}
	return phrase("The record was billed %v by its usage%v.", billedText(b), than)
}

// billedSentence is what sessions were billed; "" where that is not known.
func billedSentence(b *bill.Bill) string {
	if b == nil || !b.CostUSD.Known {
		return ""
	}
	return joined(" ", phrase("Billed, as recorded: %v.", billedText(b)), copiesText(b.Copies))
}

// simulatedText holds the bill of the recorded session beside the simulated cost; "" where neither is known. Without names
// it does not say which models have no price: a file may call them anything.
func simulatedText(tl *replay.Timeline, nameless bool) string {
	b := tl.Bill
	if nameless && b != nil && len(b.NotPriced) > 0 {
		all := bill.Unpriced{What: "some models or modes"}
		for _, u := range b.NotPriced {
			all.Calls += u.Calls
			all.Tokens += u.Tokens
		}
		without := *b
		without.NotPriced = []bill.Unpriced{all}
		b = &without
	}
	return costText(b, price.USD{}, "", tl.CacheFit)
}

// costText holds a bill beside what the replay under a policy costs, where that is known; "" where nothing was billed.
func costText(b *bill.Bill, simulated price.USD, policy string, fit *replay.CacheFit) string {
	if b == nil || b.Calls+b.Without == 0 {
		return ""
	}
	return joined(" ", recordBilled(b, ""), phraseIf(simulated.Known, "Simulated%v, it costs %v.", before(" under ", policy), usdText(simulated)),
		copiesText(b.Copies), fitText(fit))
}

// shortTexts say why a bill is a lower bound, and by how much it may be short.
func shortTexts(b *bill.Bill) (list []string) {
	all := b.Calls + b.Without
	if s := &b.Partial; s.Calls > 0 {
		list = append(list, phrase("%v of %v %v no reliable output count%v", s.Calls, count(all, "response"), either(s.Calls == 1, "has", "have"),
			phraseIf(s.Tokens > 0, " (about %v tokens%v)", rounded(s.Tokens), phraseIf(s.CostUSD.Known, ", %v", usdText(s.CostUSD)))))
	}
	if b.Without > 0 {
		list = append(list, phrase("%v of %v %v no usage", b.Without, count(all, "response"), either(b.Without == 1, "has", "have")))
	}
	if b.Unbilled > 0 {
		list = append(list, phrase("the %v of %v %v on no line", either(b.Unbilled == 1, "call", "calls"), count(b.Unbilled, "compaction"), either(b.Unbilled == 1, "is", "are")))
	}
	for _, u := range b.NotPriced {
		list = append(list, phrase("no price is known for %v (%v%v)", u.What, count(u.Calls, "call"), phraseIf(u.Tokens > 0, ", %v tokens", u.Tokens)))
	}
	return list
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

// copiesText says how many calls a sum leaves out because several sessions record them.
func copiesText(c bill.Copies) string {
	return phraseIf(c.Calls > 0, "%v that several sessions record (forks, resumed sessions): the bill counts each once%v.", count(c.Calls, "copied call"),
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

// fitText says how well the simulated prompt cache fits the sessions; "" where nothing is recorded to fit to.
func fitText(f *replay.CacheFit) string {
	if f == nil || f.Requests == 0 {
		return ""
	}
	text := "No cache reads are recorded"
	if f.Read > 0 {
		text = phrase("The simulated prompt cache reproduces %v of the recorded cache reads", percent(f.Reproduced, f.Read))
	}
	return text + before("; by it the input of the recorded requests costs ", inputFit(f)) + "."
}

// inputFit is what the input of the recorded requests costs by the simulated cache.
func inputFit(f *replay.CacheFit) string {
	share := shareText(f.Recorded, f.Simulated, "than as recorded")
	return either(share == "as much", "as much as recorded", share)
}

// moneyText is what so many sessions were billed; "" where that is not known.
func moneyText(m *compare.Money, sessions int) string {
	if !m.CostUSD.Known {
		return ""
	}
	return joined(" ", phrase("Billed, as recorded: %v%v%v.", phraseIf(m.AtLeast > 0, "at least "), usdText(m.CostUSD),
		phraseIf(m.Priced < sessions, ", of the %v of %v with a price", m.Priced, count(sessions, "session"))),
		phraseIf(m.AtLeast > 0 && sessions > 1, "The bill of %v lacks something.", count(m.AtLeast, "session")), copiesText(m.Copies), fitText(m.CacheFit))
}

// fitShort is fitText in short.
func fitShort(f *replay.CacheFit) string {
	if f == nil {
		return ""
	}
	return phrase("%v of the recorded cache reads are simulated%v", percent(f.Reproduced, f.Read), before("; the input of the recorded requests costs ", inputFit(f)))
}

// billCell is a bill in a table: ">=" before one that is a lower bound.
func billCell(b *bill.Bill) any {
	if b == nil {
		return nil
	}
	return number(either(b.AtLeast() && b.CostUSD.Known, ">= ", "") + b.CostUSD.String())
}

// shortBill is a bill without its calls.
func shortBill(b *bill.Bill) *bill.Bill {
	if b == nil {
		return nil
	}
	sums := *b
	sums.List = nil
	return &sums
}

// kindTexts are the kinds of calls in words.
var kindTexts = map[bill.Kind]string{
	bill.KindRequest: "requests", bill.KindBranch: "branches that were left", bill.KindAttempt: "other models within a request: fallback, advisor",
	bill.KindCompaction: "compactions", bill.KindSummary: "summaries of branches", bill.KindWarming: "cache warming", bill.KindSearch: "web searches",
	bill.KindRun: "calls that only the totals of their run count", bill.KindOther: "other calls of the client",
}

// kindTable is the bill by what the calls were for.
func kindTable(b *bill.Bill) *table {
	t := newTable(billKindColumns)
	for _, k := range b.Kinds {
		t.add(none, kindTexts[k.Kind], either[any](k.Kind == bill.KindSearch, k.Searches, k.Calls), k.Input.Input(), k.Output, k.CostUSD)
	}
	return t
}

// shortTable is what a bill may be short of, and what it leaves out.
func shortTable(b *bill.Bill) *table {
	t := newTable(billShortColumns)
	if s := &b.Partial; s.Calls > 0 {
		t.add(none, "no reliable output count: estimated by the text", s.Calls, s.Tokens, s.CostUSD)
	}
	if b.Without > 0 {
		t.add(none, "no usage", b.Without, "", "-")
	}
	if b.Unbilled > 0 {
		t.add(none, "compactions on no line", b.Unbilled, "", "-")
	}
	for _, u := range b.NotPriced {
		t.add(none, "no price: "+u.What, u.Calls, u.Tokens, "-")
	}
	if c := &b.Copies; c.Calls > 0 {
		t.add(none, "copies in other sessions, counted once", c.Calls, "", c.CostUSD)
	}
	return t
}

// billSections are the lines of a bill.
func billSections(p *page, b *bill.Bill) {
	if len(b.Models) == 0 && b.Without == 0 {
		return
	}
	p.heading("what was billed")
	p.table(billedTable(b.Models))
	if len(b.Kinds) > 1 {
		p.heading("what for")
		p.table(kindTable(b))
	}
	if t := shortTable(b); len(t.rows) > 0 {
		p.heading("not in the bill")
		p.table(t)
	}
}

// sumBills is the bill of several conversations, over distinct calls.
func sumBills(list ...*bill.Bill) *bill.Bill {
	var l bill.Ledger
	for _, b := range slices.DeleteFunc(slices.Clone(list), func(b *bill.Bill) bool { return b == nil }) {
		l.Add(b)
	}
	return l.Bill()
}
