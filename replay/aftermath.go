package replay

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Around is what agents did in the 30 requests before and after some points of their sessions, in this order.
type Around struct {
	Times    int    `json:"times"`
	Grown    [2]int `json:"grown"`    // tokens of the history
	Explored [2]int `json:"explored"` // requests that looked for something: Read, Grep, ls and the like
	Edited   [2]int `json:"edited"`   // requests that changed a file
}

// Aftermath is what agents did around recorded compactions, and around the middle of long sessions without one, where
// nothing happened.
type Aftermath struct {
	Compactions Around `json:"compactions"`
	Placebos    Around `json:"placebos"`
}

// Add adds another session.
func (a *Aftermath) Add(o Aftermath) { price.AddUp(a, &o) }

// placeboFrom is how many requests a session has whose middle is a placebo.
const placeboFrom = 130

// step is what one request adds to the history.
type step struct {
	tokens          int
	explores, edits bool
}

// exploring reports whether a command looks for something.
func exploring(command string) bool {
	words := append(strings.Fields(command), "", "")
	switch words[0] {
	case "cat", "head", "tail", "grep", "rg", "find", "ls", "wc":
		return true
	case "sed":
		return words[1] == "-n"
	case "git":
		return slices.Contains([]string{"log", "diff", "show", "status", "grep", "blame"}, words[1])
	}
	return false
}

// Aftermath looks at the requests around the recorded compactions. A compaction counts that has soonAfter requests on
// either side without another one.
func (r *Record) Aftermath() (a Aftermath, err error) {
	conv := r.Conv
	if len(conv.Boundaries) == 0 && len(conv.Requests) < placeboFrom {
		return a, nil
	}
	steps := make([]step, len(conv.Requests)+1)
	at := []int{0} // requests before each boundary, with those of the ends
	request := 0
	for m := range conv.Messages {
		for n := len(at) - 1; n < len(conv.Boundaries) && conv.Boundaries[n].Before <= m; n++ {
			at = append(at, request)
		}
		msg, s := &conv.Messages[m], &steps[request]
		if request < len(conv.Requests) && conv.Requests[request].Message == m {
			request++
			s = &steps[request]
		}
		if msg.RecordOnly {
			continue
		}
		for i := range msg.Blocks {
			s.tokens += r.Cal.Block(m, i)
			if bl := &msg.Blocks[i]; bl.Kind == jsonl.KindToolUse {
				if err := s.call(conv, m, i); err != nil {
					return a, err
				}
			}
		}
	}
	if at = append(at, len(conv.Requests)); len(at) == 2 {
		middle := len(conv.Requests) / 2
		a.Placebos = around(steps, []int{0, middle, len(conv.Requests)})
		return a, nil
	}
	a.Compactions = around(steps, at)
	return a, nil
}

// call adds a call to a step.
func (s *step) call(conv *session.Conversation, m, i int) error {
	name := conv.Alike(conv.Messages[m].Blocks[i].Name)
	switch {
	case slices.Contains([]string{"Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch"}, name):
		s.edits = true
	case slices.Contains([]string{"Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "Task", "Agent"}, name):
		s.explores = true
	case name == "Bash":
		input, err := conv.Raw(m, i)
		if err != nil {
			return err
		}
		var in struct {
			Command string `json:"command"`
		}
		known := json.Unmarshal(conv.AlikeInput(conv.Messages[m].Blocks[i].Name, input), &in) == nil
		s.explores = s.explores || known && exploring(in.Command)
	}
	return nil
}

// around sums the steps up on both sides of all points but the ends.
func around(steps []step, at []int) (a Around) {
	for n := 1; n < len(at)-1; n++ {
		p := at[n]
		if p-at[n-1] <= soonAfter || at[n+1]-p < soonAfter {
			continue
		}
		a.Times++
		for i := range soonAfter { // the step of the point itself has what the client attaches again after the compaction
			for side, s := range []step{steps[p-1-i], steps[p+1+i]} {
				a.Grown[side] += s.tokens
				if s.explores {
					a.Explored[side]++
				}
				if s.edits {
					a.Edited[side]++
				}
			}
		}
	}
	return a
}
