package report

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/stats"
	"github.com/ctxkit/ctxkit/replay/why"
)

// WhySchema is the version of the JSON form of cache misses.
const WhySchema = "ctxkit.why/v1"

// mostBreaks is how many cache misses, or sessions, a table shows.
const mostBreaks = 20

// Why prints what conversations cost and why, under the policies that use names.
func Why(w io.Writer, list []*why.SessionBreaks, use policy.Use, opt Layout) error {
	sum := why.Sum(list)
	d := &document{
		kind: "Why it cost that",
		json: func() any { return object{{"schema", WhySchema}, {"sessions", list}, {"total", sum}} },
		csv:  func() *table { return whyCSV(list) },
		page: func(p *page) {
			if len(list) == 1 {
				whyPage(p, list[0])
				return
			}
			whyOverview(p, list, sum)
			if p.Verbose {
				for _, s := range list {
					p.line("")
					whyPage(p, s)
				}
			}
		},
	}
	return d.after(use).print(w, opt)
}

// whyPage prints what one conversation cost and why.
func whyPage(p *page, s *why.SessionBreaks) {
	p.note(bold, joined(" ", whyText(why.Sum([]*why.SessionBreaks{s}), s.Policy, s.ByUsage(), s.Recorded), compactedText(s)))
	p.heading(sessionTitle(s.Session, s.Agent))
	p.fields(field{"title", s.Title}, field{"file", s.File}, field{"requests", heldText(session.RequestTally{Of: s.Lines, Whole: s.Held}, phraseIf(s.Recorded && s.Held > 0, "what differs between two requests"))}, field{"model", s.Model}, field{"policy", s.Policy}, field{"counter", s.Counter})
	expenseSection(p, s.Expenses, s.Spent, s.Contents)
	if steps := nextSteps(p, s); len(steps) > 0 {
		p.heading("what would cost less")
		p.items(none, steps)
	}
	refillSection(p, s)
	breakSection(p, s)
	p.top("what differs from the request before, as sent", sentTable(s.Changes), mostBreaks, "request", "json contains them")
	p.note(none, besideText(s.Bill, s.Cost, s.Policy, s.CacheFit))
	p.notes(faint, whyNotes(s.ByUsage(), s.Uncacheable, s.Cache))
}

// whyText is the answer in words: what was paid, and for what.
func whyText(t *why.BreaksTotal, name string, record, recorded bool) string {
	if t.Requests == 0 {
		return "There is no request: nothing was cached."
	}
	who := either(t.Sessions > 1, count(t.Sessions, "session"), "The session")
	requests := count(t.Requests, "request")
	var text string
	all := withCopies(t.Expenses, t.Spent)
	switch {
	case !t.Spent.Known && record:
		text = phrase("What %v cost is not known%v: %v.", either(t.Sessions > 1, "the sessions", "the session"), clientReports(t.Bill), cmp.Or(shortText(t.Bill, nil), "no price is known"))
	case !t.Spent.Known:
		text = phrase("What %v would cost is not known: no price is known for the model.", either(t.Sessions > 1, "the sessions", "the session"))
	case record:
		text = phrase("%v cost %v%v%v%v in %v.", who, phraseIf(t.Bill.AtLeast(), "at least "), usdText(t.Spent), freeText(t.Bill)+clientReports(t.Bill),
			phraseIf(all != t.Spent, "; with the calls that several sessions record counted in each, %v", usdText(all)), requests)
	default:
		text = phrase("%v%v would cost %v in %v%v.", either(recorded, "No usage is recorded; simulated, ", "Under "+name+" "), strings.ToLower(who[:1])+who[1:], usdText(t.Spent), requests,
			phraseIf(t.Refused > 0, " (a lower bound: %v over the limit)", count(t.Refused, "request")))
	}
	n, misses := missed(&t.Total, record)
	parts := []why.Expense{{Part: why.PartMisses, USD: misses, Times: n}, {Part: why.PartReads}}
	for i := range t.Expenses {
		switch e := t.Expenses[i]; e.Part {
		case why.PartMisses:
		case why.PartReads, why.PartResent:
			parts[1].USD.Add(e.USD)
			parts[1].Tokens += e.Tokens
		default:
			parts = append(parts, e)
		}
	}
	slices.SortStableFunc(parts, func(a, b why.Expense) int { return cmp.Compare(b.USD.Nano, a.USD.Nano) })
	var words []string
	for i := range parts {
		if e := &parts[i]; t.Spent.Known && e.USD.Nano*100 >= all.Nano && len(words) < mostWords && e.USD.Nano > 0 {
			words = append(words, phrase("%v%v %v", usdText(e.USD), shareOf(e.USD, all), answerText(e, t.Requests)))
		}
	}
	text = joined(" ", text, phraseIf(len(words) > 0, "Of that: %v.", strings.Join(words, ", ")))
	switch {
	case n == 0:
		text = joined(" ", text, either(t.Uncacheable < t.Requests, "There was no cache miss.", either(record, "No cache is recorded.", "Nothing of a request is cached.")))
	case !t.Spent.Known:
		text = joined(" ", text, phrase("There were %v.", count(n, "cache miss")))
	}
	if r := t.InRecord; r != nil && t.Usage > 0 {
		text = joined(" ", text, phrase("The recorded session had %v.", either(r.Breaks == 0, "no cache miss", phrase("%v, for %v", count(r.Breaks, "cache miss"), ofBilled(r.USD, t.Bill)))))
	}
	return text
}

// missed is how many cache misses there were and what they cost: by the recorded usage, or simulated.
func missed(t *why.BreakSum, record bool) (int, price.USD) {
	if record {
		return t.Breaks, t.USD
	}
	return t.Simulated, t.SimUSD
}

// mostWords is how many parts of a bill the answer names.
const mostWords = 4

// answerText is what a part of a bill was paid for, in the answer.
func answerText(e *why.Expense, requests int) string {
	switch e.Part {
	case why.PartReads:
		return phrase("for sending the context again (%v tokens per request)", (e.Tokens+requests/2)/max(requests, 1))
	case why.PartMisses:
		return "for " + count(e.Times, "cache miss")
	case why.PartSubagents:
		return "for " + count(e.Times, "subagent")
	}
	return "for " + expenseText(e)
}

// expenseText is what a part of a bill was paid for.
func expenseText(e *why.Expense) string {
	switch e.Part {
	case why.PartReads:
		return "the context again, at the price of cache reads"
	case why.PartResent:
		return "the context again, not cached"
	case why.PartMisses:
		return "extra for cache misses: " + lossText(e.Cause, e.Stage, e.Edit)
	case why.PartNew:
		return "new content"
	case why.PartOutput:
		return "output"
	case why.PartOwnCalls:
		return "summaries and other calls of the policy"
	case why.PartSubagents:
		return "subagents"
	case why.PartCopies:
		return "calls recorded in several sessions, counted once"
	}
	return kindTexts[bill.Kind(e.Part)]
}

// expenseSection divides a bill by what was paid for, and its input by what it consisted of.
func expenseSection(p *page, list []why.Expense, spent price.USD, contents []stats.CategoryTokens) {
	if len(list) == 0 {
		return
	}
	p.heading("what was paid for")
	t := rowsOf(list, func(e *why.Expense, r *expenseCells) style {
		r.For, r.Share = expenseText(e), number(strings.Trim(shareOf(e.USD, withCopies(list, spent)), " ()"))
		return either(e.Cause == backtest.Unexplained, yellow, none)
	})
	t.put(bold, expenseCells{For: "sum", USD: spent})
	p.table(t)
	costs := slices.Clone(contents)
	slices.SortStableFunc(costs, func(a, b stats.CategoryTokens) int { return cmp.Compare(b.USD.Nano, a.USD.Nano) })
	var input price.USD
	for i := range costs {
		input.Add(costs[i].USD)
	}
	if !input.Known {
		return
	}
	p.section(phrase("what the input consisted of, %v", usdText(input)), contentTable(costs, false))
}

// withCopies is what sessions cost where each counts the calls that several of them record.
func withCopies(list []why.Expense, spent price.USD) price.USD {
	if i := slices.IndexFunc(list, func(e why.Expense) bool { return e.Part == why.PartCopies && e.Times > 0 }); i >= 0 {
		spent.Nano -= list[i].USD.Nano
	}
	return spent
}

// portionCosts names the most expensive parts of a category.
func portionCosts(list []stats.Portion, most int) string {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b stats.Portion) int { return cmp.Compare(b.USD.Nano, a.USD.Nano) })
	var words []string
	for _, x := range order[:min(most, len(order))] {
		if x.USD.Nano >= 5_000_000 {
			words = append(words, phrase("%v %v%v", x.Name, x.USD.Decimal().Text(2), phraseIf(len(words) == 0, " USD")))
		}
	}
	return strings.Join(words, ", ") + phraseIf(len(words) > 1 && len(order) > most, ", …")
}

// nextSteps say by cause what would have cost less, with an amount each.
func nextSteps(p *page, s *why.SessionBreaks) (list []string) {
	add := func(text, hint string) { list = append(list, joined(" ", text, phraseIf(hint != "", "(%v)", hint))) }
	var groups []why.Expense // by part and cause, as far as the next step depends on it
	for _, e := range s.Expenses {
		e.Cause = stepOf(e.Cause)
		i := slices.IndexFunc(groups, func(g why.Expense) bool { return g.Part == e.Part && g.Cause == e.Cause })
		if i < 0 {
			groups = append(groups, e)
			continue
		}
		groups[i].Times += e.Times
		groups[i].Tokens += e.Tokens
		groups[i].USD.Add(e.USD)
	}
	for _, e := range groups {
		if e.USD.Nano*100 < s.Spent.Nano || e.USD.Nano <= 0 {
			continue
		}
		usd := usdText(e.USD)
		switch {
		case e.Part == why.PartReads:
			if text := largestContent(s.Contents); text != "" {
				add(text, p.Hints.Contents)
			}
		case e.Part == why.PartResent:
			add(phrase("The cache did not cover %v tokens that had been sent before, %v.", e.Tokens, usd), "")
		case e.Part == why.PartSubagents:
			add(phrase("%v cost %v.", count(e.Times, "subagent"), usd), p.Hints.Agents)
		case e.Part == why.PartMisses && e.Cause == cache.Expired:
			add(expiredText(s, &e), "")
		case e.Part == why.PartMisses:
			if text := missTexts[e.Cause]; text != "" {
				add(phrase(text, count(e.Times, "cache miss"), usd), phraseIf(e.Cause == cache.Edited, "%v", p.Hints.Policies))
			}
		}
	}
	return list
}

// stepOf is the cause of a cache miss as far as the next step depends on it.
func stepOf(c cache.BreakCause) cache.BreakCause {
	switch c {
	case cache.ModelSwitch, cache.EffortSet:
		return cache.ToolsChanged
	case cache.Compacted:
		return cache.Edited
	}
	return c
}

// missTexts say what would avoid a cache miss, by stepOf; with the number of cache misses and their cost.
var missTexts = map[cache.BreakCause]string{
	cache.Edited:       "Clearing and compaction: %v cost %v. A client that clears more at once, and less often, has fewer cache misses.",
	cache.Restart:      "Restarts of the client: %v cost %v. A restarted client sends the whole context anew: go on in the running one, or begin with a summary.",
	cache.ToolsChanged: "Another model, other tools or settings: %v cost %v. Change them when the context is small: at the start, or after a compaction.",
	cache.LookBackOver: "Many results at once, more than the cache looks back over: %v cost %v.",
}

// expiredText says what pauses cost and whether a cache of an hour would have been cheaper.
func expiredText(s *why.SessionBreaks, e *why.Expense) string {
	text := phrase("Pauses longer than the cache lives: %v cost %v.", count(e.Times, "cache miss"), usdText(e.USD))
	h := s.Hour
	longer := e.Times
	if h != nil {
		longer -= h.Pauses
		saved := h.Saved
		saved.Nano = max(saved.Nano, -saved.Nano)
		text += phrase(" %v of at most an hour cost %v: a one-hour cache would have saved %v%v.", count(h.Pauses, "pause"), usdText(h.USD),
			either(h.Saved.Nano > 0, usdText(saved), "nothing"), phraseIf(h.Saved.Nano <= 0, ", its writes cost %v more", usdText(saved)))
	}
	return text + phraseIf(longer > 0 && (h != nil || s.ByUsage()), " %v lasted over an hour, longer than a one-hour cache: compact before a long pause, or start a new session after it.", longer)
}

// largestContent says what the input cost most for.
func largestContent(list []stats.CategoryTokens) string {
	byUSD := func(a, b stats.CategoryTokens) int { return cmp.Compare(a.USD.Nano, b.USD.Nano) }
	var all price.USD
	for i := range list {
		all.Add(list[i].USD)
	}
	if all.Nano <= 0 {
		return ""
	}
	top := slices.MaxFunc(list, byUSD)
	text := phrase("The largest part of the input is %v: %v%v", contentNames[top.Category], usdText(top.USD), shareOf(top.USD, all))
	return text + before(", of that ", portionCosts(top.Of, 1)) + ". " + cmp.Or(contentAdvice[top.Category], "A smaller context costs less in every request.")
}

// contentAdvice says what makes less of some kinds of content.
var contentAdvice = map[category.Name]string{
	category.System:   "Fewer tools and shorter instructions cost less in every request.",
	category.Thinking: "A lower thinking effort costs less in every request after it.",
}

// compactedText says at which requests the context was compacted, and what had filled it before the first.
func compactedText(s *why.SessionBreaks) string {
	if len(s.Refills) == 0 {
		return ""
	}
	const most = 5
	var at []string
	for i := range s.Refills[:min(most, len(s.Refills))] {
		at = append(at, thousands(s.Refills[i].To))
	}
	first := &s.Refills[0]
	text := phrase("The context was compacted %v, before request%v %v%v", either(s.Compactions == 1, "once", thousands(s.Compactions)+" times"), phraseIf(len(at) > 1, "s"), strings.Join(at, ", "),
		phraseIf(len(s.Refills) > most, ", …"))
	text += before(either(s.Compactions == 1, ": ", "; the first time "), first.Reason) + phraseIf(first.Context > 0, ", at %v tokens", first.Context)
	if len(first.Parts) > 0 {
		text += phrase(". Until request %v, messages of %v tokens were added to %v of system prompt and tools%v; %v of them are %v", first.To, first.Joined, first.System,
			phraseIf(first.Joined > first.Before, ", and some of them removed again"), first.Parts[0].Tokens, sourceText(&first.Parts[0]))
	}
	return text + phraseIf(s.Thrash > 0, "; %v of the compactions freed less than a tenth", s.Thrash) + "."
}

// usdText is an amount in cents, or, if it is less, with its first digit.
func usdText(u price.USD) string {
	if !u.Known {
		return "an unknown amount"
	}
	places := 2
	for cent := int64(5_000_000); 0 < u.Nano && u.Nano < cent; cent /= 10 {
		places++
	}
	return u.Decimal().Text(places) + " USD"
}

// shareOf is the share of an amount in another, in brackets; "" where it is not known.
func shareOf(u, of price.USD) string {
	share := exact.Ratio(exact.Whole(u.Nano).Times(100), exact.Whole(of.Nano), 1)
	return either(share.Known && u.Known && of.Known, " ("+share.Text(1)+" %)", "")
}

// whyNotes say what the figures are.
func whyNotes(record bool, uncacheable int, mode replay.CacheMode) []string {
	notes := []string{phraseIf(uncacheable > 0, "%v had no breakpoint, no recorded cache or a prefix too short to be cached: there was nothing to lose.", count(uncacheable, "request"))}
	if record {
		notes = append(notes, "The rows of \"what was paid for\" add up to the bill. A cache miss is a request that read less than 95 % of what the request before had read and written; it costs the price of the tokens sent again, minus what reading them would have cost. "+
			"\"simulated\": what the same cache miss costs in the simulation, which also gives its cause. The input cost of each request is split among the kinds of content by their tokens.")
	} else {
		notes = append(notes, "The parts add up to the simulated cost. "+cacheNote(mode))
	}
	return notes
}

// whyOverview prints the cache misses of several conversations: by cause, and by session.
func whyOverview(p *page, list []*why.SessionBreaks, sum *why.BreaksTotal) {
	recorded := false
	record := false
	name := ""
	mode := replay.CacheMode("")
	for _, s := range list {
		recorded = recorded || s.Recorded
		record = record || s.ByUsage()
		name = cmp.Or(name, s.Policy)
		if mode = s.Cache; s.Policy != name {
			name = "the policy of each"
		}
	}
	p.note(bold, whyText(sum, name, record, recorded))
	expenseSection(p, sum.Expenses, sum.Spent, sum.Contents)
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *why.SessionBreaks) int {
		_, x := missed(&a.Total, record)
		_, y := missed(&b.Total, record)
		return cmp.Compare(y.Nano, x.Nano)
	})
	most := either(p.All, len(order), min(mostBreaks, len(order)))
	p.heading(either(most < len(order), phrase("the %v sessions whose cache misses cost most", most), "sessions, by the cost of their cache misses"))
	t := tableOf[brokenCells]()
	var ids []string
	for _, s := range order[:most] {
		ids = append(ids, s.Session)
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids))) // subagents have the id of their session
	short := shortIDs(ids)
	for _, s := range order[:most] {
		n, u := missed(&s.Total, record)
		u.Known = s.Spent.Known
		worst := ""
		if b := counted(s); len(b) > 0 {
			worst = phrase("request %v, %v USD: %v", b[0].Request, b[0].USD().Decimal().Text(2), breakText(&b[0]))
		}
		t.put(none, brokenCells{strings.TrimSpace(short[slices.Index(ids, s.Session)] + " " + s.Agent), s.Requests, n, u, number(strings.Trim(shareOf(u, s.Spent), " ()")), worst})
	}
	p.table(t)
	p.hidden(len(order)-most, "session", "json and csv contain them")
	p.note(none, p.Hints.Pages)
	p.note(none, besideText(sum.Bill, sum.Cost, name, sum.CacheFit))
	p.notes(faint, whyNotes(record, sum.Uncacheable, mode))
}

// whyCSV has a row per break.
func whyCSV(list []*why.SessionBreaks) *table {
	t := tableOf[cacheBreakCells]()
	for _, s := range list {
		t.rows = append(t.rows, cacheBreakTable(s, s.Breaks).rows...)
	}
	return t
}
