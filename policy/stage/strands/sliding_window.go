package strands

import (
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// SlidingWindow are the parameters of sliding_window.
type SlidingWindow struct {
	Messages int    `yaml:"messages" doc:"the newest messages that stay, adjacent ones of one role counted as one" unit:"messages" min:"2"`
	Every    string `yaml:"every" doc:"when the window slides: when the agent stops, or before each request" enum:"turn_end,request"`
	Cut      string `yaml:"cut" doc:"where it may begin: at a user message without tool results, or at any assistant message too; then the first user message stays, and counts" enum:"prompt,round"`
}

const slidingWindowName = "sliding_window"

func defineSlidingWindow() policy.Definition {
	return policy.Definition{
		Name:    slidingWindowName,
		Summary: "The oldest messages leave once there are more than 40; the window begins where no tool result is parted from its call.",
		Source:  "Strands Agents, SlidingWindowConversationManager: src/strands/agent/conversation_manager/sliding_window_conversation_manager.py (commit 0cd91bb2), its trim_index; its truncation of results and its token budget are left out, and cut: round is not its own",
		Truth:   policy.TruthDocumented,
		Moments: policy.Prepare | policy.TurnEnd,
		Params:  &SlidingWindow{Messages: 40, Every: "turn_end", Cut: "prompt"},
		Example: `before: 43 messages; the fourth and the sixth hold tool results, the fifth is the assistant's, the seventh a prompt
after:  the 37 from the seventh on`,
		Limits: limits,
		New:    func(p any) (policy.Stage, error) { return &slidingWindow{p: *p.(*SlidingWindow)}, nil },
	}
}

func limits(s *policy.StageConfig, c policy.Circumstances, l *policy.Limits) {
	l.Note("sliding: > %s messages (%s)", policy.Thousands(s.Params.(*SlidingWindow).Messages), c.Name("sliding_window.messages"))
}

// slidingWindow keeps the messages in view as a queue: what joins goes to its end, what slides out leaves it at its
// beginning.
type slidingWindow struct {
	p    SlidingWindow
	runs []messageRun
	seen measure.Follower
}

// messageRun is a message as the API has it: adjacent items of one role.
type messageRun struct {
	items   []policy.ItemID
	role    session.Role
	results bool // one of them is a tool result
}

func (s *slidingWindow) Run(c *policy.Context) ([]policy.Edit, error) {
	s.follow(c.View)
	if (c.Moment == policy.TurnEnd) != (s.p.Every == "turn_end") || len(s.runs) <= s.p.Messages {
		return nil, nil
	}
	n, pinned := len(s.runs), s.pinned()
	from := n - s.p.Messages + pinned
	for from < n && !s.begins(from) {
		from++
	}
	if from == n || from == pinned {
		return nil, nil
	}
	var out []policy.ItemID
	for _, r := range s.runs[pinned:from] {
		out = append(out, r.items...)
	}
	s.runs = slices.Delete(s.runs, pinned, from)
	reason := fmt.Sprintf("%d messages > %d", n, s.p.Messages)
	return []policy.Edit{{Kind: policy.KindRemove, Trigger: "auto", Items: out, Reason: reason}}, nil
}

// pinned is the number of messages at the beginning that never leave.
func (s *slidingWindow) pinned() int {
	if s.p.Cut == "round" && s.runs[0].role == session.User {
		return 1
	}
	return 0
}

// begins reports whether the window may begin at message i.
func (s *slidingWindow) begins(i int) bool {
	if s.runs[i].role == session.Assistant {
		return s.pinned() > 0
	}
	return !s.runs[i].results
}

func (s *slidingWindow) follow(v policy.View) {
	edits, joined, anew := s.seen.Follow(v)
	if anew || slices.ContainsFunc(edits, otherRemoval) {
		s.runs = nil
		for id := range v.Items {
			s.put(v, id)
		}
		return
	}
	for _, id := range joined {
		if v.Has(id) {
			s.put(v, id)
		}
	}
}

// otherRemoval reports whether another stage took messages out of the view.
func otherRemoval(e policy.Edit) bool {
	return (e.Kind == policy.KindRemove || e.Kind == policy.KindCollapse) && e.Stage != slidingWindowName
}

// put appends an item. One that is not sent belongs to the message before it.
func (s *slidingWindow) put(v policy.View, id policy.ItemID) {
	role, results := v.Role(id), false
	for b := range v.Blocks(id) {
		results = results || v.Kind(policy.Target{Item: id, Block: b}) == jsonl.KindToolResult
	}
	n := len(s.runs)
	if n == 0 || measure.Sent(v, id) && s.runs[n-1].role != role {
		s.runs = append(s.runs, messageRun{role: role})
		n++
	}
	last := &s.runs[n-1]
	last.items = append(last.items, id)
	last.results = last.results || results
}
