package claude

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/names"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// segments divide a view into parts that a collapse takes whole or not at all. What joins is added; when messages
// leave, the view is divided anew.
type segments struct {
	list    []segment
	of      map[policy.ItemID]int // index into list
	arrived int                   // of View.Arrived, looked at
	edits   int                   // of the view, looked at
	epoch   int                   // of the view
	open    session.OpenCalls     // calls of the last segment without an answer
	extents map[policy.ItemID]extent
}

// extent is the range of recorded messages that a placeholder replaces.
type extent struct{ from, to int }

func (x extent) holds(y extent) bool { return y.from >= x.from && y.to <= x.to }

type segmentKind uint8

const (
	segmentLead        segmentKind = iota // what comes before the first turn
	segmentTurn                           // a user prompt and all up to the next
	segmentPlaceholder                    // of a collapse
	segmentRest                           // what a collapse of rounds left of a turn
)

type segment struct {
	kind   segmentKind
	items  []policy.ItemID
	tokens int  // by the client's counter; -1: to be counted
	open   int  // calls without an answer in it
	stray  bool // an answer without its call in it
}

// whole reports whether the segment separates no tool_result from its call. It is not known of the last segment.
func (g *segment) whole() bool { return g.open == 0 && !g.stray }

// follow updates the list. It reports whether it was made anew.
func (s *segments) follow(v policy.View) (anew bool) {
	anew = v.Epoch() != s.epoch || s.of == nil
	edits := v.Edits()
	for _, e := range edits[s.edits:] {
		switch e.Kind {
		case policy.KindRemove, policy.KindCollapse, policy.KindSummarize:
			anew = true
		case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindTag, policy.KindWrap:
			if at, known := s.of[e.Target.Item]; known {
				s.list[at].tokens = -1
			}
		}
	}
	s.edits, s.epoch = len(edits), v.Epoch()
	joined := slices.Values(v.Arrived()[s.arrived:])
	s.arrived = len(v.Arrived())
	if anew {
		s.list = nil
		s.of = map[policy.ItemID]int{}
		s.open = session.OpenCalls{}
		joined = v.Items
	}
	for id := range joined {
		s.add(v, id)
	}
	return anew
}

func (s *segments) add(v policy.View, id policy.ItemID) {
	sy := v.Synthetic(id)
	switch {
	case sy != nil && sy.Label == collapsedLabel:
		s.cut(v, id)
		s.begin(segmentPlaceholder)
	case beginsTurn(v, id):
		s.begin(segmentTurn)
	case len(s.list) == 0:
		s.begin(segmentLead)
	case s.list[len(s.list)-1].kind == segmentPlaceholder:
		s.begin(segmentRest)
	}
	g := &s.list[len(s.list)-1]
	g.items = append(g.items, id)
	s.of[id] = len(s.list) - 1
	if g.tokens >= 0 {
		g.tokens += v.ClientWeight(id)
	}
	if m := v.Message(id); m != nil {
		g.stray = s.open.Note(m) || g.stray
	}
}

// cut marks the turn before a placeholder as a rest, unless the placeholder begins with a turn.
func (s *segments) cut(v policy.View, id policy.ItemID) {
	if x, ok := s.extents[id]; ok && x.from >= 0 && !beginsTurn(v, policy.ItemID(x.from)) && len(s.list) > 0 {
		if last := &s.list[len(s.list)-1]; last.kind == segmentTurn {
			last.kind = segmentRest
		}
	}
}

func (s *segments) begin(kind segmentKind) {
	if n := len(s.list); n > 0 {
		s.list[n-1].open = len(s.open)
	}
	clear(s.open)
	s.list = append(s.list, segment{kind: kind})
}

// beginsTurn reports whether an item begins a turn: a prompt that was not queued while the agent ran, or a turn that
// a policy made.
func beginsTurn(v policy.View, id policy.ItemID) bool {
	if sy := v.Synthetic(id); sy != nil {
		return sy.Turn
	}
	m := v.Message(id)
	return m.Class == session.ClassPrompt && !m.Is(session.Queued)
}

// weight is a segment's tokens by the client's counter.
func (s *segments) weight(v policy.View, i int) int {
	g := &s.list[i]
	if g.tokens < 0 {
		g.tokens = 0
		for _, id := range g.items {
			g.tokens += v.ClientWeight(id)
		}
	}
	return g.tokens
}

// before counts the segments, from the oldest, that another one follows and that are older than the newest protect
// tokens of the view.
func (s *segments) before(v policy.View, protect int) int {
	behind := 0
	for i := len(s.list) - 1; i > 0; i-- {
		if behind += s.weight(v, i); behind >= protect {
			return i
		}
	}
	return 0
}

// covers reports whether items, in the order of the view, are together in it and separate no tool_result from its
// call; with whole, that they are whole turns.
func (s *segments) covers(v policy.View, items []policy.ItemID, whole bool) bool {
	if len(items) == 0 || !contiguous(v, items) {
		return false
	}
	if !whole {
		return closed(v, items)
	}
	at := 0
	for i := range s.list {
		g := &s.list[i]
		if g.items[0] != items[at] {
			continue
		}
		if g.kind == segmentLead || !g.whole() || i == len(s.list)-1 || len(g.items) > len(items)-at || !slices.Equal(g.items, items[at:at+len(g.items)]) {
			return false
		}
		if at += len(g.items); at == len(items) {
			return true
		}
	}
	return false
}

// contiguous reports whether items are together in the view, in this order.
func contiguous(v policy.View, items []policy.ItemID) bool {
	at := 0
	for id := range v.Items {
		switch {
		case at == len(items):
			return true
		case id == items[at]:
			at++
		case at > 0:
			return false
		}
	}
	return at == len(items)
}

// closed reports whether each call in the items has its answer there, and each answer its call.
func closed(v policy.View, items []policy.ItemID) bool {
	var open session.OpenCalls
	for _, id := range items {
		if m := v.Message(id); m != nil && open.Note(m) {
			return false
		}
	}
	return len(open) == 0
}

// riskReader computes the risk of a span: the share of its blocks that hold a name (package names) which something
// after the span holds as well. What came after is read as recorded, the span as it is in view. Each text is read
// once for its names, and once more if it is part of a span.
type riskReader struct {
	read  int                   // of View.Arrived
	order map[policy.ItemID]int // index of an item in it
	last  map[uint64]int        // name -> the last item that holds it
}

// risk returns the share that is lost if the items are collapsed now, 0 to 1.
func (s *riskReader) risk(c *policy.Context, items []policy.ItemID) (float64, error) {
	if err := s.follow(c); err != nil {
		return 0, err
	}
	end := 0
	for _, id := range items {
		end = max(end, s.order[id])
	}
	blocks := 0
	used := 0
	for _, id := range items {
		for t := range policy.Targets(c.View, id) {
			if c.View.Length(t).UTF16 == 0 {
				continue
			}
			held, err := namesIn(t, c.Texts.Text)
			if err != nil {
				return 0, err
			}
			blocks++
			if slices.ContainsFunc(held, func(name uint64) bool { return s.last[name] > end }) {
				used++
			}
		}
	}
	if blocks == 0 {
		return 0, nil
	}
	return float64(used) / float64(blocks), nil
}

// follow reads the items that arrived since the last call.
func (s *riskReader) follow(c *policy.Context) error {
	arrived := c.View.Arrived()
	for ; s.read < len(arrived); s.read++ {
		id := arrived[s.read]
		at := s.read
		if _, again := s.order[id]; !again {
			s.order[id] = at
		}
		for t := range policy.Targets(c.View, id) {
			if id < 0 && c.View.Length(t).UTF16 == 0 || id >= 0 && c.View.Raw(t).Text.UTF16 == 0 {
				continue
			}
			get := c.Texts.Recorded
			if id < 0 {
				get = c.Texts.Text
			}
			held, err := namesIn(t, get)
			if err != nil {
				return err
			}
			for _, name := range held {
				s.last[name] = at
			}
		}
	}
	return nil
}

// namesIn returns the hashes of the names in a text, each once.
func namesIn(t policy.Target, text func(policy.Target) (string, error)) (held []uint64, err error) {
	said, err := text(t)
	names.Each(said, func(name string) { held = append(held, names.Hash(name)) })
	slices.Sort(held)
	return slices.Compact(held), err
}

// first takes the span to commit next off the list: that of the lowest risk, the oldest of equals, or by age alone.
// It is nil if there is none. No source says how the client decides.
func (s *contextCollapse) first() *span {
	if len(s.staged) == 0 {
		return nil
	}
	sp := slices.MinFunc(s.staged, func(a, b *span) int {
		if s.Selector == "age" {
			return cmp.Compare(a.age, b.age)
		}
		return cmp.Or(cmp.Compare(a.risk, b.risk), cmp.Compare(a.age, b.age))
	})
	s.staged = slices.DeleteFunc(s.staged, func(other *span) bool { return other == sp })
	return sp
}

// available reports whether a segment can be part of a new span.
func (s *contextCollapse) available(seg *segment) bool {
	if !seg.whole() || s.left[seg.items[0]] || s.taken[seg.items[0]] {
		return false
	}
	// Spans that were staged here begin and end with a segment.
	return !s.adopted || !slices.ContainsFunc(seg.items, func(id policy.ItemID) bool { return s.taken[id] })
}

// stretch returns the oldest turns in a row before free that have span tokens; with whatever there is, the oldest of
// any size.
func (s *contextCollapse) stretch(v policy.View, free int, whatever bool) []int {
	var group []int
	tokens := 0
	turns := s.passedTurns
	for i := s.passed; i < free; i++ {
		seg := &s.view.list[i]
		ok := seg.kind == segmentTurn && s.available(seg)
		if seg.kind == segmentTurn {
			turns++
		}
		if (!ok || turns <= s.Head) && i == s.passed {
			s.passed = i + 1
			s.passedTurns = turns
		}
		switch {
		case ok && turns > s.Head:
			group = append(group, i)
			if tokens += s.view.weight(v, i); tokens >= s.Span {
				return group
			}
		case whatever && len(group) > 0:
			return group
		default:
			group = nil
			tokens = 0
		}
	}
	if !whatever {
		return nil
	}
	return group
}

// fold returns the oldest neighbouring placeholders before free, with the rests of turns between them; nil if there
// are not two.
func (s *contextCollapse) fold(free int) []int {
	var group []int
	for i := range free + 1 {
		if i < free {
			seg := &s.view.list[i]
			if (seg.kind == segmentPlaceholder || seg.kind == segmentRest && len(group) > 0) && s.available(seg) {
				group = append(group, i)
				continue
			}
		}
		if len(group) > 1 {
			return group
		}
		group = nil
	}
	return nil
}
