package sweep

import (
	"fmt"
	"sync"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// maxAhead is the most further points that one replay looks at.
const maxAhead = 32

// SweptSession is a conversation that points are tried on. One replay shows which of the points after it make the
// same edits: those have its figures and are not replayed. Several goroutines may try points.
type SweptSession struct {
	compare.Origin
	Record *replay.Record
	Policy *policy.Policy // that the points start from

	mu     sync.Mutex
	shared map[int]*outcome // of points that another point's replay has settled, or may settle
	next   int              // the lowest point that no replay has taken
	ahead  int              // how many points the next replay looks at
}

// NewSession makes a session of a record, which is shared by all its replays.
func NewSession(source compare.Origin, rec *replay.Record, base *policy.Policy) *SweptSession {
	return &SweptSession{Origin: source, Record: rec, Policy: base, shared: map[int]*outcome{}, ahead: 1}
}

// outcome is the result of one point in one session. It is complete once done is closed; without values, the point
// needs a replay of its own.
type outcome struct {
	done   chan struct{}
	likely bool // the points before it made the same edits
	values compare.Values
}

// try gives a point's outcome.
func (s *SweptSession) try(p *Plan, point int, opt replay.Options) (*outcome, error) {
	if o := s.take(point); o.settled() {
		return o, nil
	}
	from, next := s.claim(len(p.Points))
	defer func() {
		for _, o := range next {
			close(o.done)
		}
	}()
	return s.replay(p, point, from, next, opt)
}

// settled reports whether there is an outcome. It waits for one that is likely.
func (o *outcome) settled() bool {
	if o == nil {
		return false
	}
	if o.likely {
		<-o.done
	}
	select {
	case <-o.done:
		return o.values != nil
	default:
		return false
	}
}

// take removes and returns what another point's replay has, or will have, settled of a point.
func (s *SweptSession) take(point int) *outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.shared[point]
	delete(s.shared, point)
	s.next = max(s.next, point+1)
	return o
}

// claim reserves the points that the next replay looks at.
func (s *SweptSession) claim(points int) (from int, next []*outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = s.next
	for j := from; j < points && len(next) < s.ahead && s.shared[j] == nil; j++ {
		o := &outcome{done: make(chan struct{}), likely: s.ahead > 1}
		s.shared[j] = o
		next = append(next, o)
	}
	return from, next
}

// replay replays a point, and fills in the outcomes of the points from one on that make the same edits.
func (s *SweptSession) replay(p *Plan, point, from int, next []*outcome, opt replay.Options) (*outcome, error) {
	pol, err := p.policy(s.Policy, point)
	if err != nil {
		return nil, err
	}
	others := make([]*policy.Policy, len(next))
	for k := range others {
		if others[k], err = p.policy(s.Policy, from+k); err != nil {
			return nil, err
		}
	}
	tl, same, err := s.Record.ReplayAlike(pol, others, opt)
	if err != nil {
		return nil, err
	}
	if err := tl.CheckValid(); err != nil {
		return nil, fmt.Errorf("the replay contradicts itself: %w: please report it with the session", err)
	}
	own := &outcome{values: compare.Of(tl)}
	alike := 0
	for k, o := range next {
		if same[k] {
			o.values = own.values
			alike++
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if alike == len(next) {
		s.ahead = min(2*max(s.ahead, 1), maxAhead)
	} else {
		s.ahead = max(alike, 1)
	}
	return own, nil
}
