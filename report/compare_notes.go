package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// inputsText counts the inputs that failed and the conversations left out.
func inputsText(in compare.Inputs) string {
	return phraseIf(in.Failed > 0, "; %v of %v failed", in.Failed, count(in.Given, "input")) +
		phraseIf(len(in.Empty) > 0, "; %v without a request left out", len(in.Empty))
}

// bound is behind the name or the cost of an infeasible policy: it is a lower bound.
const bound = "*"

// partly reports whether sums leave sessions out because a policy is infeasible there.
func partly(c *compare.Comparison) bool {
	return len(c.Common) > 0 && len(c.Common) < len(c.Sessions)
}

// shownRows are the rows of a table: over the sessions in which all candidates are feasible, or where there are none
// over all. Infeasible ones have a mark. Content needed later is not shown for the recorded track: see Comparison.Recorded.
func shownRows(c *compare.Comparison) []compare.PolicyRow {
	rows := slices.Clone(c.Policies)
	for i := range rows {
		if len(c.Common) > 0 {
			rows[i].Figures = rows[i].Common
		}
		if c.Recorded(i) {
			rows[i].Figures = slices.Clone(rows[i].Figures)
			for f, name := range compare.Names() {
				if compare.OfMisses(name) {
					rows[i].Figures[f] = compare.Distribution{}
				}
			}
		}
		if rows[i].Bound || len(c.Common) == 0 && rows[i].Infeasible > 0 {
			rows[i].Name += bound
		}
	}
	return rows
}

// recordedText says why content needed later is not shown for the recorded track.
func recordedText(c *compare.Comparison) string {
	for i := range c.Policies {
		if c.Recorded(i) && figure(&c.Policies[i], "misses").Total.Known {
			return "needed later: not counted for recorded, whose agent did read again what it needed: those requests are in its figures."
		}
	}
	return ""
}

// feasibleText says which sessions sums leave out, and what the mark means.
func feasibleText(c *compare.Comparison) string {
	var texts []string
	infeasible := false
	bounds := false
	for _, p := range c.Policies {
		infeasible = infeasible || p.Infeasible > 0
		bounds = bounds || p.Bound
	}
	if partly(c) {
		texts = append(texts, phrase("sums are over the %v of %v in which every policy%v is feasible; the last column is over all",
			len(c.Common), count(len(c.Sessions), "session"), either(bounds, " without "+bound, "")))
	}
	if infeasible {
		texts = append(texts, bound+": infeasible, a lower bound: requests could not have been sent")
	}
	return strings.Join(texts, "; ")
}

// conclude prints in words what can be concluded of each policy against the first.
func conclude(p *page, c *compare.Comparison) {
	var texts []string
	for i := 1; i < len(c.Policies); i++ {
		texts = append(texts, conclusion(c, i))
	}
	if first := &c.Policies[0]; first.Infeasible > 0 {
		texts = append(texts, infeasibleText(c, first)+either(len(c.Policies) > 1, ": nothing is compared with it there.", ": its cost there is only a lower bound."))
	}
	if len(texts) == 1 {
		p.note(none, texts[0])
	} else {
		p.items(none, texts)
	}
	p.note(none, unseenText(c))
	if len(c.Sessions) == 1 && len(c.Policies) > 1 {
		p.note(none, "One session says nothing about others.")
	}
}

// conclusion compares a policy with the first, in words: "Over 62 sessions in 9 projects, a costs 1.6 % more than
// b (90 %: -1.2 to +4.8): not distinguishable."
func conclusion(c *compare.Comparison, i int) string {
	own := &c.Policies[i]
	v := &c.Pairs[i].Figures[c.Judged]
	text := ""
	if v.Sessions > 0 {
		text = over(c, v) + compared(c, own.Name, v)
		verdict := v.Conclusion()
		if most := &c.Pairs[i].Largest; v.Projects > 1 && most.Of.Cmp(exact.Of(5, 1)) > 0 && (verdict == compare.VerdictLess || verdict == compare.VerdictMore) {
			text += phrase("; %v %% of what differs is in one project", most.Of.Times(100).Text(0))
		}
	}
	if own.Infeasible > 0 {
		text = joined("; ", text, infeasibleText(c, own)+": its cost there is only a lower bound")
	}
	if v.Sessions == 0 {
		text = joined("; ", text, phrase("%v is not compared with `%v`", either(text == "", own.Name, "it"), c.Policies[0].Name)+phraseIf(c.Flagged(compare.FlagContradicted) > 0, ": the recorded usage contradicts the content"))
	} else if c.OwnRelease(i) && v.Difference.N != 0 {
		text += phrase("; %v recorded it, so the difference is the error of the simulation", own.Name)
	}
	return text + "." + correctionText(c, i)
}

// correctionText is a difference in cost with what the compactions cause that one of both policies has more of; "" where costs
// are not what is judged.
func correctionText(c *compare.Comparison, i int) string {
	k := c.Pairs[i].Correction
	if k == nil || compare.Names()[c.Judged] != "cost_usd" {
		return ""
	}
	share := func(i int) string { return signedPercent(exact.Ratio(k.Corrected[i], k.First[i], 4)) }
	kind := either(k.Extra > 0, "extra", "spared") + " compaction"
	which := count(int(max(k.Extra, -k.Extra)), kind)
	if more := int(k.Extra + k.Spared); more > 0 && k.Spared > 0 {
		which = phrase("%v and %v", count(more, "extra compaction"), count(int(k.Spared), "spared one"))
	}
	return phrase(" Re-reads %v the sign: with the likely ones after %v, the difference is %v to %v %%",
		map[compare.Stability]string{compare.Holds: "do not change", compare.Flips: "change", compare.CannotTell: "may change"}[k.Stability], which, share(0), share(1)) +
		phraseIf(k.BreakEven.Known, "; the two cost the same if re-reads after a compaction cost %v USD (%v requests); after recorded ones they cost %v to %v USD",
			k.BreakEven.Text(2), k.BreakEvenRequests.Text(1), k.Each[0].Text(2), k.Each[1].Text(2)) + "."
}

// unseenText says how it was measured what compactions cause.
func unseenText(c *compare.Comparison) string {
	if !slices.ContainsFunc(c.Pairs, func(p compare.Contrast) bool { return p.Correction != nil }) {
		return ""
	}
	u := c.Unseen
	span := func(low, high string) string { return low + either(high == low, "", " to "+high) }
	return phrase("A replay does not simulate that the agent reads removed text again. Measured around %v of %v: the agent then made %v more requests to look for something, and had %v more tokens in the context for the next %v to %v requests. The low figures are what exceeds the same change at %v as deep in sessions without a compaction. A summary that is not recorded is assumed to be as long as the session's own, else %v tokens.",
		count(u.Times, "recorded compaction"), either(u.Shipped, "other people's sessions", count(u.Projects, "project")), span(u.Requests[0].Text(1), u.Requests[1].Text(1)),
		span(thousands(int(u.Tokens[0].N)), thousands(int(u.Tokens[1].N))), u.Carried[0], u.Carried[1], count(u.Placebos, "point"), thousands(policy.DefaultSummaryTokens))
}

// infeasibleText says in how many sessions a policy is infeasible, and why.
func infeasibleText(c *compare.Comparison, p *compare.PolicyRow) string {
	var list []string
	if n := figure(p, "refused").Total.N; n > 0 {
		list = append(list, count(int(n), "request")+" over the limit")
	}
	if n := figure(p, "violations").Total.N; n > 0 {
		list = append(list, count(int(n), "violation"))
	}
	return phrase("`%s` would not work in %s (%s)", p.Name, ofSessions(c, p.Infeasible), strings.Join(list, ", "))
}

// sessionsText counts sessions, and the subagents whose conversations are part of them.
func sessionsText(list []compare.ComparedSession) string {
	agents := 0
	for i := range list {
		agents += list[i].Subagents()
	}
	return count(len(list), "session") + phraseIf(agents > 0, " with %v", count(agents, "subagent"))
}

// ofSessions says in how many of the sessions something is so.
func ofSessions(c *compare.Comparison, n int) string {
	return either(len(c.Sessions) == 1, "this session", phrase("%v of %v", n, count(len(c.Sessions), "session")))
}

// over says which sessions a difference is over.
func over(c *compare.Comparison, v *compare.Versus) string {
	if len(c.Sessions) == 1 {
		return "In this session, "
	}
	effective := v.Interval.Effective
	unit := ""
	clusters := v.Projects
	if clusters == 1 {
		clusters = v.Sessions
		unit = " sessions"
	}
	return "Over " + thousands(v.Sessions) + phraseIf(v.Sessions < len(c.Sessions), " of %v", len(c.Sessions)) +
		either(len(c.Sessions) == 1, " session", " sessions") + " in " + count(v.Projects, "project") +
		phraseIf(effective.Known && effective.Cmp(exact.Whole(clusters)) < 0 && v.Conclusion() != compare.VerdictSame, " (in effect %v%v)", effective.Text(1), unit) + ", "
}

// compared says how far a policy is from the first, and whether the difference is distinguishable.
func compared(c *compare.Comparison, name string, v *compare.Versus) string {
	verb := either(compare.Names()[c.Judged] == "cost_usd", "costs", "sends")
	first := c.Policies[0].Name
	verdict := v.Conclusion()
	if verdict == compare.VerdictSame {
		return phrase("%s %s the same as %s", name, verb, first)
	}
	share := v.Interval.Value.Times(100).Round(1)
	text := phrase("%s %s %s %% %s than %s", name, verb, share.Abs().Text(1), either(v.Difference.N < 0, "less", "more"), first)
	switch {
	case !v.Interval.Value.Known:
		text = phrase("%s %s, %s nothing", name, verb, first)
	case share.N == 0:
		text = phrase("%s %s about as much as %s", name, verb, first)
	}
	switch r := &v.Interval.Range; {
	case v.Interval.Lower.Known:
		text += " (90 %" + either(v.Projects == 1, " over sessions", "") + phraseIf(v.Comparisons > 1, ", for all %v at once", count(v.Comparisons, "comparison")) +
			": " + boundsText(v) + ")"
	case r.Clusters > 1:
		text += phrase(" (%v to %v in the %v with 90 %% of the %v)", signedPercent(r.Least), signedPercent(r.Most),
			count(r.Clusters, either(v.Projects == 1, "session", "project")), either(verb == "costs", "cost", "tokens"))
	}
	switch {
	case verdict == compare.VerdictEven:
		text += ": the same within 0.5 %"
	case verdict == compare.VerdictSmall:
		text += ": a difference of less than 0.5 %"
	case verdict == compare.VerdictUnknown:
		text += ": not distinguishable"
	case verdict == compare.VerdictTooFew && len(c.Sessions) > 1:
		text += ": too few " + either(v.Projects == 1, "sessions", "projects") + " to conclude from"
	}
	return text
}

// boundsText is an interval in percent; "" where there is none.
func boundsText(v *compare.Versus) string {
	if !v.Interval.Lower.Known {
		return ""
	}
	return signedPercent(v.Interval.Lower) + " to " + signedPercent(v.Interval.Upper)
}

// signedPercent is a share in percent, with its sign.
func signedPercent(share exact.Decimal) string {
	x := share.Times(100).Round(1)
	if x.N == 0 {
		return "0.0"
	}
	return either(x.N > 0, "+", "") + x.Text(1)
}

// leads lists the figures by which each policy alone is the best of those that are no lower bound: cost (input tokens,
// where a model has no price), peak and content needed later.
func leads(c *compare.Comparison) [][]string {
	rows := shownRows(c)
	candidates := []int{}
	for i := range rows {
		if !rows[i].Bound {
			candidates = append(candidates, i)
		}
	}
	priced := !slices.ContainsFunc(rows, func(p compare.PolicyRow) bool { return !figure(&p, "cost_usd").Total.Known })
	led := make([][]string, len(rows))
	for _, name := range []string{either(priced, "cost_usd", "payload_input"), "payload_mean", "misses"} {
		best := -1
		alone := false
		known := slices.DeleteFunc(slices.Clone(candidates), func(i int) bool { return !figure(&rows[i], name).Total.Known })
		for _, i := range known {
			if best < 0 {
				best = i
				continue
			}
			switch d := figure(&rows[i], name).Total.Cmp(figure(&rows[best], name).Total); {
			case d < 0:
				best = i
				alone = true
			case d == 0:
				alone = false
			case i == known[1]:
				alone = true
			}
		}
		if alone {
			led[best] = append(led[best], titleOf(name))
		}
	}
	return led
}

// partsTexts say by what each policy costs more or less than the first, "+1.6 %: cache misses +4.1 (by prune), input
// -2.5", and how much of the difference few sessions make.
func partsTexts(c *compare.Comparison) (list []string) {
	cost := slices.Index(compare.Names(), "cost_usd")
	for i := 1; i < len(c.Policies); i++ {
		v := &c.Pairs[i].Figures[cost]
		parts := c.Parts(i)
		if len(parts) == 0 || v.First.N == 0 {
			continue
		}
		share := func(usd exact.Decimal) string { return signedPercent(exact.Ratio(usd, v.First, 3)) }
		var texts []string
		for _, part := range parts {
			if text := share(part.USD); text != "0.0" {
				texts = append(texts, cmp.Or(partNames[part.Name], part.Name)+" "+text+stagesText(part.Stages))
			}
		}
		if len(texts) == 0 {
			continue
		}
		list = append(list, phrase("%s %s%s %%: %s", c.Policies[i].Name, c.Money().CacheFit.Mark(), share(v.Difference), strings.Join(texts, ", "))+concentrationText(c, i))
	}
	return list
}

// stagesText names the stages whose edits caused cache misses; the recorded track's are the client's own.
func stagesText(stages []string) string {
	named := slices.DeleteFunc(slices.Clone(stages), func(s string) bool { return s == "recorded" })
	return phraseIf(len(named) > 0, " (by %v)", strings.Join(named, ", "))
}

// partNames are the parts of a cost for people, where they have another name in JSON.
var partNames = map[string]string{"content": "other input", "breaks": "cache misses", "own calls": "summarization requests"}

// concentrationText says how much of a difference few sessions and one project make.
func concentrationText(c *compare.Comparison, i int) string {
	pair := &c.Pairs[i]
	v := &pair.Figures[c.Judged]
	if v.Lower+v.Higher < 2 {
		return ""
	}
	return phrase("; %v of the %v that differ are higher, half of what differs is in %v", v.Higher, count(v.Lower+v.Higher, "session"), pair.Half) +
		phraseIf(v.Projects > 1, ", %v %% in the project %v", pair.Largest.Of.Times(100).Text(0), lastElement(pair.Largest.Project))
}

// flagTexts say what some flags say of the figures of sessions, under every policy.
func flagTexts(c *compare.Comparison, hints *Hints, of ...compare.Flag) (list []string) {
	again := c.Rereads()
	about := map[compare.Flag]string{
		compare.FlagMidway:    "begins mid-conversation; what came before is a placeholder, and the cache starts with what the first request read",
		compare.FlagEstimated: "no usage recorded; all tokens are estimates",
		compare.FlagOutputs:   "outputs estimated, the same for every policy",
		compare.FlagCompacted: "compacted by the client" + phraseIf(again.Files > 0, "; later the agent read %v again (%v tokens), which added at most %v input tokens to all later requests",
			count(again.Files, "file"), figureText("", exact.Whole(again.Tokens)), figureText("", exact.Whole(again.Carried))),
		compare.FlagWindow:    "window as the user had set it, by the recorded compactions" + before("; ", hints.Window),
		compare.FlagSubagents: "subagents left out" + before("; ", hints.Included),
		compare.FlagUnpriced:  "a model without a price; sums of cost leave the session out",

		compare.FlagContradicted: "the recorded usage contradicts the content; tokens are those of the content, and no difference is taken from it" + contradictedAgents(c),
		compare.FlagRebuilt:      "requests are recorded by the client; " + heldFigures,
	}
	for _, f := range of {
		if n := c.Flagged(f); n > 0 {
			list = append(list, ofSessions(c, n)+": "+about[f])
		}
	}
	return list
}

// contradictedAgents names the subagents that leave a session out whose main conversation would not.
func contradictedAgents(c *compare.Comparison) string {
	var names []string
	for i := range c.Sessions {
		for _, one := range c.Sessions[i].Conversations {
			if !slices.Contains(one.Flags, compare.FlagContradicted) {
				continue
			}
			if one.Agent == "" {
				break
			}
			names = append(names, sourceName(one.Origin))
		}
	}
	return strings.Join(someNamed("; in subagents alone: ", names, ""), "")
}

// lastElement is the last element of a path.
func lastElement(path string) string {
	return path[strings.LastIndexAny(strings.TrimRight(path, `/\`), `/\`)+1:]
}

// cacheText says whose prompt cache costs are by.
func cacheText(groups []compare.Comparison) string {
	for _, c := range groups {
		for _, s := range c.Sessions {
			return cacheNote(s.Cache) + " "
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
func unpricedNotes(sessions []compare.ComparedSession, hints *Hints) []string {
	var names []string
	for _, u := range compare.UnpricedModels(sessions) {
		model := "a model that is not recorded"
		if u.Model != "" {
			model = strconv.Quote(u.Model)
		}
		names = append(names, phrase("%s (%s%s)", model, sourceName(u.First), phraseIf(u.Sessions > 1, " and %v more", u.Sessions-1)))
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
	lines := 0
	files := 0
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
