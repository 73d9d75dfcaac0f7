package view

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
)

// sentList is the naive account of what was sent: every block of the payload, by what it is and how often it was
// changed.
type sentList struct {
	version map[policy.Target]int
	edits   int
	sent    []sentBlock
	since   int             // edits since
	kind    policy.EditKind // of the last of them
}

type sentBlock struct {
	policy.Target
	version int
}

func (s *sentList) blocks(p *listView) []sentBlock {
	var list []sentBlock
	for _, id := range p.items {
		for b := range p.count(id) {
			t := policy.Target{Item: id, Block: b}
			list = append(list, sentBlock{t, s.version[t]})
		}
	}
	return list
}

// left is what payload-only edits left of a block.
func (p *listView) left(t policy.Target) (*policy.Content, bool) {
	if e := p.effective(t); e != nil {
		return e.New, true
	}
	return nil, false
}

// apply notes which block an edit that was made changes.
func (s *sentList) apply(p *listView, e *policy.Edit, was *policy.Content, had bool) {
	s.since++
	s.kind = e.Kind
	t := e.Target
	switch e.Kind {
	case policy.KindTag:
		t.Block = max(p.count(t.Item)-1, 0)
	case policy.KindClear, policy.KindPersist, policy.KindTruncate:
	case policy.KindServerClear, policy.KindServerKeep:
		if now, has := p.left(t); had == has && sameContent(was, now) {
			return
		}
	default:
		return
	}
	s.edits++
	s.version[t] = s.edits
}

// check compares what the view says has changed with the first block that differs.
func (s *sentList) check(t *testing.T, v *View, p *listView) {
	t.Helper()
	last := s.kind
	now := s.blocks(p)
	if v.Places() != len(now) {
		t.Fatalf("%s: %d places, %d blocks", last, v.Places(), len(now))
	}
	for _, id := range p.items {
		first := sentBlock{policy.Target{Item: id, Block: 0}, s.version[policy.Target{Item: id, Block: 0}]}
		if place, ok := v.Place(id); p.count(id) > 0 && (!ok || now[place] != first) {
			t.Fatalf("%s: item %d has place %d (%t) in %v", last, id, place, ok, now)
		}
	}
	tokens := 0
	for _, id := range slices.Backward(p.items) {
		tokens += v.PayloadWeight(id)
		if place, _ := v.Place(id); v.PayloadFrom(place) != tokens {
			t.Fatalf("%s: %d tokens from place %d, want %d", last, v.PayloadFrom(place), place, tokens)
		}
	}
	differs := 0
	for differs < len(s.sent) && differs < len(now) && s.sent[differs] == now[differs] {
		differs++
	}
	c, ok := v.FirstChange()
	switch {
	case differs < len(s.sent) && (!ok || c.Place > differs):
		t.Fatalf("%s: the payload changed at %d, the view says %d (%t)\nsent %v\nnow  %v", last, differs, c.Place, ok, s.sent, now)
	case s.since == 1 && last != policy.KindInferred && ok != (differs < len(s.sent)):
		t.Fatalf("%s: changed %t, the view says %t\nsent %v\nnow  %v", last, differs < len(s.sent), ok, s.sent, now)
	case s.since == 1 && last != policy.KindInferred && ok && c.Place != differs:
		t.Fatalf("%s: the payload changed at %d, the view says %d\nsent %v\nnow  %v", last, differs, c.Place, s.sent, now)
	}
	if ok && (c.Edit < 0 || c.Edit >= len(v.Edits())) {
		t.Fatalf("the change names edit %d of %d", c.Edit, len(v.Edits()))
	}
}

// send marks the payload as sent, now and then.
func (s *sentList) send(v *View, p *listView) {
	v.Sent()
	s.sent, s.since = slices.Clone(s.blocks(p)), 0
}

func TestServerDrops(t *testing.T) {
	c := &choice{rng: nil, data: make([]byte, 200)}
	conv := c.conversation()
	w := byLength{conv}
	v := New(conv, w, w)
	v.Join(0)
	v.Join(1)
	v.Sent()
	v.Join(2)
	for _, item := range []policy.ItemID{1, 2} {
		must.Get(v.Apply(policy.Edit{Kind: policy.KindCacheEdit, Target: policy.Target{Item: item, Block: 0}, Carrier: 1}))(t)
	}
	if c, ok := v.FirstChange(); ok {
		t.Errorf("a cache_edit changes the prefix at %d", c.Place)
	}
	if len(v.ServerDrops()) != 1 || v.ServerDrops()[0].Place != 1 {
		t.Errorf("server drops %v, want one at place 1: what was not sent yet is none", v.ServerDrops())
	}
	v.Sent()
	must.Equal(t, len(v.ServerDrops()), 0, "server drops stay after the next request")
}
