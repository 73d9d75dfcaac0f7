package cmd

import (
	"fmt"
	"sync"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// mostAhead is how many further points a replay looks at, at most.
const mostAhead = 32

// sweptSession is a conversation that points are tried on, one after the other. A
// replay tells of the points that come next which do the same: those have its
// figures.
type sweptSession struct {
	recorded
	mu    sync.Mutex
	known map[int]*point // what other points' replays have told, or are about to
	tried int            // points below it have been asked for
	ahead int            // how many points the next replay looks at
}

// point is what a point comes to in one session, once done is closed; nothing
// where its own replay must tell.
type point struct {
	done     chan struct{}
	likely   bool // the points before it did the same
	values   compare.Values
	unpriced []string
}

// try gives a point's values. Several goroutines may try points.
func (s *sweptSession) try(v *variants, i int, opt replay.Options) (*point, error) {
	if told := s.take(i); told.known() {
		return told, nil
	}
	from, next := s.claim(len(v.points))
	defer func() {
		for _, p := range next {
			close(p.done)
		}
	}()
	return s.replay(v, i, from, next, opt)
}

// known reports whether a point's values are known, and waits for that where
// they are likely to be.
func (p *point) known() bool {
	if p == nil {
		return false
	}
	if !p.likely {
		select {
		case <-p.done:
		default:
			return false
		}
	}
	<-p.done
	return p.values != nil
}

// take is what is known of a point, or will be. Nobody asks for it again.
func (s *sweptSession) take(i int) *point {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.known[i]
	delete(s.known, i)
	s.tried = max(s.tried, i+1)
	return told
}

// claim takes on points that come next, as many as promise to do the same.
func (s *sweptSession) claim(points int) (from int, next []*point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = s.tried
	for j := from; j < points && len(next) < s.ahead && s.known[j] == nil; j++ {
		p := &point{done: make(chan struct{}), likely: s.ahead > 1}
		s.known[j] = p
		next = append(next, p)
	}
	return from, next
}

// replay replays a point and fills in those that come next, from one on, and do
// the same.
func (s *sweptSession) replay(v *variants, i, from int, next []*point, opt replay.Options) (*point, error) {
	pol, err := v.of(s.base, i)
	if err != nil {
		return nil, err
	}
	others := make([]*policy.Policy, len(next))
	for k := range others {
		if others[k], err = v.of(s.base, from+k); err != nil {
			return nil, err
		}
	}
	tl, same, err := s.rec.ReplayAlike(pol, others, opt)
	if err != nil {
		return nil, err
	}
	if err := tl.CheckValid(); err != nil {
		return nil, fmt.Errorf("the replay contradicts itself: %w: please report it with the session", err)
	}
	own := &point{values: compare.Of(tl), unpriced: tl.Unpriced()}
	alike := 0
	for k, p := range next {
		if same[k] {
			p.values, p.unpriced = own.values, own.unpriced
			alike++
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch { // more where all were alike, few where few were
	case alike == len(next):
		s.ahead = min(2*max(s.ahead, 1), mostAhead)
	default:
		s.ahead = max(alike, 1)
	}
	return own, nil
}
