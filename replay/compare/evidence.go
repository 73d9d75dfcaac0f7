package compare

import (
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// Show is a report of one or two replays that shows a difference.
type Show string

// The reports.
const (
	ShowDiff   Show = "diff"   // the views of two policies side by side
	ShowCost   Show = "cost"   // requests and costs
	ShowRegret Show = "regret" // content needed later
	ShowReplay Show = "replay" // totals and events
)

// Selection says which conversation of a session is replayed and how its tokens are counted. Amounts are texts such
// as 200k; "" is a default.
type Selection struct {
	Agent, Leaf                     string
	Tokens, Model, Window, Overhead string
	Cache                           string // where it is not the policy's own
	Tries                           []policy.Try
	Env                             bool
}

// Pointer is where to look to see a difference.
type Pointer struct {
	Show      Show
	File      string // of the session
	Policy    string // a name or a file, with settings behind commas
	Against   string // ShowDiff: the other policy, in the same form; "": the raw history
	At        string // ShowDiff: a request's number, or end; "": the last request
	Selection Selection
}

// Unpriced is a model without a price. The cost of its sessions is not known.
type Unpriced struct {
	Model    string `json:"model"`
	Sessions int    `json:"sessions"`
	First    Origin `json:"first"` // one of them
}

// UnpricedModels lists the models without a price, by name.
func UnpricedModels(sessions []ComparedSession) []Unpriced {
	var list []Unpriced
	known := map[string]int{} // index into list, by model
	for i := range sessions {
		s := &sessions[i]
		for _, model := range s.Unpriced {
			at, ok := known[model]
			if !ok {
				at = len(list)
				known[model] = at
				list = append(list, Unpriced{model, 0, Origin{Session: s.Session, Agent: s.Agent, File: s.File}})
			}
			list[at].Sessions++
		}
	}
	slices.SortFunc(list, func(a, b Unpriced) int { return strings.Compare(a.Model, b.Model) })
	return list
}
