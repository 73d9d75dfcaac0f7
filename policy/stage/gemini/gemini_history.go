package gemini

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// geminiHistory is a view as Gemini CLI has it.
type geminiHistory struct {
	items   []policy.ItemID
	pending []policy.ItemID // the message about to be sent
}

// history is everything in view up to the last response, or the whole view for a manual compression.
func (s *geminiCompression) history(c *policy.Context, all bool) geminiHistory {
	ids := c.View.IDs()
	end := len(ids)
	for !all && end > 0 && c.View.Role(ids[end-1]) == session.User {
		end--
	}
	return geminiHistory{ids[:end], ids[end:]}
}

// geminiCut is what is left of a result, and its estimate in tokens.
type geminiCut struct {
	policy.Content
	tokens int
}

// cut finds the tool results over the budget and what is left of each. It adds up results from the newest to the
// oldest; each one that exceeds the budget is cut, and what is left of it counts. A result that was cut before is not
// cut again.
func (s *geminiCompression) cut(c *policy.Context, h geminiHistory) (map[policy.Target]*policy.Content, error) {
	v := c.View
	cuts := map[policy.Target]*policy.Content{}
	total := 0
	for i := len(h.items) - 1; i >= 0; i-- {
		id := h.items[i]
		for b := v.Blocks(id) - 1; b >= 0; b-- {
			t := policy.Target{Item: id, Block: b}
			raw := v.Raw(t)
			if raw == nil || raw.Kind != jsonl.KindToolResult {
				continue
			}
			n, err := s.resultTokens(c, t)
			if err != nil {
				return nil, err
			}
			if total+n <= s.p.ResponseBudget || v.Replacement(t) != nil {
				total += n
				continue
			}
			left, err := policy.Digest(c.DigestsOf(t), s.cutName, t, func() (*geminiCut, int, error) {
				text, err := resultText(c, t)
				if err != nil {
					return nil, 0, err
				}
				left := &geminiCut{Content: policy.NewContent(jsonl.KindToolResult, s.cutText(text, geminiPath(raw)))}
				left.Partial, left.tokens = true, geminiTextTokens(left.Text)
				return left, len(left.Text), nil
			})
			if err != nil {
				return nil, err
			}
			cuts[t] = &left.Content
			total += left.tokens
		}
	}
	return cuts, nil
}

// geminiPath is where Gemini CLI would have saved a result: never a real place.
func geminiPath(raw *session.Block) string {
	return "~/.gemini/tmp/tool_output/" + measure.SafeID(raw.ID) + ".txt"
}

// What is left of a long line, and of a text that is one line.
const (
	geminiLineWidth = 1000
	geminiOneLine   = 4000
)

// cutText is formatTruncatedToolOutput, of January 2026 for lines and later for characters.
func (s *geminiCompression) cutText(text, file string) string {
	if s.p.Cut == "chars" {
		n := jsonl.Measure(text).UTF16
		if n <= s.p.CutChars {
			return text
		}
		head := s.p.CutChars / 5
		tail := s.p.CutChars - head
		return fmt.Sprintf("Output too large. Showing first %s and last %s characters. For full output see: %s\n%s\n\n... [%s characters omitted] ...\n\n%s",
			policy.Thousands(head), policy.Thousands(tail), file, measure.FirstUnits(text, head), policy.Thousands(n-s.p.CutChars), measure.LastUnits(text, tail))
	}
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		return fmt.Sprintf("Output too large. Showing the last %s characters of the output. For full output see: %s\n...%s", policy.Thousands(geminiOneLine), file, measure.LastUnits(text, geminiOneLine))
	}
	last := lines[max(len(lines)-s.p.CutLines, 0):]
	shown, wide := make([]string, len(last)), ""
	for i, l := range last {
		if shown[i] = l; jsonl.Measure(l).UTF16 > geminiLineWidth {
			shown[i] = measure.FirstUnits(l, geminiLineWidth) + "... [LINE WIDTH TRUNCATED]"
			wide = " (some long lines truncated)"
		}
	}
	return fmt.Sprintf("Output too large. Showing the last %d of %d lines%s. For full output see: %s\n...\n%s", len(shown), len(lines), wide, file, strings.Join(shown, "\n"))
}

// Figures of tokenCalculation.ts.
const (
	geminiASCII    = 0.25
	geminiOther    = 1.3
	geminiFullText = 100000 // longer texts are four characters a token
	geminiImage    = 3000
)

// resultTokens is estimateTokenCountSync of a result's text in the view. The text is fetched, once, only where its
// lengths are not enough.
func (s *geminiCompression) resultTokens(c *policy.Context, t policy.Target) (int, error) {
	l := c.View.Length(t)
	if l.Bytes == l.UTF16 || l.UTF16 > geminiFullText {
		return l.UTF16 / 4, nil
	}
	if n, ok := s.texts[t]; ok && c.View.Replacement(t) == nil {
		return n, nil
	}
	n, err := policy.Digest(c.DigestsOf(t), "gemini tokens", t, func() (int, int, error) {
		text, err := resultText(c, t)
		return geminiTextTokens(text), 0, err
	})
	if err == nil && c.View.Replacement(t) == nil {
		s.texts[t] = n
	}
	return n, err
}

func resultText(c *policy.Context, t policy.Target) (string, error) {
	text, err := c.Texts.Text(t)
	if err != nil {
		return "", fmt.Errorf("reading a tool result: %w", err)
	}
	return text, nil
}

// geminiTextTokens is the estimate of a text, summed in the source's order.
func geminiTextTokens(text string) int {
	if n := jsonl.Measure(text).UTF16; n > geminiFullText {
		return n / 4
	}
	tokens := 0.0
	for _, r := range text {
		if r <= 127 {
			tokens += geminiASCII
			continue
		}
		for range utf16.RuneLen(r) {
			tokens += geminiOther
		}
	}
	return int(tokens)
}

// size is the source's estimate of items with results cut, in tokens: 0.25 for each ASCII character of a text and 1.3
// for each other one, assumed to have three bytes; for calls and results a quarter of the characters of their JSON.
func (s *geminiCompression) size(v policy.View, ids []policy.ItemID, cuts map[policy.Target]*policy.Content) int {
	tokens := 0.0
	for _, id := range ids {
		for b := range v.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			raw, c := v.Raw(t), v.Replacement(t)
			switch kind := v.Kind(t); {
			case c != nil && c.Tokens > 0:
				tokens += float64(c.Tokens)
			case kind == jsonl.KindThinking || kind == jsonl.KindRedactedThinking:
			case kind == jsonl.KindImage:
				tokens += geminiImage
			case raw != nil && (kind == jsonl.KindToolResult || kind == jsonl.KindToolUse):
				tokens += float64(s.partJSON(v, t, cuts)) / 4
			default:
				l := v.Length(t)
				other := min((l.Bytes-l.UTF16+1)/2, l.UTF16)
				tokens += geminiASCII*float64(l.UTF16-other) + geminiOther*float64(other)
			}
		}
	}
	return int(tokens)
}

// partJSON is the length of a part's JSON, in UTF-16 units.
func (s *geminiCompression) partJSON(v policy.View, t policy.Target, cuts map[policy.Target]*policy.Content) int {
	raw, length := v.Raw(t), v.Length(t).JSON
	if c := v.Replacement(t); c != nil && c.Tokens > 0 {
		length = measure.ContentJSON(c)
	}
	if c := cuts[t]; c != nil {
		length = c.Length.JSON
	}
	switch kind := v.Kind(t); {
	case kind == jsonl.KindAttachment && v.Length(t).UTF16 == 0: // not sent
		return 0
	case raw == nil, kind == jsonl.KindText, kind == jsonl.KindAttachment:
		return len(`{"text":}`) + max(length, 2)
	case kind == jsonl.KindToolResult:
		n := len(`{"functionResponse":{"id":"","name":"","response":{"output":}}}`) + len(raw.ID) + len(v.Conversation().ToolName(raw.ID)) + max(length, 2)
		if raw.IsError {
			n -= len("output") - len("error")
		}
		return n
	case kind == jsonl.KindToolUse && v.Replacement(t) == nil:
		return len(`{"functionCall":{"id":"","name":"","args":}}`) + len(raw.ID) + len(raw.Name) + raw.JSON.UTF16
	case kind == jsonl.KindThinking || kind == jsonl.KindRedactedThinking:
		return 0
	}
	return max(raw.JSON.UTF16, raw.Span.Len)
}

// split is findCompressSplitPoint: the index of the oldest item to keep, 0 where nothing can be summarised.
func (s *geminiCompression) split(v policy.View, h geminiHistory, cuts map[policy.Target]*policy.Content) int {
	chars := make([]int, len(h.items))
	total := 0
	for i, id := range h.items {
		parts := 0
		for b := range v.Blocks(id) {
			if n := s.partJSON(v, policy.Target{Item: id, Block: b}, cuts); n > 0 {
				chars[i] += n
				parts++
			}
		}
		if parts > 0 {
			role := "user"
			if v.Role(id) == session.Assistant {
				role = "model"
			}
			chars[i] += len(`{"role":"","parts":[]}`) + len(role) + parts - 1
		}
		total += chars[i]
	}
	target := float64(total) * (1 - s.p.Preserve)
	last, before := 0, 0
	open := map[string]bool{}
	for i, id := range h.items {
		if len(open) == 0 && splitsAt(v, id) {
			if float64(before) >= target {
				return i
			}
			last = i
		}
		openCalls(v, id, open)
		before += chars[i]
	}
	if end := h.items[len(h.items)-1]; v.Role(end) == session.Assistant && !callsTool(v, end) {
		return len(h.items)
	}
	return last
}

// splitsAt reports whether an item is a user message of its own.
func splitsAt(v policy.View, id policy.ItemID) bool {
	if m := v.Message(id); m != nil {
		return m.Class == session.ClassPrompt
	}
	return v.Role(id) == session.User
}

// openCalls adds the calls of an item to open and deletes those it answers.
func openCalls(v policy.View, id policy.ItemID, open map[string]bool) {
	for b := range v.Blocks(id) {
		raw := v.Raw(policy.Target{Item: id, Block: b})
		switch {
		case raw == nil:
		case raw.Kind == jsonl.KindToolUse:
			open[raw.ID] = true
		case raw.Kind == jsonl.KindToolResult:
			delete(open, raw.ID)
		}
	}
}
