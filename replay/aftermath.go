package replay

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Around sums up what agents did around some points of their sessions: in the 30 requests before each point (index 0)
// and in the 30 requests after it (index 1).
type Around struct {
	Times    int    `json:"times"`    // number of points
	Grown    [2]int `json:"grown"`    // tokens added to the history
	Explored [2]int `json:"explored"` // requests that read or searched: Read, Grep, ls and the like
	Edited   [2]int `json:"edited"`   // requests that changed a file
}

// Aftermath compares what agents did around recorded compactions with what they did around placebos: points of the same
// depth in sessions without a compaction. The depth of a point is the number of tokens of the history since the
// previous compaction. The arrays have three classes of depth: below 100,000; from 100,000 to 199,999; from 200,000 on.
type Aftermath struct {
	Compactions [depths]Around `json:"compactions"`
	Placebos    [depths]Around `json:"placebos"`
}

// Sums returns the sums over the classes of depth.
func (a *Aftermath) Sums() (compactions, placebos Around) {
	for i := range depths {
		price.AddUp(&compactions, &a.Compactions[i])
		price.AddUp(&placebos, &a.Placebos[i])
	}
	return compactions, placebos
}

// Add adds the figures of another session.
func (a *Aftermath) Add(o Aftermath) { price.AddUp(a, &o) }

const depths, depthStep = 3, 100_000

func depthOf(history int) int { return min(history/depthStep, depths-1) }

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

// Aftermath examines the requests around the recorded compactions. A compaction counts only if the 30 requests before
// it and the 30 requests after it are in the session and contain no other compaction. In a session without a
// compaction, Aftermath examines placebos: the points where the history reaches 50,000, 150,000 and 250,000 tokens. An
// error comes from reading the session's file.
func (r *Record) Aftermath() (a Aftermath, err error) {
	conv := r.Conv
	if len(conv.Requests) <= 2*soonAfter {
		return a, nil
	}
	steps := make([]step, len(conv.Requests)+1)
	at := []int{0} // requests before each boundary, with those of the ends
	request := 0
	for m := range conv.Messages {
		for n := len(at) - 1; n < len(conv.Boundaries) && conv.Boundaries[n].Before <= m; n++ {
			at = append(at, request)
		}
		msg := &conv.Messages[m]
		s := &steps[request]
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
	at = append(at, len(conv.Requests))
	history := 0
	next := depthStep / 2
	boundary := 1
	for p := range steps {
		history += steps[p].tokens
		depth := depthOf(history)
		for ; boundary < len(at)-1 && at[boundary] == p; boundary++ {
			a.Compactions[depth].add(steps, at[boundary-1], p, at[boundary+1])
			history = 0
		}
		if len(at) == 2 && history >= next && next < depths*depthStep { // in the middle of each depth, once
			a.Placebos[depth].add(steps, 0, p, at[1])
			next = (depth+1)*depthStep + depthStep/2
		}
	}
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

// add sums the steps up on both sides of a point, where there are enough after the one before and before the one after.
func (a *Around) add(steps []step, before, p, after int) {
	if p-before <= soonAfter || after-p < soonAfter {
		return
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
