package opencode

import (
	"errors"
	"slices"
)

// Decision is what the prompt loop does in one round (section 5).
type Decision string

const (
	DecideExit       Decision = "exit"       // leave the loop; prune runs
	DecideCompaction Decision = "compaction" // run the compaction that was asked for
	DecideSubtask    Decision = "subtask"    // run a subtask
	DecideOverflow   Decision = "overflow"   // ask for a compaction
	DecideNormal     Decision = "normal"     // call the model
)

// Round is what one round of the prompt loop sees and decides. The pointers are nil where there is no such message.
type Round struct {
	LastUser      *Info
	LastAssistant *Info
	LastFinished  *Info  // newest assistant message with a finish
	Tasks         []Part // compaction and subtask parts not yet served, the next one last
	Decision      Decision

	lastAssistant *Message
}

// ErrNoUser is the error of a loop over a session without a user message.
var ErrNoUser = errors.New("no user message in the session")

// LoopDecision decides one round of the prompt loop on the visible messages (FilterCompacted). The order of the tests
// is: exit, task, overflow, model call. OpenCode 1.1.36 to 1.18.34: section 5.
func (v Version) LoopDecision(visible []Message, limit Limit, cfg Config, env Env) (Round, error) {
	r := v.latest(visible)
	if r.LastUser == nil {
		return r, ErrNoUser
	}
	switch finished := r.LastFinished; {
	case v.exits(&r):
		r.Decision = DecideExit
	case len(r.Tasks) > 0 && r.Tasks[len(r.Tasks)-1].Type == PartSubtask:
		r.Decision = DecideSubtask
	case len(r.Tasks) > 0:
		r.Decision = DecideCompaction
	case finished != nil && v.Checks(finished, LoopTop) && v.Overflow(finished.Tokens, limit, cfg, env, LoopTop):
		r.Decision = DecideOverflow
	default:
		r.Decision = DecideNormal
	}
	return r, nil
}

// latest finds the newest messages and the open tasks.
func (v Version) latest(visible []Message) Round {
	if v.Newest == ByPosition {
		return latestByPosition(visible)
	}
	var r Round
	for i := range visible {
		m := &visible[i]
		info := &m.Info
		switch info.Role {
		case RoleUser:
			if r.LastUser == nil || v.newer(info, r.LastUser) {
				r.LastUser = info
			}
		case RoleAssistant:
			if r.LastAssistant == nil || v.newer(info, r.LastAssistant) {
				r.LastAssistant, r.lastAssistant = info, m
			}
			if info.Finish != "" && (r.LastFinished == nil || v.newer(info, r.LastFinished)) {
				r.LastFinished = info
			}
		}
	}
	for i := range visible {
		if r.LastFinished == nil || v.newer(&visible[i].Info, r.LastFinished) {
			r.Tasks = append(r.Tasks, visible[i].tasks()...)
		}
	}
	return r
}

// latestByPosition scans from the end and stops once the last user message and the last finished message are known,
// so the oldest task comes last.
func latestByPosition(visible []Message) Round {
	var r Round
	for i := len(visible) - 1; i >= 0; i-- {
		m := &visible[i]
		info := &m.Info
		if info.Role == RoleUser && r.LastUser == nil {
			r.LastUser = info
		}
		if info.Role == RoleAssistant && r.LastAssistant == nil {
			r.LastAssistant, r.lastAssistant = info, m
		}
		if info.Role == RoleAssistant && r.LastFinished == nil && info.Finish != "" {
			r.LastFinished = info
		}
		if r.LastUser != nil && r.LastFinished != nil {
			break
		}
		if r.LastFinished == nil {
			r.Tasks = append(r.Tasks, m.tasks()...)
		}
	}
	return r
}

func (v Version) newer(a, b *Info) bool {
	if v.Newest == ByTime && a.Time.Created != b.Time.Created {
		return a.Time.Created > b.Time.Created
	}
	return a.ID > b.ID
}

func (m *Message) tasks() (tasks []Part) {
	for _, p := range m.Parts {
		if p.Type == PartCompaction || p.Type == PartSubtask {
			tasks = append(tasks, p)
		}
	}
	return tasks
}

// exits reports whether the last assistant message ends the loop.
func (v Version) exits(r *Round) bool {
	last := r.LastAssistant
	if last == nil || last.Finish == "" || last.Finish == "tool-calls" {
		return false
	}
	if last.Finish == "unknown" && v.UnknownContinues {
		return false
	}
	if v.ToolsContinue && slices.ContainsFunc(r.lastAssistant.Parts, openTool) {
		return false
	}
	if v.ExitByParent {
		return last.ParentID == r.LastUser.ID
	}
	return r.LastUser.ID < last.ID
}

// openTool reports whether a part is a tool call of this client whose result the model has yet to see: not one the
// provider ran, nor an interrupted one.
func openTool(p Part) bool {
	if p.Type != PartTool || isTrue(field(p.Metadata, "providerExecuted")) {
		return false
	}
	return p.State.Status != StatusError || !isTrue(field(p.State.Metadata, "interrupted"))
}

// WrapQueued wraps the texts of prompts that were queued while the loop ran, as the model sees them in round step
// (from 1) of the loop; the messages given are left alone. OpenCode 1.1.36 only: section 5.
func (v Version) WrapQueued(visible []Message, step int) []Message {
	if !v.WrapsQueued || step <= 1 {
		return visible
	}
	finished := v.latest(visible).LastFinished
	if finished == nil {
		return visible
	}
	out := CloneMessages(visible)
	for i := range out {
		if out[i].Info.Role != RoleUser || out[i].Info.ID <= finished.ID {
			continue
		}
		for j := range out[i].Parts {
			p := &out[i].Parts[j]
			if p.Type == PartText && !p.Ignored && !p.Synthetic && jsTrim(p.Text) != "" {
				p.Text = QueuedPrefix + p.Text + QueuedSuffix
			}
		}
	}
	return out
}
