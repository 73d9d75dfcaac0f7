package summarize

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// Params are the parameters that stages share whose summary takes the place of the view.
type Params struct {
	Summary policy.SummaryChoices `yaml:"summary" doc:"where the summary comes from, first that can: recorded, outline, typical, fixed: N tokens"`
	Manual  string                `yaml:"manual" doc:"what becomes of compactions the user asked for" enum:"replay,ignore"`
}

// DefaultParams takes recorded summaries, or typical ones, and replays compactions the user asked for.
func DefaultParams() Params { return Params{Summary: policy.DefaultSummary(), Manual: "replay"} }

// Since returns the items that joined after a recorded boundary, none for a boundary of -1. A summary used at a later
// request than the client used it does not cover them: they stay.
func Since(c *policy.Context, boundary int) []policy.ItemID {
	if boundary < 0 || c.Conv.Boundaries[boundary].Request >= c.Request {
		return nil
	}
	b := &c.Conv.Boundaries[boundary]
	return slices.DeleteFunc(c.View.IDs(), func(id policy.ItemID) bool { return int(id) < b.Before })
}

// Kept returns the newest items that stay next to a summary: keep, or what joined after its boundary where that is
// more.
func Kept(c *policy.Context, boundary int, keep []policy.ItemID) []policy.ItemID {
	if late := Since(c, boundary); len(late) > len(keep) {
		return late
	}
	return keep
}

// SummarySource makes a summary in one of the ways that a policy can choose.
type SummarySource struct {
	Of       string                                             // what is summarized, for messages: "view"
	Typical  policy.Content                                     // the placeholder where nothing is recorded
	Recorded func() (content policy.Content, line int, ok bool) // the recorded summary and its line
	Outline  func() (string, error)
	Wrap     func(string) string // puts the client's words around an outline
}

// Take returns the first summary of the view that exists, and how it was made. An outline has the form of the
// client's compaction; wrap puts the client's words around it. Of a recorded summary, boundary is its index, else -1.
func Take(c *policy.Context, choices policy.SummaryChoices, wrap func(string) string) (content policy.Content, boundary int, from string, err error) {
	boundary = -1
	content, from, err = SummarySource{
		Of: "view", Typical: c.Record.TypicalSummary(c.Request), Recorded: Recorded(c, &boundary), Wrap: wrap,
		Outline: func() (string, error) { return outlineSummary(c) },
	}.Take(choices)
	return content, boundary, from, err
}

// Recorded returns the recorded summary of the view before a request. It sets boundary where there is one.
func Recorded(c *policy.Context, boundary *int) func() (policy.Content, int, bool) {
	return func() (policy.Content, int, bool) {
		content, b, ok := c.Record.Summary(c.Request)
		if !ok {
			return content, 0, false
		}
		*boundary = b
		return content, c.Conv.Boundaries[b].Line, true
	}
}

// Take returns the first summary that exists, and how it was made.
func (s SummarySource) Take(choices policy.SummaryChoices) (content policy.Content, from string, err error) {
	for _, ch := range choices {
		switch ch.Kind {
		case policy.SummaryRecorded:
			if content, line, ok := s.Recorded(); ok {
				return content, fmt.Sprintf("recorded, line %d", line), nil
			}
		case policy.SummaryOutline:
			text, err := s.Outline()
			if err != nil {
				return policy.Content{}, "", fmt.Errorf("outlining the %s: %w", s.Of, err)
			}
			return policy.Text(s.Wrap(text)), "an outline of the " + s.Of, nil
		case policy.SummaryTypical, policy.SummaryFixed:
			if content = s.Typical; ch.Tokens > 0 {
				content = policy.Content{Kind: jsonl.KindText, Tokens: ch.Tokens}
			}
			return content, "a placeholder of " + strconv.Itoa(content.Tokens) + " tokens", nil
		}
	}
	return s.Take(policy.SummaryChoices{{Kind: policy.SummaryTypical}})
}

// Bare is the text between the tags of an outline, for callers that put no client's words around it. A text that is
// not one summary from end to end comes back as it is.
func Bare(text string) string {
	inner, opened := strings.CutPrefix(strings.TrimSpace(text), "<summary>")
	inner, closed := strings.CutSuffix(inner, "</summary>")
	if !opened || !closed {
		return text
	}
	return strings.TrimSpace(inner)
}
