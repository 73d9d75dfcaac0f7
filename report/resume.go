package report

import (
	"io"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/price"
)

// ResumeSchema is the version of the JSON form of what continuing sessions costs.
const ResumeSchema = "ctxkit.resume/v1"

// MostResumed is how many sessions a table of what continuing costs shows.
const MostResumed = 20

// ResumeItem is a session, and what continuing it costs.
type ResumeItem struct {
	SessionItem
	Next *replay.Continuation `json:"next,omitempty"` // nil: there is no request, or it was not read
}

// Resume prints what continuing sessions costs now.
func Resume(w io.Writer, list []ResumeItem, opt Layout) error {
	list = slices.Clone(list)
	t := tableOf[resumeCells]()
	items := make([]SessionItem, len(list))
	for i := range list {
		items[i] = list[i].SessionItem
	}
	short := itemIDs(items)
	warm := 0
	held := session.RequestTally{}
	fit := &replay.CacheFit{}
	var first *ResumeItem
	var bills [][]bill.Entry
	name := ""
	for n := range list {
		i := &list[n]
		i.Created, i.Last, i.Changed, i.Subagents = i.Created.UTC(), i.Last.UTC(), i.Changed.UTC(), notNil(i.Subagents)
		if i.Next != nil && first == nil {
			first = i
			name = short[n]
		}
		if i.Next != nil && i.Next.Warm {
			warm++
		}
		if i.Next != nil {
			fit.Add(i.Next.CacheFit)
			held.Add(i.Next.Recorded)
		}
		if i.Glance != nil {
			bills = append(bills, i.Billed)
		}
		resumeRow(t, i, short[n], opt.Now).noTab = !opt.All && n >= MostResumed
	}
	var notes []string
	if hidden := len(list) - MostResumed; hidden > 0 && !opt.All {
		notes = append(notes, opt.Hints.hidden(hidden, "session", "json and csv contain them"))
	}
	notes = append(notes, besideText(bill.OfEntries(bills...), price.USD{}, "", fit), before("requests: ", heldText(held, "")), "next: the input of the next request with the simulated cache, without your prompt and the answer. The cache is only read while the same client still runs: "+
		"a restarted one begins its prompt differently, so you mostly pay the cold price. cache \"not known\": how long the provider keeps a cache is not known, and a cold one is assumed. compacted: the summary request, with a summary of assumed length, and the first request after it; files that the client attaches again come on top. "+
		"An empty cell: the client is unknown, the summary request is larger than the window, or the recorded usage contradicts the length of the messages. pays back: after how many requests, without a long pause, compacting now has cost less than going on; -: never.")
	return listing(resumeText(list, first, name, warm, opt.Now), t, object{{"schema", ResumeSchema}, {"now", opt.Now.UTC()}, {"sessions", list}}, notes...).print(w, opt)
}

// resumeText is the answer in words: for the session that comes first.
func resumeText(list []ResumeItem, first *ResumeItem, name string, warm int, now time.Time) string {
	if first == nil {
		return phrase("%v, none with a request: there is nothing to continue.", count(len(list), "session"))
	}
	c := first.Next
	text := phrase("The next request of %v sends %v tokens; ", either(len(list) == 1, "the session", "session "+name), c.Context)
	switch {
	case !c.IfWarm.USD.Known:
		return text + phrase("no price is known for %v.", c.Model) + warmText(list, warm)
	case c.Unknown:
		text += phrase("how long its provider keeps the cache is not known: it costs %v if it is cold, and %v if it is warm.", usdText(c.IfCold.USD), usdText(c.IfWarm.USD))
	case c.Warm:
		text += phrase("its cache is warm for %v, so it costs %v, and %v once it is cold.", timeLeft(c, now), usdText(c.IfWarm.USD), usdText(c.IfCold.USD))
	default:
		text += phrase("its cache is cold, so it costs %v.", usdText(c.IfCold.USD))
	}
	text += phraseIf(c.Misfit, " What a compaction would leave is not known: the recorded usage contradicts the content.")
	if n := c.CompactedNow(); n != nil {
		text += phrase(" Compacted first, it sends %v tokens, and costs %v together with the summary request", c.Compact.Context, usdText(n.USD))
		switch {
		case n.Pays == 1:
			text += ", which is less at once."
		case n.Pays > 1:
			text += phrase(", which pays back after %v requests.", n.Pays)
		default:
			text += ", which does not pay back."
		}
	}
	return text + warmText(list, warm)
}

// warmText says how many of several sessions have a warm cache.
func warmText(list []ResumeItem, warm int) string {
	return phraseIf(len(list) > 1, " Of %v, %v.", count(len(list), "session"), either(warm == 1, "1 is warm", thousands(warm)+" are warm"))
}

// timeLeft is how long the cache lives, rounded down: no longer than from the last response.
func timeLeft(c *replay.Continuation, now time.Time) string {
	d := min(c.Expires.Sub(now), c.Expires.Sub(c.Last))
	return either(d < time.Minute, "less than a minute", phrase("%v min", int(d/time.Minute)))
}

// cacheState says whether the cache is warm, where that is known.
func cacheState(c *replay.Continuation, now time.Time) string {
	switch {
	case c.Unknown:
		return "not known"
	case c.Warm:
		return "warm " + timeLeft(c, now)
	}
	return "cold"
}

func resumeRow(t *table, i *ResumeItem, short string, now time.Time) *row {
	cells := resumeCells{Session: pair{short, i.ID}, Age: number(Age(now, i.Used())), Project: pair{cut(Clean(projectName(&i.SessionItem)), 24), i.Project}, Title: Headline(&i.FileInfo)}
	filler[resumeCells, ResumeItem]()(&cells, i)
	c := i.Next
	if c == nil {
		return t.put(faint, cells)
	}
	// Two places for people, all for programs.
	money := func(u price.USD) pair { return pair{number(phraseIf(u.Known, "%v", u.Decimal().Text(2))), u} }
	cells.Cache, cells.NextUSD, cells.IfWarm, cells.IfCold = cacheState(c, now), money(c.Now().USD), money(c.IfWarm.USD), money(c.IfCold.USD)
	if n := c.CompactedNow(); n != nil {
		cells.compactedCells = compactedCells{c.Compact.Policy, c.Compact.Summary, c.Compact.Context, money(n.USD), c.Compact.IfWarm.USD, c.Compact.IfCold.USD,
			pair{number(either(n.Pays > 0, thousands(n.Pays), "-")), n.Pays}}
	}
	if g := i.Glance; g != nil {
		cells.Billed = pair{billCell(g.CostUSD, g.AtLeast, 2), g.CostUSD}
	}
	return t.put(either(c.Warm, green, none), cells)
}
