package report

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// Marks under the chart.
const (
	markCompaction = 'C'
	markChange     = 'x'
)

// How much of a long list a table shows.
const (
	mostRequests = 60 // rows; beyond that the first and the last ones
	lastRequests = 15
	mostEvents   = 40
	mostWarnings = 10
)

// printTimeline prints one timeline.
func printTimeline(p *page, tl *replay.Timeline) {
	p.heading(sessionTitle(tl.Session, tl.Agent))
	p.fields(headFields(tl)...)
	if c := timelineChart(tl); len(c.model) > 0 {
		g, m, r, l := unicodeGlyphs, "█", "░", "┄"
		if p.ASCII {
			g, m, r, l = asciiGlyphs, "#", ".", "-"
		}
		p.heading("tokens sent with each request")
		p.note(faint, fmt.Sprintf("%s %s under the policy, %s raw (nothing compacted), %s threshold, %c compaction, %c other change", m, sentView(tl), r, l, markCompaction, markChange))
		p.picture(c.draw(g, p.Color))
		if c.clipped {
			p.note(faint, "(Raw is cut off: its peak is "+thousands(slices.Max(c.raw))+" tokens.)")
		}
	}
	printRequests(p, tl)
	printEvents(p, tl)
	p.heading("totals")
	p.fields(totalFields(tl)...)
	printWarnings(p, tl)
}

func headFields(tl *replay.Timeline) [][2]string {
	var f [][2]string
	add := func(name, value string) { f = append(f, [2]string{name, value}) }
	add("title", tl.Title)
	add("file", tl.File)
	add("recorded", recordedSpan(tl))
	add("model", tl.Model)
	add("policy", tl.Policy)
	add("counter", tl.Counter)
	add("window", thousands(tl.Window)+" tokens")
	var limits []string
	for _, l := range tl.Limits {
		if l.Operator != "" {
			limits = append(limits, l.Name+" "+thousands(l.Tokens))
		}
	}
	add("limits", strings.Join(limits, ", "))
	return f
}

// recordedSpan is when and by which client the session was recorded.
func recordedSpan(tl *replay.Timeline) string {
	var times []time.Time
	for i := range tl.Requests {
		if at := tl.Requests[i].Time; !at.IsZero() {
			times = append(times, at)
		}
	}
	var parts []string
	if len(times) > 0 {
		first, last := slices.MinFunc(times, time.Time.Compare), slices.MaxFunc(times, time.Time.Compare)
		parts = append(parts, cellText(first)+" to "+cellText(last)+" UTC")
	}
	if tl.Version != "" {
		parts = append(parts, "client "+tl.Version)
	}
	return strings.Join(parts, ", ")
}

func timelineChart(tl *replay.Timeline) *chart {
	c := &chart{}
	at := map[int]int{} // request number -> index in the chart
	for i := range tl.Requests {
		r := &tl.Requests[i]
		if r.Kind != kindMain {
			continue
		}
		at[r.N] = len(c.model)
		c.raw = append(c.raw, r.Raw)
		c.model = append(c.model, r.Payload)
	}
	c.marks = make([]byte, len(c.model))
	for i := range tl.Events {
		e := &tl.Events[i]
		if e.Request == nil || e.Kind == policy.KindCall || e.Kind == policy.KindTag {
			continue
		}
		if x, ok := at[*e.Request]; ok {
			m := byte(markChange)
			if e.Kind == policy.KindSummarize {
				m = markCompaction
			}
			c.marks[x] = stronger(c.marks[x], m)
		}
	}
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

// printEvents prints the events.
func printEvents(p *page, tl *replay.Timeline) {
	p.heading("events")
	if len(tl.Events) == 0 {
		p.note(none, "None: the policy changed nothing.")
		return
	}
	t := newTable(titles("event", "request"), []column{{Title: "stage", Max: 20}, {Title: "kind", Max: 12}, {Title: "what", Flex: true}},
		titles("before", "after", "saved"))
	shown := shownEvents(tl, p.All)
	for _, i := range shown {
		e := &tl.Events[i]
		at := number("end")
		if e.Request != nil {
			at = number(thousands(*e.Request))
		}
		t.add(eventStyle(e), "#"+strconv.Itoa(e.N), at, e.Stage, e.Kind, eventText(tl, e), e.Before, e.After, e.Saved)
	}
	p.table(t)
	p.hidden(len(tl.Events)-len(shown), "event", "json and csv contain them")
}

// shownEvents returns the indexes of the events to show: the first ones, without
// tags, of which every prompt has one.
func shownEvents(tl *replay.Timeline, all bool) []int {
	var list []int
	for i := range tl.Events {
		if all || tl.Events[i].Kind != policy.KindTag {
			list = append(list, i)
		}
	}
	if !all && len(list) > mostEvents {
		list = list[:mostEvents-1]
	}
	return list
}

func eventStyle(e *replay.Event) style {
	switch e.Kind {
	case policy.KindSummarize:
		return yellow
	case policy.KindInferred:
		return faint
	}
	return none
}

// eventText describes an event by everything that has no column of its own.
func eventText(tl *replay.Timeline, e *replay.Event) string {
	parts := []string{e.Reason}
	if e.Results > 0 {
		results := count(e.Results, "result")
		if e.Kind == policy.KindServerKeep {
			results += " given back"
		}
		parts = append(parts, results)
	}
	if s := messagesText(e); s != "" {
		parts = append(parts, s)
	}
	var own []string // the product's own estimates, which differ from the columns
	for _, name := range slices.Sorted(maps.Keys(e.Detail)) {
		own = append(own, name+" "+thousands(e.Detail[name]))
	}
	if len(own) > 0 {
		parts[len(parts)-1] += "; client's count: " + strings.Join(own, ", ")
	}
	if r := e.Recorded; r != nil {
		file := r.File
		if file == tl.File {
			file = path.Base(strings.ReplaceAll(file, `\`, "/"))
		}
		s := fmt.Sprintf("recorded at %s:%d", file, r.Line)
		if r.Trigger != "" {
			s += " (" + r.Trigger + ")"
		}
		if r.PreTokens > 0 && e.Detail["pre_tokens"] != r.PreTokens {
			s += " pre_tokens " + thousands(r.PreTokens)
		}
		if r.TokensSaved > 0 && e.Detail["tokens_saved"] != r.TokensSaved {
			s += " tokens_saved " + thousands(r.TokensSaved)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
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
	case e.Kind == policy.KindCollapse && e.Messages == 1:
		return n + " becomes another"
	case e.Kind == policy.KindCollapse:
		return n + " become one"
	case e.Messages == 1:
		return n + " leaves"
	}
	return n + " leave"
}
