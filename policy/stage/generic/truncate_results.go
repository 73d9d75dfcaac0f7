package generic

import (
	"fmt"
	"math"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// TruncateResults are the parameters of truncate_results.
type TruncateResults struct {
	MaxTokens int     `yaml:"max_tokens" doc:"larger results are cut to this; 0: no limit" unit:"tokens" min:"0"`
	MaxBytes  int     `yaml:"max_bytes" doc:"larger results are cut to this; 0: no limit" unit:"bytes of UTF-8" min:"0"`
	MaxLines  int     `yaml:"max_lines" doc:"longer results are cut to this; 0: no limit" unit:"lines" min:"0"`
	Head      float64 `yaml:"head" doc:"the share of what stays that is the result's beginning; the rest is its end" min:"0" max:"1"`
	Offloaded bool    `yaml:"offloaded" doc:"cut only what the recording client had put into a file and is read back: it has limited the other results itself"`
	Tools
}

func defineTruncateResults() policy.Definition {
	return policy.Definition{
		Name:    "truncate_results",
		Summary: "A tool result of more than 4,000 tokens is cut as it comes in: half of what stays is its beginning, half its end.",
		Source:  "no product. A result is cut before any request has sent it, so the prefix never changes; one with an image is left alone. Tokens are those of the report's counter, in proportion to the characters",
		Truth:   policy.TruthOwn,
		Moments: policy.Ingest,
		Memory:  policy.Frozen,
		Params:  &TruncateResults{MaxTokens: 4000, Head: 0.5, Tools: allTools()},
		Example: `before: a Bash result of 10,000 tokens in 3,000 lines
after:  its first and its last 2,000 tokens, with "[… 1,800 lines, 24,000 characters left out …]" between them`,
		New: policy.Maker(func(p TruncateResults) policy.Stage { return &truncateResults{TruncateResults: p} }),
	}
}

// Check is what is questionable in a policy with truncate_results.
func (p *TruncateResults) Check(c *policy.Check) {
	if p.MaxTokens+p.MaxBytes+p.MaxLines == 0 {
		c.Add(policy.RuleNever, "truncate_results.max_tokens", "give max_tokens, max_bytes or max_lines", "without a limit nothing is cut")
	}
}

// Limits are what decides when truncate_results acts.
func (p *TruncateResults) Limits(l *policy.StageLimits) {
	if p.MaxTokens > 0 {
		l.Add(policy.Limit{Name: "truncation", Operator: ">", Tokens: p.MaxTokens, Of: policy.OfResults, Acts: true, From: l.Name("truncate_results.max_tokens") + ": a single result", Key: "truncate_results.max_tokens"})
	}
	if p.MaxLines > 0 {
		l.Note("truncation: > %s lines (%s)", policy.Thousands(p.MaxLines), l.Name("truncate_results.max_lines"))
	}
}

type truncateResults struct{ TruncateResults }

func (s *truncateResults) Run(c *policy.Context) ([]policy.Edit, error) {
	v := c.View
	var all []policy.Edit
	for _, id := range c.Joined {
		for t := range policy.Targets(v, id) {
			if !plain(v, t) || s.Offloaded && v.Raw(t).Offload == nil {
				continue
			}
			tool := c.Conv.ToolName(v.Raw(t).ID)
			if was := v.Replacement(t); !s.concern(&policy.Result{Tool: tool, Alike: c.Conv.Alike(tool)}) || was != nil && !was.Partial {
				continue
			}
			e, reason := s.ends(v, t)
			if reason == "" {
				continue
			}
			text, err := c.Texts.Text(t)
			if err != nil {
				return nil, fmt.Errorf("reading a tool result: %w", err)
			}
			short, ok := e.cut(text)
			if !ok {
				continue
			}
			content := policy.NewContent(jsonl.KindToolResult, short)
			content.Partial = true
			made := saving{c: c}
			if made.clear(t, &content) {
				all = append(all, made.because("%s", reason)...)
			}
		}
	}
	return all, nil
}

// ends is what stays of a result, and why; the reason is empty where it may not be longer than that.
func (s *truncateResults) ends(v policy.View, t policy.Target) (e ends, reason string) {
	e = ends{head: math.MaxInt / 2, tail: math.MaxInt / 2}
	length := v.Length(t)
	stays := func(has, most int, unit string) {
		if n := share(length.UTF16, most, has); most > 0 && has > most && n < e.head+e.tail {
			e.head, e.tail = split(n, s.Head)
			reason = fmt.Sprintf("%s %s > %s", policy.Thousands(has), unit, policy.Thousands(most))
		}
	}
	stays(v.BlockTokens(t), s.MaxTokens, "tokens")
	stays(length.Bytes, s.MaxBytes, "bytes")
	if s.MaxLines > 0 && length.Bytes > s.MaxLines { // a text has at least as many bytes as lines
		e.headLines, e.tailLines = split(s.MaxLines, s.Head)
		if reason == "" {
			reason = fmt.Sprintf("more than %s lines", policy.Thousands(s.MaxLines))
		}
	}
	return e, reason
}

// share is the part of a length that some of its tokens have.
func share(length, part, tokens int) int {
	return int(float64(length) * float64(part) / float64(max(tokens, 1)))
}
