package gemini

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// GeminiMasking are the parameters of gemini_masking.
type GeminiMasking struct {
	Protect int      `yaml:"protect" doc:"the newest tool results that are kept" unit:"tokens" min:"0"`
	Minimum int      `yaml:"minimum" doc:"do nothing unless the results beyond them are at least this large" unit:"tokens" min:"0"`
	Exempt  []string `yaml:"exempt_tools" doc:"tools whose results are neither counted nor masked: the product's names and those of recorded sessions"`
	Shell   []string `yaml:"shell_tools" doc:"tools whose results are shown by their first and last ten lines"`
}

func defineGeminiMasking() policy.Definition {
	return policy.Definition{
		Name:    "gemini_masking",
		Summary: "Before each request, once the tool results beyond the newest 50,000 tokens are 30,000 tokens or more, each of them becomes a preview and the path of a file.",
		Source:  "Gemini CLI, packages/core/src/services/toolOutputMaskingService.ts (since 0.37 src/context) of @google/gemini-cli-core 0.30.0 and 0.61.0, oracle cases of both; off by default in 0.29, on from 0.30, no longer a setting from 0.37 on. It runs after the compression, on the history up to the last response; the result that crosses the 50,000 is masked too. A result whose preview is no smaller stays, and counts again the next time. Results with images stay, and are not counted",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare,
		Params: &GeminiMasking{
			Protect: 50000, Minimum: 30000, Shell: shells(),
			Exempt: strings.Fields("activate_skill ask_user enter_plan_mode exit_plan_mode Skill AskUserQuestion EnterPlanMode ExitPlanMode"),
		},
		Example: `before: results of 20,000, 20,000, 30,000 and 30,000 tokens, oldest first, and the call of a tool
after:  60,000 pass 50,000 at the second newest: it and the two older ones (70,000 >= 30,000) are masked`,
		New: policy.Maker(func(p GeminiMasking) policy.Stage {
			return &geminiMasking{GeminiMasking: p, kept: map[policy.Target]bool{}}
		}),
	}
}

// Limits are what decides when gemini_masking acts.
func (p *GeminiMasking) Limits(l *policy.StageLimits) {
	l.Add(policy.Limit{Name: "masking protects", Operator: ">", Tokens: p.Protect, Of: policy.OfResults, Acts: true, From: "gemini_masking.protect: the newest tool results, estimated", Key: "gemini_masking.protect"})
	l.Add(policy.Limit{Name: "masking minimum", Operator: ">=", Tokens: p.Minimum, Of: policy.OfResults, Acts: true, From: "gemini_masking.minimum: the older tool results, estimated", Key: "gemini_masking.minimum"})
}

// Check is what is questionable in a policy with gemini_masking.
func (p *GeminiMasking) Check(c *policy.Check) {
	if p.Protect+p.Minimum >= c.Window() {
		c.Add(policy.RuleNever, "gemini_masking.protect", "make protect or minimum smaller", "%d tokens protected and %d to mask fill the window of %d", p.Protect, p.Minimum, c.Window())
	}
}

// geminiMasking weighs each result as it joins or changes, and knows where the protected ones begin. Without it a compare
// of five policies takes more than two replays (bar in docs/performance.md). Indexes are those of View.Results.
type geminiMasking struct {
	GeminiMasking
	seen measure.Follower
	kept map[policy.Target]bool // results whose preview is no smaller

	tokens    []int                 // of the results that can be masked, 0 of the others
	first     map[policy.ItemID]int // index of the first result of each item
	inHistory int                   // number of results in the history, the oldest
	history   int                   // tokens of those
	edge      int                   // index of the oldest protected result of those
	newest    int                   // tokens of the protected results
	settled   int                   // number of results that are masked or cannot be, the oldest
}

func (s *geminiMasking) Run(c *policy.Context) ([]policy.Edit, error) {
	s.follow(c.View)
	prunable := s.history - s.newest
	if s.edge == 0 || prunable < s.Minimum {
		return nil, nil
	}
	reason := fmt.Sprintf("%d tokens of tool results beyond the newest %d >= %d", prunable, s.Protect, s.Minimum)
	results := c.View.Results()
	var edits []policy.Edit
	for s.settled < s.edge && (s.tokens[s.settled] == 0 || s.kept[results[s.settled].Target]) {
		s.settled++
	}
	for i := s.edge - 1; i >= s.settled; i-- {
		t := results[i].Target
		if s.tokens[i] == 0 || s.kept[t] {
			continue
		}
		masked, err := s.mask(c, t, s.tokens[i])
		if err != nil {
			return nil, err
		}
		if masked == nil {
			s.kept[t] = c.View.Replacement(t) == nil
			continue
		}
		edits = append(edits, policy.Edit{Kind: policy.KindPersist, Trigger: "auto", Target: t, New: masked, Reason: reason, Detail: map[string]int{"prunable": prunable}})
	}
	return edits, nil
}

// follow brings the figures up to date with what joined, was changed or left.
func (s *geminiMasking) follow(v policy.View) {
	edits, _, anew := s.seen.Follow(v)
	if anew {
		*s = geminiMasking{GeminiMasking: s.GeminiMasking, seen: s.seen, kept: s.kept, first: map[policy.ItemID]int{}}
		edits = nil
	}
	results := v.Results()
	for _, e := range edits {
		switch e.Kind {
		case policy.KindRemove, policy.KindCollapse:
			for _, id := range e.Items {
				s.weigh(results, id, func(policy.Target) int { return 0 })
			}
		case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindTag, policy.KindWrap:
			s.weigh(results, e.Target.Item, func(t policy.Target) int { return s.resultTokens(v, t) })
		}
	}
	for i := len(s.tokens); i < len(results); i++ {
		t := results[i].Target
		if _, ok := s.first[t.Item]; !ok {
			s.first[t.Item] = i
		}
		n := 0
		if v.Has(t.Item) {
			n = s.resultTokens(v, t)
		}
		s.tokens = append(s.tokens, n)
	}
	answered := s.responded(v)
	if answered < s.inHistory {
		s.inHistory = 0
		s.history = 0
		s.edge = 0
		s.newest = 0
	}
	for ; s.inHistory < answered; s.inHistory++ {
		s.history += s.tokens[s.inHistory]
		s.newest += s.tokens[s.inHistory]
	}
	for ; s.newest > s.Protect; s.edge++ {
		s.newest -= s.tokens[s.edge]
	}
	for ; s.edge > 0 && s.newest+s.tokens[s.edge-1] <= s.Protect; s.edge-- {
		s.newest += s.tokens[s.edge-1]
	}
}

// weigh takes new figures of an item's results.
func (s *geminiMasking) weigh(results []policy.Result, id policy.ItemID, of func(policy.Target) int) {
	i, ok := s.first[id]
	for ; ok && i < len(s.tokens) && results[i].Target.Item == id; i++ {
		n := of(results[i].Target)
		if n > 0 {
			s.settled = min(s.settled, i)
		}
		if i < s.inHistory {
			s.history += n - s.tokens[i]
		}
		if i >= s.edge && i < s.inHistory {
			s.newest += n - s.tokens[i]
		}
		s.tokens[i] = n
	}
}

// responded is the number of results in the history, which ends with the last response.
func (s *geminiMasking) responded(v policy.View) int {
	pending := map[policy.ItemID]bool{}
	for id := range v.Backward {
		if v.Role(id) == session.Assistant {
			break
		}
		pending[id] = true
	}
	results := v.Results()
	n := len(results)
	for n > 0 && (pending[results[n-1].Target.Item] || !v.Has(results[n-1].Target.Item)) {
		n--
	}
	return n
}

// resultTokens is estimateTokenCountSync of a result that can be masked, 0 of any other block.
func (s *geminiMasking) resultTokens(v policy.View, t policy.Target) int {
	raw := v.Raw(t)
	if raw == nil || raw.Kind != jsonl.KindToolResult || measure.Images(v, t) > 0 {
		return 0
	}
	if c := v.Replacement(t); c != nil && !c.Partial {
		return 0
	}
	if measure.Called(s.Exempt, v.Conversation(), raw) {
		return 0
	}
	return responseSize(contents(v, nil), t) / 4
}

// mask is what is left of a result of a number of tokens, nil where that is no smaller.
func (s *geminiMasking) mask(c *policy.Context, t policy.Target, was int) (*policy.Content, error) {
	raw := c.View.Raw(t)
	tool := c.Conv.ToolName(raw.ID)
	g := contents(c.View, nil)
	whole := g.Response(t) + len("\n  \n ") // JSON.stringify(response, null, 2)
	shell := measure.Matches(s.Shell, tool, c.Conv.Alike(tool))
	if !shell && whole <= maskShort {
		return nil, nil // shown whole
	}
	text, err := c.Texts.Text(t)
	if err != nil {
		return nil, fmt.Errorf("reading a tool result: %w", err)
	}
	preview := ""
	switch key := g.ResponseKey(raw); {
	case !shell:
		preview = headAndTail(key, text)
	case key == "output":
		preview = shellPreview(text)
	}
	masked := policy.NewContent(jsonl.KindToolResult, fmt.Sprintf("<tool_output_masked>\n%s\n\nOutput too large. Full output available at: %s\n</tool_output_masked>", preview, maskedPath(c, tool, raw.ID)))
	now := (len(tool) + len(`{"output":}`) + masked.Length.JSON) / 4
	if was <= now {
		return nil, nil
	}
	return &masked, nil
}

// maskedPath is where the product would have saved a result: never a real place. Its file names end in a few random
// characters.
func maskedPath(c *policy.Context, tool, id string) string {
	file := strings.ToLower(measure.SafeID(tool) + "_" + measure.SafeID(id))
	return fmt.Sprintf("~/.gemini/tmp/tool-outputs/session-%s/%s_random.txt", measure.SafeID(c.Conv.SessionID), file)
}

// The parts of a result that are shown, in UTF-16 units and lines.
const (
	maskShort = 500
	maskEnd   = maskShort / 2
	maskLines = 10
)

// headAndTail is the beginning and the end of a response's JSON, indented by two.
func headAndTail(key, text string) string {
	head := fmt.Sprintf("{\n  %q: \"", key) + jsonText(measure.FirstUnits(text, maskEnd))
	tail := jsonText(measure.LastUnits(text, maskEnd)) + "\"\n}"
	return firstUnits(head, maskEnd) + "\n... [TRUNCATED] ...\n" + lastUnits(tail, maskEnd)
}

// jsonText is a text between the quotes of JSON.stringify.
func jsonText(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch i := strings.IndexRune("\b\f\n\r\t", r); {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case i >= 0:
			b.WriteByte('\\')
			b.WriteByte("bfnrt"[i])
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// shellSection begins a section of the shell tool's output.
var shellSection = pattern.New(`(?m)^(Output|Error|Exit Code|Signal|Background PIDs|Process Group PGID): `)

// shellPreview is formatShellPreview: each section, its output by the first and last lines.
func shellPreview(text string) string {
	at := shellSection().FindAllStringSubmatchIndex(text, -1)
	if len(at) == 0 {
		return firstAndLast(text)
	}
	var parts []string
	if before := strings.TrimSpace(text[:at[0][0]]); before != "" {
		parts = append(parts, firstAndLast(before))
	}
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name := text[m[2]:m[3]]
		section := strings.TrimSpace(text[m[1]:end])
		if name == "Output" {
			section = firstAndLast(section)
		}
		parts = append(parts, name+": "+section)
	}
	return strings.Join(parts, "\n")
}

// firstAndLast is formatSimplePreview.
func firstAndLast(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= 2*maskLines {
		return text
	}
	ends := slices.Clone(lines[:maskLines])
	ends = append(ends, fmt.Sprintf("\n... [%d lines omitted] ...\n", len(lines)-2*maskLines))
	return strings.Join(append(ends, lines[len(lines)-maskLines:]...), "\n")
}
