package opencode

// PruneRules are the constants of prune (section 3.3).
type PruneRules = OpencodePrune

// DefaultPruneRules are PRUNE_PROTECT, PRUNE_MINIMUM, the two protected turns and the protected tool. OpenCode 1.1.36
// to 1.18.34: section 3.3.
func DefaultPruneRules() PruneRules { return *defineOpencodePrune().Params.(*OpencodePrune) }

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

// Prune walks all messages of a session, oldest first in the slice, and says which outputs are cleared; it changes
// nothing. Whether it runs at all is Version.PruneEnabled. OpenCode 1.1.36 to 1.18.34: section 3.3.
func Prune(messages []Message, rules PruneRules) Pruning {
	walk := pruneWalk{rules: &rules}
	marks := walk.visit(messages)
	result := Pruning{Total: walk.total, Pruned: walk.pruned}
	if walk.pruned > rules.Minimum {
		result.Marks = marks
	}
	return result
}

func (w *pruneWalk) visit(messages []Message) (marks []Mark) {
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if m.Info.Role == RoleUser {
			w.turns++
		}
		if !w.begun() {
			continue
		}
		if m.Info.Role == RoleAssistant && bool(m.Info.Summary) {
			return marks
		}
		for j := len(m.Parts) - 1; j >= 0; j-- {
			p := &m.Parts[j]
			if p.Type != PartTool || p.State.Status != StatusCompleted {
				continue
			}
			switch w.output(p.Tool, p.State.Time.Compacted != 0, UTF16Len(p.State.Output)) {
			case clears:
				marks = append(marks, Mark{MessageID: m.Info.ID, PartID: p.ID, Tool: p.Tool, Message: i, Part: j})
			case stop:
				return marks
			}
		}
	}
	return marks
}

// Apply sets the marks on the messages they were found in. Time now must not be 0: a mark of 0 is none.
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

// Replay prunes where a prompt's loop would have ended: before every user message that follows an assistant message,
// and at the end. Marks persist from one boundary to the next, so messages is changed. Prompts queued while a loop
// ran cannot be told from others in a record, so this is an approximation. OpenCode 1.1.36 to 1.18.34: section 12.
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
