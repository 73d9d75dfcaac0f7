package opencode

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
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
		Source:  "OpenCode 1.1.36, 1.18.3 and 1.18.34: Truncate.output, oracle cases; the shell of 1.14.34 to 1.18.33, which keeps the end of its own outputs (policies from 1.14.20 on)",
		Truth:   policy.TruthOracle,
		Moments: policy.Ingest,
		Memory:  policy.Frozen,
		Params:  &OpencodeTruncate{MaxLines: 2000, MaxBytes: 50 * 1024},
		Example: `before: a Bash result of 317,842 bytes in 9,120 lines, read back from the recording client's file
after:  its first 2,000 lines, "...7120 lines truncated...", and where the whole of it is`,
		New: policy.Maker(func(p OpencodeTruncate) policy.Stage { return &opencodeTruncate{OpencodeTruncate: p} }),
	}
}

// opencodeTruncate reproduces OpenCode's truncation of tool outputs when they are created.
type opencodeTruncate struct{ OpencodeTruncate }

func (s *opencodeTruncate) Run(c *policy.Context) ([]policy.Edit, error) {
	var edits []policy.Edit
	for _, id := range c.Joined {
		for t := range policy.Targets(c.View, id) {
			raw := c.View.Raw(t)
			if raw == nil || raw.Kind != jsonl.KindToolResult || !s.Inline && raw.Offload == nil || raw.Persisted && raw.Offload == nil {
				continue
			}
			// An output has at least as many bytes as lines: a short one is not read.
			if n := raw.Whole().Bytes; n <= s.MaxBytes && n < s.MaxLines {
				continue
			}
			text, err := c.Texts.Text(t)
			if err != nil {
				return nil, err
			}
			cutter := truncate
			if c.Conv.Alike(c.Conv.ToolName(raw.ID)) == "Bash" && c.Version != "" && session.CompareVersions(c.Version, shellKeepsEnd) >= 0 {
				cutter = shellEnd
			}
			cut, removed, unit := cutter(text, s.MaxLines, s.MaxBytes, "~/.local/share/opencode/tool-output/"+measure.SafeID(raw.ID))
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

// truncate is Truncate.output for the beginning of an output and an agent without the task tool: an output of at most
// maxLines lines and maxBytes bytes stays as it is, and removed is 0; of another, whole lines are kept up to the
// first that would break a limit. removed counts what is missing in unit: lines or bytes. OpenCode 1.1.36 to 1.18.34:
// section 9.
func truncate(text string, maxLines, maxBytes int, path string) (content string, removed int, unit string) {
	lines := strings.Split(text, "\n")
	if len(lines) <= maxLines && utf8Len(text) <= maxBytes {
		return text, 0, ""
	}
	kept, removed, unit := fittingLines(slices.Values(lines), len(lines), maxLines, maxBytes, utf8Len(text))
	return strings.Join(lines[:kept], "\n") + "\n\n" + truncatedNotice(removed, unit, path, truncatedAdvice), removed, unit
}

// shellKeepsEnd is the first release whose shell keeps the end of an output: no later than 1.14.34, after 1.3.2.
const shellKeepsEnd = "1.14.20"

// shellEnd is what the shell keeps of an output beyond a limit: whole lines from its end, or the end of the last one where
// that alone is too long. OpenCode 1.14.34 to 1.18.33: section 9.
func shellEnd(text string, maxLines, maxBytes int, path string) (content string, removed int, unit string) {
	lines := strings.Split(text, "\n")
	if len(lines) <= maxLines && utf8Len(text) <= maxBytes {
		return text, 0, ""
	}
	backward := func(yield func(string) bool) {
		for _, line := range slices.Backward(lines) {
			if !yield(line) {
				return
			}
		}
	}
	kept, removed, unit := fittingLines(backward, len(lines), maxLines, maxBytes, utf8Len(text))
	end := strings.Join(lines[len(lines)-kept:], "\n")
	if kept == 0 {
		last := strings.ToValidUTF8(lines[len(lines)-1], "\uFFFD")
		at := len(last) - maxBytes
		for at < len(last) && !utf8.RuneStart(last[at]) {
			at++
		}
		end = last[at:]
		removed -= len(end)
	}
	return "...output truncated...\n\nFull output saved to: " + path + "\n\n" + end, removed, unit
}

// fittingLines is how many of n lines, of total bytes, fit both limits, and what is missing then, in unit.
func fittingLines(lines iter.Seq[string], n, maxLines, maxBytes, total int) (kept, removed int, unit string) {
	size := 0
	for line := range lines {
		if kept >= maxLines {
			break
		}
		cost := utf8Len(line) + min(kept, 1) // with the line end before it
		if size+cost > maxBytes {
			return kept, total - size, "bytes"
		}
		size += cost
		kept++
	}
	return kept, n - kept, "lines"
}

func truncatedNotice(removed int, unit, path, advice string) string {
	return fmt.Sprintf("...%d %s truncated...\n\n%s%s\n%s", removed, unit, truncatedHint, path, advice)
}

// utf8Len is Buffer.byteLength(s, "utf-8"): a byte that is not UTF-8 counts as the U+FFFD that replaces it.
func utf8Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf8.RuneLen(r)
	}
	return n
}
