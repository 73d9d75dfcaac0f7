package opencode

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// OpencodeQueued are the parameters of opencode_queued.
type OpencodeQueued struct {
	Wrap bool `yaml:"wrap" doc:"whether queued prompts are wrapped: 1.1.36; false: as from 2026-06-19 on"`
}

func defineOpencodeQueued() policy.Definition {
	return policy.Definition{
		Name:    "opencode_queued",
		Summary: "A prompt queued while the agent ran is wrapped in a reminder in the next request, and in that alone.",
		Source:  "OpenCode 1.1.36 (commit 8c4bf225): docs/internals/opencode.md section 5, oracle cases; taken out on 2026-06-19 (commit f092bafe8)",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare,
		Memory:  policy.Stateless,
		Example: `before: user "also check the tests", typed while a tool ran
after:  user "<system-reminder> The user sent the following message: also check the tests … </system-reminder>"; from the request after that on, the prompt alone`,
		Params: &OpencodeQueued{Wrap: true},
		New:    policy.Maker(func(p OpencodeQueued) policy.Stage { return &opencodeQueued{OpencodeQueued: p} }),
	}
}

// opencodeQueued reproduces the wrapper of prompts that are newer than the last finished message, from the second round
// of OpenCode's loop on. A prompt is queued where the loop runs already.
type opencodeQueued struct {
	OpencodeQueued
	seen    int // of the view's arrived items
	wrapped []policy.Target
}

func (s *opencodeQueued) Run(c *policy.Context) ([]policy.Edit, error) {
	if !s.Wrap {
		return nil, nil
	}
	edits := s.unwrap(c)
	arrived := c.View.Arrived()
	last := 0 // arrived items up to the last response
	for i := len(arrived); i > s.seen && last == 0; i-- {
		if c.View.Role(arrived[i-1]) == session.Assistant {
			last = i
		}
	}
	since := arrived[max(s.seen, last):]
	s.seen = len(arrived)
	for _, id := range since {
		m := c.View.Message(id)
		if m == nil || m.Class != session.ClassPrompt || !m.Is(session.Queued) || !c.View.Has(id) {
			continue
		}
		for t := range policy.Targets(c.View, id) {
			if k := c.View.Kind(t); k != jsonl.KindText && k != jsonl.KindAttachment || c.View.Replacement(t) != nil {
				continue
			}
			text, err := c.Texts.Text(t)
			if err != nil {
				return nil, err
			}
			if jsTrim(text) == "" {
				continue
			}
			content := policy.Text(queuedPrefix + text + queuedSuffix)
			s.wrapped = append(s.wrapped, t)
			edits = append(edits, policy.Replace(policy.KindWrap, t, &content, "queued while the agent ran"))
		}
	}
	return edits, nil
}

// unwrap takes the wrapper off the prompts of the last request: they are older than its response.
func (s *opencodeQueued) unwrap(c *policy.Context) (edits []policy.Edit) {
	for _, t := range s.wrapped {
		if r := c.View.Replacement(t); c.View.Has(t.Item) && r != nil && r.Ref == nil {
			raw := c.View.Raw(t)
			edits = append(edits, policy.Edit{
				Kind: policy.KindWrap, Trigger: "auto", Target: t, New: &policy.Content{Kind: raw.Kind, Length: raw.Text, Ref: &t},
				Reason: "answered: it is sent by itself",
			})
		}
	}
	s.wrapped = nil
	return edits
}

// What stands around a queued prompt. OpenCode 1.1.36: section 5.
const (
	queuedPrefix = "<system-reminder>\nThe user sent the following message:\n"
	queuedSuffix = "\n\nPlease address this message and continue with your tasks.\n</system-reminder>"
)
