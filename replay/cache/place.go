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
	tokens   int               // of all entries that have seen fewer Resize calls
	first    entry             // where filled
	more     map[string]*entry // by model
	resized  int32             // Resize calls
	filled   bool
}

// get finds the entry of a model, with its tokens as they are now; nil: there is none.
func (p *place) get(model string) *entry {
	e := &p.first
	if !p.filled || e.model != model {
		if e = p.more[model]; e == nil {
			return nil
		}
	}
	p.now(e)
	return e
}

// now gives an entry the tokens of the last Resize call.
func (p *place) now(e *entry) {
	if e.resized < p.resized {
		e.tokens, e.resized = p.tokens, p.resized
	}
}

// set puts an entry in the place of that of its model.
func (p *place) set(e entry) {
	e.resized = p.resized
	switch {
	case !p.filled || p.first.model == e.model:
		p.first, p.filled = e, true
		return
	case p.more == nil:
		p.more = map[string]*entry{}
	}
	own := e
	p.more[e.model] = &own
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
	less := func(e *entry) {
		p.now(e)
		e.tokens = max(e.tokens-tokens, 0)
	}
	less(&p.first)
	for _, e := range p.more {
		less(e)
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
		p.more = maps.Clone(p.more)
		for model, e := range p.more {
			own := *e
			p.more[model] = &own
		}
	}
	return c
}

// behind returns the index of the first place behind a position.
func (s *places) behind(position int) int {
	if n := len(s.list); n == 0 || s.list[n-1].position <= position { // the usual case
		return n
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
	if len(s.list) == cap(s.list) { // to twice its length, which moves places less often than append does
		s.list = slices.Grow(s.list, max(len(s.list), 16))
	}
	s.list = slices.Insert(s.list, i, place{position: position})
	return &s.list[i]
}
