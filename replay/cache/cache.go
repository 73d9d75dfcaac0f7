// Package cache simulates a provider's prompt cache: which part of each
// request of one conversation is read from it, which is written to it, and why
// less was read than could have been.
//
// The rules are those of Anthropic's documentation (prompt caching, as of
// August 2026). A request is a list of blocks, tools first, then the system
// prompt, then messages. The cache holds entries: prefixes that earlier requests
// marked with a breakpoint. It is prefix-exact: an entry serves a request only
// where every block up to its end is the same.
//
// A request's payload is the one before it, edited and appended to. So the
// simulator is told from which block on something changed (Change) and drops the
// entries that reach there; no block is ever hashed, and a request costs what its
// breakpoints cost. Content that changes back into what it once was counts as new.
package cache

import (
	"errors"
	"fmt"
	"time"
)

// TTL is how long an entry lives after the start of the request that wrote or
// read it last.
type TTL uint8

// The documented lifetimes.
const (
	Short TTL = iota // 5 minutes
	Long             // 1 hour
)

// Duration is the lifetime itself.
func (t TTL) Duration() time.Duration {
	if t == Long {
		return time.Hour
	}
	return 5 * time.Minute
}

// String is the lifetime as the API writes it.
func (t TTL) String() string {
	if t == Long {
		return "1h"
	}
	return "5m"
}

// Documented limits.
const (
	MaxBreakpoints = 4  // of a request
	LookBack       = 20 // positions checked for each breakpoint, itself included
)

// Breakpoint marks the end of a prefix that is to be cached.
type Breakpoint struct {
	Position int // of the block it stands on, 0-based over tools, system and messages
	Tokens   int // of the prefix that ends there
	TTL      TTL
}

// Request is one API call as the cache sees it.
type Request struct {
	Start       time.Time    // zero: when the request before was made
	Lives       time.Time    // from when on the lives of what it reads and writes count; zero: Start
	Model       string       // caches are a model's own
	Minimum     int          // shortest prefix the model caches, tokens
	Tokens      int          // of the whole input
	Breakpoints []Breakpoint // by position, ascending; 1h before 5m
}

// Split is a request's input by how it is billed, in tokens. The sum is the
// whole input.
type Split struct {
	Read     int `json:"read"`     // from the cache
	Write5m  int `json:"write_5m"` // into it, for 5 minutes
	Write1h  int `json:"write_1h"` // into it, for 1 hour
	Uncached int `json:"uncached"` // neither
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

// entry is a prefix the cache holds.
type entry struct {
	position int
	tokens   int
	model    string
	ttl      TTL
	expires  time.Time
	shared   bool // other conversations keep it alive
}

// Sim is the cache as one conversation meets it. The zero value is an empty
// one.
type Sim struct {
	entries []entry // by position, ascending
	now     time.Time
	any     bool   // a request was made
	last    entry  // what the last request wrote behind everything else
	broken  change // what changed since
}

type change struct {
	position int
	cause    Cause
	any      bool
}

// errBreakpoints is what the API answers with a 400.
var errBreakpoints = errors.New("the API refuses the breakpoints")

// Warm puts an entry into the cache that other conversations keep there, so
// that it never expires: a prefix every session of a client shares.
func (s *Sim) Warm(b Breakpoint, model string) {
	s.put(entry{position: b.Position, tokens: b.Tokens, model: model, ttl: b.TTL, shared: true})
}

// Change says that from a position on, the next request's blocks are not those
// of the request before. Where several things changed, the first position
// counts, and of those that share it the first cause.
func (s *Sim) Change(position int, cause Cause) {
	if !s.broken.any || position < s.broken.position {
		s.broken = change{position, cause, true}
	}
	n := len(s.entries)
	for n > 0 && s.entries[n-1].position >= position {
		n--
	}
	s.entries = s.entries[:n]
}

// Shrink says that the server itself took tokens out of the blocks before a
// position and behind the one given, leaving the prefix intact (cache_edits):
// entries that reach over it are shorter by so much.
func (s *Sim) Shrink(position, tokens int) {
	for i := len(s.entries) - 1; i >= 0 && s.entries[i].position >= position; i-- {
		s.entries[i].tokens = max(s.entries[i].tokens-tokens, 0)
	}
	if s.last.position >= position {
		s.last.tokens = max(s.last.tokens-tokens, 0)
	}
}

// Request makes a request: what it reads, what it writes, and, where it read
// less than the request before had left for it, why.
func (s *Sim) Request(r Request) (Split, Cause, error) {
	if err := r.check(); err != nil {
		return Split{}, Cause{}, err
	}
	s.clock(r.Start)
	hit := s.look(&r)
	split := s.bill(&r, hit)
	cause := s.why(&r, hit)
	s.refresh(&r, hit)
	s.write(&r)
	s.any, s.broken = true, change{}
	return split, cause, nil
}

// Branch makes a request that shares only the blocks before a position with the
// conversation and goes on differently: a compaction's own request. What it
// writes behind that is lost with it.
func (s *Sim) Branch(position int, r Request) (Split, error) {
	if err := r.check(); err != nil {
		return Split{}, err
	}
	s.clock(r.Start)
	shared := r
	for n := len(shared.Breakpoints); n > 0 && shared.Breakpoints[n-1].Position >= position; n-- {
		shared.Breakpoints = shared.Breakpoints[:n-1]
	}
	hit := s.lookBefore(&r, position)
	split := s.bill(&r, hit)
	s.refresh(&r, hit)
	last := s.last // the conversation's own last request is still the one before
	s.write(&shared)
	s.last = last
	return split, nil
}

func (r *Request) check() error {
	if n := len(r.Breakpoints); n > MaxBreakpoints {
		return fmt.Errorf("%w: %d of them, at most %d may be set", errBreakpoints, n, MaxBreakpoints)
	}
	for i := 1; i < len(r.Breakpoints); i++ {
		a, b := &r.Breakpoints[i-1], &r.Breakpoints[i]
		if b.Position <= a.Position || b.Tokens < a.Tokens {
			return fmt.Errorf("%w: they are not in order", errBreakpoints)
		}
		if a.TTL == Short && b.TTL == Long {
			return fmt.Errorf("%w: one of 1h stands behind one of 5m", errBreakpoints)
		}
	}
	return nil
}

// clock moves the time on. Requests without a time take none; one that is dated
// before the last is taken at its word.
func (s *Sim) clock(at time.Time) {
	if !at.IsZero() {
		s.now = at
	}
}

// look finds the highest entry that serves the request: for each breakpoint,
// from the last to the first, at most 20 positions back from it. It is an index
// into entries, or -1.
func (s *Sim) look(r *Request) int { return s.lookBefore(r, int(^uint(0)>>1)) }

// lookBefore is look among the entries that end before a position.
func (s *Sim) lookBefore(r *Request, position int) int {
	n := len(s.entries)
	for i := len(r.Breakpoints) - 1; i >= 0; i-- {
		b := &r.Breakpoints[i]
		for n > 0 && (s.entries[n-1].position > b.Position || s.entries[n-1].position >= position) {
			n--
		}
		for j := n - 1; j >= 0 && s.entries[j].position > b.Position-LookBack; j-- {
			if s.alive(&s.entries[j], r.Model) {
				return j
			}
		}
	}
	return -1
}

func (s *Sim) alive(e *entry, model string) bool {
	return e.model == model && (e.shared || !s.now.After(e.expires))
}

// bill splits the input: A tokens are read; up to B, the highest 1h breakpoint
// after A, is written for an hour; from there to C, the last breakpoint, for
// five minutes; the rest is plain input.
func (s *Sim) bill(r *Request, hit int) Split {
	a := 0
	if hit >= 0 {
		a = min(s.entries[hit].tokens, r.Tokens)
	}
	b, c := a, a
	for i := range r.Breakpoints {
		p := &r.Breakpoints[i]
		if p.Tokens < r.Minimum || p.Tokens <= a {
			continue
		}
		end := min(p.Tokens, r.Tokens)
		if p.TTL == Long {
			b = end
		}
		c = end
	}
	return Split{Read: a, Write1h: b - a, Write5m: c - b, Uncached: r.Tokens - c}
}

// lives is from when on the lives of a request's entries count.
func (s *Sim) lives(r *Request) time.Time {
	if r.Lives.After(s.now) {
		return r.Lives
	}
	return s.now
}

// refresh gives the entry that was read its lifetime anew.
func (s *Sim) refresh(r *Request, hit int) {
	if hit >= 0 {
		e := &s.entries[hit]
		e.expires = s.lives(r).Add(e.ttl.Duration())
		if e.position == s.last.position && e.model == s.last.model {
			s.last.expires = e.expires
		}
	}
}

// write leaves one entry for each breakpoint whose prefix is long enough. Where
// there is one, its life begins anew.
func (s *Sim) write(r *Request) {
	for i := range r.Breakpoints {
		b := &r.Breakpoints[i]
		if b.Tokens < r.Minimum {
			continue
		}
		e := entry{position: b.Position, tokens: min(b.Tokens, r.Tokens), model: r.Model, ttl: b.TTL, expires: s.lives(r).Add(b.TTL.Duration())}
		s.put(e)
		s.last = e
	}
}

// put adds an entry at its place, or brings the one that stands there up to
// date.
func (s *Sim) put(e entry) {
	i := len(s.entries)
	for i > 0 && s.entries[i-1].position > e.position {
		i--
	}
	for j := i - 1; j >= 0 && s.entries[j].position == e.position; j-- {
		if old := &s.entries[j]; old.model == e.model {
			e.shared = e.shared || old.shared
			if s.alive(old, e.model) && old.expires.After(e.expires) {
				e.ttl, e.expires = old.ttl, old.expires
			}
			*old = e
			return
		}
	}
	s.entries = append(s.entries, entry{})
	copy(s.entries[i+1:], s.entries[i:])
	s.entries[i] = e
}
