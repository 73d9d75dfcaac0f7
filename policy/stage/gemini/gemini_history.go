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

// shells are the tools whose failures are output: the product's own, and that of recorded sessions.
func shells() []string { return []string{"Bash", "run_shell_command"} }

// contents measures a view with results cut.
func contents(v policy.View, cuts map[policy.Target]*policy.Content) measure.GenAI {
	return measure.GenAI{View: v, Cuts: cuts, Plain: shells()}
}

// cut finds the tool results over the budget and what is left of each. It adds up results from the newest to the
// oldest; each one that exceeds the budget is cut, and what is left of it counts. A result that was cut before, or
// that is no longer than a cut one, stays.
func (s *geminiCompression) cut(c *policy.Context, history []policy.ItemID) (map[policy.Target]*policy.Content, error) {
	if s.Cut == "none" {
		return nil, nil
	}
	v := c.View
	cuts := map[policy.Target]*policy.Content{}
	total := 0
	chars := s.cutChars(c)
	for i := len(history) - 1; i >= 0; i-- {
		id := history[i]
		for b := v.Blocks(id) - 1; b >= 0; b-- {
			t := policy.BlockOf(id, b)
			raw := v.Raw(t)
			if raw == nil || raw.Kind != jsonl.KindToolResult {
				continue
			}
			n, err := s.resultTokens(c, t)
			if err != nil {
				return nil, err
			}
			if total+n <= s.ResponseBudget || v.Replacement(t) != nil || s.Cut == "chars" && cutLength(v, t) <= chars {
				total += n
				continue
			}
			text, err := resultText(c, t)
			if err != nil {
				return nil, err
			}
			left := policy.NewContent(jsonl.KindToolResult, s.cutText(text, outputPath(c.Conv.ToolName(raw.ID), raw.ID), chars))
			left.Partial = true
			cuts[t] = &left
			total += s.estimate.text(left.Text)
		}
	}
	return cuts, nil
}

// outputPath is where Gemini CLI would have saved a result, with the call's id for its number: never a real place.
func outputPath(tool, id string) string {
	return "~/.gemini/tmp/tool-outputs/" + strings.ToLower(measure.SafeID(tool)+"_"+measure.SafeID(id)) + ".txt"
}

// What is left of a long line, and of a text that is one line.
const (
	geminiLineWidth = 1000
	geminiOneLine   = 4000
)

// cutChars is the length of a cut result, in UTF-16 units: less where the last prompt nearly filled the window.
func (s *geminiCompression) cutChars(c *policy.Context) int {
	return max(min(s.CutChars, 4*(c.Window-s.prompt(c))), 1)
}

// cutText is formatTruncatedToolOutput, of 0.26 for lines and of 0.29 for characters.
func (s *geminiCompression) cutText(text, file string, chars int) string {
	if s.Cut == "chars" {
		n := jsonl.Measure(text).UTF16
		if n <= chars {
			return text
		}
		head := chars / 5
		tail := chars - head
		return fmt.Sprintf("Output too large. Showing first %s and last %s characters. For full output see: %s\n%s\n\n... [%s characters omitted] ...\n\n%s",
			policy.Thousands(head), policy.Thousands(tail), file, firstUnits(text, head), policy.Thousands(n-chars), lastUnits(text, tail))
	}
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		return fmt.Sprintf("Output too large. Showing the last %s characters of the output. For full output see: %s\n...%s", policy.Thousands(geminiOneLine), file, measure.LastUnits(text, geminiOneLine))
	}
	last := lines[max(len(lines)-s.CutLines, 0):]
	shown := make([]string, len(last))
	wide := ""
	for i, l := range last {
		if shown[i] = l; jsonl.Measure(l).UTF16 > geminiLineWidth {
			shown[i] = measure.FirstUnits(l, geminiLineWidth) + "... [LINE WIDTH TRUNCATED]"
			wide = " (some long lines truncated)"
		}
	}
	return fmt.Sprintf("Output too large. Showing the last %d of %d lines%s. For full output see: %s\n...\n%s", len(shown), len(lines), wide, file, strings.Join(shown, "\n"))
}

// firstUnits is the first n UTF-16 units of a longer text, half a surrogate pair as U+FFFD.
func firstUnits(text string, n int) string {
	head := measure.FirstUnits(text, n)
	if jsonl.Measure(head).UTF16 < n {
		head += "\uFFFD"
	}
	return head
}

// lastUnits is the last n UTF-16 units of a longer text, half a surrogate pair as U+FFFD.
func lastUnits(text string, n int) string {
	tail := measure.LastUnits(text, n)
	if jsonl.Measure(tail).UTF16 < n {
		tail = "\uFFFD" + tail
	}
	return tail
}

// Figures of tokenCalculation.ts.
const (
	geminiASCII    = 0.25
	geminiFullText = 100000 // longer texts are four characters a token
	geminiImage    = 3000
)

// estimate is how a version estimates texts.
type estimate struct {
	other  float64 // tokens of a character beyond ASCII
	points bool    // it counts code points, and not UTF-16 units; and parts, and not responses
}

func (e estimate) ascii(n int) float64 { return geminiASCII * float64(n) }

// text is the estimate of a text, summed in the source's order.
func (e estimate) text(text string) int {
	if n := jsonl.Measure(text).UTF16; n > geminiFullText {
		return n / 4
	}
	tokens := 0.0
	for _, r := range text {
		switch {
		case r <= 127:
			tokens += geminiASCII
		case e.points:
			tokens += e.other
		default:
			for range utf16.RuneLen(r) {
				tokens += e.other
			}
		}
	}
	return int(tokens)
}

// resultTokens is estimateTokenCountSync of what is cut of a result. The text is fetched only where its lengths are not
// enough.
func (s *geminiCompression) resultTokens(c *policy.Context, t policy.Target) (int, error) {
	l := c.View.Length(t)
	if n := cutLength(c.View, t); l.Bytes == l.UTF16 || n > geminiFullText {
		return n / 4, nil
	}
	text, err := resultText(c, t)
	return s.estimate.text(text), err
}

// failed reports whether a result is the error of its call.
func failed(v policy.View, t policy.Target) bool {
	return v.Replacement(t) == nil && contents(v, nil).ResponseKey(v.Raw(t)) == "error"
}

// cutLength is the length of resultText, in UTF-16 units.
func cutLength(v policy.View, t policy.Target) int {
	if l := v.Length(t); !failed(v, t) {
		return l.UTF16
	}
	return contents(v, nil).Response(t) + len("\n  \n ")
}

// resultText is what is cut of a result: the output, or the whole response of a call that failed.
func resultText(c *policy.Context, t policy.Target) (string, error) {
	text, err := c.Texts.Text(t)
	if err != nil {
		return "", fmt.Errorf("reading a tool result: %w", err)
	}
	if failed(c.View, t) {
		text = "{\n  \"error\": \"" + jsonText(text) + "\"\n}"
	}
	return text, nil
}

// split is findCompressSplitPoint: the index of the oldest item to keep, 0 where nothing can be summarised.
func (s *geminiCompression) split(g measure.GenAI, history []policy.ItemID) int {
	at, found := g.Split(history, s.Preserve)
	if end := history[len(history)-1]; !found && g.View.Role(end) == session.Assistant && !g.CallsTool(end) {
		return len(history)
	}
	return at
}
