package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/scripts/lab/mock"
)

// asked is a request of the log, and the arguments that ask ctxkit for it.
type asked struct {
	line mock.LoggedRequest
	args []string
}

// none is a number that no request has.
const none = "1000000"

// match finds ctxkit's number of each request that a session holds.
func (k *kept) match(file, text string, said replayed, requests []mock.LoggedRequest) (matched []asked, left int, err error) {
	switch {
	case k.named:
		lines, err := linesOf(file)
		if err != nil {
			return nil, 0, err
		}
		matched, left = matchIDs(lines, said, requests)
		return matched, left, nil
	case k.ids:
		return matchUsage(text, said, requests), 0, nil
	}
	for i, l := range requests {
		matched = append(matched, asked{l, []string{"--at", strconv.Itoa(i + 1)}})
	}
	return matched, 0, nil
}

// matchIDs matches the requests of Claude Code by the id of the message that answered: one that ctxkit does not count is
// of a branch that was left, and is asked for by --leaf.
func matchIDs(lines []line, said replayed, requests []mock.LoggedRequest) (matched []asked, left int) {
	leaf, message := map[string]string{}, map[string]string{}
	for _, l := range lines {
		if l.Type == "assistant" && l.UUID != "" && l.Message.ID != "" {
			leaf[l.Message.ID] = l.UUID
			message[l.UUID] = l.Message.ID
		}
	}
	number := map[string]int{}
	for _, r := range said.Requests {
		if id := message[r.UUID]; id != "" && number[id] == 0 {
			number[id] = r.N
		}
	}
	for _, l := range requests {
		id := l.Answer.ID
		switch {
		case leaf[id] == "":
		case number[id] > 0:
			matched = append(matched, asked{l, []string{"--at", strconv.Itoa(number[id])}})
		default:
			matched = append(matched, asked{l, []string{"--leaf", leaf[id], "--at", "last"}})
			left++
		}
	}
	return matched, left
}

// matchUsage matches the requests of other clients, whose calls or text are on the file, by their usage.
func matchUsage(text string, said replayed, requests []mock.LoggedRequest) (matched []asked) {
	rest := slices.Clone(said.Requests)
	unmatched := 0
	for _, l := range requests {
		nameless := l.API == "gemini" && l.Answer.Text == "" // its calls have no ids
		onFile := slices.ContainsFunc(l.Answer.Calls, func(id string) bool { return strings.Contains(text, id) }) || strings.Contains(text, quoted(l.Answer.Text))
		if l.Answer.Cut || !nameless && !onFile {
			continue
		}
		n := none
		for i, r := range rest {
			u := r.Recorded
			if u != nil && u.Input+u.CacheWrite+u.CacheRead == l.Answer.Usage.Total && u.Output == l.Answer.Usage.Out {
				n = strconv.Itoa(r.N)
				rest = slices.Delete(rest, i, i+1)
				break
			}
		}
		if n == none {
			unmatched++
		}
		matched = append(matched, asked{l, []string{"--at", n}})
	}
	if unmatched > 0 && len(matched) == said.Totals.Requests { // a client that records another usage: by counting
		for i := range matched {
			matched[i].args[1] = strconv.Itoa(i + 1)
		}
	}
	return matched
}

// quoted is a text as JSON has it; of no text, something that no file has.
func quoted(text string) string {
	if text == "" {
		return "\x00"
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)
	return strings.TrimSpace(b.String())
}
