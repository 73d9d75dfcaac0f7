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

// unlimited is what a tool's own limit of none is in the map.
const unlimited = -1

func defineToolResultBudget() policy.Definition {
	return policy.Definition{
		Name:    "tool_result_budget",
		Summary: "A tool result over its limit, and the largest new ones of a round over the round's limit, are saved to files; a preview stays.",
		Source:  "Claude Code 2.1.19, analysis of the bundled client (max_chars 400,000, no limit a message); the five-level pipeline analysis (50,000 and 200,000); the limits of Grep and Bash inferred from recorded sessions",
		Truth:   policy.TruthDescribed,
		Moments: policy.Ingest | policy.Prepare,
		Memory:  policy.Frozen,
		Params: &ToolResultBudget{
			MaxChars: 400000, ToolMaxChars: map[string]int{"Grep": 20000, "Bash": 30000, "Read": unlimited},
			SizeStyle: "human", PreviewChars: 2000,
		},
		Example: `before: a WebFetch result of 410,000 characters, limit 400,000
after:  <persisted-output>
        Output too large (400.4KB). Full output saved to: ~/.claude/projects/-p/s/tool-results/toolu_01.txt

        Preview (first 2KB):
        … the first 2,000 characters, cut at the last newline after position 1,000 …
        ...
        </persisted-output>`,
		Check: checkToolResultBudget,
		New: func(p any) (policy.Stage, error) {
			return &toolResultBudget{p: *p.(*ToolResultBudget), decided: -1}, nil
		},
	}
}

func checkToolResultBudget(c *policy.Check) {
	p := c.Stage.Params.(*ToolResultBudget)
	c.Less("preview_chars", p.PreviewChars, "max_chars", p.MaxChars)
	if p.MaxMessageChars != nil {
		c.AtMost("max_chars", p.MaxChars, "max_message_chars", *p.MaxMessageChars)
	}
}

// toolResultBudget decides each result once: replaced, it keeps its
// replacement; seen and left, it is never touched later (docs/internals/model.md,
// "Everything is an edit"). The view keeps the first kind; everything up to and
// including the item decided that is not replaced is the second.
type toolResultBudget struct {
	p       ToolResultBudget
	decided policy.ItemID
}

func (s *toolResultBudget) Run(c *policy.Context) ([]policy.Edit, error) {
	if c.Moment == policy.Ingest {
		return s.arrive(c)
	}
	return s.rounds(c)
}

// arrive applies the limit of each result that has just joined.
func (s *toolResultBudget) arrive(c *policy.Context) ([]policy.Edit, error) {
	var edits []policy.Edit
	for _, id := range c.Joined {
		for b := range c.View.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			limit, chars, ok := s.measure(c.View, t)
			if !ok || chars <= limit {
				continue
			}
			e, err := s.persist(c, t, fmt.Sprintf("%d characters > %d", chars, limit), map[string]int{"chars": chars, "limit": limit})
			if err != nil {
				return nil, err
			}
			edits = append(edits, e)
		}
	}
	return edits, nil
}

// measure gives the limit of a result and its length as it stands in the
// view. ok is false for what is never counted or touched: other blocks, what
// is empty or holds an image, what was replaced before, and exempt tools.
func (s *toolResultBudget) measure(v policy.View, t policy.Target) (limit, chars int, ok bool) {
	if v.Kind(t) != jsonl.KindToolResult || t.Item < 0 {
		return 0, 0, false
	}
	raw := v.Raw(t)
	if raw.Persisted && !raw.ReadBack() {
		return 0, 0, false
	}
	tool := v.Conversation().ToolName(raw.ID)
	limit, own := s.p.ToolMaxChars[tool]
	if !own {
		limit = s.p.MaxChars
	}
	if limit == unlimited || measure.Matches(s.p.ExemptTools, tool) {
		return 0, 0, false
	}
	if c := v.Replacement(t); c != nil { // truncated where it came in: a string by now
		return limit, c.Length.UTF16, c.Partial && c.Length.UTF16 > 0
	}
	if raw.IsString || raw.ReadBack() {
		chars := raw.Whole().UTF16
		return limit, chars, chars > 0
	}
	for _, p := range raw.Parts {
		if p.Kind == jsonl.KindImage {
			return 0, 0, false
		}
	}
	return limit, raw.JSON.UTF16, len(raw.Parts) > 0
}

// round is the tool results between two assistant messages: one user message
// of the API.
type round struct {
	left  int // characters that were seen before and left
	total int // of the fresh ones
	fresh []freshResult
}

type freshResult struct {
	target policy.Target
	chars  int
}

// rounds applies the limit of a whole round to the results that are new at
// this request. From then on they are decided.
func (s *toolResultBudget) rounds(c *policy.Context) ([]policy.Edit, error) {
	var list []round
	if s.p.MaxMessageChars != nil {
		list = s.open(c.View)
	}
	if n := c.View.Joined(); n > 0 {
		s.decided = max(s.decided, policy.ItemID(n-1))
	}
	var edits []policy.Edit
	for _, r := range slices.Backward(list) {
		limit := *s.p.MaxMessageChars
		slices.SortStableFunc(r.fresh, func(a, b freshResult) int { return b.chars - a.chars })
		sum := r.left + r.total
		for _, f := range r.fresh {
			if sum <= limit {
				break
			}
			reason := fmt.Sprintf("%d characters of results in one message > %d: the largest goes", sum, limit)
			e, err := s.persist(c, f.target, reason, map[string]int{"chars": f.chars, "message_chars": sum, "limit": limit})
			if err != nil {
				return nil, err
			}
			edits = append(edits, e)
			sum -= f.chars
		}
	}
	return edits, nil
}

// open is the rounds that hold undecided results, newest first; in each, the
// results stand in view order.
func (s *toolResultBudget) open(v policy.View) []round {
	var list []round
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
			t := policy.Target{Item: id, Block: b}
			_, chars, ok := s.measure(v, t)
			switch {
			case !ok:
			case id <= s.decided:
				r.left += chars
			default:
				r.total += chars
				r.fresh = append(r.fresh, freshResult{t, chars})
			}
		}
	}
	flush()
	return list
}

// persist is the edit that leaves a preview of a result.
func (s *toolResultBudget) persist(c *policy.Context, t policy.Target, reason string, detail map[string]int) (policy.Edit, error) {
	text, ext, err := written(c, t)
	if err != nil {
		return policy.Edit{}, fmt.Errorf("reading the result %s: %w", c.View.Raw(t).ID, err)
	}
	path := resultPath(c.Conv, c.View.Raw(t).ID, ext)
	content := policy.NewContent(jsonl.KindToolResult, persistedOutput(text, path, s.p.SizeStyle, s.p.PreviewChars))
	return policy.Edit{Kind: policy.KindPersist, Trigger: "auto", Target: t, New: &content, Reason: reason, Detail: detail}, nil
}

// written is the text the client saves: a string as it is, an array as JSON
// indented by two.
func written(c *policy.Context, t policy.Target) (text, ext string, err error) {
	raw := c.View.Raw(t)
	if raw.IsString || raw.ReadBack() || c.View.Replacement(t) != nil {
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
	// The value has no place in a file: its texts stand for it.
	if text, err = c.Texts.Text(t); err != nil {
		return "", "", err
	}
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode([]textPart{{"text", text}})
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), "json", err
}

type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// previewMark goes before what is shown of a saved result.
const previewMark = "Preview (first "

// persistedOutput is what stands in the place of a result that was saved
// whole to path (analysis of Claude Code 2.1.19).
func persistedOutput(text, path, sizeStyle string, previewChars int) string {
	n := jsonl.Measure(text).UTF16
	size := humanSize(n)
	if sizeStyle == "chars" {
		size = strconv.Itoa(n) + " chars"
	}
	shown, more := preview(text, n, previewChars)
	var b strings.Builder
	b.WriteString("<persisted-output>\nOutput too large (" + size + "). Full output saved to: " + path + "\n\n")
	b.WriteString(previewMark + humanSize(previewChars) + "):\n" + shown)
	if more {
		b.WriteString("\n...")
	}
	b.WriteString("\n</persisted-output>")
	return b.String()
}

// preview is the first limit characters of a text of n: up to the last newline
// in them, where that lies in their second half. Characters are UTF-16 units;
// half a surrogate pair comes out as U+FFFD, as it does in a file.
func preview(text string, n, limit int) (shown string, more bool) {
	if n <= limit {
		return text, false
	}
	units, at := 0, 0
	newline, newlineAt := -1, 0
	for at < len(text) && units < limit {
		r, size := utf8.DecodeRuneInString(text[at:])
		if r == '\n' {
			newline, newlineAt = units, at
		}
		units++
		if r > 0xFFFF {
			units++
		}
		at += size
	}
	if 2*newline > limit {
		return text[:newlineAt], true
	}
	if units > limit {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		return text[:at-size] + string(utf8.RuneError), true
	}
	return text[:at], true
}

// humanSize is 512B, 2KB, 134.7KB, 1.5MB: one decimal, half up, a trailing .0
// dropped.
func humanSize(n int) string {
	const kilo, mega = 1 << 10, 1 << 20
	unit, name := kilo, "KB"
	switch {
	case n < kilo:
		return strconv.Itoa(n) + "B"
	case n >= mega:
		unit, name = mega, "MB"
	}
	tenths := (n*20 + unit) / (2 * unit)
	s := strconv.Itoa(tenths / 10)
	if tenths%10 != 0 {
		s += "." + strconv.Itoa(tenths%10)
	}
	return s + name
}
