package report

import (
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// kindMain is the kind of the requests that the client made itself.
const kindMain = "main"

// printRequests prints the requests where something happened, the first, the
// last and the peaks, and says how many stand between them.
func printRequests(p page, tl *replay.Timeline, opt Options) {
	p.heading("requests")
	if len(tl.Requests) == 0 {
		p.note(none, "The session holds no request: nothing was sent.")
		return
	}
	t := &Table{Columns: []Column{
		{Title: "request", Right: true}, {Title: "time (UTC)", Max: 14}, {Title: "raw", Right: true},
		{Title: sentName(tl), Right: true}, {Title: "saved", Right: true}, {Title: "used", Right: true},
		{Title: "USD", Right: true},
		{Title: "what happened", Flex: true},
	}}
	notes := requestNotes(tl)
	own, _ := ownEvents(tl)
	next, cut := 0, ""
	for _, i := range shownRequests(tl, notes, opt.All) {
		if text := hiddenText(tl, next, i); text != "" {
			t.styled(faint, "", "", "", "", "", "", "", text)
			if strings.Contains(text, " with ") {
				cut = opt.Hints.hidden("more requests", "json and csv hold them")
			}
		}
		next = i + 1
		requestRow(t, tl, i, own[i], notes[i])
	}
	p.table(t)
	if cut != "" {
		p.note(faint, cut)
	}
	if hasPayloads(tl) {
		p.note(faint, "The payload is what the server attends to after API-level edits; the client keeps the model view: json and csv hold both.")
	}
}

// hasPayloads reports whether what was sent is not the model view itself.
func hasPayloads(tl *replay.Timeline) bool {
	for i := range tl.Requests {
		if tl.Requests[i].Payload != tl.Requests[i].Tokens {
			return true
		}
	}
	return false
}

// sentName is what the tokens of a request are called: of the model view, or
// of the payload where an API-level edit makes another of it.
func sentName(tl *replay.Timeline) string {
	if hasPayloads(tl) {
		return "payload"
	}
	return "model"
}

// shownRequests are the indexes of the requests to show.
func shownRequests(tl *replay.Timeline, notes map[int]string, all bool) []int {
	var list []int
	for i := range tl.Requests {
		if r := &tl.Requests[i]; all || len(r.Events) > 0 || notes[i] != "" || r.Kind != kindMain {
			list = append(list, i)
		}
	}
	if all || len(list) <= mostRequests {
		return list
	}
	// The first and the last ones, and between them what has a note.
	kept := append([]int{}, list[:mostRequests-lastRequests]...)
	for _, i := range list[mostRequests-lastRequests : len(list)-lastRequests] {
		if notes[i] != "" {
			kept = append(kept, i)
		}
	}
	return append(kept, list[len(list)-lastRequests:]...)
}

// hiddenText says what stands between two shown rows.
func hiddenText(tl *replay.Timeline, from, to int) string {
	quiet, busy := 0, 0
	for i := from; i < to; i++ {
		if r := &tl.Requests[i]; r.Kind == kindMain {
			if len(r.Events) > 0 {
				busy++
			} else {
				quiet++
			}
		}
	}
	switch {
	case busy > 0:
		return "(" + count(busy, "request") + " with and " + thousands(quiet) + " without an event)"
	case quiet > 0:
		return "(" + count(quiet, "request") + " without an event)"
	}
	return ""
}

func requestRow(t *Table, tl *replay.Timeline, i int, events []int, note string) {
	r := &tl.Requests[i]
	at := ""
	if !r.Time.IsZero() {
		at = r.Time.UTC().Format("01-02 15:04:05")
	}
	what := requestWhat(tl, r, events)
	if note != "" {
		what = append(what, note)
	}
	raw, saved, used, st := thousands(r.Raw), thousands(r.Raw-r.Payload), thousands(r.Used), none
	if r.Kind != kindMain {
		raw, saved, used, st = "", "", "", yellow
	}
	t.styled(st, thousands(r.N), at, raw, thousands(r.Payload), saved, used, r.CostUSD.String(), strings.Join(what, "; "))
}

// requestNotes names the first, the last and the peaks, by index.
func requestNotes(tl *replay.Timeline) map[int]string {
	notes := map[int]string{}
	first, last, peak, rawPeak := -1, -1, -1, -1
	for i := range tl.Requests {
		r := &tl.Requests[i]
		if r.Kind != kindMain {
			continue
		}
		if first < 0 {
			first, peak, rawPeak = i, i, i
		}
		last = i
		if r.Payload > tl.Requests[peak].Payload {
			peak = i
		}
		if r.Raw > tl.Requests[rawPeak].Raw {
			rawPeak = i
		}
	}
	if first < 0 {
		return notes
	}
	add := func(i int, s string) {
		if notes[i] != "" {
			s = notes[i] + ", " + s
		}
		notes[i] = s
	}
	add(first, "first")
	switch {
	case peak == rawPeak:
		add(peak, "peak")
	default:
		peakOf := "peak of the model view"
		if hasPayloads(tl) {
			peakOf = "peak of the payload"
		}
		add(peak, peakOf)
		add(rawPeak, "peak of raw")
	}
	add(last, "last")
	return notes
}

// requestWhat tells the events of a request, in few words.
func requestWhat(tl *replay.Timeline, r *replay.Request, events []int) []string {
	var what []string
	if r.Kind != kindMain {
		what = append(what, fmt.Sprintf("%s call, %s tokens out", r.Kind, thousands(r.Output)))
	}
	if m := r.Cache.Miss; m != nil && m.Kind != cache.First && m.Kind != cache.Compacted && m.Kind != cache.Edited {
		what = append(what, "cache: "+m.String()) // the others are told by the events
	}
	const most = 3
	for i, n := range events {
		if i == most && len(events) > most+1 {
			what = append(what, "and "+count(len(events)-most, "more event"))
			break
		}
		e := &tl.Events[n]
		what = append(what, fmt.Sprintf("#%d %s: %s", e.N, e.Stage, eventWhat(e)))
	}
	return what
}

// eventWhat is what an event did, in two or three words.
func eventWhat(e *replay.Event) string {
	s := strings.ReplaceAll(string(e.Kind), "_", " ")
	if e.Kind == policy.KindServerKeep {
		s = "give back"
	}
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
