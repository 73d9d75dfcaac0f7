package claude

import (
	"fmt"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// MicrocompactTime are the parameters of microcompact_time.
type MicrocompactTime struct {
	Gap        time.Duration `yaml:"gap" doc:"a longer pause since the last assistant message means that the cache is cold" min:"0s"`
	KeepRecent int           `yaml:"keep_recent" doc:"the newest compactable results that are never touched" unit:"results" min:"0"`
	Tools      []string      `yaml:"tools" doc:"tools whose results may be cleared; a trailing * matches any rest"`
}

const microcompactTimeName = "microcompact_time"

func defineMicrocompactTime() policy.Definition {
	return policy.Definition{
		Name:    microcompactTimeName,
		Summary: "Before a request of the main thread made more than 60 minutes after the last assistant message, all compactable results but the newest 5 are cleared.",
		Source:  "Claude Code, the five-level pipeline analysis; several write-ups agree on 60 minutes and 5",
		Truth:   policy.TruthDescribed,
		Moments: policy.Prepare,
		Params:  &MicrocompactTime{Gap: time.Hour, KeepRecent: 5, Tools: compactable()},
		Example: `before: keep_recent 2; Glob, Read and Grep results; the last assistant message is of 12:00, the request of 13:10
after:  the Glob result is "[Old tool result content cleared]"; its tool_use and the other two results stand`,
		Limits: microcompactTimeLimits,
		Check:  func(c *policy.Check) { c.Warm("microcompact_time.gap", c.Stage.Params.(*MicrocompactTime).Gap) },
		New:    func(p any) (policy.Stage, error) { return &microcompactTime{p: *p.(*MicrocompactTime)}, nil },
	}
}

func microcompactTimeLimits(s *policy.StageConfig, _ policy.Circumstances, l *policy.Limits) {
	l.Note("time-based microcompact: more than %s since the last answer (microcompact_time.gap)", strict.DurationText(s.Params.(*MicrocompactTime).Gap))
}

// microcompactTime clears old results once the prompt cache has expired
// anyway (the five-level pipeline analysis). It comes before the cached path,
// which does not run at a request where this has fired: the edits of the view
// say so by their Stage and Request.
type microcompactTime struct {
	p       MicrocompactTime
	epoch   int
	seen    int             // results of this epoch already in pending
	pending []compactableAt // compactable results this stage has not cleared, oldest first
	cleared map[string]bool // tool_use ids it has
}

// compactableAt is a compactable result and where View.Results lists it.
type compactableAt struct {
	policy.Result
	index int
}

func (s *microcompactTime) Run(c *policy.Context) ([]policy.Edit, error) {
	s.follow(c.View)
	if c.Agent != "" || c.Now.IsZero() {
		return nil, nil
	}
	last, ok := lastAnswer(c.View)
	if !ok || c.Now.Sub(last) <= s.p.Gap {
		return nil, nil
	}
	results := c.View.Results()
	var live []compactableAt
	for _, r := range s.pending {
		if results[r.index].State != policy.ResultGone {
			live = append(live, r)
		}
	}
	free := max(len(live)-s.p.KeepRecent, 0)
	s.pending = live[free:]
	gap := c.Now.Sub(last)
	content := policy.NewContent(jsonl.KindToolResult, ClearedText)
	reason := fmt.Sprintf("%s since the last assistant message > %s", gap.Round(time.Second), s.p.Gap)
	detail := map[string]int{"gap_seconds": int(gap.Seconds()), "tokens_saved": 0, "compacted_ids": 0}
	var edits []policy.Edit
	for _, r := range live[:free] {
		if s.cleared == nil {
			s.cleared = map[string]bool{}
		}
		s.cleared[r.ID] = true
		text, err := currentText(c, r.Target, len(ClearedText))
		if err != nil {
			return nil, err
		}
		if text == ClearedText {
			continue
		}
		detail["tokens_saved"] += resultEstimate(c.View, r.Target) - policy.RoundQuarter(len(ClearedText))
		detail["compacted_ids"]++
		edits = append(edits, policy.Edit{Kind: policy.KindClear, Trigger: "auto", Target: r.Target, New: &content, Reason: reason, Detail: detail})
	}
	return edits, nil
}

// lastAnswer is the time of the last assistant message in view.
func lastAnswer(v policy.View) (time.Time, bool) {
	for id := range v.Backward {
		if m := v.Message(id); m != nil && m.Role == session.Assistant {
			return m.Time, !m.Time.IsZero()
		}
	}
	return time.Time{}, false
}

// currentText is the text of a result whose length in the view is n, or "" of
// one that is longer or shorter: nothing is fetched for it.
func currentText(c *policy.Context, t policy.Target, n int) (string, error) {
	if c.View.Length(t).UTF16 != n {
		return "", nil
	}
	if r := c.View.Replacement(t); r == nil && !c.View.Raw(t).IsString {
		return "", nil
	}
	return c.Texts.Text(t)
}

// follow lists the compactable results that joined since the last request.
func (s *microcompactTime) follow(v policy.View) {
	if v.Epoch() != s.epoch {
		s.epoch, s.seen, s.pending = v.Epoch(), 0, nil
	}
	results := v.Results()
	from := len(s.pending)
	for i := s.seen; i < len(results); i++ {
		if r := results[i]; r.State != policy.ResultGone && !s.cleared[r.ID] && measure.Matches(s.p.Tools, r.Tool) {
			s.pending = append(s.pending, compactableAt{r, i})
		}
	}
	s.seen = len(results)
	inCallOrder(v, s.pending[from:], func(r compactableAt) string { return r.ID })
}
