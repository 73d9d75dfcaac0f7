package compare

import "github.com/ctxkit/ctxkit/policy"

// Show is a report of one or two replays that shows a difference.
type Show string

// The reports.
const (
	ShowDiff   Show = "diff"   // the views of two policies side by side
	ShowCost   Show = "cost"   // requests and costs
	ShowRegret Show = "regret" // the misses
	ShowReplay Show = "replay" // totals and events
)

// Selection says which conversation of a session is replayed and how its tokens are counted. Amounts are texts such
// as 200k; "" is a default.
type Selection struct {
	Agent, Leaf                     string
	Tokens, Model, Window, Overhead string
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
