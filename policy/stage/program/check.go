package program

import (
	"errors"
	"fmt"
)

// sentPart is a block in the list that the API is sent.
type sentPart struct {
	of   string // the message's name
	role string
	typ  string
	id   string
}

// check returns what is wrong with the messages that the answer leaves, and was not wrong with those it was given.
func (e *editing) check() error {
	var before, after []sentPart
	for _, d := range e.drafts {
		for _, p := range d.parts {
			one := sentPart{d.name, d.role, p.Type, p.ID}
			before = append(before, one)
			if !d.gone && !p.gone {
				after = append(after, one)
			}
		}
		if s := e.summary; s != nil && s.after == d {
			after = append(after, sentPart{"the summary", s.role, "text", ""})
		}
	}
	if s := e.summary; s != nil && s.after == nil {
		after = append([]sentPart{{"the summary", s.role, "text", ""}}, after...)
	}
	if len(after) == 0 {
		return errors.New("nothing is left to send")
	}
	known := map[string]bool{}
	for _, text := range faults(before) {
		known[text] = true
	}
	for _, text := range faults(after) {
		if !known[text] {
			return errors.New(text)
		}
	}
	return nil
}

// faults lists what the API would refuse in a list of messages, adjacent ones of one role taken as one.
func faults(list []sentPart) (out []string) {
	if len(list) == 0 {
		return nil
	}
	if list[0].role != "user" {
		out = append(out, fmt.Sprintf("the first message, %s, is the assistant's", list[0].of))
	}
	type call struct {
		id, of   string
		answered bool
	}
	var calls, asked []call // of this message, of the one before
	unanswered := func() {
		for _, c := range asked {
			if !c.answered {
				out = append(out, fmt.Sprintf("half of a pair is left: the tool_use %s in %s has no result in the message after it", clean(c.id), c.of))
			}
		}
	}
	role := list[0].role
	for _, p := range list {
		if p.role != role {
			if role == "user" {
				unanswered()
			}
			asked = calls
			calls = nil
			role = p.role
		}
		switch p.typ {
		case "tool_use":
			calls = append(calls, call{p.id, p.of, false})
		case "tool_result":
			found := false
			for i := range asked {
				if c := &asked[i]; c.id == p.id && !c.answered {
					c.answered = true
					found = true
					break
				}
			}
			if !found {
				out = append(out, fmt.Sprintf("half of a pair is left: the tool_result of %s in %s has no tool_use in the message before it", clean(p.id), p.of))
			}
		}
	}
	last := list[len(list)-1]
	if last.role != "user" {
		asked = calls
	}
	unanswered()
	if last.role != "user" {
		out = append(out, fmt.Sprintf("the last message, %s, is the assistant's", last.of))
	}
	return out
}
