package generic

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// DropThinking are the parameters of drop_thinking.
type DropThinking struct {
	Keep int `yaml:"keep" doc:"the newest turns of the user that keep their thinking, the current one among them" unit:"turns" min:"1"`
	Step int `yaml:"step" doc:"act only once this number of turns with thinking is older, so that the prefix changes rarely" unit:"turns" min:"1"`
}

const dropThinkingStage = "drop_thinking"

func defineDropThinking() policy.Definition {
	return policy.Definition{
		Name:    dropThinkingStage,
		Summary: "Before a request, the thinking of all turns but the current one leaves the messages.",
		Source:  "no product. What the API asks for holds: the thinking of the last tool loop stays, also where a prompt followed its results at once. Models with preserved thinking lose what they keep; a replay reports it",
		Truth:   policy.TruthOwn,
		Moments: policy.Prepare,
		Params:  &DropThinking{Keep: 1, Step: 1},
		Example: `before: three turns, each with thinking before its calls; the third has begun
after:  the first two have their texts, calls and results; the third has its thinking, too`,
		New: policy.Maker(func(p DropThinking) policy.Stage { return &dropThinking{DropThinking: p} }),
	}
}

// Limits are what decides when drop_thinking acts.
func (p *DropThinking) Limits(l *policy.StageLimits) {
	l.Note("thinking: the newest %d turns keep it (%s), %d at once (%s)", p.Keep, l.Name("drop_thinking.keep"), p.Step, l.Name("drop_thinking.step"))
}

// dropThinking lists the thinking in view that it has not dropped, in order.
type dropThinking struct {
	DropThinking
	seen     measure.Follower
	turns    turns
	thinking []policy.Target
}

func (s *dropThinking) Run(c *policy.Context) ([]policy.Edit, error) {
	v := c.View
	items, anew := s.seen.Arrived(v, func(e policy.Edit) bool { return e.Moves() && e.Stage != dropThinkingStage })
	if anew {
		s.thinking = nil
	}
	for _, id := range items {
		for t := range policy.Targets(v, id) {
			if k := v.Kind(t); id >= 0 && v.Replacement(t) == nil && (k == jsonl.KindThinking || k == jsonl.KindRedactedThinking) {
				s.thinking = append(s.thinking, t)
			}
		}
	}
	now := s.turns.now(v)
	old := 0
	turns := 0
	last := -1
	for _, t := range s.thinking {
		turn := s.turns.of(c.Conv, t.Item)
		if now-turn < s.Keep {
			break
		}
		if old++; turn != last {
			turns += 1
			last = turn
		}
	}
	if turns < s.Step {
		return nil, nil
	}
	loop := lastLoop(v)
	var left []policy.Target
	made := saving{c: c}
	for _, t := range s.thinking[:old] {
		if loop[t.Item] {
			left = append(left, t)
			continue
		}
		made.edits = append(made.edits, policy.Edit{
			Kind: policy.KindTruncate, Trigger: "auto", Target: t, New: &policy.Content{Kind: v.Kind(t), Gone: true},
		})
	}
	s.thinking = append(left, s.thinking[old:]...)
	return made.because("thinking of turns older than the newest %d; %d turns at once, a step is %d", s.Keep, turns, s.Step), nil
}

// lastLoop is the responses of the last tool loop: those behind the last message of the user, adjacent ones taken as
// one, that answers no call.
func lastLoop(v policy.View) map[policy.ItemID]bool {
	loop := map[policy.ItemID]bool{}
	answers := true
	role := session.Assistant
	for id := range v.Backward {
		if !measure.Sent(v, id) {
			continue
		}
		r := v.Role(id)
		if r == session.Assistant {
			if role == session.User && !answers {
				return loop
			}
			loop[id] = true
		} else {
			if role == session.Assistant {
				answers = false
			}
			answers = answers || measure.Has(v, id, jsonl.KindToolResult)
		}
		role = r
	}
	return loop
}
