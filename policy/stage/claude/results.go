package claude

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// compactable returns the tools that both the analysis of Claude Code 2.1.19 and the five-level pipeline analysis
// name.
func compactable() []string {
	return []string{"Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"}
}

// compactableOf lists the results in view of these tools that are wanted, in the order of their calls, as the client
// lists them.
func compactableOf(v policy.View, tools []string, wanted func(*policy.Result) bool) (list []policy.Result) {
	for _, r := range v.Results() {
		if r.State != policy.ResultGone && measure.Matches(tools, r.Tool, r.Alike) && wanted(&r) {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b policy.Result) int {
		am, ab, _ := v.Conversation().ToolUse(a.ID)
		bm, bb, _ := v.Conversation().ToolUse(b.ID)
		return cmp.Or(cmp.Compare(am, bm), cmp.Compare(ab, bb))
	})
	return list
}

// imageTokens is what Claude Code counts for an image in a tool_result.
const imageTokens = 2000

// resultEstimate returns Claude Code's estimate of a tool_result in the view, tokens: round(length/4) of a string; of
// an array the same of each text, and 2,000 for each image (analysis of Claude Code 2.1.19).
func resultEstimate(v policy.View, t policy.Target) int {
	if c := v.Replacement(t); c != nil {
		return policy.RoundQuarter(c.Length.UTF16)
	}
	raw := v.Raw(t)
	if raw.IsString || raw.Offload != nil || len(raw.Parts) == 0 {
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

// shown reports whether the view shows a result: whole, cut, or as a preview; and not as a placeholder or the name of
// its file.
func shown(v policy.View, t policy.Target) bool {
	r := v.Replacement(t)
	return r == nil || r.Partial || r.Ref != nil || strings.Contains(r.Text, previewMark)
}

// persistedStub returns what Claude Code 2.1.19's microcompact leaves of a result: the name of the file, which has an
// extension.
func persistedStub(conv *session.Conversation, id, ext string) policy.Content {
	return policy.NewContent(jsonl.KindToolResult, "<persisted-output>Tool result saved to: "+resultPath(conv, id, ext)+"\n\nUse Read to view</persisted-output>")
}

// resultPath returns the path under which the client would have saved a result: never the real path of the input.
func resultPath(conv *session.Conversation, id, ext string) string {
	return session.ProjectsFolder + session.FolderOf(conv.CWD) + "/" + conv.SessionID + "/tool-results/" + measure.SafeID(id) + "." + ext
}
