// Package cache simulates a provider's prompt cache: which part of each request of one conversation is read from it,
// which is written to it, and why less was read than possible.
//
// The rules are those of Anthropic's documentation (prompt caching, as of August 2026). A request is a list of
// blocks: tools first, then the system prompt, then messages. The cache holds entries: prefixes that earlier requests
// marked with a breakpoint. An entry serves a request only if every block up to its end is the same.
//
// The payload of a request is that of the request before, edited and appended to. The caller gives the first block
// that changed (Change), and the simulator drops the entries that reach it. It hashes no block; a request costs time
// in proportion to its breakpoints. Content that changes back counts as new.
package cache

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// TTL is how long an entry lives, from the start of the request that wrote or read it last.
type TTL uint8

// The documented TTLs.
const (
	Short TTL = iota // 5 minutes
	Long             // 1 hour
)

// Duration is the TTL itself.
func (t TTL) Duration() time.Duration {
	if t == Long {
		return time.Hour
	}
	return 5 * time.Minute
}

// AskedFor is the TTL that a request asked for by the tokens it wrote for each; before is that of the request
// before it.
func AskedFor(write5m, write1h int, before TTL) TTL {
	switch {
	case write5m+write1h == 0:
		return before
	case write1h > write5m:
		return Long
	}
	return Short
}

// Limits of the API. By the documentation the 20 positions before a breakpoint are checked. Recorded requests with one
// breakpoint and 23 blocks or more since the one before missed in 13 of 13 cases, those with 21 or 22 blocks in 3 of 10.
const (
	MaxBreakpoints = 4  // of a request
	LookBack       = 23 // positions checked for each breakpoint: itself and those before it
)

// Breakpoint marks the end of a prefix for caching.
type Breakpoint struct {
	Position int // of the last block of the prefix, 0-based over tools, system and messages
	Tokens   int // of the prefix
	TTL      TTL
}

// CachedRequest is one API call as the cache sees it.
type CachedRequest struct {
	Start       time.Time    // zero: when the request before was made
	Lives       time.Time    // start of the TTLs of what it reads and writes; zero: Start
	Model       string       // each model has its own cache
	Minimum     int          // shortest prefix the model caches, tokens
	Tokens      int          // of the whole input
	Breakpoints []Breakpoint // by position, ascending; 1h before 5m
}

// Split is the whole input of a request in tokens, by price class.
type Split struct {
	Read     int `json:"read"`     // from the cache
	Write5m  int `json:"write_5m"` // into it, for 5 minutes
	Write1h  int `json:"write_1h"` // into it, for 1 hour
	Uncached int `json:"uncached"` // not read and not written
}

// Input is the whole input.
func (s Split) Input() int { return s.Read + s.Write5m + s.Write1h + s.Uncached }

// Add adds another split.
func (s *Split) Add(o Split) {
	s.Read += o.Read
	s.Write5m += o.Write5m
	s.Write1h += o.Write1h
	s.Uncached += o.Uncached
}

// Near reports whether simulated tokens are within 5 % of the recorded ones.
func Near(recorded, simulated int) bool {
	return max(simulated-recorded, recorded-simulated)*20 <= recorded
}

// Sim is the cache as one conversation sees it. The zero value is an empty one.
type Sim struct {
	places places
	now    time.Time
	any    bool   // a request was made
	last   entry  // the last entry that the last request wrote
	lastAt int    // its position
	broken change // what changed since
	cooled int    // Cool calls
}

type change struct {
	position int
	cause    Cause
	any      bool
}

// Clone is a cache that holds the same and goes on by itself.
func (s *Sim) Clone() Sim {
	c := *s
	c.places = s.places.clone()
	return c
}

// errBreakpoints is an error for which the API answers with a 400.
var errBreakpoints = errors.New("the API refuses the breakpoints")

// Warm puts an entry into the cache that never expires because other conversations use it: a prefix that all sessions
// of a client share.
func (s *Sim) Warm(b Breakpoint, model string) {
	s.put(b.Position, &entry{tokens: b.Tokens, model: model, ttl: b.TTL, shared: s.cooled + 1})
}

// Seed puts an entry into the cache that requests before the first one of the file left there. It lives until its first
// read, at the time of the first request.
func (s *Sim) Seed(b Breakpoint, model string, at time.Time) {
	s.last = entry{tokens: b.Tokens, model: model, ttl: b.TTL, expires: at}
	s.lastAt = b.Position
	s.put(s.lastAt, &s.last)
	s.any = true
}

// Cool ends what Warm began: from now on entries live only as long as the conversation itself uses them.
func (s *Sim) Cool() { s.cooled++ }

// Resize states that the prefix that ends at a position has another length than was known. Of a length of 0 nothing is
// read.
func (s *Sim) Resize(position, tokens int) {
	if p := s.places.at(position); p != nil {
		p.resize(tokens)
	}
}

// Add puts an entry into the cache that a request wrote which is not simulated: it began where the last request ended,
// at a time.
func (s *Sim) Add(b Breakpoint, model string, at time.Time) {
	s.put(b.Position, &entry{tokens: b.Tokens, model: model, ttl: b.TTL, expires: at.Add(b.TTL.Duration())})
}

// Change states that from a position on, the blocks of the next request differ from those of the request before. Of
// several changes the first position counts, and of those that share it the first cause.
func (s *Sim) Change(position int, cause Cause) {
	if !s.broken.any || position < s.broken.position {
		s.broken = change{position, cause, true}
	}
	s.places.cut(position)
}

// Shrink states that the server removed tokens between the entries before a position and the position, and the prefix
// stays valid (cache_edits): entries from the position on are shorter by a number of tokens.
func (s *Sim) Shrink(position, tokens int) {
	s.places.shrink(position, tokens)
	if s.lastAt >= position {
		s.last.tokens = max(s.last.tokens-tokens, 0)
	}
}

// Request makes a request. It returns the split of its input and, if it read less than the request before left in the
// cache, the cause.
func (s *Sim) Request(r CachedRequest) (Split, Cause, error) {
	hit, split, err := s.read(&r, math.MaxInt)
	if err != nil {
		return Split{}, Cause{}, err
	}
	cause := s.why(&r, hit)
	s.refresh(&r, hit)
	s.write(&r)
	s.any = true
	s.broken = change{}
	return split, cause, nil
}

// Branch makes a request that has only the blocks before a position in common with the conversation: the request of a
// compaction itself. What it writes behind that position is not kept.
func (s *Sim) Branch(position int, r CachedRequest) (Split, error) {
	hit, split, err := s.read(&r, position)
	if err != nil {
		return Split{}, err
	}
	s.refresh(&r, hit)
	for n := len(r.Breakpoints); n > 0 && r.Breakpoints[n-1].Position >= position; n-- {
		r.Breakpoints = r.Breakpoints[:n-1]
	}
	last, lastAt := s.last, s.lastAt // the last request of the conversation itself stays
	s.write(&r)
	s.last = last
	s.lastAt = lastAt
	return split, nil
}

// Renew lets the last entry live until a time: its prefix was sent again, and nothing else.
func (s *Sim) Renew(model string, until time.Time) {
	if p := s.places.at(s.lastAt); p != nil && s.last.model == model {
		s.last.expires = until
		s.put(s.lastAt, &s.last)
	}
}

func (r *CachedRequest) check() error {
	if n := len(r.Breakpoints); n > MaxBreakpoints {
		return fmt.Errorf("%w: there are %d, and %d are allowed", errBreakpoints, n, MaxBreakpoints)
	}
	for i := 1; i < len(r.Breakpoints); i++ {
		a := &r.Breakpoints[i-1]
		b := &r.Breakpoints[i]
		if b.Position <= a.Position || b.Tokens < a.Tokens {
			return fmt.Errorf("%w: they are not in order", errBreakpoints)
		}
		if a.TTL == Short && b.TTL == Long {
			return fmt.Errorf("%w: one of 1h comes after one of 5m", errBreakpoints)
		}
	}
	return nil
}

// read finds the entry that serves a request, of those that end before a position: for each breakpoint, from the last
// to the first, at most LookBack positions back from it. hit is its place, valid until the next entry; nil: there is none.
//
// A request without a time takes no time; one with a time before that of the last request moves the clock back.
func (s *Sim) read(r *CachedRequest, before int) (hit *place, split Split, err error) {
	if err := r.check(); err != nil {
		return nil, Split{}, err
	}
	if !r.Start.IsZero() {
		s.now = r.Start
	}
	for i := len(r.Breakpoints) - 1; i >= 0; i-- {
		b := &r.Breakpoints[i]
		for j := s.places.behind(min(b.Position, before-1)) - 1; j >= 0 && s.places.list[j].position > b.Position-LookBack; j-- {
			if e := s.places.list[j].get(r.Model); e != nil && s.alive(e) {
				return &s.places.list[j], r.bill(e.tokens), nil
			}
		}
	}
	return nil, r.bill(0), nil
}

func (s *Sim) alive(e *entry) bool { return s.shared(e) || !s.now.After(e.expires) }

// shared reports whether other conversations keep an entry alive.
func (s *Sim) shared(e *entry) bool { return e.shared > s.cooled }

// bill splits the input: a tokens are read; up to b, the highest 1h breakpoint after a, is written for an hour; from
// there to c, the last breakpoint, for five minutes; the rest is plain input.
func (r *CachedRequest) bill(hit int) Split {
	a := min(hit, r.Tokens)
	b := a
	c := a
	for _, p := range r.Breakpoints {
		if p.Tokens < r.Minimum || p.Tokens <= a {
			continue
		}
		c = min(p.Tokens, r.Tokens)
		if p.TTL == Long {
			b = c
		}
	}
	return Split{Read: a, Write1h: b - a, Write5m: c - b, Uncached: r.Tokens - c}
}

// expiry is the end of a TTL that begins with a request.
func (s *Sim) expiry(r *CachedRequest, t TTL) time.Time {
	from := s.now
	if r.Lives.After(from) {
		from = r.Lives
	}
	return from.Add(t.Duration())
}

// refresh restarts the TTL of the entry that was read.
func (s *Sim) refresh(r *CachedRequest, hit *place) {
	if hit == nil {
		return
	}
	e := hit.get(r.Model)
	e.expires = s.expiry(r, e.ttl)
	if hit.position == s.lastAt && e.model == s.last.model {
		s.last.expires = e.expires
	}
}

// write puts an entry for each breakpoint whose prefix is long enough. The TTL of an entry that is there already
// restarts.
func (s *Sim) write(r *CachedRequest) {
	for i := range r.Breakpoints {
		if b := &r.Breakpoints[i]; b.Tokens >= r.Minimum {
			s.last = entry{tokens: min(b.Tokens, r.Tokens), model: r.Model, ttl: b.TTL, expires: s.expiry(r, b.TTL)}
			s.lastAt = b.Position
			s.put(s.lastAt, &s.last)
		}
	}
}

// put adds an entry at its place, or updates the one that is there.
func (s *Sim) put(position int, e *entry) {
	p := s.places.open(position)
	old := p.get(e.model)
	if old == nil {
		p.add(*e)
		return
	}
	old.tokens = e.tokens
	if !s.alive(old) || !old.expires.After(e.expires) {
		old.ttl = e.ttl
		old.expires = e.expires
	}
	old.shared = max(e.shared, old.shared)
}

// Head is the part of a request before its messages that a client marks for the cache: tools and the system prompt up
// to its breakpoint. Whatever else the client sends (project instructions, reminders) is in the messages or behind
// that breakpoint.
type Head struct {
	Own    int  // tokens up to the last breakpoint before the messages
	Shared int  // tokens at its start that all sessions of the client have in common; at most Own
	Kept   bool // other sessions keep the shared part in the cache beyond its TTL
	Same   bool // a new process of the client has the same
}

// Tail is where the cached part of a request ends, as far as the requests before it show, and how it follows the one before
// it. Messages are 0-based.
type Tail struct {
	Plain  int  // tokens that the client sends behind the last breakpoint, at least
	Behind int  // the first message behind that breakpoint; the response where none is
	Asked  int  // the first message that a request on no line, which wrote all before it to the cache, did not send; 0: there was no such request
	Ended  bool // the response before ended its turn, and the user did not interrupt it
	Typed  bool // a turn begins with the request
}
