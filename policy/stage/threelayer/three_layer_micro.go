package threelayer

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// ThreeLayerMicro are the parameters of three_layer_micro.
type ThreeLayerMicro struct {
	KeepRecent int `yaml:"keep_recent" doc:"the newest results, of any content, that are never touched" unit:"results" min:"0"`
	MinChars   int `yaml:"min_chars" doc:"an older result longer than this is replaced" unit:"characters" min:"0"`
}

// CompactedText is what the lesson's first layer leaves of a result.
const CompactedText = "[Previous tool result compacted]"

func defineThreeLayerMicro() policy.Definition {
	return policy.Definition{
		Name:    "three_layer_micro",
		Summary: "Before each request, every tool result older than the newest 3 whose content is a string of more than 100 characters becomes a placeholder.",
		Source:  "Learn Claude Code, session 06, layer 1 (microCompact)",
		Truth:   policy.TruthDescribed,
		Moments: policy.Prepare,
		Memory:  policy.Stateless,
		Params:  &ThreeLayerMicro{KeepRecent: 3, MinChars: 100},
		Example: `before: results of 500, 100, 600, 20 and 700 characters
after:  the first is "[Previous tool result compacted]"; the second is not longer than 100; the last three are recent`,
		New: policy.Maker(func(p ThreeLayerMicro) policy.Stage { return &threeLayerMicro{ThreeLayerMicro: p} }),
	}
}

// threeLayerMicro does what the source's loop over all results does, but looks at each result once. A result that is not
// among the newest never is again, because the source's replacement stays.
type threeLayerMicro struct {
	ThreeLayerMicro
	results measure.Ageing
}

func (s *threeLayerMicro) Run(c *policy.Context) ([]policy.Edit, error) {
	results, live := c.View.Results(), s.results.Live(c.View)
	old := live[:max(len(live)-s.KeepRecent, 0)]
	content := policy.NewContent(jsonl.KindToolResult, CompactedText)
	var edits []policy.Edit
	for _, i := range old {
		t := results[i].Target
		isString := c.View.Replacement(t) != nil || c.View.Raw(t).IsString
		if n := c.View.Length(t).UTF16; isString && n > s.MinChars {
			reason := fmt.Sprintf("%d characters > %d, not among the newest %d results", n, s.MinChars, s.KeepRecent)
			edits = append(edits, policy.Replace(policy.KindClear, t, &content, reason))
		}
	}
	s.results.Done(len(old))
	return edits, nil
}
