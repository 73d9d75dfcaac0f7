package policy

// ResultState is the state of a tool_result in a view.
type ResultState uint8

// The states of a tool_result in a view.
const (
	ResultLive    ResultState = iota // as it came (or as ingest left it: truncated)
	ResultChanged                    // cleared or persisted
	ResultGone                       // its message left the view
)

// Result is one tool_result that joined the view since it was last rebuilt, in view order.
type Result struct {
	Target Target
	Tool   string // name of the tool_use it answers, "" where that is unknown
	Alike  string // the Claude Code tool that does the same (session.Conversation.Alike), else Tool
	ID     string // tool_use id
	State  ResultState
}

// ResultState is the state of a result with this content. A truncated result is still live, a replaced one is not.
func (c *Content) ResultState() ResultState {
	switch {
	case c.Gone:
		return ResultGone
	case c.Partial:
		return ResultLive
	}
	return ResultChanged
}

// CacheEdit is a block that a cache_edit has deleted from the server's cached view.
type CacheEdit struct {
	Target  Target
	Carrier ItemID // the user message that first carried the edit and does at each request from then on
}

// Moves reports whether an edit takes messages or blocks away or puts them elsewhere.
func (e *Edit) Moves() bool { return e.Kind.Moves(e.New) }

// Moves is that of an edit of the kind with what takes a block's place.
func (k EditKind) Moves(with *Content) bool {
	return with != nil && with.Gone || k == KindRemove || k == KindCollapse || k == KindSummarize
}

// Name is the label of a synthetic message, for use in a sentence.
func (s *Synthetic) Name() string {
	if s.Label == "" {
		return "made-up message"
	}
	return s.Label
}

// Same reports whether two contents are the same text, or stand for the same.
func (c *Content) Same(o *Content) bool {
	same := func(a, b *Target) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	return same(c.Ref, o.Ref) && same(c.Words, o.Words) && c.Kind == o.Kind && c.Text == o.Text && c.Tokens == o.Tokens && c.Length == o.Length && c.Stub == o.Stub && c.Gone == o.Gone
}

// RoundQuarter is round(n/4) as JavaScript rounds it: half up. It is the token estimate the agents themselves use, n
// being UTF-16 units.
func RoundQuarter(n int) int {
	if n <= 0 {
		return 0
	}
	return (n + 2) / 4
}

// WholeList is the client's estimate of a whole list of messages, from the sum of theirs: four thirds of it, rounded
// up.
func WholeList(sum int) int { return (sum*4 + 2) / 3 }
