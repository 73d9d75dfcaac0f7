package diff

import (
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Mark is a place in the raw history where one firing of a stage compacted something.
type Mark struct {
	Before       int             `json:"-"`       // index of the message of the conversation that follows
	Request      int             `json:"request"` // n of the main request it belongs to; 0: after the last
	Stage        string          `json:"stage"`
	Kind         policy.EditKind `json:"kind"`
	Reason       string          `json:"reason"`
	Edits        int             `json:"edits"` // blocks changed, or messages removed
	TokensBefore int             `json:"tokens_before"`
	TokensAfter  int             `json:"tokens_after"`
}

// Marks lists the places where the edits of a view compacted earlier messages. Results cut on arrival, additions and
// tags leave no mark.
func Marks(v *view.View) []Mark {
	var marks []Mark
	group := -1
	edits := v.Edits()
	for i := range edits {
		e := &edits[i]
		switch e.Kind {
		case policy.KindClear, policy.KindRemove, policy.KindCollapse, policy.KindSummarize, policy.KindCacheEdit, policy.KindServerClear:
		default:
			continue
		}
		n := max(len(e.Items), 1)
		if len(marks) > 0 && e.Group == group {
			m := &marks[len(marks)-1]
			m.Edits += n
			m.TokensBefore += e.Before
			m.TokensAfter += e.After
			continue
		}
		group = e.Group
		marks = append(marks, Mark{
			Before: e.Joined, Request: e.Request, Stage: e.Stage, Kind: e.Kind, Reason: e.Reason,
			Edits: n, TokensBefore: e.Before, TokensAfter: e.After,
		})
	}
	return marks
}
