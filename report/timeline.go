package report

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// Marks under the chart.
const (
	markCompaction = 'C'
	markChange     = 'x'
)

// unmarked are the kinds of events that change nothing of the payload.
var unmarked = []policy.EditKind{policy.KindCall, policy.KindTag, policy.KindWrap, policy.KindFail, policy.KindRefuse, policy.KindBlock}

// How much of a long list a table shows.
const (
	mostRequests = 60 // rows; beyond that the first and the last ones
	lastRequests = 15
	mostEvents   = 40
)

// printTimeline prints one timeline.
func printTimeline(p *page, tl *replay.Timeline) {
	p.heading(sessionTitle(tl.Session, tl.Agent))
	if len(tl.Requests) > 0 {
		text := verdictText(tl.Policy, &tl.Totals, tl.CacheFit)
		p.note(bold, strings.ToUpper(text[:1])+text[1:]+".")
	}
	if tl.Truth.Hypothesis() {
		p.note(yellow, tl.Policy+" is "+hypothesisText(tl.Score))
	}
	p.notes(none, tl.Notes)
	p.notes(yellow, troubleNotes(&tl.Totals))
	p.heading("totals")
	p.fields(totalFields(tl)...)
	p.heading("about")
	p.fields(headFields(tl, &p.Layout)...)
	if c := timelineChart(tl); len(c.model) > 0 {
		g := either(p.ASCII, asciiGlyphs, unicodeGlyphs)
		p.heading("tokens sent with each request")
		p.note(faint, fmt.Sprintf("%c %s under the policy, %c raw (nothing compacted), %c threshold, %c compaction, "+
			"%c other change", g.full, sentView(tl), g.raw, g.line, markCompaction, markChange))
		p.picture(c.draw(g, p.lineWidth(), p.Color))
		if c.clipped {
			p.note(faint, "(Raw is cut off: its peak is "+thousands(slices.Max(c.raw))+" tokens.)")
		}
	}
	printRequests(p, tl)
	printEvents(p, tl)
	var kinds WarningKinds
	kinds.Add(tl.Warnings...)
	printWarnings(p, tl.File, &kinds, tl.Warnings)
}

func headFields(tl *replay.Timeline, opt *Layout) [][2]string {
	var limits []string
	for _, l := range tl.Limits {
		if l.Acts {
			limits = append(limits, l.Name+" "+thousands(l.Tokens)+either(l.Of == policy.OfContext, "", " tokens of "+string(l.Of)))
		}
	}
	return [][2]string{{"title", tl.Title}, {"file", tl.File}, {"recorded", recordedSpan(tl, opt.Zone)}, {"requests", heldText(recordedRequests(tl), "")}, {"model", tl.Model}, {"tokens", ConversionText(tl.Converted)}, {"policy", tl.Policy + before(": ", tl.Chosen)},
		{"history", earlierText(tl.Earlier)}, {"counter", tl.Counter}, {"cache", cachesText(tl.Caches)}, {"window", thousands(tl.Window) + " tokens" + windowText(tl, &opt.Hints)}, {"compaction", autoOffText(tl.AutoOff)}, {"conditions", conditionsText(tl.Conditions)}, {"limits", strings.Join(limits, ", ") + phraseIf(tl.LimitsOf != "" && len(limits) > 0, " (of the client: %v)", tl.LimitsOf)}}
}

// heldText says how many requests the client recorded, and what the whole ones among them are used for: what, "" for nothing.
func heldText(t session.RequestTally, what string) string {
	text := phrase("%v recorded by the client", t.Of)
	if t.Whole < t.Of {
		text = phrase("%v of %v recorded by the client can be put together, %v rebuilt", t.Whole, t.Of, t.Of-t.Whole)
	}
	return phraseIf(t.Of > 0, "%v%v; %v", text, phraseIf(what != "", ", %v used for %v", t.Whole, what), heldFigures)
}

// heldFigures says where figures come from, though the client recorded its requests.
const heldFigures = "tokens and cost come from the messages and their usage, as in a session without them"

// recordedRequests counts the recorded requests in the files of replays.
func recordedRequests(tls ...*replay.Timeline) (t session.RequestTally) {
	for _, tl := range tls {
		t.Add(tl.Lines.Recorded)
	}
	return t
}

// conditionsText says how often each condition held; "" where there is none.
func conditionsText(list []replay.ConditionUse) string {
	var parts []string
	for _, c := range list {
		parts = append(parts, phrase("%v when %v: held %v of %v times", c.Stage, c.When, c.Held, c.Held+c.Failed))
	}
	return strings.Join(parts, "; ")
}

// cachesText says which models' providers cache without being asked, and how; "" where none does.
func cachesText(list []replay.ModelCache) string {
	var parts []string
	for i := range list {
		parts = append(parts, CacheText(&list[i].CacheKind)+" for "+list[i].Model+" ("+list[i].Confidence+")")
	}
	return strings.Join(parts, "; ")
}

// CacheText describes a kind of cache.
func CacheText(k *cache.CacheKind) string {
	switch k.Mode {
	case cache.Breakpoints:
		return "marked"
	case cache.Auto:
		return "automatic" + phraseIf(k.Quantum > 1, ", blocks of %v tokens", k.Quantum) + phraseIf(k.TTLSeconds > 0, ", %v minutes", k.TTLSeconds/60)
	}
	return "not known"
}

// ConversionText says how tokens became those of another model; "" where they did not.
func ConversionText(c *replay.Conversion) string {
	if c == nil {
		return ""
	}
	var parts []string
	for _, m := range c.Models {
		name := m.Model + phraseIf(len(c.Models) > 1, " (%v)", count(m.Requests, "request"))
		if m.To.Known {
			parts = append(parts, name+" times "+m.Ratio.String()+" = "+m.To.Text(2)+" / "+m.From.Text(2))
		} else {
			parts = append(parts, name+" unchanged")
		}
	}
	return "converted from those of " + strings.Join(parts, ", ") + " (" + c.Source + ")"
}

// earlierText says what is known of the history before the file; "" where the file begins with its conversation.
func earlierText(h *replay.EarlierHistory) string {
	if h == nil {
		return ""
	}
	text := "begins before this file: " + either(h.Tokens > 0, "a placeholder of "+thousands(h.Tokens)+" tokens", "its size is not known")
	if h.Cached != nil {
		text += phrase("; the prompt cache starts with the %v tokens that request 1 read", *h.Cached)
	} else {
		text += "; what the prompt cache held is not known, and it starts empty"
	}
	return text + "; limits of the whole prompt apply from request 2 on"
}

// windowText says where the window follows from the recorded sessioned session, "" where it is that of model and client.
func windowText(tl *replay.Timeline, hints *Hints) string {
	switch {
	case tl.Fit != nil:
		return ", fitted to the recorded compactions" + before("; ", hints.Window)
	case tl.Shown > 0:
		return phrase(", shown by a recorded context of %v", tl.Shown) + before("; ", hints.Window)
	}
	return ""
}

// autoOffText says that automatic compaction was off when recorded; "" where it was not.
func autoOffText(off *replay.AutoOff) string {
	if off == nil {
		return ""
	}
	return phrase("automatic compaction was off when recorded: %v made above the threshold of %v", count(off.Requests, "request"), off.Threshold)
}

// recordedSpan is when and by which client the session was recorded.
func recordedSpan(tl *replay.Timeline, zone *time.Location) string {
	var first, last time.Time
	for _, r := range tl.Requests {
		switch at := r.Time; {
		case at.IsZero():
		case first.IsZero():
			first = at
			last = at
		case at.Before(first):
			first = at
		case at.After(last):
			last = at
		}
	}
	const minute = "2006-01-02 15:04"
	span := ""
	if !first.IsZero() {
		span = timeText(first, minute, zone) + " to " + timeText(last, minute, zone) + " " + cmp.Or(zone, time.UTC).String()
	}
	return joined(", ", span, phraseIf(tl.Version != "", "client %v", tl.Version))
}

// troubleNotes say in words what makes the figures of a policy doubtful: requests without an answer, and compactions
// that brought nothing.
func troubleNotes(t *replay.Totals) []string {
	var notes []string
	over := t.Refused - t.Blocked
	if t.Refused > 0 {
		notes = append(notes, phrase("Of %v %v: all that follows rests on answers that this policy would not have had.", count(t.Requests, "request"),
			joined(" and ", phraseIf(over > 0, "%v %v the window and would have been refused", over, either(over == 1, "exceeds", "exceed")),
				phraseIf(t.Blocked > 0, "%v %v the blocking limit and would not have been sent", t.Blocked, either(t.Blocked == 1, "reaches", "reach")))))
	}
	if t.Failed > 0 {
		notes = append(notes, phrase("%v failed and left the view as it was; the events say why.", count(t.Failed, "compaction")))
	}
	if t.Thrash > 0 {
		notes = append(notes, phrase("%v of %v freed less than a tenth of what they read%v.", t.Thrash, count(t.Compactions, "compaction"),
			phraseIf(t.ThrashRun > 1, ", %v of them in a row", t.ThrashRun)))
	}
	return notes
}

func timelineChart(tl *replay.Timeline) *chart {
	n := tl.Totals.Requests
	c := &chart{raw: make([]int, 0, n), model: make([]int, 0, n), rows: chartRows, cursor: -1}
	for _, r := range tl.Main() {
		c.raw = append(c.raw, r.Raw)
		c.model = append(c.model, r.Payload)
	}
	c.marks = make([]byte, len(c.model))
	c.mark(tl.Events)
	for _, acts := range []bool{true, false} { // of two lines in one row the first is shown
		for _, l := range tl.Limits {
			if l.Label != "" && l.Acts == acts {
				c.lines = append(c.lines, chartLine{l.Label, l.Tokens})
			}
		}
	}
	c.lines = append(c.lines, chartLine{"window", tl.Window})
	return c
}

// mark marks the requests before which something happened.
func (c *chart) mark(events []replay.Event) {
	for _, e := range events {
		if e.Request == nil || slices.Contains(unmarked, e.Kind) {
			continue
		}
		if x := *e.Request - 1; x >= 0 && x < len(c.marks) { // main requests are numbered in their order
			c.marks[x] = stronger(c.marks[x], either[byte](e.Kind == policy.KindSummarize, markCompaction, markChange))
		}
	}
}

func printEvents(p *page, tl *replay.Timeline) {
	p.heading("events")
	if len(tl.Events) == 0 {
		p.note(none, "None: the policy changed nothing.")
		return
	}
	t := tableOf[eventCells]()
	fill := filler[eventCells, replay.Event]()
	shown := shownEvents(tl, p.All)
	for _, i := range shown {
		e := tl.Events[i]
		// In Markdown #1 would be an issue.
		row := eventCells{Event: either(p.markdown(), "", "#") + strconv.Itoa(e.N), Request: number("end"), What: eventText(tl, &e)}
		if fill(&row, &e); e.Request != nil {
			row.Request = *e.Request
		}
		st := map[policy.EditKind]style{policy.KindSummarize: yellow, policy.KindInferred: faint}[e.Kind]
		if lost(e.Kind) { // it changes nothing
			row.After = nil
			row.Saved = nil
		}
		if e.Kind == policy.KindRestart { // events of their own hold what it changes
			row.Before = nil
			row.After = nil
			row.Saved = nil
		}
		t.put(st, row)
	}
	p.table(t)
	p.hidden(len(tl.Events)-len(shown), "event", "json and csv contain them")
}

// lost reports whether events of a kind are requests that would have had no answer.
func lost(kind policy.EditKind) bool { return kind == policy.KindRefuse || kind == policy.KindBlock }

// again reports whether event n is a lost request, as the event before it is.
func again(tl *replay.Timeline, n int) bool {
	kind := tl.Events[n].Kind
	return n > 0 && lost(kind) && tl.Events[n-1].Kind == kind
}

// shownEvents returns the indexes of the events to show: the first ones, without tags, of which every prompt has one,
// and of lost requests in a row only the first.
func shownEvents(tl *replay.Timeline, all bool) []int {
	var list []int
	for i, e := range tl.Events {
		if all || e.Kind != policy.KindTag && !again(tl, i) {
			list = append(list, i)
		}
	}
	if !all && len(list) > mostEvents {
		list = list[:mostEvents-1]
	}
	return list
}

// longNumber is a number of tokens in the reason of an event: no part of a name, a date or a fraction.
var longNumber = pattern.New(`(^|[ (])[1-9]\d{4,6}($|[ ,;:)])`)

// eventText describes an event by everything that has no column.
func eventText(tl *replay.Timeline, e *replay.Event) string {
	text := longNumber().ReplaceAllStringFunc(e.Reason, func(found string) string {
		digits := strings.Trim(found, " (,;:)")
		n, _ := strconv.Atoi(digits)
		return strings.Replace(found, digits, thousands(n), 1)
	})
	if e.Results > 0 {
		text += ", " + count(e.Results, "result") + either(e.Kind == policy.KindServerKeep, " given back", "")
	}
	if s := messagesText(e); s != "" {
		text += ", " + s
	}
	if lost(e.Kind) || e.Kind == policy.KindFail {
		return text // the reason has its figures
	}
	var own []string // the product's own estimates, which differ from the columns
	for _, name := range slices.Sorted(maps.Keys(e.Detail)) {
		own = append(own, name+" "+thousands(e.Detail[name]))
	}
	text += phraseIf(len(own) > 0, "; client's count: %v", strings.Join(own, ", "))
	if r := e.Recorded; r != nil {
		file := r.File
		if file == tl.File {
			file = path.Base(strings.ReplaceAll(file, `\`, "/"))
		}
		text += fmt.Sprintf(", recorded at %s:%d", file, r.Line) + phraseIf(r.Trigger != "" && e.Trigger != policy.TriggerRestart, " (%v)", r.Compaction.Text(r.Trigger)) +
			phraseIf(r.PreTokens > 0 && e.Detail["pre_tokens"] != r.PreTokens, " pre_tokens %v", r.PreTokens) +
			phraseIf(r.TokensSaved > 0 && e.Detail["tokens_saved"] != r.TokensSaved, " tokens_saved %v", r.TokensSaved)
	}
	return text
}

// messagesText describes what an event did to messages.
func messagesText(e *replay.Event) string {
	n := count(e.Messages, "message")
	switch {
	case e.Kind == policy.KindSummarize && e.Messages == 0:
		return "the view has no fewer messages"
	case e.Kind == policy.KindSummarize:
		return "the view is " + n + " shorter"
	case e.Messages == 0:
		return ""
	case e.Kind == policy.KindCollapse:
		return n + either(e.Messages == 1, " becomes another", " become one")
	}
	return n + either(e.Messages == 1, " leaves", " leave")
}
