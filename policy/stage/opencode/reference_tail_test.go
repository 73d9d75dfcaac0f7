package opencode

import "slices"

// Turn is a run of messages from a user message to before the next.
type Turn struct {
	Start, End int    // indexes, End exclusive
	ID         string // of the user message
	Tokens     int    // estimated size of what the model is sent for it
}

// Tail is the newest part of a history that a compaction leaves verbatim.
type Tail struct {
	Start  int    // index of its first message; the length of the history if there is no tail
	ID     string // of that message, stored as tail_start_id; "" if there is no tail
	Budget int    // estimated tokens it may have
}

// SelectTail chooses the tail of a history: the newest turns that fit the budget, and of the first that does not, the
// largest end that does. Without one, or if it would be the whole history, everything is summarised. OpenCode 1.18.3
// and 1.18.34: section 8.1; 1.1.36 keeps no tail.
func (v Version) SelectTail(history []Message, model Model, cfg Config) Tail {
	none := Tail{Start: len(history)}
	turnLimit := v.TailTurns
	if n := cfg.Compaction.TailTurns; n != nil {
		turnLimit = *n
	}
	if !v.KeepsTail || turnLimit <= 0 {
		return none
	}
	none.Budget = v.TailBudget(model.Limit, cfg)
	sizes := v.measure(history, model)
	turns := sizes.turns(history)
	turns = turns[max(0, len(turns)-turnLimit):]

	keep, left := len(history), none.Budget
	for _, turn := range slices.Backward(turns) {
		if turn.Tokens <= left {
			keep, left = turn.Start, left-turn.Tokens
			continue
		}
		for start := turn.Start + 1; left > 0 && start < turn.End; start++ {
			if sizes.tokens(start, turn.End) <= left {
				keep = start
				break
			}
		}
		break
	}
	if keep == 0 || keep == len(history) {
		return none
	}
	return Tail{Start: keep, ID: history[keep].Info.ID, Budget: none.Budget}
}

// measures holds running sums over a history: the UTF-16 units and the number of the model messages before each
// message. Every message is converted on its own, so the size of any slice follows from them.
type measures struct {
	units []int
	count []int
}

func (v Version) measure(history []Message, model Model) measures {
	s := measures{units: make([]int, len(history)+1), count: make([]int, len(history)+1)}
	var buffer []byte
	for i := range history {
		s.units[i+1], s.count[i+1] = s.units[i], s.count[i]
		for _, m := range v.ToModelMessages(history[i:i+1], model) {
			buffer = m.appendJSON(buffer[:0])
			s.units[i+1] += UTF16Len(string(buffer))
			s.count[i+1]++
		}
	}
	return s
}

// tokens is the estimate of JSON.stringify of the model messages of a slice.
func (s measures) tokens(start, end int) int {
	commas := max(0, s.count[end]-s.count[start]-1)
	return Estimate(len("[]") + s.units[end] - s.units[start] + commas)
}

func (s measures) turns(history []Message) []Turn {
	var turns []Turn
	for i := range history {
		if history[i].Info.Role == RoleUser && history[i].compactionPart() == nil {
			turns = append(turns, Turn{Start: i, ID: history[i].Info.ID})
		}
	}
	end := len(history)
	for i := len(turns) - 1; i >= 0; i-- {
		turns[i].End = end
		turns[i].Tokens = s.tokens(turns[i].Start, end)
		end = turns[i].Start
	}
	return turns
}
