package summarize

import (
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// since is what joined after a recorded boundary whose summary is used a little
// later than the client used it: the summary does not cover it, so it stays.
func Since(c *policy.Context, boundary int) []policy.ItemID {
	b := &c.Conv.Boundaries[boundary]
	if b.Request >= c.Request {
		return nil
	}
	var keep []policy.ItemID
	for id := range c.View.Items {
		if int(id) >= b.Before {
			keep = append(keep, id)
		}
	}
	return keep
}

// summaries says how a summary is made where it is made here.
type Summaries struct {
	Outline func() (string, error)
	Wrap    func(string) string // puts the client's words around it
}

// summarise takes the first summary that can be had, an outline in the form of
// the client's compaction; wrap puts the client's words around it.
func Take(c *policy.Context, choices policy.SummaryChoices, wrap func(string) string) (content policy.Content, boundary int, from string, err error) {
	return Summaries{func() (string, error) { return outlineSummary(c) }, wrap}.Take(c, choices)
}

// take is the first summary that can be had.
func (s Summaries) Take(c *policy.Context, choices policy.SummaryChoices) (content policy.Content, boundary int, from string, err error) {
	for _, ch := range choices {
		switch ch.Kind {
		case policy.SummaryRecorded:
			if s, b, ok := c.Record.Summary(c.Request); ok {
				return s, b, fmt.Sprintf("recorded, line %d", c.Conv.Boundaries[b].Line), nil
			}
		case policy.SummaryOutline:
			text, err := s.Outline()
			if err != nil {
				return policy.Content{}, -1, "", fmt.Errorf("outlining the view: %w", err)
			}
			return policy.NewContent(jsonl.KindText, s.Wrap(text)), -1, "an outline of the view", nil
		case policy.SummaryFixed:
			return policy.Content{Kind: jsonl.KindText, Tokens: ch.Tokens}, -1, fmt.Sprintf("a stand-in of %d tokens", ch.Tokens), nil
		}
	}
	return policy.Content{Kind: jsonl.KindText, Tokens: policy.DefaultSummaryTokens}, -1, fmt.Sprintf("a stand-in of %d tokens", policy.DefaultSummaryTokens), nil
}

// bare is the text between the tags of an outline, for callers that put no
// client's words around it. A text that is not one summary from end to end
// comes back as it is.
func Bare(text string) string {
	inner, opened := strings.CutPrefix(strings.TrimSpace(text), "<summary>")
	inner, closed := strings.CutSuffix(inner, "</summary>")
	if !opened || !closed {
		return text
	}
	return strings.TrimSpace(inner)
}
