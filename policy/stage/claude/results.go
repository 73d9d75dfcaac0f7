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
	return strings.Fields("Read Bash Grep Glob WebSearch WebFetch Edit Write")
}

// compactableAt is a compactable tool result.
type compactableAt struct {
	policy.Result
	index  int // in View.Results
	tokens int // the client's estimate when it was listed
	call   int // number of the call that it answers; 0: unknown
}

// compactables lists compactable tool results of a view, oldest first. Results that join together are in the order of
// their calls, as the client lists them. It lists on from request to request: without that a compare of five policies takes
// more than two replays (bar in docs/performance.md).
type compactables struct {
	list  []compactableAt
	epoch int  // of the view
	seen  int  // results of this epoch that were looked at
	mixed bool // some left the list since it was put in order
}

// restart empties the list: the next follow lists the whole view.
func (l *compactables) restart(v policy.View) { *l = compactables{list: l.list[:0], epoch: v.Epoch()} }

// remove takes results off the list that are not wanted any more: it is as it would be if it were made again.
func (l *compactables) remove(gone func(*compactableAt) bool) {
	kept := l.list[:0]
	for i := range l.list {
		if r := &l.list[i]; !gone(r) {
			kept = append(kept, *r)
		}
	}
	l.list = kept
	l.mixed = true
}

// follow adds the wanted results of these tools that joined since the last call, of the first n of the view.
func (l *compactables) follow(v policy.View, n int, tools []string, wanted func(*compactableAt) bool) {
	if v.Epoch() != l.epoch {
		l.restart(v)
	}
	results := v.Results()
	from := len(l.list)
	if l.mixed {
		from = 0
		l.mixed = false
	}
	for ; l.seen < n; l.seen++ {
		r := &results[l.seen]
		if r.State == policy.ResultGone || !measure.Matches(tools, r.Tool, r.Alike) {
			continue
		}
		at := len(l.list)
		l.list = append(l.list, compactableAt{Result: *r, index: l.seen, call: v.Conversation().CallNumber(v.Raw(r.Target))})
		if one := &l.list[at]; wanted(one) {
			one.tokens = resultEstimate(v, r.Target)
		} else {
			l.list = l.list[:at]
		}
	}
	called := func(a, b compactableAt) int {
		return cmp.Compare(a.call, b.call)
	}
	if list := l.list[from:]; !slices.IsSortedFunc(list, called) {
		slices.SortStableFunc(list, called)
	}
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
