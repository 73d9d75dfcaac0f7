package claude

import (
	"fmt"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// MicrocompactTime are the parameters of microcompact_time.
type MicrocompactTime struct {
	Enabled    bool          `yaml:"enabled" doc:"clear results after a pause; false: never"`
	Gap        time.Duration `yaml:"gap" doc:"a longer pause since the last assistant message means that the cache is cold" min:"0s"`
	KeepRecent int           `yaml:"keep_recent" doc:"the newest compactable results that are never touched" unit:"results" min:"0"`
	MinResults int           `yaml:"min_results" doc:"nothing is cleared where there are fewer compactable results" unit:"results" min:"0"`
	MinSavings int           `yaml:"min_savings" doc:"nothing is cleared where it would save less" unit:"tokens" min:"0"`
	Tools      []string      `yaml:"tools" doc:"tools whose results may be cleared; a trailing * matches any rest"`
}

const microcompactTimeName = "microcompact_time"

func defineMicrocompactTime() policy.Definition {
	return policy.Definition{
		Name:    microcompactTimeName,
		Summary: "Before a request of the main thread made more than 60 minutes after the last assistant message, all compactable results but the newest 5 are cleared.",
		Source:  "Claude Code, the five-level pipeline analysis; several write-ups agree on 60 minutes and 5. In the code of 2.1.81 to 2.1.104 it is off by default; that of 2.1.284 and later has the server do it after 65 minutes, off by default: 5 stay of at least 23 results, 12 of 30 from 2.1.304 on",
		Truth:   policy.TruthDescribed,
		Moments: policy.Prepare,
		Params:  &MicrocompactTime{Enabled: true, Gap: time.Hour, KeepRecent: 5, Tools: compactable()},
		Example: `before: keep_recent 2; Glob, Read and Grep results; the last assistant message is from 12:00, the request from 13:10
after:  the Glob result is "[Old tool result content cleared]"; its tool_use and the other two results are unchanged`,
		New: policy.Maker(func(p MicrocompactTime) policy.Stage {
			return &microcompactTime{MicrocompactTime: p, cleared: map[string]bool{}}
		}),
	}
}

// Check is what is questionable in a policy with microcompact_time.
func (p *MicrocompactTime) Check(c *policy.Check) {
	c.Warm("microcompact_time.gap", p.Gap)
}

// Limits are what decides when microcompact_time acts.
func (p *MicrocompactTime) Limits(l *policy.StageLimits) {
	if !p.Enabled {
		l.Note("time-based microcompact is off (microcompact_time.enabled)")
		return
	}
	l.Note("time-based microcompact: more than %s since the last answer (microcompact_time.gap)", strict.DurationText(p.Gap))
}

// microcompactTime clears old results once the prompt cache has expired anyway (the five-level pipeline analysis). It
// runs before the cached path, which reads the edits of the view and does nothing at a request where this stage has
// cleared.
type microcompactTime struct {
	MicrocompactTime
	pending compactables    // results this stage has not cleared
	cleared map[string]bool // tool_use ids of those it has
}

func (s *microcompactTime) Run(c *policy.Context) ([]policy.Edit, error) {
	s.pending.follow(c.View, len(c.View.Results()), s.Tools, func(r *compactableAt) bool { return !s.cleared[r.ID] })
	last := lastAnswer(c.View)
	gap := c.Now.Sub(last)
	if c.Agent != "" || c.Now.IsZero() || last.IsZero() || !s.Enabled || gap <= s.Gap {
		return nil, nil
	}
	results := c.View.Results()
	live := slices.DeleteFunc(s.pending.list, func(r compactableAt) bool { return results[r.index].State == policy.ResultGone })
	free := max(len(live)-s.KeepRecent, 0)
	saves := func(r compactableAt) int {
		return resultEstimate(c.View, r.Target) - policy.RoundQuarter(len(ClearedText))
	}
	saved := 0
	for _, r := range live[:free] {
		saved += saves(r)
	}
	if len(live) < s.MinResults || s.MinSavings > 0 && saved < s.MinSavings {
		s.pending.list = live
		return nil, nil
	}
	s.pending.list = slices.Clone(live[free:])
	content := policy.NewContent(jsonl.KindToolResult, ClearedText)
	reason := fmt.Sprintf("%s since the last assistant message > %s", gap.Round(time.Second), s.Gap)
	detail := map[string]int{"gap_seconds": int(gap.Seconds()), "tokens_saved": 0, "compacted_ids": 0}
	var edits []policy.Edit
	for _, r := range live[:free] {
		s.cleared[r.ID] = true
		if done, err := isCleared(c, r.Target); err != nil {
			return nil, err
		} else if done {
			continue
		}
		detail["tokens_saved"] += saves(r)
		detail["compacted_ids"]++
		edits = append(edits, policy.Edit{Kind: policy.KindClear, Trigger: "auto", Target: r.Target, New: &content, Reason: reason, Detail: detail})
	}
	return edits, nil
}

// lastAnswer returns the time of the last assistant message in view, zero if there is none or it has no time.
func lastAnswer(v policy.View) time.Time {
	for id := range v.Backward {
		if m := v.Message(id); m != nil && m.Role == session.Assistant {
			return m.Time
		}
	}
	return time.Time{}
}

// isCleared reports whether a result is the cleared text. It reads only a text of that length.
func isCleared(c *policy.Context, t policy.Target) (bool, error) {
	if c.View.Length(t).UTF16 != len(ClearedText) || c.View.Replacement(t) == nil && !c.View.Raw(t).IsString {
		return false, nil
	}
	text, err := c.Texts.Text(t)
	return text == ClearedText, err
}
