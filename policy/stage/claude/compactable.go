package claude

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// compactable returns the tools that both the analysis of Claude Code 2.1.19
// and the five-level pipeline analysis name.
func compactable() []string {
	return []string{"Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"}
}

// compactableAt is a compactable tool result.
type compactableAt struct {
	policy.Result
	index  int // in View.Results
	tokens int // the client's estimate when it was listed
}

// compactables lists compactable tool results of a view, oldest first. Results
// that join together are in the order of their calls, as the client lists them.
type compactables struct {
	list  []compactableAt
	epoch int // of the view
	seen  int // results of this epoch that were looked at
}

// restart empties the list: the next follow lists the whole view.
func (l *compactables) restart(v policy.View) { *l = compactables{list: l.list[:0], epoch: v.Epoch()} }

// follow adds the wanted results of these tools that joined since the last call.
func (l *compactables) follow(v policy.View, tools []string, wanted func(policy.Result) bool) {
	if v.Epoch() != l.epoch {
		l.restart(v)
	}
	results, from := v.Results(), len(l.list)
	for ; l.seen < len(results); l.seen++ {
		if r := results[l.seen]; r.State != policy.ResultGone && measure.Matches(tools, r.Tool) && wanted(r) {
			l.list = append(l.list, compactableAt{r, l.seen, resultEstimate(v, r.Target)})
		}
	}
	slices.SortStableFunc(l.list[from:], func(a, b compactableAt) int {
		am, ab, _ := v.Conversation().ToolUse(a.ID)
		bm, bb, _ := v.Conversation().ToolUse(b.ID)
		return cmp.Or(cmp.Compare(am, bm), cmp.Compare(ab, bb))
	})
}
