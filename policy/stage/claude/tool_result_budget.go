package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// ToolResultBudget are the parameters of tool_result_budget.
type ToolResultBudget struct {
	MaxChars        int            `yaml:"max_chars" doc:"a longer result is saved to a file and a preview of it stays" unit:"characters" min:"0"`
	ToolMaxChars    map[string]int `yaml:"tool_max_chars" doc:"a tool's own limit, in place of max_chars; none: its results always stay whole" unit:"characters" min:"0"`
	SizeStyle       string         `yaml:"size_style" doc:"how the replacement gives the size: 134.7KB or 137933 chars" enum:"human,chars"`
	MaxMessageChars *int           `yaml:"max_message_chars" doc:"the results of one round together; while they are over it the largest new one is saved" unit:"characters" min:"0"`
	PreviewChars    int            `yaml:"preview_chars" doc:"how much of a saved result is shown" unit:"characters" min:"1"`
	ExemptTools     []string       `yaml:"exempt_tools" doc:"tools whose results always stay whole; a trailing * matches any rest"`
}

// unlimited is the value of the limit none in tool_max_chars.
const unlimited = -1

func defineToolResultBudget() policy.Definition {
	return policy.Definition{
		Name:    "tool_result_budget",
		Summary: "A tool result over its limit, and the largest new ones of a round over the round's limit, are saved to files; a preview stays.",
		Source:  "Claude Code 2.1.19, analysis of the bundled client, and the code of 2.1.12 to 2.1.332 (100,000, from 2.1.51 on 50,000; those of Bash and Grep; none for Read from 2.1.79 on; 200,000 a message behind a flag that is off); the five-level pipeline analysis",
		Truth:   policy.TruthDescribed,
		Moments: policy.Ingest | policy.Prepare,
		Memory:  policy.Frozen,
		Params: &ToolResultBudget{
			MaxChars: 100000, ToolMaxChars: map[string]int{"Grep": 20000, "Bash": 30000},
			SizeStyle: "human", PreviewChars: 2000,
		},
		Example: `before: a WebFetch result of 410,000 characters, limit 100,000
after:  <persisted-output>
        Output too large (400.4KB). Full output saved to: ~/.claude/projects/-p/s/tool-results/toolu_01.txt

        Preview (first 2KB):
        … the first 2,000 characters, cut at the last newline after position 1,000 …
        ...
        </persisted-output>`,
		New: policy.Maker(func(p ToolResultBudget) policy.Stage {
			return &toolResultBudget{ToolResultBudget: p, decided: -1}
		}),
	}
}

// Check is what is questionable in a policy with tool_result_budget.
func (p *ToolResultBudget) Check(c *policy.Check) {
	c.Less("preview_chars", p.PreviewChars, "max_chars", p.MaxChars)
	if p.MaxMessageChars != nil {
		c.AtMost("max_chars", p.MaxChars, "max_message_chars", *p.MaxMessageChars)
	}
}

// toolResultBudget decides each result once: a replaced one keeps its replacement; one that was seen and left is
// never touched later (docs/internals/model.md, "Everything is an edit"). The view holds the replaced ones; all
// others up to and including the item decided were left.
type toolResultBudget struct {
	ToolResultBudget
	decided policy.ItemID
}

func (s *toolResultBudget) Run(c *policy.Context) ([]policy.Edit, error) {
	if c.Moment == policy.Ingest {
		return s.arrive(c)
	}
	return s.rounds(c)
}

// arrive applies the limit of each result that has just joined.
func (s *toolResultBudget) arrive(c *policy.Context) (edits []policy.Edit, err error) {
	for _, id := range c.Joined {
		for t := range policy.Targets(c.View, id) {
			if limit, chars, ok := s.measure(c.View, t); ok && chars > limit {
				reason := fmt.Sprintf("%d characters > %d", chars, limit)
				if edits, err = s.persist(c, edits, t, reason, map[string]int{"chars": chars, "limit": limit}); err != nil {
					return nil, err
				}
			}
		}
	}
	return edits, nil
}

// measure returns the limit of a result and its length in the view, characters. ok is false for what is never counted
// or touched: other blocks, results that are empty, hold an image or were replaced before, and exempt tools.
func (s *toolResultBudget) measure(v policy.View, t policy.Target) (limit, chars int, ok bool) {
	if v.Kind(t) != jsonl.KindToolResult || t.Item < 0 {
		return 0, 0, false
	}
	raw := v.Raw(t)
	tool := v.Conversation().ToolName(raw.ID)
	alike := v.Conversation().Alike(tool)
	limit, own := s.ToolMaxChars[alike]
	if !own {
		limit = s.MaxChars
	}
	replaced := v.Replacement(t)
	switch {
	case raw.Persisted && raw.Offload == nil, limit == unlimited, measure.Matches(s.ExemptTools, tool, alike):
		return 0, 0, false
	case replaced != nil: // if truncated on arrival it is a string by now
		return limit, replaced.Length.UTF16, replaced.Partial && replaced.Length.UTF16 > 0
	case raw.IsString || raw.Offload != nil:
		chars = raw.Whole().UTF16
		return limit, chars, chars > 0
	}
	return limit, raw.JSON.UTF16, len(raw.Parts) > 0 && measure.Images(v, t) == 0
}

// round is the tool results between two assistant messages: one user message of the API.
type round struct {
	chars int // of all its results that count
	fresh []freshResult
}

type freshResult struct {
	target policy.Target
	chars  int
}

// rounds applies the limit of a whole round to the results that are new at this request. From then on they are
// decided.
func (s *toolResultBudget) rounds(c *policy.Context) (edits []policy.Edit, err error) {
	var list []round
	if s.MaxMessageChars != nil {
		list = s.open(c.View)
	}
	s.decided = max(s.decided, policy.ItemID(c.View.Joined()-1))
	for _, r := range slices.Backward(list) {
		limit := *s.MaxMessageChars
		slices.SortStableFunc(r.fresh, func(a, b freshResult) int { return b.chars - a.chars })
		for _, f := range r.fresh {
			if r.chars <= limit {
				break
			}
			reason := fmt.Sprintf("%d characters of results in one message > %d: the largest goes", r.chars, limit)
			detail := map[string]int{"chars": f.chars, "message_chars": r.chars, "limit": limit}
			if edits, err = s.persist(c, edits, f.target, reason, detail); err != nil {
				return nil, err
			}
			r.chars -= f.chars
		}
	}
	return edits, nil
}

// open returns the rounds that hold undecided results, newest first, each with its results in view order.
func (s *toolResultBudget) open(v policy.View) (list []round) {
	var r round
	flush := func() {
		if len(r.fresh) > 0 {
			slices.Reverse(r.fresh)
			list = append(list, r)
		}
		r = round{}
	}
	for id := range v.Backward {
		if v.Role(id) == session.Assistant {
			flush()
			if id <= s.decided {
				return list
			}
			continue
		}
		for b := v.Blocks(id) - 1; b >= 0; b-- {
			t := policy.BlockOf(id, b)
			_, chars, ok := s.measure(v, t)
			if !ok {
				continue
			}
			r.chars += chars
			if id > s.decided {
				r.fresh = append(r.fresh, freshResult{t, chars})
			}
		}
	}
	flush()
	return list
}

// persist adds the edit that leaves a preview of a result.
func (s *toolResultBudget) persist(c *policy.Context, edits []policy.Edit, t policy.Target, reason string, detail map[string]int) ([]policy.Edit, error) {
	text, ext, err := written(c, t)
	if err != nil {
		return nil, fmt.Errorf("reading the result %s: %w", c.View.Raw(t).ID, err)
	}
	path := resultPath(c.Conv, c.View.Raw(t).ID, ext)
	content := policy.NewContent(jsonl.KindToolResult, persistedOutput(text, path, s.SizeStyle, s.PreviewChars))
	return append(edits, policy.Edit{Kind: policy.KindPersist, Trigger: "auto", Target: t, New: &content, Reason: reason, Detail: detail}), nil
}

// written returns the text the client saves: a string as it is, an array as JSON indented by two.
func written(c *policy.Context, t policy.Target) (text, ext string, err error) {
	if raw := c.View.Raw(t); raw.IsString || raw.Offload != nil || c.View.Replacement(t) != nil {
		text, err = c.Texts.Text(t)
		return text, "txt", err
	}
	array, err := c.Conv.Raw(int(t.Item), t.Block)
	if err != nil {
		return "", "", err
	}
	var b bytes.Buffer
	if len(array) > 0 && json.Indent(&b, array, "", "  ") == nil {
		return b.String(), "json", nil
	}
	// The value is not in a file: the array holds its texts.
	if text, err = c.Texts.Text(t); err != nil {
		return "", "", err
	}
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode([]textPart{{"text", text}})
	return strings.TrimSuffix(b.String(), "\n"), "json", err
}

type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// previewMark goes before what is shown of a saved result.
const previewMark = "Preview (first "

// persistedOutput returns the text in place of a result that was saved whole to path (analysis of Claude Code
// 2.1.19).
func persistedOutput(text, path, sizeStyle string, previewChars int) string {
	n := jsonl.Measure(text).UTF16
	size := humanSize(n)
	if sizeStyle == "chars" {
		size = strconv.Itoa(n) + " chars"
	}
	shown, more := preview(text, n, previewChars)
	if more {
		shown += "\n..."
	}
	return "<persisted-output>\nOutput too large (" + size + "). Full output saved to: " + path + "\n\n" +
		previewMark + humanSize(previewChars) + "):\n" + shown + "\n</persisted-output>"
}

// preview returns the first limit characters of a text of n, up to the last newline if that is in their second half.
// Characters are UTF-16 units; half a surrogate pair becomes U+FFFD, as it does in a file.
func preview(text string, n, limit int) (shown string, more bool) {
	if n <= limit {
		return text, false
	}
	shown = measure.FirstUnits(text, limit)
	if at := strings.LastIndexByte(shown, '\n'); at >= 0 && 2*jsonl.Measure(shown[:at]).UTF16 > limit {
		return shown[:at], true
	}
	if jsonl.Measure(shown).UTF16 < limit {
		shown += string(utf8.RuneError)
	}
	return shown, true
}

// humanSize returns 512B, 2KB, 134.7KB, 1.5MB: one decimal, rounded half up, no trailing .0.
func humanSize(n int) string {
	const kilo, mega = 1 << 10, 1 << 20
	unit := kilo
	name := "KB"
	switch {
	case n < kilo:
		return strconv.Itoa(n) + "B"
	case n >= mega:
		unit = mega
		name = "MB"
	}
	tenths := (n*20 + unit) / (2 * unit)
	return strings.TrimSuffix(fmt.Sprintf("%d.%d", tenths/10, tenths%10), ".0") + name
}
