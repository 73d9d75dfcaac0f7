package sweep

import (
	"slices"
	"strings"
	"sync"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// Plan holds the points to try, and their policies. Several goroutines may use one.
type Plan struct {
	Axes   []Axis
	Points []Point

	mu   sync.Mutex
	made map[*policy.Policy]*variants
}

// NewPlan makes a plan of points over axes.
func NewPlan(axes []Axis, points []Point) *Plan {
	return &Plan{Axes: axes, Points: points, made: map[*policy.Policy]*variants{}}
}

// variants are the policies of all points that start from one policy.
type variants struct {
	has    []bool // by axis: the policy has the parameter
	points []*policy.Policy
	idle   []string // that a parameter changes nothing, and why
	check  sync.Once
	err    error // of a value that the policy does not take
}

func (p *Plan) variants(base *policy.Policy) *variants {
	v := p.made[base]
	if v == nil {
		v = &variants{points: make([]*policy.Policy, len(p.Points))}
		for _, a := range p.Axes {
			_, err := base.Get(a.Key)
			v.has = append(v.has, err == nil && (a.Key != policy.ThresholdKey || slices.ContainsFunc(a.Values, func(value string) bool {
				return base.Clone().Set(a.Key, value) == nil // a release may have no parameter of it
			})))
		}
		p.made[base] = v
	}
	return v
}

// policy is base with a point's values. Parameters that base does not have are left out.
func (p *Plan) policy(base *policy.Policy, point int) (*policy.Policy, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.variants(base)
	if v.points[point] == nil {
		pol := base.Clone()
		for i, value := range p.Points[point] {
			if v.has[i] {
				if err := pol.Set(p.Axes[i].Key, value); err != nil {
					return nil, err
				}
			}
		}
		v.points[point] = pol
	}
	return v.points[point], nil
}

// Check reports the first value that a policy does not take, of the points and of the ends of every axis. Parameters
// that it does not have are an error.
func (p *Plan) Check(base *policy.Policy) error {
	return p.check(base, slices.Repeat([]bool{true}, len(p.Axes)))
}

// check tries both ends of each axis that the policy has, which need not be points, and makes the policies of all points.
func (p *Plan) check(base *policy.Policy, has []bool) error {
	for i, a := range p.Axes {
		for _, value := range []string{a.Values[0], a.Values[len(a.Values)-1]} {
			if has[i] {
				if err := base.Clone().Set(a.Key, value); err != nil {
					return err
				}
			}
		}
	}
	for i := range p.Points {
		if _, err := p.policy(base, i); err != nil {
			return err
		}
	}
	return nil
}

// SessionError is the error of a value that the policy of a session refuses. Of is the number of sessions whose
// policies lack the parameter, 1 where only this one's policy fails.
type SessionError struct {
	Session compare.Origin
	Policy  *policy.Policy
	Of      int
	Err     error
}

func (e *SessionError) Error() string { return e.Err.Error() }
func (e *SessionError) Unwrap() error { return e.Err }

// Has reports, by axis, whether a session's policy has the parameter, and checks the values against the policy. One that
// it does not take is a *SessionError.
func (p *Plan) Has(s *SweptSession) ([]bool, error) {
	p.mu.Lock()
	v := p.variants(s.Policy)
	p.mu.Unlock()
	v.check.Do(func() {
		if v.err = p.check(s.Policy, v.has); v.err == nil {
			v.idle = p.idle(v.points)
		}
	})
	if v.err != nil {
		return nil, &SessionError{s.Origin, s.Policy, 1, v.err}
	}
	return v.has, nil
}

// idle says of parameters that they change nothing at any point.
func (p *Plan) idle(points []*policy.Policy) (list []string) {
	last := policy.Idle(points[len(points)-1])
	for _, text := range policy.Idle(points[0]) {
		if slices.Contains(last, text) && slices.ContainsFunc(p.Axes, func(a Axis) bool { return strings.HasPrefix(text, a.Key+": ") }) {
			list = append(list, text)
		}
	}
	return list
}

// Idle says of parameters that they change nothing under a session's policy, and why, once Has has checked them.
func (p *Plan) Idle(s *SweptSession) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.variants(s.Policy).idle
}

// Try replays a session under one point's policy, and gives its figures.
func (p *Plan) Try(point int, s *SweptSession, opt replay.Options) (compare.Values, error) {
	o, err := s.try(p, point, opt)
	if err != nil {
		return nil, err
	}
	return o.values, nil
}

// Swept is what the first points, or all, give in one session. It does not hold the recorded session.
type Swept struct {
	Session compare.ComparedSession // under the policy that the points start from, then under each point
	Has     []bool                  // by axis: the policy has the parameter
}

// Add adds a session, under which as many points were tried as under those before it.
func (s *Grid) Add(one *Swept) {
	if s.Sessions == nil {
		s.Applied = make([]int, len(s.Axes))
	}
	n := len(s.Sessions)
	for i, has := range one.Has {
		if has && (n == 0 || s.Sessions[n-1].Input != one.Session.Input) {
			s.Applied[i]++
		}
	}
	s.Sessions = append(s.Sessions, one.Session)
}

// Check returns a *SessionError for the first parameter that no session's policy has.
func (s *Grid) Check() error {
	for i, n := range s.Applied {
		if first := &s.Sessions[0]; n == 0 {
			pol := first.Policies[0]
			return &SessionError{first.Origin, pol, len(s.Sessions), pol.Clone().Set(s.Axes[i].Key, s.Axes[i].Values[0])}
		}
	}
	return nil
}
