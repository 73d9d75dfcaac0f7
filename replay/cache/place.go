package cache

import (
	"maps"
	"slices"
	"sort"
	"time"
)

// entry is a prefix in the cache of one model.
type entry struct {
	model   string
	expires time.Time
	tokens  int
	resized int // Resize calls of the place that it has seen
	shared  int // the Cool calls that went before, plus 1, while other conversations keep it alive
	ttl     TTL
}

// place holds the entries of all models at one position.
type place struct {
	position int
	entries  map[string]*entry // by model
	tokens   int               // of all entries that have seen fewer Resize calls
	resized  int               // Resize calls
}

// get finds the entry of a model, with its tokens as they are now; nil: there is none.
func (p *place) get(model string) *entry {
	e := p.entries[model]
	if e != nil && e.resized < p.resized {
		e.tokens = p.tokens
		e.resized = p.resized
	}
	return e
}

// add puts in the entry of a model that has none here.
func (p *place) add(e entry) {
	e.resized = p.resized
	p.entries[e.model] = &e
}

// resize lets every entry have a number of tokens; of 0 there are no more entries.
func (p *place) resize(tokens int) {
	if tokens <= 0 {
		clear(p.entries)
		return
	}
	p.tokens = tokens
	p.resized++
}

// shrink takes tokens off every entry.
func (p *place) shrink(tokens int) {
	for model := range p.entries {
		e := p.get(model)
		e.tokens = max(e.tokens-tokens, 0)
	}
}

// places are by position, ascending.
type places struct {
	list   []place
	looked int // places looked at to find a position
}

func (s *places) clone() places {
	c := *s
	c.list = slices.Clone(s.list)
	for i := range c.list {
		p := &c.list[i]
		p.entries = maps.Clone(p.entries)
		for model, e := range p.entries {
			own := *e
			p.entries[model] = &own
		}
	}
	return c
}

// behind returns the index of the first place behind a position.
func (s *places) behind(position int) int {
	s.looked++
	switch n := len(s.list); { // the usual cases: the end, and the head, where no position is left out
	case n == 0 || s.list[n-1].position <= position:
		return n
	case n > 1 && s.list[n-2].position <= position:
		return n - 1
	case position >= 0 && position < n && s.list[position].position == position:
		return position + 1
	}
	return sort.Search(len(s.list), func(i int) bool {
		s.looked++
		return s.list[i].position > position
	})
}

// cut takes out the places from a position on.
func (s *places) cut(position int) {
	n := s.behind(position - 1)
	clear(s.list[n:])
	s.list = s.list[:n]
}

// shrink takes tokens off every entry from a position on.
func (s *places) shrink(position, tokens int) {
	for i := len(s.list) - 1; i >= 0 && s.list[i].position >= position; i-- {
		s.list[i].shrink(tokens)
	}
}

// at finds the place of a position; nil where nothing was put there.
func (s *places) at(position int) *place {
	if i := s.behind(position) - 1; i >= 0 && s.list[i].position == position {
		return &s.list[i]
	}
	return nil
}

// open is at, and makes the place where there is none.
func (s *places) open(position int) *place {
	i := s.behind(position)
	if i > 0 && s.list[i-1].position == position {
		return &s.list[i-1]
	}
	s.list = slices.Insert(s.list, i, place{position: position, entries: map[string]*entry{}})
	return &s.list[i]
}
