package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/stats"
	"github.com/ctxkit/ctxkit/replay/why"
)

// WhySchema is the version of the JSON form of breaks of the prompt cache.
const WhySchema = "ctxkit.why/v1"

// mostBreaks is how many breaks, or sessions, a table shows.
const mostBreaks = 20

// Why prints where the prompt cache of conversations broke under the policies that use names, and why.
func Why(w io.Writer, list []*why.SessionBreaks, use policy.Use, opt Layout) error {
	sum := why.Sum(list)
	d := &document{
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

// lostByRecord reports whether breaks are counted by the usage, and not by the simulation.
func lostByRecord(s *why.SessionBreaks) bool { return s.Recorded && s.Usage > 0 }

// whyPage prints the breaks of one conversation.
func whyPage(p *page, s *why.SessionBreaks) {
	p.note(bold, joined(" ", whyText(why.Sum([]*why.SessionBreaks{s}), s.Policy, lostByRecord(s), s.Recorded), largestText(s), unexplainedText(s.Causes), thrashText(s)))
	p.heading(sessionTitle(s.Session, s.Agent))
	p.fields(field{"title", s.Title}, field{"file", s.File}, field{"requests", heldText(s.Lines, s.Held, phraseIf(s.Recorded && s.Held > 0, "what differs between two requests"))}, field{"model", s.Model}, field{"policy", s.Policy}, field{"counter", s.Counter})
	breakSection(p, s)
	if len(s.Changes) > 0 {
		p.heading("what differs from the request before, as sent")
		p.top(sentTable(s.Changes), mostBreaks, "request", "json contains them")
	}
	if len(s.Causes) > 1 {
		p.heading("by cause")
		p.table(causeSumTable(s.Causes, lostByRecord(s)))
	}
	shareSection(p, s.Parts, s.Cost)
	refillSection(p, s)
	p.note(none, besideText(s.Bill, s.Cost, s.Policy, s.CacheFit))
	p.notes(faint, whyNotes(lostByRecord(s), s.Uncacheable, s.Cache))
}

// whyText is the answer in words: how often the cache broke, and what of the cost that is.
func whyText(t *why.BreaksTotal, name string, record, recorded bool) string {
	sessions := phraseIf(t.Sessions > 1, "In %v sessions ", t.Sessions)
	first := func(s string) string { return either(sessions == "", strings.ToUpper(s[:1])+s[1:], sessions+s) }
	switch {
	case t.Requests == 0:
		return "There is no request: nothing was cached."
	case record && t.Total.Breaks == 0:
		return first(phrase("the prompt cache never broke: by the usage each request read at least 95 %% of what the one before it had left."))
	case record:
		return first(phrase("%v of the prompt cache cost %v.", count(t.Total.Breaks, "break"), ofBilled(t.Total.USD, t.Bill)))
	}
	text := ""
	if recorded {
		text = "No usage is recorded, so it is not known where the cache broke; this is the simulation. "
	}
	under := either(recorded, "", "under "+name+" ")
	if t.Total.Simulated == 0 {
		text += first(phrase("%vthe prompt cache would not break%v.", under, either(t.Uncacheable == t.Requests, ": nothing of a request is cached", "")))
	} else {
		text += first(phrase("%vthe prompt cache would break %v; that is %v of %v%v.", under, times(t.Total.Simulated), usdText(t.Total.SimUSD),
			usdText(t.Cost), shareOf(t.Total.SimUSD, t.Cost)))
	}
	if r := t.InRecord; r != nil && t.Usage > 0 {
		text += phrase(" The record itself broke %v, for %v.", times(r.Breaks), ofBilled(r.USD, t.Bill))
	}
	return text
}

// times counts: "once", "twice", "3 times".
func times(n int) string {
	return either(n == 1, "once", either(n == 2, "twice", thousands(n)+" times"))
}

// usdText is an amount that may be very small.
func usdText(u price.USD) string {
	switch {
	case !u.Known:
		return "an unknown amount"
	case u.Nano > 0 && u.Nano < 5_000_000:
		return "less than 0.01 USD"
	}
	return u.Decimal().Text(2) + " USD"
}

// shareOf is the share of an amount in another, in brackets; "" where it is not known.
func shareOf(u, of price.USD) string {
	share := exact.Ratio(exact.Whole(u.Nano).Times(100), exact.Whole(of.Nano), 1)
	return either(share.Known && u.Known && of.Known, " ("+share.Text(1)+" %)", "")
}

// counted are the breaks that the answer counts: those of the record where it has usage, else the simulated ones.
func counted(s *why.SessionBreaks) []why.CacheBreak {
	return slices.DeleteFunc(slices.Clone(s.Breaks), func(b why.CacheBreak) bool { return lostByRecord(s) && b.InFile == nil })
}

func largestText(s *why.SessionBreaks) string {
	list := counted(s)
	if len(list) < 2 || !list[0].USD().Known {
		return ""
	}
	return phrase("The largest, %v at request %v: %v.", usdText(list[0].USD()), list[0].Request, breakText(&list[0]))
}

// unexplainedText says what of the breaks no line explains.
func unexplainedText(causes []why.BreakSum) (text string) {
	var fell why.RecordedBreaks
	for _, c := range causes {
		switch {
		case c.Cause == backtest.Unexplained && c.Breaks > 0:
			text = phrase("%v of them, %v, %v unexplained: no line of the file says why.", c.Breaks, usdText(c.USD), either(c.Breaks == 1, "is", "are"))
		case c.Cause == cache.ContextFell || c.Edit == policy.KindInferred:
			fell.Breaks += c.Breaks
			fell.USD.Add(c.USD)
		}
	}
	if n := fell.Breaks; n > 0 {
		text = joined(" ", text, phrase("%v %v, %v: the usage shows that the context fell, and no line says why.", n, either(text == "", "of them", "more"), usdText(fell.USD)))
	}
	return text
}

// thrashText says how soon compactions followed one another.
func thrashText(s *why.SessionBreaks) string {
	if len(s.Refills) == 0 {
		return ""
	}
	q := quickest(s.Refills)
	return phrase("The context was compacted %v, at the quickest %v after the time before%v.", times(s.Compactions), count(q.Requests, "request"),
		phraseIf(s.Thrash > 0, "; %v freed less than a tenth", s.Thrash))
}

// quickest is the refill of the fewest requests.
func quickest(list []stats.Refill) *stats.Refill {
	q := slices.MinFunc(list, func(a, b stats.Refill) int { return cmp.Or(a.Requests-b.Requests, a.From-b.From) })
	return &q
}

// breakSection lists the breaks.
func breakSection(p *page, s *why.SessionBreaks) {
	shown := counted(s)
	if p.All {
		shown = s.Breaks
	}
	if len(shown) > 0 {
		p.heading("breaks, the most expensive first")
		p.top(cacheBreakTable(s, shown), mostBreaks, "break", "json and csv contain them")
	}
	if n := len(s.Breaks) - len(shown); n > 0 {
		var only price.USD
		for i := range s.Breaks {
			if b := &s.Breaks[i]; b.InFile == nil {
				only.Add(b.USD())
			}
		}
		p.note(faint, phrase("The simulated cache alone broke at %v, %v: %v.", count(n, "further request"), usdText(only), joined(", ", p.Hints.All, "json and csv contain them")))
	}
}

// cacheBreakTable has a row per break.
func cacheBreakTable(s *why.SessionBreaks, list []why.CacheBreak) *table {
	t := tableOf[cacheBreakCells]()
	for i := range list {
		b := &list[i]
		var event any
		if b.Event != nil {
			event = *b.Event
		}
		sim := cmp.Or(b.Sim, &why.SimulatedBreak{})
		cells := cacheBreakCells{
			named{s.Session, s.Agent, s.File, s.Policy, s.Counter}, b.Request, b.Line, pair{timeText(b.Time, "01-02 15:04"), b.Time},
			string(b.Cause), b.Stage, event, string(b.Edit), b.Trigger, b.Before, b.Model, decimal{b.Idle, 3}, b.Tool, breakText(b),
			b.Lost(), inRecordCells{}, sim.Lost, sim.USD, sim.USD, nil,
			lostParts{ifKnown(sim.Restarts), ifKnown(sim.Changes), ifKnown(sim.Edits), ifKnown(sim.Lifetime), ifKnown(sim.Placement)},
		}
		if lostByRecord(s) {
			cells.Lost, cells.USD, cells.Simulated = number("-"), price.USD{}, sim.USD
		}
		if r := b.InFile; r != nil {
			cells.Lost, cells.inRecordCells = r.Lost, inRecordCells{r.Left, r.Read, r.Lost, r.USD}
			if lostByRecord(s) {
				cells.USD = r.USD
			}
		}
		if b.Sim == nil {
			cells.SimulatedLostTokens, cells.SimulatedUSD = nil, nil
		}
		t.put(either(b.Cause == backtest.Unexplained, yellow, none), cells)
	}
	return t
}

// ifKnown is an amount, or an empty cell.
func ifKnown(u price.USD) any { return either[any](u.Known, u, nil) }

// longPause is the shortest pause that is worth a word beside another cause, seconds: the shorter lifetime.
const longPause = 5 * 60

// breakText is the cause of a break in words.
func breakText(b *why.CacheBreak) string {
	idle := timeSpan(b.Idle) + either(b.Tool, " in a tool call", " idle")
	text := lossText(b.Cause, b.Stage, b.Edit)
	switch {
	case b.Cause == cache.Expired && b.Idle > 0:
		return text + " after " + idle
	case b.Cause == cache.Expired:
		return text
	case b.Cause == backtest.Unexplained && b.Sent != nil:
		text += ": all of the request before was sent again"
	case b.Sent != nil && b.Sent.Change != nil && b.Cause != cache.Compacted:
		text += ": " + changeText(b.Sent.Change)
	case b.Cause == backtest.Unexplained:
		text += ": no line says why"
	case b.Model != "":
		text += phrase(": from %v to %v", cmp.Or(b.Before, "(unknown)"), b.Model)
	case b.Trigger != "" && b.Edit != policy.KindInferred:
		text += " (" + b.Trigger + ")"
	}
	return text + phraseIf(b.Idle >= longPause, ", after %v", idle)
}

// sentTable has a row per request that differs from the one before.
func sentTable(list []why.RequestChange) *table {
	t := tableOf[sentCells]()
	for _, c := range list {
		t.put(none, sentCells{c.Request, c.Line, changeText(c.Change), c.Tokens, c.Lost, ifKnown(c.USD)})
	}
	return t
}

// changeText says what differs between two requests on record.
func changeText(c *requests.BodyChange) string {
	what := string(c.Part) + " " + c.Name
	switch c.Part {
	case requests.PartModel:
		what = "model"
	case requests.PartSystem:
		what = phrase("system prompt, text %v", c.Block)
	case requests.PartMessage:
		what = phrase("message %v (%v), block %v (%v), line %v,", c.Message, c.Role, c.Block, c.Name, c.Line)
	}
	switch {
	case c.Was == "":
		return what + " is new"
	case c.Is == "":
		return what + " is gone"
	case c.Part == requests.PartTool:
		return what + " is another"
	case c.Was == cutMark:
		return phrase("%v has in addition: %v", what, Clean(strings.TrimSpace(strings.TrimPrefix(c.Is, cutMark))))
	case c.Is == cutMark:
		return phrase("%v lacks: %v", what, Clean(strings.TrimSpace(strings.TrimPrefix(c.Was, cutMark))))
	}
	return cmp.Or(membersText(c), phrase("%v was %v, is %v", what, Clean(c.Was), Clean(c.Is)))
}

// cutMark stands for what two texts have in common.
const cutMark = "…"

// membersText says which members of a setting differ; "" where it is none with members, or one too long to tell.
func membersText(c *requests.BodyChange) string {
	var was, is map[string]json.RawMessage
	if c.Part != requests.PartSetting || json.Unmarshal([]byte(c.Was), &was) != nil || json.Unmarshal([]byte(c.Is), &is) != nil {
		return ""
	}
	both := maps.Clone(was)
	maps.Copy(both, is)
	var words []string
	value := func(v json.RawMessage) string { return Clean(strings.Trim(compactJSON(v), `"`)) }
	for _, name := range slices.Sorted(maps.Keys(both)) {
		what := strings.TrimPrefix(c.Name+"."+name, "output_config.")
		switch a, b := was[name], is[name]; {
		case a == nil:
			words = append(words, phrase("%v %v is new", what, value(b)))
		case b == nil:
			words = append(words, phrase("%v %v is gone", what, value(a)))
		case compactJSON(a) != compactJSON(b):
			words = append(words, phrase("%v was %v, is %v", what, value(a), value(b)))
		}
	}
	return strings.Join(words, "; ")
}

// recordedEdits are the edits of the recorded track in words.
var recordedEdits = map[policy.EditKind]string{
	policy.KindClear: "microcompaction", policy.KindPersist: "results moved to files", policy.KindRemove: "messages removed",
	policy.KindCollapse: "span collapsed", policy.KindAttach: "messages attached", policy.KindInferred: "tokens left, no line says which",
}

// lossText is a cause in words.
func lossText(c cache.BreakCause, stage string, kind policy.EditKind) string {
	recorded := stage == "" || stage == replay.RecordedTrack().Name
	switch c {
	case backtest.Unexplained:
		return "unexplained"
	case cache.Expired:
		return "expired"
	case cache.Compacted:
		return either(recorded, "compaction", "compaction by "+stage)
	case cache.Edited:
		if recorded {
			return cmp.Or(recordedEdits[kind], "edit of the record")
		}
		return "edit by " + stage + phraseIf(kind != "", ": %v", kind)
	case cache.ModelSwitch:
		return "another model"
	}
	return cache.Cause{Kind: c}.String()
}

// causeSumTable has a row per cause, and a sum.
func causeSumTable(list []why.BreakSum, record bool) *table {
	t := tableOf[breakSumCells]()
	var all why.BreakSum
	add := func(st style, name string, c *why.BreakSum) {
		if record {
			t.put(st, breakSumCells{name, c.Breaks, c.Lost, c.USD, c.SimUSD, number(phraseIf(c.Only > 0, "%v", c.Only))})
			return
		}
		t.put(st, breakSumCells{Cause: name, Breaks: c.Simulated, Lost: c.SimLost, USD: c.SimUSD})
	}
	for i := range list {
		c := &list[i]
		all.Add(c)
		add(either(c.Cause == backtest.Unexplained, yellow, none), lossText(c.Cause, c.Stage, c.Edit), c)
	}
	add(bold, "sum", &all)
	return t
}

// shareTexts are the parts of the cost in words.
var shareTexts = map[string]string{
	why.PartContent: "what is new, or is read", why.PartRestarts: "lost by restarts", why.PartChanges: "lost by another model, tools or settings",
	why.PartBreaks: "lost by edits and compactions", why.PartLifetime: "lost by expiry", why.PartPlacement: "lost by breakpoints and look-back",
	why.PartOwnCalls: "own calls, such as compactions", why.PartOutput: "output",
}

// shareSection divides the simulated cost.
func shareSection(p *page, parts []why.CostShare, cost price.USD) {
	if !cost.Known {
		return
	}
	p.heading(phrase("the simulated cost, %v, by its parts", usdText(cost)))
	t := tableOf[costShareCells]()
	var all, at price.USD
	for _, x := range parts {
		all.Add(x.USD)
		at.Add(x.AtBreaks)
		if x.USD.Nano != 0 || x.AtBreaks.Nano != 0 {
			t.put(none, costShareCells{shareTexts[x.Part], x.AtBreaks, price.USD{Nano: x.USD.Nano - x.AtBreaks.Nano, Known: true}, x.USD})
		}
	}
	t.put(bold, costShareCells{"sum", at, price.USD{Nano: all.Nano - at.Nano, Known: true}, all})
	p.table(t)
}

// refillSection lists what joined between compactions.
func refillSection(p *page, s *why.SessionBreaks) {
	if len(s.Refills) == 0 {
		return
	}
	list := slices.Clone(s.Refills)
	slices.SortStableFunc(list, func(a, b stats.Refill) int { return a.Requests - b.Requests })
	p.heading("compactions that follow one another, the quickest first")
	t := tableOf[refillCells]()
	for _, r := range list {
		to := number(either(r.To > s.Requests, "end", thousands(r.To)))
		t.put(none, refillCells{r.From, to, r.Requests, r.Prompts, number(either(r.Seconds > 0 && r.Seconds < 60, "<1 min", timeSpan(r.Seconds))), r.Joined, number(perMille(r.Freed)), sourcesText(r.Parts)})
	}
	p.top(t, MostStats, "refill", "json contains them")
	for _, r := range list[:either(p.All, len(list), 1)] {
		p.heading(phrase("what refilled the context from request %v to %v: %v tokens", r.From, either(r.To > s.Requests, "the end", thousands(r.To)), r.Joined))
		t := tableOf[refillSourceCells]()
		for _, x := range r.Heaviest {
			t.put(none, refillSourceCells{x.Tokens, x.Times, sourceText(&x), x.Target, number(phraseIf(x.Line > 0, "%v", fmt.Sprint(x.Line)))})
		}
		p.top(t, MostStats, "source", "json contains them")
	}
}

// sourceText is where tokens came from, in words.
func sourceText(x *stats.RefillSource) string {
	tool := slices.Contains([]category.Name{category.Calls, category.Results, category.Images, category.Attachments, category.Notes}, x.Category)
	return contentNames[x.Category] + phraseIf(tool && x.Of != "", " (%v)", x.Of)
}

// sourcesText names the largest sources.
func sourcesText(list []stats.RefillSource) string {
	const most = 3
	var words []string
	for i := range list[:min(most, len(list))] {
		words = append(words, phrase("%v %v", sourceText(&list[i]), list[i].Tokens))
	}
	return strings.Join(words, ", ") + phraseIf(len(list) > most, ", …")
}

// whyNotes say what the figures are.
func whyNotes(record bool, uncacheable int, mode replay.CacheMode) []string {
	notes := []string{phraseIf(uncacheable > 0, "%v had no breakpoint or a prefix too short to be cached: there was nothing to lose.", count(uncacheable, "request"))}
	if record {
		notes = append(notes, "A break: a request read less than 95 % of what the one before had read and written. USD is by the usage that the API reported: what the tokens that were sent again cost more than if they had been read. "+
			"\"simulated\" is by the simulated cache, whose parts add up to the simulated cost; it names the cause. A break that it does not have is unexplained. The simulated cost differs from the bill by outputs that are not recorded, the client's own calls, and the cache.")
	} else {
		notes = append(notes, "All figures are of the simulated cache. "+cacheNote(mode))
	}
	return slices.DeleteFunc(notes, func(s string) bool { return s == "" })
}

// whyOverview prints the breaks of several conversations: by cause, and by session.
func whyOverview(p *page, list []*why.SessionBreaks, sum *why.BreaksTotal) {
	recorded, record, name, mode := false, false, "", replay.CacheMode("")
	for _, s := range list {
		recorded, record, name = recorded || s.Recorded, record || lostByRecord(s), cmp.Or(name, s.Policy)
		if mode = s.Cache; s.Policy != name {
			name = "the policy of each"
		}
	}
	text := whyText(sum, name, record, recorded)
	if len(sum.Causes) > 1 {
		c := &sum.Causes[0]
		n, u, of := c.Simulated, c.SimUSD, sum.Total.SimUSD
		if record {
			n, u, of = c.Breaks, c.USD, sum.Total.USD
		}
		if u.Nano > 0 {
			text += phrase(" The largest cause: %v, %v in %v%v.", lossText(c.Cause, c.Stage, c.Edit), usdText(u), count(n, "break"), shareOf(u, of))
		}
	}
	p.note(bold, joined(" ", text, unexplainedText(sum.Causes)))
	p.heading("by cause")
	p.table(causeSumTable(sum.Causes, record))
	order := slices.Clone(list)
	cost := func(s *why.SessionBreaks) (n int, u, of price.USD) {
		if n, u, of = s.Total.Simulated, s.Total.SimUSD, s.Cost; record {
			n, u, of = s.Total.Breaks, s.Total.USD, s.Bill.MainUSD
		}
		u.Known = of.Known
		return n, u, of
	}
	slices.SortStableFunc(order, func(a, b *why.SessionBreaks) int {
		_, x, _ := cost(a)
		_, y, _ := cost(b)
		return cmp.Compare(y.Nano, x.Nano)
	})
	most := either(p.All, len(order), min(mostBreaks, len(order)))
	p.heading(either(most < len(order), phrase("the %v sessions whose breaks cost most", most), "sessions, by what breaks cost"))
	t := tableOf[brokenCells]()
	var ids []string
	for _, s := range order[:most] {
		ids = append(ids, s.Session)
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids))) // subagents have the id of their session
	short := shortIDs(ids)
	for _, s := range order[:most] {
		n, u, of := cost(s)
		worst := ""
		if b := counted(s); len(b) > 0 {
			worst = phrase("request %v, %v USD: %v", b[0].Request, b[0].USD().Decimal().Text(2), breakText(&b[0]))
		}
		t.put(none, brokenCells{strings.TrimSpace(short[slices.Index(ids, s.Session)] + " " + s.Agent), s.Requests, n, u, number(strings.Trim(shareOf(u, of), " ()")), worst})
	}
	p.table(t)
	p.hidden(len(order)-most, "session", "json and csv contain them")
	p.note(none, p.Hints.Pages)
	shareSection(p, sum.Parts, sum.Cost)
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
