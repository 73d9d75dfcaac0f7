package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// nameWidth is room for the name of a policy on one line; longer ones have settings or folders.
const nameWidth = 28

// figureTitles are the figures that tables of policies show, with their titles. A table of a sweep leaves out those
// that are not of a point.
var figureTitles = []figureTitle{
	{"payload_peak", "peak", true}, {"payload_mean", "mean", true}, {"payload_input", "sent", true}, {"cache_read", "read", false},
	{"cache_write", "write", false}, {"uncached", "rest", false}, {"cost_usd", "USD", true}, {"compactions", "comp", true},
	{"cleared_results", "clrd", true}, {"cleared_tokens", "tokens", false}, {"misses", "miss", true}, {"bound_misses", "bound", true},
	{"violations", "viol", true},
}

// legend says what the titles mean that need it.
func legend(titles []figureTitle) string {
	about := map[string]string{
		"refused":            "requests over the window, or blocked by the client; the costs of such a policy are a bound.",
		"blocked":            "of these, those that the client itself does not send.",
		"failed_compactions": "compactions that came to nothing.",
		"thrash":             "compactions that freed less than a tenth of what they read.",
		"thrash_run":         "the most of them without another compaction between.",
	}
	var list []string
	for _, f := range titles {
		list = append(list, f.title+": "+about[f.figure])
	}
	return strings.Join(list, " ")
}

// troubleTitles are the figures that are shown only where a policy has any: what makes its other figures doubtful.
var troubleTitles = []figureTitle{
	{"refused", "refused", true}, {"blocked", "blocked", false}, {"failed_compactions", "failed", true}, {"thrash", "thrash", true},
	{"thrash_run", "in a row", false},
}

type figureTitle struct {
	figure, title string
	point         bool
}

// troubles are the titles of the figures in troubleTitles that are not 0 under every policy.
func troubles(policies []compare.PolicyRow) []figureTitle {
	return slices.DeleteFunc(slices.Clone(troubleTitles), func(f figureTitle) bool {
		return !slices.ContainsFunc(policies, func(p compare.PolicyRow) bool { return figure(&p, f.figure).Total.N != 0 })
	})
}

// isTrouble reports whether a figure is one of the titles.
func isTrouble(titles []figureTitle, name string) bool {
	return slices.ContainsFunc(titles, func(f figureTitle) bool { return f.figure == name })
}

// Comparisons prints policies side by side, one comparison per group; in counts the inputs of all of them.
func Comparisons(w io.Writer, groups []compare.Comparison, in compare.Inputs, opt Layout) error {
	return (&document{
		page: func(p *page) { comparePages(p, groups, in) },
		json: func() any { return compareJSON(groups, in, &opt.Hints) },
		csv:  func() *table { return compareCSV(groups) },
	}).print(w, opt)
}

func comparePages(p *page, groups []compare.Comparison, in compare.Inputs) {
	for _, c := range groups {
		p.heading(phraseIf(c.Group != "", "%v: ", c.Group) + count(len(c.Sessions), "session") + inputsText(in))
		p.table(compareTotals(c.Policies, figureTitles, figureText))
		uses := c.Uses()
		for i := range uses {
			p.note(none, ranText(&uses[i]))
		}
		for i, figures := range leads(&c) {
			p.note(yellow, doubtText(&uses[i], figures))
		}
		if len(c.Policies) > 1 {
			p.heading("against " + c.Policies[0].Name)
			first := &c.Policies[0]
			p.table(compareTotals(c.Policies[1:], figureTitles, func(name string, x exact.Decimal) string {
				return differenceText(name, figure(first, name).Total, x)
			}))
			p.items(none, partsTexts(&c))
		}
		if titles := troubles(c.Policies); len(titles) > 0 {
			p.heading("requests without an answer, and compactions that brought little")
			p.table(compareTotals(c.Policies, titles, figureText))
			p.note(faint, legend(titles))
		}
		if t := evidenceTable(uses); len(t.rows) > 0 {
			p.heading("what stands behind the policies")
			p.table(t)
		}
		if len(c.Sessions) > 1 {
			p.heading("by session: total, median, 90th percentile, and in how many sessions the policy alone is best")
			p.hidden(compareSpread(p, &c), "figure", "json contains them; none of them says which policy is better")
			if len(c.Sessions) < compare.Few {
				p.note(yellow, fmt.Sprintf("few sessions: medians and percentiles are of %s only", count(len(c.Sessions), "session")))
			}
		}
		if c.Differ >= 0 {
			p.note(none, differText(&c))
			p.commands(commandLines(&c, &p.Hints)...)
		}
		p.notes(yellow, unpricedNotes(compare.UnpricedModels(c.Sessions), &p.Hints))
		p.notes(yellow, lostNotes(&c, &p.Hints))
	}
	p.notes(yellow, emptyNotes(in.Empty))
	p.note(faint, cacheText(groups)+"peak, mean: tokens of the payload, what is sent, with overhead. sent: input tokens of all requests, those of compactions too; read, write, rest: of these, the cache reads, the cache writes and what is not cached. comp: compactions. clrd, tokens: cleared results and their tokens. miss: blocks removed and needed again. bound: the fewest misses any policy could have within this budget. viol: violations of the API's rules.")
}

// figure returns the spread of a figure; cache_write is the sum of two figures.
func figure(p *compare.PolicyRow, name string) compare.Distribution {
	if name == "cache_write" {
		a, b := figure(p, "cache_write_5m"), figure(p, "cache_write_1h")
		return compare.Distribution{Total: a.Total.Add(b.Total)}
	}
	return p.Figures[slices.Index(compare.Names(), name)]
}

// compareTotals has a row per policy, with the text of each total.
func compareTotals(policies []compare.PolicyRow, titles []figureTitle, text func(name string, x exact.Decimal) string) *table {
	t := newTable([]column{{Title: "policy", Flex: true, Min: nameWidth}})
	for _, f := range titles {
		t.columns = append(t.columns, column{Title: f.title})
	}
	for _, policy := range policies {
		cells := []any{policy.Name}
		for _, f := range titles {
			cells = append(cells, number(text(f.figure, figure(&policy, f.figure).Total)))
		}
		t.add(none, cells...)
	}
	return t
}

// compareSpread prints each figure by which one policy can be better than another, or all; it returns how many it
// leaves out.
func compareSpread(p *page, c *compare.Comparison) (hidden int) {
	shown := troubles(c.Policies)
	t := newTable([]column{{Title: "figure"}, {Title: "policy", Flex: true, Min: nameWidth}}, titles("total", "median", "p90", "best"))
	for f, figure := range compare.Figures() {
		if isTrouble(troubleTitles, figure.Name) && !isTrouble(shown, figure.Name) {
			continue
		}
		ranked := figure.Better != compare.Neither
		if !ranked && !p.All {
			hidden++
			continue
		}
		for i, policy := range c.Policies {
			s := &policy.Figures[f]
			t.add(none, either(i == 0, figure.Name, ""), policy.Name, number(figureText(figure.Name, s.Total)),
				number(quantileText(figure.Name, s.Median)), number(quantileText(figure.Name, s.P90)),
				number(either(ranked, strconv.Itoa(s.Wins), "")))
		}
	}
	p.table(t)
	return hidden
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

// differenceText is how far b is from a: in percent, or as a number where a is small or nothing.
func differenceText(name string, a, b exact.Decimal) string {
	switch d := b.Sub(a); {
	case !d.Known:
		return "–"
	case d.N == 0:
		return "0"
	case name == "cost_usd" && a.N == 0 || name != "cost_usd" && a.Abs().Cmp(exact.Whole(100)) < 0:
		return either(d.N > 0, "+", "") + figureText(name, d)
	default:
		share := exact.Ratio(d.Times(100), a, 2)
		return either(d.N > 0, "+", "") + share.Text(either(share.Abs().Cmp(exact.Of(995, 2)) < 0, 1, 0)) + "%"
	}
}

// compareCSV has a row per session and policy.
func compareCSV(groups []compare.Comparison) *table {
	t := newTable(keys("group session agent file model client_version project policy"), keys(strings.Join(compare.Names(), " ")))
	for _, c := range groups {
		for _, s := range c.Sessions {
			for p, values := range s.Values {
				cells := []any{c.Group, s.Session, s.Agent, s.File, s.Model, s.Version, s.Project, c.Policies[p].Name}
				for _, v := range values {
					cells = append(cells, v)
				}
				t.add(none, cells...)
			}
		}
	}
	return t
}
