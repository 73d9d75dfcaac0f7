package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/sweep"
)

// inputsText counts the inputs that failed and the conversations left out.
func inputsText(in compare.Inputs) string {
	return phraseIf(in.Failed > 0, "; %v of %v failed", in.Failed, count(in.Given, "input")) +
		phraseIf(len(in.Empty) > 0, "; %v without a request left out", len(in.Empty))
}

// leads lists the figures by which each policy alone is the best: cost (what is sent, where a model has no price), peak
// and misses.
func leads(c *compare.Comparison) [][]string {
	priced := !slices.ContainsFunc(c.Policies, func(p compare.PolicyRow) bool { return !figure(&p, "cost_usd").Total.Known })
	led := make([][]string, len(c.Policies))
	for _, name := range sweep.Objectives(priced) {
		best, alone := 0, len(c.Policies) > 1
		for i := 1; i < len(c.Policies); i++ {
			switch x, y := figure(&c.Policies[i], name).Total, figure(&c.Policies[best], name).Total; {
			case x.Cmp(y) < 0:
				best, alone = i, true
			case x.Cmp(y) == 0:
				alone = false
			}
		}
		if alone {
			i := slices.IndexFunc(figureTitles, func(f figureTitle) bool { return f.figure == name })
			led[best] = append(led[best], figureTitles[i].title)
		}
	}
	return led
}

// partsTexts say by what each policy costs more or less than the first: "+1.6 %: breaks +4.1 (prune), content -2.5".
func partsTexts(c *compare.Comparison) (list []string) {
	first := figure(&c.Policies[0], "cost_usd").Total
	share := func(usd exact.Decimal) string {
		text := exact.Ratio(usd.Times(100), first, 1).Text(1)
		return either(usd.N > 0, "+", "") + text
	}
	for i := 1; i < len(c.Policies); i++ {
		parts := c.Parts(i)
		if len(parts) == 0 || first.N == 0 {
			continue
		}
		var texts []string
		for _, part := range parts {
			texts = append(texts, part.Name+" "+share(part.USD)+before(" (", strings.Join(part.Stages, ", "))+either(len(part.Stages) > 0, ")", ""))
		}
		list = append(list, fmt.Sprintf("%s %s %%: %s", c.Policies[i].Name,
			share(figure(&c.Policies[i], "cost_usd").Total.Sub(first)), strings.Join(texts, ", ")))
	}
	return list
}

// cacheText says whose prompt cache costs are by.
func cacheText(groups []compare.Comparison) string {
	for _, c := range groups {
		for _, s := range c.Sessions {
			return "Prompt cache: " + map[replay.CacheMode]string{
				replay.CacheEqual: "one for all policies, as the session's own client and provider have it. content: what is sent, by that cache; breaks: what edits made the cache lose. ",
				replay.CacheOwn:   "each product's own. ", replay.CacheNone: "none. ",
			}[s.Cache]
		}
	}
	return ""
}

// emptyNotes names the conversations left out.
func emptyNotes(list []compare.Origin) []string {
	var names []string
	for _, s := range list {
		names = append(names, sourceName(s)+phraseIf(s.Malformed > 0, " (%v)", count(s.Malformed, "malformed line")))
	}
	return someNamed("left out, because they have no request: ", names, "")
}

// unpricedNotes names the models without a price, and a session of each.
func unpricedNotes(list []compare.Unpriced, hints *Hints) []string {
	var names []string
	for _, u := range list {
		names = append(names, fmt.Sprintf("%q (%s%s)", u.Model, sourceName(u.First), phraseIf(u.Sessions > 1, " and %v more", u.Sessions-1)))
	}
	return someNamed("no cost: no price is known for ", names, before("; ", hints.Prices))
}

// someNamed returns a note that names the first of some things, or no note.
func someNamed(text string, names []string, end string) []string {
	const most = 3
	if len(names) == 0 {
		return nil
	}
	named := strings.Join(names[:min(len(names), most)], ", ")
	return []string{text + named + phraseIf(len(names) > most, " and %v more", len(names)-most) + end}
}

func sourceName(s compare.Origin) string {
	return s.File + phraseIf(s.Agent != "", " (agent %v)", s.Agent)
}

// lostNotes counts the lines that could not be read.
func lostNotes(c *compare.Comparison, hints *Hints) []string {
	lines, files := 0, 0
	for _, s := range c.Sessions {
		lines += s.Malformed
		files += min(s.Malformed, 1)
	}
	if lines == 0 {
		return nil
	}
	return []string{"malformed lines left out: " + thousands(lines) + " in " + count(files, "session") + before("; ", hints.Lint)}
}

// differText names the session in which the policies differ most.
func differText(c *compare.Comparison) string {
	s := c.Sessions[c.Differ]
	return phrase("most different: %v, %v against %v", s.Session, c.Policies[c.DifferPolicy].Name, c.Policies[0].Name) +
		phraseIf(c.DifferFigure != "payload_input", ", by %v", c.DifferFigure) +
		either(s.Input == "-", "; to see why, give the session as a file, not as standard input", "; to see why:")
}

// commandLines returns the commands that show the difference.
func commandLines(c *compare.Comparison, hints *Hints) []string {
	var lines []string
	for _, words := range c.Commands {
		lines = append(lines, hints.commandLine(words))
	}
	return lines
}
