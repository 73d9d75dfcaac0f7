package qwen

import (
	"fmt"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// cleared takes the place of a result.
const cleared = "[Old tool result content cleared]"

// QwenMicrocompaction are the parameters of qwen_microcompaction.
type QwenMicrocompaction struct {
	Gap   time.Duration `yaml:"gap" doc:"a pause of this length before a prompt: all results but the newest are cleared" min:"0s"`
	Chars int           `yaml:"chars" doc:"more of results than this: the oldest are cleared until half of it is left" unit:"characters" min:"0"`
	Keep  int           `yaml:"keep" doc:"the newest results that stay" unit:"results" min:"1"`
	Tools []string      `yaml:"tools" doc:"tools whose results may be cleared: the product's names and those of recorded sessions"`
}

func defineQwenMicrocompaction() policy.Definition {
	return policy.Definition{
		Name:    "qwen_microcompaction",
		Summary: "Before a prompt that comes after an hour's pause, all tool results but the newest 5 are cleared; at any other request the oldest, once there are more than 500,000 characters of them, until 250,000 are left.",
		Source:  "Qwen Code: microcompaction/microcompact.ts and client.ts as bundled in the npm release 0.24.4, oracle cases. Errors stay. Results of memory files, which it keeps, and images outside of results, which it clears, are taken as any other and not at all",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare,
		Params: &QwenMicrocompaction{
			Gap: time.Hour, Chars: 500000, Keep: 5,
			Tools: []string{
				"read_file", "run_shell_command", "grep_search", "glob", "web_fetch", "web_search", "read_mcp_resource", "edit", "write_file", "skill",
				"Read", "Bash", "Grep", "Glob", "WebFetch", "WebSearch", "Edit", "MultiEdit", "Write", "Skill",
			},
		},
		Example: `before: 8 results of Read, the last response of 12:00, a prompt of 13:00
after:  the 3 oldest are "[Old tool result content cleared]"`,
		New: policy.Maker(func(p QwenMicrocompaction) policy.Stage {
			s := &qwenMicrocompaction{QwenMicrocompaction: p}
			s.sums.Of = func(v policy.View, id policy.ItemID) (n int) {
				for t := range policy.Targets(v, id) {
					n += s.chars(v, t)
				}
				return n
			}
			return s
		}),
	}
}

// Check is what is questionable in a policy with qwen_microcompaction.
func (p *QwenMicrocompaction) Check(c *policy.Check) {
	c.Warm("qwen_microcompaction.gap", p.Gap)
}

// Limits are what decides when qwen_microcompaction acts.
func (p *QwenMicrocompaction) Limits(l *policy.StageLimits) {
	l.Note("microcompaction: %s since the last answer (qwen_microcompaction.gap)", strict.DurationText(p.Gap))
}

type qwenMicrocompaction struct {
	QwenMicrocompaction
	sums measure.ItemSums // characters of the results that can be cleared
}

// chars is getToolOutputChars: the length of a result that can be cleared, 0 of any other block.
func (s *qwenMicrocompaction) chars(v policy.View, t policy.Target) int {
	raw := v.Raw(t)
	if raw == nil || raw.Kind != jsonl.KindToolResult || !measure.Called(s.Tools, v.Conversation(), raw) {
		return 0
	}
	if c := v.Replacement(t); c != nil && !c.Partial || c == nil && contents(v).ResponseKey(raw) == "error" {
		return 0
	}
	return textLength(v, t)
}

func (s *qwenMicrocompaction) Run(c *policy.Context) ([]policy.Edit, error) {
	s.sums.Follow(c.View)
	pause := s.pause(c)
	if pause == 0 && s.sums.Sum <= s.Chars {
		return nil, nil
	}
	history, _ := measure.History(c.View, false)
	var results []policy.Target
	for _, id := range history {
		for t := range policy.Targets(c.View, id) {
			if s.chars(c.View, t) > 0 {
				results = append(results, t)
			}
		}
	}
	results = slices.Delete(results, max(len(results)-s.Keep, 0), len(results))
	left := s.sums.Sum
	reason := fmt.Sprintf("%s since the last response >= %s", pause.Round(time.Second), s.Gap)
	if pause == 0 {
		reason = fmt.Sprintf("%d characters of tool results > %d", left, s.Chars)
	}
	content := policy.NewContent(jsonl.KindToolResult, cleared)
	var edits []policy.Edit
	for _, t := range results {
		if pause == 0 && left <= s.Chars/2 {
			break
		}
		left -= s.chars(c.View, t)
		edits = append(edits, policy.Replace(policy.KindClear, t, &content, reason))
	}
	return edits, nil
}

// pause is the time since the last response before a prompt, 0 where it is shorter than the gap or no prompt is sent.
func (s *qwenMicrocompaction) pause(c *policy.Context) time.Duration {
	prompted := false
	for id := range c.View.Backward {
		m := c.View.Message(id)
		switch {
		case c.View.Role(id) == session.User:
			prompted = prompted || m != nil && m.Class == session.ClassPrompt
		case m == nil || !prompted || m.Time.IsZero() || c.Now.IsZero():
			return 0
		default:
			if d := c.Now.Sub(m.Time); d >= s.Gap {
				return max(d, 1)
			}
			return 0
		}
	}
	return 0
}
