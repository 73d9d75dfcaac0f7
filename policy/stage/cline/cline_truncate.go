package cline

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// ClineTruncate are the parameters of cline_truncate.
type ClineTruncate struct {
	MaxChars int `yaml:"max_chars" doc:"results up to this stay whole" unit:"characters" min:"100"`
}

func defineClineTruncate() policy.Definition {
	return policy.Definition{
		Name:    "cline_truncate",
		Summary: "A tool result of more than 8,000 characters is sent with its middle left out.",
		Source:  "Cline 3.0.65, MessageBuilder of @cline/core 0.0.86 (sdk/packages/core/src/session/services/message-builder.ts); of a result with several texts each is cut in the source, here their whole",
		Truth:   policy.TruthOracle,
		Moments: policy.Ingest,
		Memory:  policy.Frozen,
		Params:  &ClineTruncate{MaxChars: 8000},
		Example: `before: a Bash result of 20,000 characters
after:  its first 3,981 and last 3,981 characters, with "...[truncated 12038 chars]..." between them`,
		New: policy.Maker(func(p ClineTruncate) policy.Stage { return &clineTruncate{ClineTruncate: p} }),
	}
}

type clineTruncate struct{ ClineTruncate }

func (s *clineTruncate) Run(c *policy.Context) ([]policy.Edit, error) {
	var edits []policy.Edit
	for _, id := range c.Joined {
		for t := range policy.Targets(c.View, id) {
			raw := c.View.Raw(t)
			n := c.View.Length(t).UTF16
			if raw == nil || raw.Kind != jsonl.KindToolResult || n <= s.MaxChars {
				continue
			}
			text, err := c.Texts.Text(t)
			if err != nil {
				return nil, fmt.Errorf("reading a tool result: %w", err)
			}
			content := policy.NewContent(jsonl.KindToolResult, withoutMiddle(text, n, s.MaxChars))
			content.Partial = true
			edits = append(edits, policy.Edit{
				Kind: policy.KindTruncate, Trigger: "auto", Target: t, New: &content,
				Reason: fmt.Sprintf("%d characters > %d", n, s.MaxChars),
			})
		}
	}
	return edits, nil
}

// withoutMiddle is a text of n UTF-16 units cut to limit, the note of what is missing included. The note's length depends
// on the number in it: the number is computed twice.
func withoutMiddle(text string, n, limit int) string {
	words := func(missing int) string { return fmt.Sprintf("\n\n...[truncated %d chars]...\n\n", missing) }
	side := max((limit-len(words(n-limit)))/2, 0)
	missing := words(max(n-2*side, 0))
	side = max((limit-len(missing))/2, 0)
	return measure.FirstUnits(text, side) + missing + measure.LastUnits(text, side)
}
