package report

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/sweep"
)

// mostSeries is how many sessions of a page have a chart.
const mostSeries = 400

// pageInterval is a difference in percent; without an interval Low and High are nil.
type pageInterval struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	Text  string   `json:"text"`
}

// pageShares are the parts of a difference, in percent.
type pageShares struct {
	Name  string      `json:"name"`
	Parts []pageShare `json:"parts"`
}

type pageShare struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	About string  `json:"about,omitempty"`
}

// pageSessions are the sessions of a comparison: a row each, and the payload under each policy.
type pageSessions struct {
	Table    htmlTable `json:"table"`
	Policies []string  `json:"policies"`
	Series   [][][]int `json:"series"`  // by session and policy, of sessions without replays
	Replays  [][]int   `json:"replays"` // by session and policy: indexes of replays; null: the page has none
	First    int       `json:"first"`   // the session shown first
}

// compareHTML writes comparisons as a page.
func compareHTML(w io.Writer, groups []compare.Comparison, in compare.Inputs, opt Layout) error {
	opt.All = true
	h := &htmlPage{Kicker: "Comparison", Zone: opt.Zone}
	p := &page{Layout: opt}
	sessions := 0
	for i := range groups {
		c := &groups[i]
		sessions += len(c.Sessions)
		name := either(opt.NoText && c.Group != "", "group "+strconv.Itoa(i+1), c.Group)
		h.compared(p, c, phraseIf(c.Group != "", "%v: ", name))
	}
	if len(groups) > 0 {
		h.Title = comparedTitle(&groups[0])
	}
	h.Title += phrase(" over %v", count(sessions, "session"))
	if len(groups) == 1 {
		h.Answers = conclusions(&groups[0])
	}
	h.addNotes("", strings.TrimPrefix(inputsText(in), "; "))
	if !opt.NoText {
		h.addNotes("", emptyNotes(in.Empty)...)
	}
	h.addNotes("What the columns mean", cacheText(groups)+legend(p.titles()))
	return h.write(w)
}

// comparedTitle names the policies: "a, b and c".
func comparedTitle(c *compare.Comparison) string {
	title := ""
	for i := range c.Policies {
		joint := either(i == 0, "", either(i == len(c.Policies)-1, " and ", ", "))
		title += joint + c.Policies[i].Name
	}
	return title
}

// ended is a sentence with its full stop.
func ended(text string) string { return strings.TrimRight(text, ".") + "." }

// conclusions are what can be concluded of a comparison, the largest difference first.
func conclusions(c *compare.Comparison) (texts []string) {
	var order []int
	for i := 1; i < len(c.Policies); i++ {
		order = append(order, i)
	}
	size := func(i int) exact.Decimal { return c.Pairs[i].Figures[c.Judged].Interval.Value.Abs() }
	slices.SortStableFunc(order, func(a, b int) int { return size(b).Cmp(size(a)) })
	for _, i := range order {
		texts = append(texts, ended(conclusion(c, i)))
	}
	if first := &c.Policies[0]; first.Infeasible > 0 {
		texts = append(texts, ended(infeasibleText(c, first)))
	}
	if len(c.Sessions) == 1 && len(c.Policies) > 1 {
		texts = append(texts, "One session says nothing about others.")
	}
	return texts
}

// compared adds the sections of one comparison. group is before each title.
func (h *htmlPage) compared(p *page, c *compare.Comparison, group string) {
	add := func(s section) {
		s.Title = Clean(group + s.Title)
		h.Sections = append(h.Sections, s)
	}
	if group != "" {
		h.addNotes(group+"what follows", conclusions(c)...)
	}
	add(tableSection("Policies side by side", "Totals over "+sessionsText(c.Sessions)+".", compareTotals(shownRows(c), c, p.titles())))
	var notes []string
	notes = append(notes, feasibleText(c), moneyText(c.Money(), p.NoText), recordedText(c))
	uses := c.Uses()
	for i := range uses {
		notes = append(notes, RanText(&uses[i], true))
	}
	for i, figures := range leads(c) {
		notes = append(notes, doubtText(&uses[i], figures))
	}
	h.addNotes("", notes...)
	if len(c.Policies) > 1 {
		what := either(compare.Names()[c.Judged] == "cost_usd", "cost", "input tokens")
		intervals := intervalsOf(c)
		with := slices.ContainsFunc(intervals, func(x pageInterval) bool { return x.Low != nil })
		add(section{Type: "intervals", Title: "Difference in " + what + " to " + c.Policies[0].Name, Data: intervals,
			About: either(with, "In percent, with the interval in which 90 % of the values lie when projects are drawn again, where they are enough.",
				"In percent; no interval: "+either(len(c.Sessions) == 1, "one session.", "too few projects."))})
		if parts := partsOf(c); len(parts) > 0 {
			add(section{Type: "parts", Title: "What the difference in cost is made of", About: "In percent of the cost of " + Clean(c.Policies[0].Name) + "; the parts add up to the difference.", Data: parts})
		}
		if t := differences(p, c); len(t.rows) > 0 {
			add(tableSection("Against "+c.Policies[0].Name, "", t))
		}
	}
	if titles := troubles(c.Policies); len(titles) > 0 {
		add(tableSection("What makes figures doubtful", legend(titles), compareTotals(c.Policies, nil, titles)))
	}
	add(section{Type: "sessions", Title: "Sessions", About: "Choose one to see its requests under each policy." +
		phraseIf(slices.ContainsFunc(c.Sessions, func(s compare.ComparedSession) bool { return s.Subagents() > 0 }), " They are those of the main conversation; figures include its subagents."), Data: h.sessionsOf(c, &p.Layout)})
	if !p.NoText {
		h.addNotes(group+"About the sessions, under every policy", append(flagTexts(c, &p.Hints), append(unpricedNotes(c.Sessions, &p.Hints), lostNotes(c, &p.Hints)...)...)...)
	}
	h.addNotes("", evidenceText(uses))
	if len(c.Sessions) > 1 {
		spread := tableSection("By session: total, median and 90th percentile", "", compareSpread(c))
		for i, rows := 1, spread.Data.(*htmlTable).Rows; i < len(rows); i++ {
			rows[i][0] = cmp.Or(rows[i][0], rows[i-1][0]) // rows are sorted and filtered one by one
		}
		add(spread)
	}
}

// hundredfold is a share in percent, nil where it is not known.
func hundredfold(x exact.Decimal) *float64 {
	if !x.Known {
		return nil
	}
	v := x.Times(100).Round(2).Float()
	return &v
}

func intervalsOf(c *compare.Comparison) []pageInterval {
	list := []pageInterval{}
	for i := 1; i < len(c.Policies); i++ {
		v := &c.Pairs[i].Figures[c.Judged]
		list = append(list, pageInterval{Clean(c.Policies[i].Name), hundredfold(v.Interval.Value), hundredfold(v.Interval.Lower), hundredfold(v.Interval.Upper), intervalText(v)})
	}
	return list
}

// intervalText is a difference in percent, with the bounds of its interval.
func intervalText(v *compare.Versus) string {
	if !v.Interval.Value.Known {
		return "not known"
	}
	return signedPercent(v.Interval.Value) + " %" + before(", 90 %: ", boundsText(v))
}

func partsOf(c *compare.Comparison) []pageShares {
	var list []pageShares
	cost := slices.Index(compare.Names(), "cost_usd")
	for i := 1; i < len(c.Policies); i++ {
		first := c.Pairs[i].Figures[cost].First
		one := pageShares{Name: Clean(c.Policies[i].Name), Parts: []pageShare{}}
		for _, part := range c.Parts(i) {
			if first.N == 0 {
				break
			}
			share := pageShare{Name: cmp.Or(partNames[part.Name], part.Name), Value: exact.Ratio(part.USD, first, 4).Times(100).Float()}
			for k, stage := range part.Stages {
				share.About += either(k == 0, "by ", ", ") + Clean(stage)
			}
			one.Parts = append(one.Parts, share)
		}
		if len(one.Parts) > 0 {
			list = append(list, one)
		}
	}
	return list
}

func (h *htmlPage) sessionsOf(c *compare.Comparison, opt *Layout) pageSessions {
	judged := compare.Names()[c.Judged]
	d := pageSessions{Table: numbersBy("Session", "Requests"), Policies: []string{}, Series: [][][]int{}, Replays: [][]int{}, First: max(c.Differ, 0)}
	for i := range c.Policies {
		d.Policies = append(d.Policies, Clean(c.Policies[i].Name))
		d.Table.Columns = append(d.Table.Columns, htmlColumn{Title: Clean(c.Policies[i].Name) + either(judged == "cost_usd", " USD", " sent"), Number: true})
	}
	d.Table.Columns = append(d.Table.Columns, htmlColumn{Title: "Project"})
	at := c.Judged
	requests := slices.Index(compare.Names(), "requests")
	projects := &namer{}
	for i := range c.Sessions {
		s := &c.Sessions[i]
		name := Clean(joined(" ", cmp.Or(s.Title, s.Session), s.Agent))
		project := Clean(lastElement(s.Project))
		if opt.NoText {
			name = "session " + strconv.Itoa(i+1)
			project = "project " + strconv.Itoa(projects.of(s.Project)+1)
		}
		row := []string{name}
		for p, v := range s.Values {
			if p == 0 {
				row = append(row, figureText("requests", v[requests]))
			}
			row = append(row, figureText(judged, v[at]))
		}
		d.Table.Rows = append(d.Table.Rows, append(row, project))
		var replays []int
		for _, tl := range s.Timelines {
			replays = append(replays, len(h.Replays))
			h.Replays = append(h.Replays, newPageReplay(h, tl, wordsOf(opt)))
		}
		d.Replays = append(d.Replays, replays)
		d.Series = append(d.Series, either(i < mostSeries && replays == nil, s.Series, nil))
	}
	return d
}

// sweepHTML writes a sweep as a page.
func sweepHTML(w io.Writer, s *sweep.Grid, opt Layout) error {
	h := &htmlPage{Kicker: "Sweep", Zone: opt.Zone, Title: sweepTitle(s), Answers: bestTexts(s)}
	h.Sections = append(h.Sections,
		section{Type: "scatter", Title: "Cost and size", About: "Each point is one choice of values; filled points are on the Pareto front: no other point is as good in every figure and better in one.", Data: newScatter(s)},
		tableSection("Points", "", sweepTable(s, true)))
	h.addNotes("", moneyText(s.Money(), opt.NoText))
	if !opt.NoText {
		h.addNotes("Notes", append(sweepNotes(s, &opt.Hints), sameText(s), cacheNote(s.Cache))...)
	}
	return h.write(w)
}
