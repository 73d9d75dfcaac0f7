package claude

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/names"
	"github.com/ctxkit/ctxkit/policy"
)

// riskReader computes the risk of a span: the share of its blocks that hold a
// name (package names) which something after the span holds as well. What came
// after is read as recorded, the span as it is in view. Each text is read once
// for its names, and once more if it is part of a span.
type riskReader struct {
	read  int                     // of View.Arrived
	order map[policy.ItemID]int32 // index of an item in it
	last  map[uint64]int32        // name -> the last item that holds it
}

// risk returns the share that is lost if the items are collapsed now, 0 to 1.
func (s *riskReader) risk(c *policy.Context, items []policy.ItemID) (float64, error) {
	if err := s.follow(c); err != nil {
		return 0, err
	}
	end := int32(0)
	for _, id := range items {
		end = max(end, s.order[id])
	}
	blocks, used := 0, 0
	for _, id := range items {
		for b := range c.View.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			if c.View.Length(t).UTF16 == 0 {
				continue
			}
			held, err := namesIn(c.DigestsOf(t), t, c.Texts.Text)
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
		id, at := arrived[s.read], int32(s.read)
		if _, again := s.order[id]; !again {
			s.order[id] = at
		}
		for b := range c.View.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			if id < 0 && c.View.Length(t).UTF16 == 0 || id >= 0 && c.View.Raw(t).Text.UTF16 == 0 {
				continue
			}
			get, digests := c.Texts.Recorded, c.Digests
			if id < 0 {
				get, digests = c.Texts.Text, nil
			}
			held, err := namesIn(digests, t, get)
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
func namesIn(d *policy.Digests, t policy.Target, text func(policy.Target) (string, error)) ([]uint64, error) {
	return policy.Digest(d, "names", t, func() ([]uint64, int, error) {
		said, err := text(t)
		var held []uint64
		names.Each(said, func(name string) { held = append(held, names.Hash(name)) })
		slices.Sort(held)
		held = slices.Clip(slices.Compact(held))
		return held, 8 * len(held), err
	})
}

// first takes the span to commit next off the list: that of the lowest risk, the
// oldest of equals, or by age alone. It is nil if there is none. No source says
// how the client decides.
func (s *contextCollapse) first() *span {
	if len(s.staged) == 0 {
		return nil
	}
	sp := slices.MinFunc(s.staged, func(a, b *span) int {
		if s.p.Selector == "age" {
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

// stretch returns the oldest turns in a row before free that have span tokens;
// with whatever there is, the oldest of any size.
func (s *contextCollapse) stretch(v policy.View, free int, whatever bool) []int {
	var group []int
	tokens, turns := 0, 0
	for i := range free {
		seg := &s.view.list[i]
		ok := seg.kind == segmentTurn && s.available(seg)
		if seg.kind == segmentTurn {
			turns++
		}
		switch {
		case ok && turns > s.p.Head:
			group = append(group, i)
			if tokens += s.view.weight(v, i); tokens >= s.p.Span {
				return group
			}
		case whatever && len(group) > 0:
			return group
		default:
			group, tokens = nil, 0
		}
	}
	if !whatever {
		return nil
	}
	return group
}

// fold returns the oldest neighbouring placeholders before free, with the rests
// of turns between them; nil if there are not two.
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
