package policy

// ResultState is the state of a tool_result in a view.
type ResultState uint8

const (
	ResultLive    ResultState = iota // as recorded, or truncated when it joined
	ResultChanged                    // cleared or offloaded
	ResultGone                       // its message left the view
)

// Result is a tool_result that has joined the view since the view was last rebuilt.
type Result struct {
	Target Target
	Tool   string // name of the tool that was called; "": unknown
	Alike  string // name of the Claude Code tool that does the same as Tool (session.Conversation.Alike), else Tool
	ID     string // id of the tool_use
	State  ResultState
}

// ResultState returns the state of a result that has this content. A result that was truncated is live; a result that
// was replaced is not.
func (c *Content) ResultState() ResultState {
	switch {
	case c.Gone:
		return ResultGone
	case c.Partial:
		return ResultLive
	}
	return ResultChanged
}

// CacheEdit says that a cache_edit has deleted a block from the payload.
type CacheEdit struct {
	Target  Target
	Carrier ItemID // the user message that carries the cache_edit in this and every later request
}

// Moves reports whether the edit removes messages or blocks, or changes their places.
func (e *Edit) Moves() bool { return e.Kind.Moves(e.New) }

// Moves is like Edit.Moves, for an edit of this kind that has the given content in its field New.
func (k EditKind) Moves(with *Content) bool {
	return with != nil && with.Gone || k == KindRemove || k == KindCollapse || k == KindSummarize
}

// Name returns the label, in a form that can stand in a sentence.
func (s *Synthetic) Name() string {
	if s.Label == "" {
		return "made-up message"
	}
	return s.Label
}

// Same reports whether two contents have the same text, or refer to the same text.
func (c *Content) Same(o *Content) bool {
	same := func(a, b *Target) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	return same(c.Ref, o.Ref) && same(c.Words, o.Words) && c.Kind == o.Kind && c.Text == o.Text && c.Tokens == o.Tokens && c.Length == o.Length && c.Stub == o.Stub && c.Gone == o.Gone
}

// RoundQuarter returns n/4, rounded half up. Claude Code and other agents estimate the tokens of a text in this way,
// with n the length of the text in UTF-16 units.
func RoundQuarter(n int) int {
	if n <= 0 {
		return 0
	}
	return (n + 2) / 4
}

// WholeList returns Claude Code's estimate of the tokens of a list of messages: 4/3 of the sum of the estimates of the
// messages, rounded up. The argument is that sum.
func WholeList(sum int) int { return (sum*4 + 2) / 3 }
