package policy

// ResultState is the state of a tool_result in a view.
type ResultState uint8

const (
	ResultLive    ResultState = iota // as recorded, or truncated when it joined
	ResultChanged                    // cleared or offloaded
	ResultGone                       // its message left the view
)

// Result is a tool_result that joined the view since the view was last rebuilt.
type Result struct {
	Target Target
	Tool   string // name of the tool that it is a result of; "": unknown
	Alike  string // the Claude Code tool that does the same (session.Conversation.Alike), else Tool
	ID     string // id of the tool_use
	State  ResultState
}

// ResultState returns the state of a result with this content. A truncated result is live; a replaced one is not.
func (c *Content) ResultState() ResultState {
	switch {
	case c.Gone:
		return ResultGone
	case c.Partial:
		return ResultLive
	}
	return ResultChanged
}

// CacheEdit is a block that a cache_edit deleted from the payload.
type CacheEdit struct {
	Target  Target
	Carrier ItemID // the user message that carries the cache_edit in this and every later request
}

// Moves reports whether the edit removes messages or blocks or changes their places.
func (e *Edit) Moves() bool { return e.Kind.Moves(e.New) }

// Moves reports what Edit.Moves does for an edit of this kind whose New is with.
func (k EditKind) Moves(with *Content) bool {
	return with != nil && with.Gone || k == KindRemove || k == KindCollapse || k == KindSummarize
}

// Name returns the label for use in a sentence.
func (s *Synthetic) Name() string {
	if s.Label == "" {
		return "made-up message"
	}
	return s.Label
}

// Same reports whether two contents have the same text or stand for the same text.
func (c *Content) Same(o *Content) bool {
	same := func(a, b *Target) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	return same(c.Ref, o.Ref) && same(c.Words, o.Words) && c.Kind == o.Kind && c.Text == o.Text && c.Tokens == o.Tokens && c.Length == o.Length && c.Stub == o.Stub && c.Gone == o.Gone
}

// RoundQuarter returns n/4, rounded half up. Claude Code and other agents estimate the tokens of a text so; n is its
// length in UTF-16 units.
func RoundQuarter(n int) int {
	if n <= 0 {
		return 0
	}
	return (n + 2) / 4
}

// WholeList returns Claude Code's estimate of the tokens of a list of messages, from the sum of the estimates of its
// messages: 4/3 of it, rounded up.
func WholeList(sum int) int { return (sum*4 + 2) / 3 }
