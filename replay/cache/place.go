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

// place holds the entries of all models at one position. Most places have one entry.
type place struct {
	position int
	tokens   int              // of all entries that have seen fewer Resize calls
	first    entry            // where filled
	more     map[string]entry // by model
	resized  int32            // Resize calls
	filled   bool
}

// get finds the entry of a model, with its tokens as they are now.
func (p *place) get(model string) (e entry, ok bool) {
	if e, ok = p.first, p.filled; !ok || e.model != model {
		if e, ok = p.more[model]; !ok {
			return e, false
		}
	}
	return p.now(e), true
}

// now is an entry with the tokens that the last Resize call gave it.
func (p *place) now(e entry) entry {
	if e.resized < p.resized {
		e.tokens, e.resized = p.tokens, p.resized
	}
	return e
}

// set puts an entry in the place of that of its model.
func (p *place) set(e entry) {
	e.resized = p.resized
	switch {
	case !p.filled || p.first.model == e.model:
		p.first, p.filled = e, true
		return
	case p.more == nil:
		p.more = map[string]entry{}
	}
	p.more[e.model] = e
}

// resize lets every entry have so many tokens; of 0 there are no more entries.
func (p *place) resize(tokens int) {
	if tokens <= 0 {
		p.filled, p.more = false, nil
		return
	}
	p.tokens = tokens
	p.resized++
}

// shrink takes tokens off every entry.
func (p *place) shrink(tokens int) {
	less := func(e entry) entry {
		e = p.now(e)
		e.tokens = max(e.tokens-tokens, 0)
		return e
	}
	p.first = less(p.first)
	for model, e := range p.more {
		p.more[model] = less(e)
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
		c.list[i].more = maps.Clone(c.list[i].more)
	}
	return c
}

// behind returns the index of the first place behind a position.
func (s *places) behind(position int) int {
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
	s.list = slices.Insert(s.list, i, place{position: position})
	return &s.list[i]
}
