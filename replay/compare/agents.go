package compare

import (
	"slices"

	"github.com/ctxkit/ctxkit/replay"
)

// JoinAgents makes one session of the conversations of each input, which follow each other: a main one begins it, and its
// subagents' follow. Its values are what they come to together. What follows a compaction is measured on the main one alone.
func JoinAgents(conversations []ComparedSession) (sessions []ComparedSession) {
	for at, end := 0, 0; at < len(conversations); at = end {
		for end = at + 1; end < len(conversations) && conversations[end].Agent != "" && conversations[end].Input == conversations[at].Input; {
			end++
		}
		sessions = append(sessions, join(conversations[at:end]))
	}
	return sessions
}

// Subagents is how many subagents' conversations are part of the session.
func (s *ComparedSession) Subagents() (n int) {
	for i := range s.Conversations {
		if s.Conversations[i].Agent != "" {
			n++
		}
	}
	return n
}

func join(list []ComparedSession) ComparedSession {
	s, all, requests := list[0], Comparison{Sessions: list}, place("requests")
	if len(list) == 1 {
		return s
	}
	s.Conversations, s.Unpriced, s.Values, s.Breaks = list, nil, nil, nil
	s.Rereads, s.Billed.Fit = all.Rereads(), all.Money().CacheFit
	s.Flags = slices.DeleteFunc(Flags(), func(f Flag) bool { return all.Flagged(f) == 0 })
	for _, u := range UnpricedModels(list) {
		s.Unpriced = append(s.Unpriced, u.Model)
	}
	for _, c := range list[1:] {
		if c.File != s.File {
			s.Malformed += c.Malformed
		}
		if s.Agent != "" { // else the bill of the main conversation has them
			s.Billed.Calls = append(s.Billed.Calls, c.Billed.Calls...)
		}
	}
	for p := range list[0].Values {
		var broke replay.CostParts
		for _, c := range list {
			if p < len(c.Breaks) {
				broke.Add(&replay.CostParts{ByStage: c.Breaks[p]})
			}
		}
		s.Breaks = append(s.Breaks, broke.ByStage)
		var v Values
		for f, figure := range Figures() {
			var values, weights Values
			for _, c := range list {
				values, weights = append(values, c.Values[p][f]), append(weights, c.Values[p][requests])
			}
			_, total := gathered(figure.gather, values, weights)
			v = append(v, total.Round(figure.Places()))
		}
		s.Values = append(s.Values, v)
	}
	return s
}
