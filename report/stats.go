package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/stats"
)

// StatsSchema is the version of the JSON form of what fills contexts.
const StatsSchema = "ctxkit.stats/v1"

// MostStats is how many files, results, turns and repeated texts a table of stats shows.
const MostStats = 10

// Stats prints what fills the contexts of conversations under the policies that use names.
func Stats(w io.Writer, list []*stats.SessionStats, use policy.Use, opt Layout) error {
	sum := stats.Sum(list)
	d := &document{
		kind: "What fills the context",
		json: func() any { return object{{"schema", StatsSchema}, {"sessions", list}, {"total", sum}} },
		csv:  func() *table { return statsCSV(list) },
		page: func(p *page) {
			if p.NoText {
				list = wordlessStats(list)
			}
			if len(list) == 1 {
				statsPage(p, list[0])
				return
			}
			statsOverview(p, list, sum)
		},
	}
	return d.after(use).print(w, opt)
}

// contentNames are the categories for people.
var contentNames = map[category.Name]string{
	category.System: "system prompt and tools", category.Earlier: "history before the file", category.Prompts: "user prompts",
	category.Notes: "client's messages", category.Attachments: "attachments", category.Text: "assistant text",
	category.Thinking: "thinking", category.Calls: "tool calls", category.Results: "tool results",
	category.Images: "images and documents", category.Summaries: "summaries", category.Reinjected: "sent again after a compaction",
	category.Inserted: "added by the policy", category.Unrecorded: "not in the file",
}

// contentMarks are the categories in the picture. No two are alike without colour.
var contentMarks = map[category.Name]string{
	category.System: "▣", category.Earlier: "◌", category.Prompts: "●", category.Notes: "○", category.Attachments: "◆", category.Text: "▲",
	category.Thinking: "△", category.Calls: "◧", category.Results: "■", category.Images: "◇", category.Summaries: "★",
	category.Reinjected: "☆", category.Inserted: "+", category.Unrecorded: "?",
}

// freeMark is a part of the window that is free.
const freeMark = "·"

// contentStyles are the colours of the largest categories in the picture. The marks say the same.
var contentStyles = map[category.Name]style{
	category.System: faint, category.Prompts: green, category.Calls: yellow, category.Results: cyan, category.Thinking: red, category.Unrecorded: boldRed,
}

// statsPage prints the stats of one conversation.
func statsPage(p *page, s *stats.SessionStats) {
	p.note(bold, statsText(s))
	p.notes(yellow, statsTrouble(s))
	p.heading(sessionTitle(s.Session, s.Agent))
	p.fields(field{"title", s.Title}, field{"file", s.File}, field{"requests", heldText(session.RequestTally{Of: s.Lines, Whole: s.Held}, phraseIf(s.Overhead != nil, "the parts of the system prompt and the tools"))}, field{"model", s.Model}, field{"policy", s.Policy},
		field{"counter", s.Counter}, field{"peak", phrase("%v at request %v", s.Peak.Tokens, s.Peak.Request)})
	if s.Request == 0 {
		return
	}
	p.heading(phrase("the context at request %v", s.Request))
	p.shares(sharesOf(s.Categories, false), contentPicture(p, s))
	p.table(contentTable(s.Categories, true))
	if o := s.Overhead; o != nil {
		p.topStats(phrase("system prompt and tools, as line %v holds them", o.Line), rowsOf(o.Parts, func(x *stats.OverheadPart, r *overheadCells) style {
			r.Of = cmp.Or(x.Server, x.Kind)
			r.Percent = percent(x.Tokens, o.Tokens)
			return none
		}), "part")
		p.note(faint, overheadNote(o))
		p.section("what the client adds to messages, which a policy can take away", rowsOf[addedCells](o.InMessages, nil))
	}
	p.heading(either(s.Until == s.Requests, "tools", phrase("up to request %v: tools", s.Until)))
	p.topStats("", toolTable(s.Tools), "tool")
	p.note(faint, phraseIf(len(s.Tools) > 0, "returned: tokens of the results. in context: tokens of calls and results together, at the request shown."))
	if s.Reads.Results > 0 {
		p.topStats("files that Read returned", rowsOf(s.Files, func(f *stats.FileReads, r *fileCells) style {
			r.Superseded = f.Superseded()
			return none
		}), "file")
		p.note(faint, "again: tokens of lines that an earlier result had returned. superseded: tokens of lines that were read again, edited or written later. stale: tokens of superseded lines that were still in the context at the request shown. changes: edits and writes of the file by the agent.")
		p.notes(faint, readNotes(&s.Reads))
	}
	p.topStats("results, the most input tokens first", rowsOf(s.Results, func(x *stats.ToolResult, r *resultCells) style {
		r.Line = number(fmt.Sprint(x.Line))
		r.Tool = x.Tool + phraseIf(x.Error, " (error)")
		return none
	}), "result")
	p.topStats("results with the same text; copies and tokens: without the first of them", rowsOf(s.Repeated.Groups, func(x *stats.Duplicate, r *repeatedCells) style {
		r.Line = number(fmt.Sprint(x.Line))
		r.Copies = x.Copies - 1
		return none
	}), "text")
	turns := s.Turns
	title := "turns"
	if !p.All && len(turns) > MostStats {
		turns = slices.Clone(turns)
		title = "turns that grew the context most"
		slices.SortStableFunc(turns, func(a, b stats.Turn) int { return cmp.Compare(b.Growth, a.Growth) })
	}
	p.heading(title)
	p.topStats("", rowsOf(turns, func(x *stats.Turn, r *turnCells) style {
		r.Requests = number(either(x.From == x.To, fmt.Sprint(x.From), fmt.Sprintf("%d-%d", x.From, x.To)))
		return none
	}), "turn")
	p.section("listings of tools, skills and agents", rowsOf(s.Definitions, func(d *stats.Listing, r *listingCells) style {
		if r.Names, r.OfMCP = number("-"), number("-"); d.Names > 0 {
			r.Names = d.Names
			r.OfMCP = d.MCP
		}
		return none
	}))
	subagentSection(p, s.Subagents)
	p.note(none, joined(" ", besideText(nameless(s.Bill, p.NoText), s.Simulated, s.Policy, s.CacheFit), promptText(s.PromptUSD, s.Prompts)))
	p.notes(faint, statsNotes(s))
}

func (p *page) topStats(heading string, t *table, noun string) {
	p.top(heading, t, MostStats, noun, "json and csv contain them")
}

// statsText is the answer in words.
func statsText(s *stats.SessionStats) string {
	if s.Request == 0 {
		return "The session has no request: nothing was sent."
	}
	text := joined(" ", sentText(s.Sent, s.Until, s.InputUSD, s.Categories), phrase("The context %v request %v of %v: %v tokens%v", either(s.Request == s.Peak.Request, "was largest at", "at"), s.Request, s.Requests, s.Tokens,
		phraseIf(s.Window > 0, ", %v of the window", percent(s.Tokens, s.Window))))
	if top := largest(s.Categories); top != nil && s.Tokens > 0 {
		text += phrase("; %v of that was %v", perMille(top.PerMille), contentNames[top.Category])
	}
	text += "."
	return text + supersededText(&s.Reads)
}

// supersededText says how much of what was read came again.
func supersededText(r *stats.Reads) string {
	return phraseIf(r.Results >= leastReads && r.Tokens > 0, " %v of what Read returned was superseded: the same lines were read, edited or written again later.", percent(r.Superseded(), r.Tokens))
}

// sentText says how much input requests had, what it cost, and what the most of it was.
func sentText(sent, requests int, usd price.USD, list []stats.CategoryTokens) string {
	text := phrase("%v had %v tokens of input", count(requests, "request"), sent) + phraseIf(usd.Known, ", which cost %v", usdText(usd))
	if len(list) == 0 || sent == 0 {
		return text + "."
	}
	top := slices.MaxFunc(list, func(a, b stats.CategoryTokens) int {
		return cmp.Or(cmp.Compare(a.USD.Nano, b.USD.Nano), cmp.Compare(a.Sent, b.Sent))
	})
	text += phrase(". The largest part was %v: %v", contentNames[top.Category], either(usd.Known, usdText(top.USD)+shareOf(top.USD, usd), perMille(top.SentPer)))
	return text + before(", of that ", portionCosts(top.Of, 1)) + "."
}

// leastReads is how many results of Read there have to be for a share of them.
const leastReads = 5

func largest(list []stats.CategoryTokens) *stats.CategoryTokens {
	if len(list) == 0 {
		return nil
	}
	top := slices.MaxFunc(list, func(a, b stats.CategoryTokens) int { return cmp.Compare(a.Tokens, b.Tokens) })
	return &top
}

func perMille(n int) string { return percent(n, 1000) }

// statsTrouble says what makes the figures doubtful.
func statsTrouble(s *stats.SessionStats) (list []string) {
	for _, c := range s.Categories {
		switch c.Category {
		case category.Unrecorded:
			if c.PerMille >= 50 {
				list = append(list, phrase("%v tokens (%v) are in the recorded usage, but not in the file.", c.Tokens, perMille(c.PerMille)))
			} else if c.PerMille <= -50 {
				list = append(list, phrase("The lines weigh %v tokens (%v) more than the request had by its usage: the parts are too large by as much.", -c.Tokens, perMille(-c.PerMille)))
			}
		case category.Earlier:
			list = append(list, "The conversation began before this file. What was said there is known by its size only.")
		}
	}
	if s.Counter == "estimate" {
		list = append(list, "No usage is recorded: all figures are estimated.")
	}
	return list
}

// statsNotes say what the figures are.
func statsNotes(s *stats.SessionStats) []string {
	notes := []string{
		"System prompt and tools are inferred: what the first request, or the first one after a compaction, had beyond its messages.",
	}
	if s.Counter == "usage" {
		notes = append(notes, "A request's tokens are as reported; how they divide among its parts is estimated from their lengths.")
	}
	return append(notes, "\"input tokens\" counts a token once for each request that held it; \"USD\" is what these cost. \"tokens\" of a call or a result are those of its first request.")
}

// readNotes sum up what was read.
func readNotes(r *stats.Reads) []string {
	notes := []string{phrase("%v tokens in %v; superseded %v (by a later Read %v, an edit %v, a write %v), of which the context holds %v.",
		r.Tokens, count(r.Results, "result"), r.Superseded(), r.ByRead, r.ByEdit, r.ByWrite, r.Stale)}
	if r.Again > 0 {
		notes = append(notes, phrase("Read returned %v tokens again although the agent had not changed these lines; %v of them had the same text, and %v of them came while the earlier result was still in the context.", r.Again, r.Same, r.InView))
	}
	if r.Dropped > 0 {
		notes = append(notes, phrase("%v not followed: too much was read. Nothing of them counts as superseded or read again.", count(r.Dropped, "file")))
	}
	return notes
}

// contentPicture draws the window as 10 by 10 cells, with a legend next to it.
func contentPicture(p *page, s *stats.SessionStats) []string {
	const side, cells = 10, 100
	held := 0
	names := 0
	weights := []int{}
	marks := []string{}
	styles := []style{}
	for _, c := range s.Categories {
		names = max(names, width(contentNames[c.Category]))
		if c.Tokens > 0 {
			held += c.Tokens
			weights = append(weights, c.Tokens)
			marks = append(marks, contentMarks[c.Category])
			styles = append(styles, contentStyles[c.Category])
		}
	}
	if held == 0 {
		return nil
	}
	whole := max(s.Window, held)
	weights = append(weights, whole-held)
	marks = append(marks, freeMark)
	styles = append(styles, faint)
	var grid []string
	for i, n := range stats.Apportion(weights, cells) {
		for range n {
			grid = append(grid, p.paint(styles[i], marks[i]))
		}
	}
	names = min(names, p.lineWidth()-2*side-18) // the cells, a gap, the mark and the tokens
	var legend []string
	entry := func(mark, name string, tokens int) {
		name = cut(name, names)
		legend = append(legend, phrase("%v %v%v%10s", mark, name, strings.Repeat(" ", max(names-width(name), 0)+1), thousands(tokens)))
	}
	for _, c := range s.Categories {
		if c.Tokens != 0 {
			entry(contentMarks[c.Category], contentNames[c.Category], c.Tokens)
		}
	}
	if s.Window > held {
		entry(freeMark, "free", s.Window-held)
	}
	legend = append([]string{phrase("1 cell = 1 %% of the %v (%v)", either(s.Window >= held, "window", "context"), whole), ""}, legend...)
	var lines []string
	for i := range max(side, len(legend)) {
		row := strings.Repeat(" ", 2*side-1)
		text := ""
		if i < side {
			row = strings.Join(grid[i*side:(i+1)*side], " ")
		}
		if i < len(legend) {
			text = "   " + legend[i]
		}
		lines = append(lines, row+text)
	}
	return append(lines, "")
}

// contentTable lists categories; at says whether the request's share is shown, next to that of all that was sent.
func contentTable(list []stats.CategoryTokens, at bool) *table {
	t := rowsOf(list, func(c *stats.CategoryTokens, r *contentCells) style {
		r.What, r.Share, r.OfSent = contentNames[c.Category], number(perMille(c.PerMille)), number(perMille(c.SentPer))
		r.MostOfIt = either(at, portionsText(c.Of), portionCosts(c.Of, 3))
		return either(c.Category == category.Unrecorded, yellow, none)
	})
	if !at {
		t.columns[1].Title, t.columns[2].Title = "", "" // those of the request are not shown
	}
	return t
}

// portionsText names the largest parts of a category.
func portionsText(list []stats.Portion) string {
	const most = 4
	var words []string
	for _, p := range list {
		if len(words) < most && p.Tokens > 0 {
			words = append(words, phrase("%v %v", p.Name, p.Tokens))
		}
	}
	return joined("", strings.Join(words, ", "), phraseIf(len(list) > most && len(words) == most, ", …"))
}

func toolTable(list []stats.Tool) *table {
	return rowsOf(list, func(x *stats.Tool, r *toolCells) style {
		r.Tool, r.Share = cmp.Or(x.Name, "(unknown)"), number(perMille(x.PerMille))
		return none
	})
}

func subagentSection(p *page, list []stats.SubagentType) {
	p.section("subagents", rowsOf(list, func(s *stats.SubagentType, r *subagentCells) style {
		r.Type = cmp.Or(s.Type, "(not known)")
		return none
	}))
	estimated := 0
	for i := range list {
		estimated += list[i].Estimated
	}
	if estimated > 0 {
		p.note(faint, phrase("The output of %v of subagents is estimated, and its cost: what is recorded is too small for their texts.", count(estimated, "response")))
	}
}

// statsOverview prints the stats of several conversations: those that sent the most, and sums.
func statsOverview(p *page, list []*stats.SessionStats, sum *stats.StatsTotal) {
	p.note(bold, overviewText(sum))
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *stats.SessionStats) int { return cmp.Compare(b.Sent, a.Sent) })
	most := either(p.All, len(order), min(2*MostStats, len(order)))
	p.top(either(most < len(order), phrase("the %v sessions that sent the most", most), "sessions, by what they sent"), heaviestTable(order), 2*MostStats, "session", "json and csv contain them")
	p.heading("what all of them sent")
	p.shares(sharesOf(sum.Categories, true), nil)
	p.table(contentTable(sum.Categories, false))
	p.heading("tools")
	p.topStats("", toolTable(sum.Tools), "tool")
	if sum.Reads.Results > 0 {
		p.heading("what Read returned")
		p.notes(none, readNotes(&sum.Reads))
	}
	subagentSection(p, sum.Subagents)
	p.note(none, joined(" ", besideText(nameless(sum.Bill, p.NoText), sum.Simulated, "", sum.CacheFit), promptText(sum.PromptUSD, sum.Prompts)))
}

// promptText says what a prompt costs.
func promptText(usd price.USD, prompts int) string {
	return phraseIf(usd.Known && prompts > 1, "Simulated, each of the %v prompts costs %v on average.", prompts, usdText(usd))
}

// heaviestTable has a row for each conversation.
func heaviestTable(list []*stats.SessionStats) *table {
	return rowsOf(list, func(from **stats.SessionStats, r *heaviestCells) style {
		s := *from
		results := 0
		for _, c := range s.Categories {
			if c.Category == category.Results {
				results = c.SentPer
			}
		}
		if len(s.Tools) > 0 {
			r.MostIsOf = phrase("%v, %v", s.Tools[0].Name, percent(s.Tools[0].Sent, s.Sent))
		}
		r.Session, r.Results = strings.TrimSpace(s.Session+" "+s.Agent), number(perMille(results))
		return none
	})
}

// overviewText is the answer for several conversations in words.
func overviewText(t *stats.StatsTotal) string {
	return joined(" ", phrase("%v:", count(t.Sessions, "session")), sentText(t.Sent, t.Requests, t.InputUSD, t.Categories)) + supersededText(&t.Reads)
}

// statsCSV has a row per item of every list.
func statsCSV(list []*stats.SessionStats) *table {
	t := newTable(keys(namedKeys), keys("request kind name about line count tokens context_tokens sent_tokens per_mille superseded_tokens again_tokens input_usd"))
	for _, s := range list {
		head := append((&named{s.Session, s.Agent, s.File, s.Policy, s.Counter}).cells(), s.Request)
		add := func(cells ...any) { t.add(none, append(slices.Clone(head), cells...)...) }
		for _, c := range s.Categories {
			add("category", string(c.Category), nil, nil, c.Blocks, nil, c.Tokens, c.Sent, c.PerMille, nil, nil, c.USD)
			for _, x := range c.Of {
				add("part", string(c.Category), x.Name, nil, x.Blocks, nil, x.Tokens, nil, nil, nil, nil, x.USD)
			}
		}
		for _, x := range s.Tools {
			add("tool", x.Name, nil, nil, x.Calls, x.Called+x.Returned, x.InContext, x.Sent, x.PerMille, nil, nil, x.USD)
		}
		for _, f := range s.Files {
			add("file", "Read", f.Path, nil, f.Results, f.Tokens, f.InContext, nil, nil, f.Superseded(), f.Again)
		}
		for _, r := range s.Results {
			add("result", r.Tool, r.Target, r.Line, r.Requests, r.Tokens, r.InContext, r.Sent, nil, nil, nil, r.USD)
		}
		for _, x := range s.Turns {
			add("turn", fmt.Sprint(x.N), x.Prompt, x.Line, x.To-x.From+1, x.Growth, x.Tokens)
		}
		for _, g := range s.Repeated.Groups {
			add("repeated", g.Tool, g.Target, g.Line, g.Copies-1, g.Tokens)
		}
		for _, d := range s.Definitions {
			add("listing", d.Type, nil, nil, d.Times, d.Tokens, d.InContext)
		}
		for _, a := range s.Subagents {
			add("subagent", a.Type, nil, nil, a.Calls, a.Returned)
		}
	}
	return t
}

// overheadNote names the part of it that was never used, and what a policy can do about it.
func overheadNote(o *stats.PromptOverhead) string {
	n := 0
	tokens := 0
	sent := 0
	usd := price.USD{}
	for _, p := range o.Parts {
		if p.Part == "tool" && p.Calls == 0 && p.Bytes > 0 {
			n++
			tokens += p.Tokens
			sent += p.Sent
			usd.Add(p.USD)
		}
	}
	return phraseIf(n > 0, "%v never called take %v tokens of each request, %v so far%v. ", count(n, "tool"), tokens, sent, phraseIf(usd.Known, ", for %v USD", usd)) +
		"No policy takes any of this away: tools and the system prompt are the client's settings. The tokens are those of the system prompt and tools by the usage, divided by the length of the parts."
}
