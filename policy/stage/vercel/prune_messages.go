package vercel

import (
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// PruneMessages are the parameters of prune_messages.
type PruneMessages struct {
	Keep int `yaml:"keep" doc:"the newest messages that keep their calls and results (toolCalls: before-last-N-messages); adjacent responses are one message, and so are the results between two of them" unit:"messages" min:"1"`
}

func definePruneMessages() policy.Definition {
	return policy.Definition{
		Name:    "prune_messages",
		Summary: "Before a request, the calls and results before the last message leave, and messages of which nothing is left.",
		Source:  "Vercel AI SDK, pruneMessages with reasoning: none and emptyMessages: remove: npm ai 6.0.326, src/generate-text/prune-messages.ts; docs/examples/ai-sdk runs it. Results are taken as a message of role tool, the user's text next to them as one behind it",
		Differs: "Its rules for single tools are left out, and so is its removal of reasoning, which takes thinking out of the current tool loop",
		Truth:   policy.TruthDocumented,
		Moments: policy.Prepare,
		Params:  &PruneMessages{Keep: 1},
		Example: `before: a prompt, "I look", a call, its result, another call, its result
after:  the prompt, "I look", the second call, its result`,
		New: policy.Maker(func(p PruneMessages) policy.Stage {
			return &pruneMessages{PruneMessages: p, sent: map[policy.ItemID][]part{}}
		}),
	}
}

// Limits are what decides when prune_messages acts.
func (*PruneMessages) Limits(l *policy.StageLimits) {
	l.Note("pruning: calls and results before the newest messages (%s)", l.Name("prune_messages.keep"))
}

// pruneMessages knows the sent content of the items in view.
type pruneMessages struct {
	PruneMessages
	seen measure.Follower
	sent map[policy.ItemID][]part
}

// part is a block that is sent.
type part struct {
	source policy.Target
	kind   partKind
	call   string // the id of the call, of calls and results
	gone   bool
}

type partKind uint8

const (
	other partKind = iota
	call
	result
	reasoning
)

var kinds = map[string]partKind{"tool_use": call, "tool_result": result, "thinking": reasoning, "redacted_thinking": reasoning}

// message is one as the source has them: of the assistant, of tools or of the user.
type message struct {
	role  string
	parts []*part
}

func (s *pruneMessages) Run(c *policy.Context) ([]policy.Edit, error) {
	if err := s.follow(c); err != nil {
		return nil, err
	}
	list := s.messages(c.View)
	old := len(list) - s.Keep
	if old <= 0 {
		return nil, nil
	}
	kept := map[string]bool{} // calls
	for _, m := range list[old:] {
		for _, p := range m.parts {
			if p.kind == call || p.kind == result {
				kept[p.call] = true
			}
		}
	}
	for _, m := range list[:old] {
		for _, p := range m.parts {
			p.gone = (p.kind == call || p.kind == result) && !kept[p.call]
		}
		dropReasoning(m.parts)
	}
	return s.edits(c.View), nil
}

// follow brings what is known of the items up to the view.
func (s *pruneMessages) follow(c *policy.Context) error {
	edits, _, anew := s.seen.Follow(c.View)
	if anew {
		clear(s.sent)
	}
	for _, e := range edits {
		delete(s.sent, e.Target.Item)
	}
	for id := range c.View.Items {
		if _, known := s.sent[id]; known {
			continue
		}
		blocks, err := c.Sent(id)
		if err != nil {
			return err
		}
		parts := make([]part, len(blocks))
		for i, b := range blocks {
			parts[i] = part{source: b.Source, kind: kinds[b.Type], call: b.ID}
		}
		s.sent[id] = parts
	}
	return nil
}

// messages are the items in view as the source's messages.
func (s *pruneMessages) messages(v policy.View) (list []message) {
	add := func(role string, parts []*part, join bool) {
		switch last := len(list) - 1; {
		case len(parts) == 0:
		case join && last >= 0 && list[last].role == role:
			list[last].parts = append(list[last].parts, parts...)
		default:
			list = append(list, message{role, parts})
		}
	}
	for id := range v.Items {
		var results, rest []*part
		for i := range s.sent[id] {
			p := &s.sent[id][i]
			p.gone = false
			if p.kind == result {
				results = append(results, p)
			} else {
				rest = append(rest, p)
			}
		}
		if v.Role(id) == session.Assistant {
			add("assistant", rest, true)
			continue
		}
		add("tool", results, true)
		add("user", rest, false)
	}
	return list
}

// dropReasoning drops reasoning of which all that follows, up to the next reasoning, is dropped.
func dropReasoning(parts []*part) {
	for i := 0; i < len(parts); {
		if parts[i].kind != reasoning {
			i++
			continue
		}
		until := func(from int, end func(*part) bool) int {
			if n := slices.IndexFunc(parts[from:], end); n >= 0 {
				return from + n
			}
			return len(parts)
		}
		text := until(i, func(p *part) bool { return p.kind != reasoning })
		next := until(text, func(p *part) bool { return p.kind == reasoning })
		if text < next && !slices.ContainsFunc(parts[text:next], func(p *part) bool { return !p.gone }) {
			for _, p := range parts[i:text] {
				p.gone = true
			}
		}
		i = next
	}
}

// edits take what is gone out of the view.
func (s *pruneMessages) edits(v policy.View) (edits []policy.Edit) {
	reason := fmt.Sprintf("calls and results before the newest %d messages", s.Keep)
	empty := policy.Edit{Kind: policy.KindRemove, Trigger: "auto", Reason: reason}
	for id := range v.Items {
		parts := s.sent[id]
		stays := slices.ContainsFunc(parts, func(p part) bool { return !p.gone })
		if !stays && len(parts) > 0 {
			empty.Items = append(empty.Items, id)
		}
		for _, p := range parts {
			if !p.gone || !stays {
				continue
			}
			kind := policy.KindTruncate
			if p.kind == result {
				kind = policy.KindClear
			}
			edits = append(edits, policy.Edit{Kind: kind, Trigger: "auto", Target: p.source, New: &policy.Content{Kind: v.Kind(p.source), Gone: true}, Reason: reason})
		}
	}
	if len(empty.Items) > 0 {
		edits = append(edits, empty)
	}
	return edits
}
