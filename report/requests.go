package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// kindMain is the kind of the requests of the conversation itself.
const kindMain = "main"

// requestTable is a table of the requests of a timeline.
type requestTable struct {
	*table
	tl   *replay.Timeline
	fill func(*requestCells, *replay.Request)
}

func newRequestTable(tl *replay.Timeline) *requestTable {
	t := &requestTable{tableOf[requestCells](), tl, filler[requestCells, replay.Request]()}
	at := slices.IndexFunc(t.columns, func(c column) bool { return c.Title == sentColumn })
	t.columns[at].Title = sentName(tl)
	return t
}

// request adds a request with its events.
func (t *requestTable) request(r *replay.Request, events []int, what string) {
	st := none
	cells := requestCells{named: names(t.tl), TimeUTC: clock{r.Time, "01-02 15:04:05"}, Saved: r.Raw - r.Payload, eventSums: sumEvents(t.tl, events), WhatHappened: what}
	t.fill(&cells, r)
	if r.Kind != kindMain {
		cells.Raw = pair{"", r.Raw}
		cells.Saved = nil
		cells.Used = pair{"", r.Used}
		st = yellow
	}
	t.put(st, cells)
}

// end adds the events after the last request, for CSV.
func (t *requestTable) end(events []int) {
	t.put(none, requestCells{named: names(t.tl), Kind: "end", eventSums: sumEvents(t.tl, events)})
}

// sumEvents are how many events there are, which, and what they saved.
func sumEvents(tl *replay.Timeline, events []int) eventSums {
	var kinds []string
	saved := 0
	for _, n := range events {
		e := tl.Events[n]
		kinds = append(kinds, e.Stage+":"+string(e.Kind))
		saved += e.Saved
	}
	return eventSums{len(events), strings.Join(kinds, ";"), saved}
}

// printRequests prints the first and the last requests, the peaks and those with an event, and counts the others.
func printRequests(p *page, tl *replay.Timeline) {
	p.heading("requests")
	if len(tl.Requests) == 0 {
		p.note(none, "The session has no request: nothing was sent.")
		return
	}
	t := newRequestTable(tl)
	notes := requestNotes(tl)
	own, _ := ownEvents(tl)
	next := 0
	events := 0
	for _, i := range shownRequests(tl, notes, p.All) {
		if text, busy := hiddenText(tl, next, i); text != "" {
			events += busy
			t.last(faint, text)
		}
		next = i + 1
		r := tl.Requests[i]
		what := append(requestWhat(tl, &r, own[i]), notes[i])
		t.request(&r, own[i], joined("; ", what...))
	}
	p.table(t.table)
	p.hidden(events, "changed request", "json and csv contain them")
	p.note(faint, "used: the context before the request, as the client counts it for its limits.")
	if hasPayloads(tl) {
		p.note(faint, "The payload is what the server reads after API-level edits; the client keeps the model view. json and csv contain both.")
	}
}

// hasPayloads reports whether a payload is not the model view itself.
func hasPayloads(tl *replay.Timeline) bool {
	return slices.ContainsFunc(tl.Requests, func(r replay.Request) bool { return r.Payload != r.Tokens })
}

// sentName names the tokens of a request: of the model view, or of the payload if an API-level edit changed it.
func sentName(tl *replay.Timeline) string {
	return either(hasPayloads(tl), "payload", sentColumn)
}

// sentView is sentName in a sentence.
func sentView(tl *replay.Timeline) string {
	return strings.Replace(sentName(tl), sentColumn, "model view", 1)
}

// shownRequests returns the indexes of the requests to show.
func shownRequests(tl *replay.Timeline, notes map[int]string, all bool) []int {
	var list []int
	for i, r := range tl.Requests {
		if all || tells(tl, r.Events) || notes[i] != "" || r.Kind != kindMain {
			list = append(list, i)
		}
	}
	if all || len(list) <= mostRequests {
		return list
	}
	// The first and the last ones, and those with a note between them.
	from := mostRequests - lastRequests
	to := len(list) - lastRequests
	noted := slices.DeleteFunc(slices.Clone(list[from:to]), func(i int) bool { return notes[i] == "" })
	return slices.Concat(list[:from], noted, list[to:])
}

// tells reports whether one of the events is no repetition of the one before.
func tells(tl *replay.Timeline, events []int) bool {
	return slices.ContainsFunc(events, func(n int) bool { return !again(tl, n) })
}

// hiddenText counts the main requests between two shown rows. busy is how many of them have an event.
func hiddenText(tl *replay.Timeline, from, to int) (text string, busy int) {
	quiet := 0
	unanswered := 0
	for _, r := range tl.Requests[from:to] {
		switch {
		case r.Kind != kindMain:
		case tells(tl, r.Events):
			busy++
		case len(r.Events) > 0:
			unanswered++
		default:
			quiet++
		}
	}
	if unanswered > 0 {
		return "(" + joined(", ", count(unanswered, "more request")+" without an answer", phraseIf(busy > 0, "%v with another event", busy),
			phraseIf(quiet > 0, "%v without an event", quiet)) + ")", busy
	}
	if busy > 0 {
		return phrase("(%v with and %v without an event)", count(busy, "request"), quiet), busy
	}
	return phraseIf(quiet > 0, "(%v without an event)", count(quiet, "request")), 0
}

// requestNotes marks the first and the last request and the peaks, by index.
func requestNotes(tl *replay.Timeline) map[int]string {
	notes := map[int]string{}
	first := -1
	last := -1
	peak := 0
	rawPeak := 0
	payload, raw := -1, -1 // at the peaks
	for i, r := range tl.Requests {
		if r.Kind != kindMain {
			continue
		}
		if first < 0 {
			first = i
		}
		if last = i; r.Payload > payload {
			peak = i
			payload = r.Payload
		}
		if r.Raw > raw {
			rawPeak = i
			raw = r.Raw
		}
	}
	if first < 0 {
		return notes
	}
	add := func(i int, s string) { notes[i] = joined(", ", notes[i], s) }
	add(first, "first")
	if peak == rawPeak {
		add(peak, "peak")
	} else {
		add(peak, "peak of the "+sentView(tl))
		add(rawPeak, "peak of raw")
	}
	add(last, "last")
	return notes
}

// requestWhat lists what happened at a request, a few words each.
func requestWhat(tl *replay.Timeline, r *replay.Request, events []int) []string {
	var what []string
	if r.Kind != kindMain {
		what = append(what, phrase("%v call, %v tokens out", r.Kind, r.Output))
	}
	if m := r.Cache.Miss; m != nil && m.Kind != cache.First && m.Kind != cache.Compacted && m.Kind != cache.Edited {
		what = append(what, "cache: "+m.String()) // the events show the others
	}
	const most = 3
	for i, n := range events {
		if i == most && len(events) > most+1 {
			what = append(what, "and "+count(len(events)-most, "more event"))
			break
		}
		e := tl.Events[n]
		what = append(what, fmt.Sprintf("#%d %s: %s", e.N, e.Stage, eventWhat(&e)))
	}
	return what
}

// eventWhat describes an event in two or three words.
func eventWhat(e *replay.Event) string {
	s := either(e.Kind == policy.KindServerKeep, "give back", strings.ReplaceAll(string(e.Kind), "_", " "))
	switch {
	case e.Kind == policy.KindSummarize && e.Messages == 0:
		s += ", no messages fewer"
	case e.Kind == policy.KindSummarize:
		s += ", " + count(e.Messages, "message") + " fewer"
	case e.Results > 0:
		s += " " + count(e.Results, "result")
	case e.Messages > 0:
		s += " " + count(e.Messages, "message")
	}
	return s
}
