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
	resized int32 // Resize calls of the place that it has seen
	shared  int32 // the Cool calls that went before, plus 1, while other conversations keep it alive
	ttl     TTL
}

// place holds the entries of all models at one position. Most places have one entry, and are not resized.
type place struct {
	first    entry // where filled
	more     *more // nil: none
	position int32
	filled   bool
}

// more is what few places have.
type more struct {
	entries map[string]*entry // the others, by model
	tokens  int               // of all entries that have seen fewer Resize calls
	resized int32             // Resize calls
}

// get finds the entry of a model, with its tokens as they are now; nil: there is none.
func (p *place) get(model string) *entry {
	e := &p.first
	if !p.filled || e.model != model {
		if p.more == nil {
			return nil
		}
		if e = p.more.entries[model]; e == nil {
			return nil
		}
	}
	p.now(e)
	return e
}

// now gives an entry the tokens of the last Resize call.
func (p *place) now(e *entry) {
	if p.more != nil && e.resized < p.more.resized {
		e.tokens, e.resized = p.more.tokens, p.more.resized
	}
}

// add puts in the entry of a model that has none here.
func (p *place) add(e *entry) {
	own := &p.first
	if p.filled {
		own = &entry{}
		m := p.rare()
		if m.entries == nil {
			m.entries = map[string]*entry{}
		}
		m.entries[e.model] = own
	}
	*own, p.filled = *e, true
	if p.more != nil {
		own.resized = p.more.resized
	}
}

// rare is what few places have, for writing.
func (p *place) rare() *more {
	if p.more == nil {
		p.more = &more{}
	}
	return p.more
}

// resize lets every entry have so many tokens; of 0 there are no more entries.
func (p *place) resize(tokens int) {
	m := p.rare()
	if tokens <= 0 {
		p.filled, m.entries = false, nil
		return
	}
	m.tokens = tokens
	m.resized++
}

// shrink takes tokens off every entry.
func (p *place) shrink(tokens int) {
	less := func(e *entry) {
		p.now(e)
		e.tokens = max(e.tokens-tokens, 0)
	}
	less(&p.first)
	if p.more != nil {
		for _, e := range p.more.entries {
			less(e)
		}
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
		if p.more == nil {
			continue
		}
		own := *p.more
		own.entries = maps.Clone(own.entries)
		for model, e := range own.entries {
			one := *e
			own.entries[model] = &one
		}
		p.more = &own
	}
	return c
}

// behind returns the index of the first place behind a position.
func (s *places) behind(position int) int {
	s.looked++
	switch n := len(s.list); { // the usual cases: the end, and the head, where no position is left out
	case n == 0 || int(s.list[n-1].position) <= position:
		return n
	case n > 1 && int(s.list[n-2].position) <= position:
		return n - 1
	case position >= 0 && position < n && int(s.list[position].position) == position:
		return position + 1
	}
	return sort.Search(len(s.list), func(i int) bool {
		s.looked++
		return int(s.list[i].position) > position
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
	for i := len(s.list) - 1; i >= 0 && int(s.list[i].position) >= position; i-- {
		s.list[i].shrink(tokens)
	}
}

// at finds the place of a position; nil where nothing was put there.
func (s *places) at(position int) *place {
	if i := s.behind(position) - 1; i >= 0 && int(s.list[i].position) == position {
		return &s.list[i]
	}
	return nil
}

// open is at, and makes the place where there is none.
func (s *places) open(position int) *place {
	i := s.behind(position)
	if i > 0 && int(s.list[i-1].position) == position {
		return &s.list[i-1]
	}
	if len(s.list) == cap(s.list) { // to twice its length, which moves places less often than append does
		s.list = slices.Grow(s.list, max(len(s.list), 16))
	}
	if i == len(s.list) {
		s.list = s.list[:i+1]
		s.list[i] = place{position: int32(position)}
	} else {
		s.list = slices.Insert(s.list, i, place{position: int32(position)})
	}
	return &s.list[i]
}
