package claude

import (
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// imageTokens is what Claude Code counts for an image in a tool_result.
const imageTokens = 2000

// resultEstimate is Claude Code's estimate of a tool_result as it stands in
// the view: round(length/4) of a string; of an array, each text likewise and
// 2,000 an image (analysis of Claude Code 2.1.19).
func resultEstimate(v policy.View, t policy.Target) int {
	if c := v.Replacement(t); c != nil {
		return policy.RoundQuarter(c.Length.UTF16)
	}
	raw := v.Raw(t)
	if raw.IsString || raw.ReadBack() || len(raw.Parts) == 0 {
		return policy.RoundQuarter(raw.Whole().UTF16)
	}
	n := 0
	for _, p := range raw.Parts {
		switch p.Kind {
		case jsonl.KindText:
			n += policy.RoundQuarter(p.Text.UTF16)
		case jsonl.KindImage:
			n += imageTokens
		}
	}
	return n
}

// stands reports whether a result is in view as itself: as it came, cut, or
// with a preview; and not a placeholder or the name of its file.
func stands(v policy.View, t policy.Target) bool {
	r := v.Replacement(t)
	return r == nil || r.Partial || r.Ref != nil || strings.Contains(r.Text, previewMark)
}

// ResultExt is the ending of the file a result is saved to.
func ResultExt(v policy.View, t policy.Target) string {
	if raw := v.Raw(t); v.Replacement(t) == nil && !raw.IsString && !raw.ReadBack() && len(raw.Parts) > 0 {
		return "json"
	}
	return "txt"
}

// PersistedStub is what Claude Code 2.1.19's microcompact leaves of a result:
// the name of its file, .txt for a string and .json for an array.
func PersistedStub(conv *session.Conversation, id, ext string) string {
	return "<persisted-output>Tool result saved to: " + resultPath(conv, id, ext) + "\n\nUse Read to view</persisted-output>"
}

// resultPath is where the client would have saved a result: never the real
// place of the input.
func resultPath(conv *session.Conversation, id, ext string) string {
	return "~/.claude/projects/" + projectFolder(conv.CWD) + "/" + conv.SessionID + "/tool-results/" + measure.SafeID(id) + "." + ext
}

// projectFolder is a working directory with every non-alphanumeric made "-".
func projectFolder(cwd string) string {
	var b strings.Builder
	for _, r := range cwd {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	return b.String()
}
