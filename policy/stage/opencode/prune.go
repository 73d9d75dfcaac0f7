package opencode

import "slices"

// PruneRules are the constants of prune (section 3.3).
type PruneRules struct {
	Protect        int      // estimated tokens of the newest visited outputs that stay
	Minimum        int      // estimated tokens that must be exceeded for anything to be marked
	Turns          int      // user messages behind which the walk begins
	ProtectedTools []string // tools that neither count nor are marked, by exact name
}

// DefaultPruneRules are PRUNE_PROTECT, PRUNE_MINIMUM, the two protected turns
// and the protected tool. OpenCode 1.1.36 to 1.18.34: section 3.3.
func DefaultPruneRules() PruneRules {
	return PruneRules{Protect: 40000, Minimum: 20000, Turns: 2, ProtectedTools: []string{"skill"}}
}

// Verdict is what the walk says of one tool output.
type Verdict int

const (
	Pass  Verdict = iota // not counted
	Keep                 // counted, within what is protected
	Clear                // counted, to be cleared if the walk saves enough
	Stop                 // the walk ends here
)

// Walk is the state of one prune walk from the newest message to the oldest,
// free of any store: tell it the user messages, the summaries and the completed
// tool outputs in that order, and end at the first Stop. OpenCode 1.1.36 to
// 1.18.34: section 3.3.
type Walk struct {
	Rules  PruneRules
	Turns  int // user messages met
	Total  int // estimated tokens counted
	Pruned int // of these, tokens to clear
}

// User tells the walk of a user message, before its parts.
func (w *Walk) User() { w.Turns++ }

// Begun reports whether the walk has passed the protected turns. Until then
// summaries and outputs are not looked at.
func (w *Walk) Begun() bool { return w.Turns >= w.Rules.Turns }

// Summary tells the walk of an assistant message that is a compaction summary,
// before its parts.
func (w *Walk) Summary() Verdict {
	if w.Begun() {
		return Stop
	}
	return Pass
}

// Output tells the walk of a completed tool output: its tool, whether it was
// cleared before, and its length in UTF-16 units. The order of the tests
// counts: a protected tool's cleared output does not stop the walk.
func (w *Walk) Output(tool string, cleared bool, lenUTF16 int) Verdict {
	switch {
	case !w.Begun() || slices.Contains(w.Rules.ProtectedTools, tool):
		return Pass
	case cleared:
		return Stop
	}
	size := Estimate(lenUTF16)
	w.Total += size
	if w.Total <= w.Rules.Protect {
		return Keep
	}
	w.Pruned += size
	return Clear
}

// Enough reports whether what was to be cleared is cleared: all of it or none.
func (w *Walk) Enough() bool { return w.Pruned > w.Rules.Minimum }

// Pruning is the outcome of a prune walk.
type Pruning struct {
	Total  int    // estimated tokens visited
	Pruned int    // of these, tokens behind the protected ones
	Marks  []Mark // outputs to clear, newest first; none if Pruned is not enough
}

// Mark points at a tool output that prune clears.
type Mark struct {
	MessageID string `json:"messageID"`
	PartID    string `json:"partID"`
	Tool      string `json:"tool"`
	Message   int    `json:"-"` // index of the message
	Part      int    `json:"-"` // index of the part in it
}

// Prune walks all messages of a session, oldest first in the slice, and says
// which outputs are cleared; it changes nothing. Whether it runs at all is
// Version.PruneEnabled. OpenCode 1.1.36 to 1.18.34: section 3.3.
func Prune(messages []Message, rules PruneRules) Pruning {
	walk := Walk{Rules: rules}
	marks := walk.visit(messages)
	result := Pruning{Total: walk.Total, Pruned: walk.Pruned}
	if walk.Enough() {
		result.Marks = marks
	}
	return result
}

func (w *Walk) visit(messages []Message) (marks []Mark) {
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if m.Info.Role == RoleUser {
			w.User()
		}
		if !w.Begun() {
			continue
		}
		if m.Info.Role == RoleAssistant && bool(m.Info.Summary) && w.Summary() == Stop {
			return marks
		}
		for j := len(m.Parts) - 1; j >= 0; j-- {
			p := &m.Parts[j]
			if p.Type != PartTool || p.State.Status != StatusCompleted {
				continue
			}
			switch w.Output(p.Tool, p.State.Time.Compacted != 0, UTF16Len(p.State.Output)) {
			case Clear:
				marks = append(marks, Mark{MessageID: m.Info.ID, PartID: p.ID, Tool: p.Tool, Message: i, Part: j})
			case Stop:
				return marks
			}
		}
	}
	return marks
}

// Apply sets the marks on the messages they were found in. Time now must not
// be 0: a mark of 0 is none.
func (p Pruning) Apply(messages []Message, now int64) {
	for _, mark := range p.Marks {
		messages[mark.Message].Parts[mark.Part].State.Time.Compacted = now
	}
}

// Boundary is one prune of a replayed session: after the message with this id.
type Boundary struct {
	After   string
	Pruning Pruning
}

// Replay prunes where a prompt's loop would have ended: before every user
// message that follows an assistant message, and at the end. Marks persist from
// one boundary to the next, so messages is changed. Prompts queued while a loop
// ran cannot be told from others in a record, so this is an approximation.
// OpenCode 1.1.36 to 1.18.34: section 12.
func Replay(messages []Message, rules PruneRules) []Boundary {
	var out []Boundary
	for end := 1; end <= len(messages); end++ {
		last := &messages[end-1].Info
		if last.Role != RoleAssistant || end < len(messages) && messages[end].Info.Role != RoleUser {
			continue
		}
		pruning := Prune(messages[:end], rules)
		pruning.Apply(messages[:end], max(1, last.Time.Created))
		out = append(out, Boundary{After: last.ID, Pruning: pruning})
	}
	return out
}
