package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// figureTitles are the figures that tables of policies show. A table of a sweep leaves out those that are not of a
// point, a comparison those for Layout.All.
var figureTitles = []figureTitle{
	{figure: "payload_peak", title: "peak", about: "tokens of the largest request, with system prompt and tools", point: true},
	{figure: "payload_mean", title: "mean", about: "tokens of a request", point: true, drop: 3},
	{figure: "payload_input", title: "input", about: "input tokens of all requests, those of compactions too", point: true, drop: 2},
	{figure: "cache_read", title: "read", about: "of these, from the cache", all: true, drop: 6},
	{figure: "cache_write", title: "write", about: "into the cache", all: true, drop: 7},
	{figure: "uncached", title: "uncached", about: "input that was not read or written", all: true, drop: 8},
	{figure: "cost_usd", title: "USD", point: true, about: "cost"},
	{figure: "compactions", title: "compacted", about: "compactions", point: true},
	{figure: "cleared_results", title: "cleared", about: "tool results that were emptied", point: true, drop: 1},
	{figure: "cleared_tokens", title: "tokens", about: "their tokens", all: true, drop: 9},
	{figure: "misses", title: "needed later", about: "removed results and messages whose text the agent read or used again later in the recorded session", point: true},
}

// troubleTitles are the figures that are shown only where a policy has any: what makes its other figures doubtful.
var troubleTitles = []figureTitle{
	{figure: "refused", title: "refused", about: "requests over the window, or blocked by the client", point: true, drop: 2},
	{figure: "blocked", title: "blocked", about: "of these, those that the client itself does not send", drop: 5},
	{figure: "violations", title: "violations", about: "violations of the API's rules", point: true, drop: 3},
	{figure: "preserved_thinking", title: "thinking", about: "edits before thinking that the model preserves", point: true, drop: 4},
	{figure: "failed_compactions", title: "failed", about: "compactions that came to nothing", point: true, drop: 4},
	{figure: "thrash", title: "thrash", about: "compactions that freed less than a tenth of what they read", point: true, drop: 4},
	{figure: "thrash_run", title: "in a row", about: "the most of them without another compaction between", drop: 5},
}

// differenceTitles are the figures that a table of differences over several sessions shows.
var differenceTitles = []string{"payload_input", "cost_usd"}

// titleOf is the title of a figure, a name of compare.Names.
func titleOf(figure string) string {
	return figureTitles[slices.IndexFunc(figureTitles, func(f figureTitle) bool { return f.figure == figure })].title
}

// legend says what the titles mean.
func legend(titles []figureTitle) string {
	var list []string
	for _, f := range titles {
		if f.figure != "cost_usd" {
			list = append(list, f.title+": "+f.about+".")
		}
	}
	return strings.Join(list, " ")
}

// figureTitle is how tables show a figure.
type figureTitle struct {
	figure, title, about string
	point                bool // of a sweep
	all                  bool // only where nothing is left out
	drop                 int  // see column
}

// troubles are the titles of the figures in troubleTitles that are not 0 under every policy.
func troubles(policies []compare.PolicyRow) []figureTitle {
	return slices.DeleteFunc(slices.Clone(troubleTitles), func(f figureTitle) bool {
		return !slices.ContainsFunc(policies, func(p compare.PolicyRow) bool { return figure(&p, f.figure).Total.N != 0 })
	})
}

// Comparisons prints policies side by side, one comparison per group; in counts the inputs of all of them.
func Comparisons(w io.Writer, groups []compare.Comparison, in compare.Inputs, opt Layout) error {
	return (&document{
		page: func(p *page) { comparePages(p, groups, in) },
		json: func() any { return compareJSON(groups, in, &opt) },
		csv:  func() *table { return compareCSV(groups) },
		other: map[Format]func(io.Writer) error{
			FormatHTML: func(w io.Writer) error { return compareHTML(w, groups, in, opt) },
		},
	}).print(w, opt)
}

func comparePages(p *page, groups []compare.Comparison, in compare.Inputs) {
	one := len(groups) == 1 && groups[0].Group == ""
	if !one {
		sessions := 0
		for _, c := range groups {
			sessions += len(c.Sessions)
		}
		p.heading(count(sessions, "session") + " in " + count(len(groups), "group") + inputsText(in))
	}
	for i := range groups {
		c := &groups[i]
		if !one {
			p.heading(c.Group + ": " + sessionsText(c.Sessions))
		}
		conclude(p, c)
		if one {
			p.heading(sessionsText(c.Sessions) + phraseIf(len(c.Sessions) > 1, " in %v", count(projects(c), "project")) + inputsText(in))
		}
		comparePage(p, c, !one && !p.All)
	}
	if !p.All {
		what := either(one, "", "notes on groups, ") + "input by cache class, medians, percentiles"
		p.note(faint, "(hidden: "+what+": "+joined(", ", p.Hints.All, "json contains them")+")")
	}
	p.notes(yellow, emptyNotes(in.Empty))
	p.note(faint, cacheText(groups)+legend(p.titles()))
}

// titles are those that the page shows.
func (p *page) titles() []figureTitle {
	return slices.DeleteFunc(slices.Clone(figureTitles), func(f figureTitle) bool { return f.all && !p.All })
}

// comparePage prints the tables of a comparison, in short those of figures only.
func comparePage(p *page, c *compare.Comparison, short bool) {
	p.table(compareTotals(shownRows(c), c, p.titles()))
	p.note(yellow, feasibleText(c))
	p.note(none, moneyText(c.Money(), false))
	p.note(none, recordedText(c))
	p.note(none, p.Prefill.text(c))
	uses := c.Uses()
	said := map[string]bool{}
	for i := range uses {
		if newer := uses[i].Newer; said[newer] {
			uses[i].Newer = ""
		} else {
			said[newer] = true
		}
		p.note(none, either(short && len(uses[i].Ran) < 2, uses[i].Newer, RanText(&uses[i], p.All)))
	}
	for i, figures := range leads(c) {
		p.note(yellow, doubtText(&uses[i], figures))
	}
	if t := differences(p, c); len(t.rows) > 0 {
		p.section("against "+c.Policies[0].Name, t)
		p.items(none, partsTexts(c))
	}
	if short {
		return
	}
	if flags := flagTexts(c, &p.Hints, compare.Flags()...); len(flags) > 0 {
		p.heading("about the sessions, under every policy")
		p.items(none, flags)
	}
	if titles := troubles(c.Policies); len(titles) > 0 {
		p.section("what makes figures doubtful"+phraseIf(partly(c), ", over all %v", count(len(c.Sessions), "session")), compareTotals(c.Policies, nil, titles))
		p.note(faint, legend(titles))
	}
	p.note(none, evidenceText(uses))
	if p.All && len(c.Sessions) > 1 {
		p.section("by session: total, median and 90th percentile", compareSpread(c))
		if len(c.Sessions) < compare.Few {
			p.note(yellow, phrase("few sessions: medians and percentiles cover %s only", count(len(c.Sessions), "session")))
		}
	}
	if c.Differ >= 0 {
		p.note(none, differText(c))
		p.commands(c.Commands...)
	}
	p.notes(yellow, unpricedNotes(c.Sessions, &p.Hints))
	p.notes(yellow, lostNotes(c, &p.Hints))
}

// projects counts the projects of a comparison's sessions.
func projects(c *compare.Comparison) int {
	names := map[string]bool{}
	for i := range c.Sessions {
		names[c.Sessions[i].Project] = true
	}
	return len(names)
}

// figure returns the spread of a figure; cache_write is the sum of two figures.
func figure(p *compare.PolicyRow, name string) compare.Distribution {
	if name == "cache_write" {
		a := figure(p, "cache_write_5m")
		b := figure(p, "cache_write_1h")
		return compare.Distribution{Total: a.Total.Add(b.Total)}
	}
	return p.Figures[slices.Index(compare.Names(), name)]
}

// compareTotals has a row per policy, with the total of each figure, and where some sessions are left out of these the
// cost of all of c. Costs are marked where the simulated cache does not fit the sessions of c. c may be nil.
func compareTotals(policies []compare.PolicyRow, c *compare.Comparison, titles []figureTitle) *table {
	t := tableOf[policyCells]()
	t.columns = append(t.columns, figureColumns(titles)...)
	part := c != nil && partly(c)
	if part {
		t.columns = append(t.columns, columnsOf[allCells]()...)
	}
	about := ""
	if c != nil {
		about = c.Money().CacheFit.Mark()
	}
	for i, policy := range policies {
		cells := []any{policy.Name}
		for _, f := range titles {
			total := figure(&policy, f.figure).Total
			cells = append(cells, number(phraseIf(f.figure == "cost_usd" && total.Known, "%v", about)+figureText(f.figure, total)))
		}
		if part {
			all := &c.Policies[i]
			cells = append(cells, number(about+figureText("cost_usd", figure(all, "cost_usd").Total)+either(all.Infeasible > 0, bound, "")))
		}
		t.add(none, cells...)
	}
	return t
}

// compareSpread has rows for each figure, one a policy.
func compareSpread(c *compare.Comparison) *table {
	t := tableOf[spreadCells]()
	for f, figure := range compare.Figures() {
		for i, policy := range shownRows(c) {
			s := &policy.Figures[f]
			t.put(none, spreadCells{either(i == 0, figure.Name, ""), policy.Name, number(figureText(figure.Name, s.Total)),
				number(quantileText(figure.Name, s.Median)), number(quantileText(figure.Name, s.P90))})
		}
	}
	return t
}

// quantileText is a value between two sessions': a small count has a decimal where it needs one.
func quantileText(name string, x exact.Decimal) string {
	if name != "cost_usd" && x.Abs().Cmp(exact.Whole(100)) < 0 && x.Round(0).Cmp(x) != 0 {
		return x.Text(1)
	}
	return figureText(name, x)
}

// figureText is a value for a narrow column: a dash where it is not known.
func figureText(name string, d exact.Decimal) string {
	x := d.Float()
	switch size := math.Abs(x); {
	case !d.Known:
		return "–"
	case name == "cost_usd" && size < 9999.995:
		return d.Text(2)
	case size < 9999.5:
		return thousands(int(d.Round(0).N))
	case size < 999500:
		return places(x/1e3, either(size < 99950, 1, 0)) + "k"
	case size < 999.95e6:
		return places(x/1e6, 1) + "M"
	}
	return places(x/1e9, 1) + "G"
}

// differences has a row per policy but the first, with its differences to the first over the sessions of their pair.
func differences(p *page, c *compare.Comparison) *table {
	judged := c.Judged
	names := compare.Names()
	t := tableOf[policyCells]()
	if len(c.Policies) < 2 {
		return t
	}
	several := len(c.Sessions) > 1
	part := several && slices.ContainsFunc(c.Pairs[1:], func(pair compare.Contrast) bool { return len(pair.Sessions) < len(c.Sessions) })
	if part {
		t.columns = append(t.columns, columnsOf[pairCells]()...)
	}
	shown := slices.DeleteFunc(p.titles(), func(f figureTitle) bool { return several && !slices.Contains(differenceTitles, f.figure) })
	t.columns = append(t.columns, figureColumns(shown)...)
	if several {
		t.columns = append(t.columns, columnsOf[verdictCells]()...)
	}
	about := c.Money().CacheFit.Mark()
	for i := 1; i < len(c.Policies); i++ {
		pair := &c.Pairs[i]
		if v := &pair.Figures[judged]; v.Conclusion() == compare.VerdictNone || v.Conclusion() == compare.VerdictSame && !p.All {
			continue // as the conclusion says
		}
		cells := []any{c.Policies[i].Name}
		if part {
			cells = append(cells, len(pair.Sessions))
		}
		for _, f := range shown {
			v := versus(pair, f.figure, names)
			if compare.OfMisses(f.figure) && (c.Recorded(0) || c.Recorded(i)) {
				v = compare.Versus{}
			}
			cells = append(cells, number(phraseIf(f.figure == "cost_usd", "%v", about)+differenceText(f.figure, v)))
		}
		if several {
			v := &pair.Figures[judged]
			cells = append(cells, number(cmp.Or(boundsText(v), "–")), v.Lower, v.Even, v.Higher)
		}
		t.add(none, cells...)
	}
	return t
}

// versus is a figure of a pair; cache_write is the sum of two.
func versus(pair *compare.Contrast, name string, names []string) compare.Versus {
	if name == "cache_write" {
		a := versus(pair, "cache_write_5m", names)
		b := versus(pair, "cache_write_1h", names)
		a.First, a.Difference = a.First.Add(b.First), a.Difference.Add(b.Difference)
		return a
	}
	return pair.Figures[slices.Index(names, name)]
}

// differenceText is a difference: in percent, or as a number where the first policy's total is small or nothing.
func differenceText(name string, v compare.Versus) string {
	switch a, d := v.First, v.Difference; {
	case !d.Known:
		return "–"
	case d.N == 0:
		return "0"
	case name == "cost_usd" && a.N == 0 || name != "cost_usd" && a.Abs().Cmp(exact.Whole(100)) < 0:
		return either(d.N > 0, "+", "") + figureText(name, d)
	default:
		share := exact.Ratio(d.Times(100), a, 1)
		if share.Abs().Cmp(exact.Whole(10)) >= 0 {
			share = exact.Ratio(d.Times(100), a, 0)
		}
		return either(d.N > 0, "+", "") + share.Text(share.Places) + "%"
	}
}

// compareCSV has a row per session and policy.
func compareCSV(groups []compare.Comparison) *table {
	t := newTable(keys("group session agent file model client_version project policy"), keys(strings.Join(compare.Names(), " ")), keys("feasible flags billed_usd billed_at_least cache_fits"))
	for _, c := range groups {
		for _, s := range c.Sessions {
			flags := strings.Trim(fmt.Sprint(s.Flags), "[]")
			billed := bill.OfEntries(s.Billed.Calls).Short()
			for p, values := range s.Values {
				cells := []any{c.Group, s.Session, s.Agent, s.File, s.Model, s.Version, s.Project, c.Policies[p].Name}
				for _, v := range values {
					cells = append(cells, v)
				}
				t.add(none, append(cells, values.Feasible(), flags, billed.USD, billed.AtLeast, s.Billed.Fit.Holds())...)
			}
		}
	}
	return t
}
