package opencode

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// OpencodeTruncate are the parameters of opencode_truncate.
type OpencodeTruncate struct {
	MaxLines int  `yaml:"max_lines" doc:"lines up to which a tool output is stored as it is" unit:"lines" min:"1"`
	MaxBytes int  `yaml:"max_bytes" doc:"size up to which a tool output is stored as it is" unit:"bytes of UTF-8" min:"1"`
	Inline   bool `yaml:"inline" doc:"also cut outputs recorded inline, which the recording client has limited already; false: only those it had offloaded and that are read back"`
}

func defineOpencodeTruncate() policy.Definition {
	return policy.Definition{
		Name:    "opencode_truncate",
		Summary: "A tool output of more than 2,000 lines or 51,200 bytes is cut as it comes in; a hint names the file that holds it whole.",
		Source:  "OpenCode 1.1.36, 1.18.3 and 1.18.34: Truncate.output, oracle cases",
		Truth:   policy.TruthOracle,
		Moments: policy.Ingest,
		Memory:  policy.Frozen,
		Params:  &OpencodeTruncate{MaxLines: 2000, MaxBytes: 50 * 1024},
		Example: `before: a Bash result of 317,842 bytes in 9,120 lines, read back from the recording client's file
after:  its first 2,000 lines, "...7120 lines truncated...", and where the whole of it is`,
		New: func(p any) (policy.Stage, error) { return &opencodeTruncate{p: *p.(*OpencodeTruncate)}, nil },
	}
}

// opencodeTruncate reproduces OpenCode's truncation of tool outputs when they are created.
type opencodeTruncate struct{ p OpencodeTruncate }

func (s *opencodeTruncate) Run(c *policy.Context) ([]policy.Edit, error) {
	var edits []policy.Edit
	for _, id := range c.Joined {
		for b := range c.View.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			raw := c.View.Raw(t)
			if raw == nil || raw.Kind != jsonl.KindToolResult || !s.p.Inline && !raw.ReadBack() || raw.Persisted && !raw.ReadBack() {
				continue
			}
			// An output has at least as many bytes as lines: a short one is not read.
			if n := raw.Whole().Bytes; n <= s.p.MaxBytes && n < s.p.MaxLines {
				continue
			}
			text, err := c.Texts.Text(t)
			if err != nil {
				return nil, err
			}
			cut, removed, unit := truncate(text, s.p.MaxLines, s.p.MaxBytes, "~/.local/share/opencode/tool-output/"+measure.SafeID(raw.ID))
			if removed == 0 {
				continue
			}
			content := policy.NewContent(jsonl.KindToolResult, cut)
			content.Partial = true
			edits = append(edits, policy.Edit{
				Kind: policy.KindTruncate, Trigger: "auto", Target: t, New: &content,
				Reason: fmt.Sprintf("%d %s over the limits", removed, unit),
				Detail: map[string]int{"removed_" + unit: removed},
			})
		}
	}
	return edits, nil
}
