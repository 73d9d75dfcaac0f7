package sweep

import (
	"fmt"
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
}

func (p *Plan) variants(base *policy.Policy) *variants {
	v := p.made[base]
	if v == nil {
		v = &variants{points: make([]*policy.Policy, len(p.Points))}
		for _, a := range p.Axes {
			_, err := base.Get(a.Key)
			v.has = append(v.has, err == nil)
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
	for i := range p.Axes {
		if err := p.checkEnds(base, i); err != nil {
			return err
		}
	}
	return p.checkPoints(base)
}

// checkEnds tries both ends of an axis, which need not be points.
func (p *Plan) checkEnds(base *policy.Policy, i int) error {
	a := &p.Axes[i]
	for _, value := range []string{a.Values[0], a.Values[len(a.Values)-1]} {
		if err := base.Clone().Set(a.Key, value); err != nil {
			return err
		}
	}
	return nil
}

// checkPoints makes the policies of all points.
func (p *Plan) checkPoints(base *policy.Policy) error {
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
	Session *SweptSession
	Of      int
	Err     error
}

func (e *SessionError) Error() string { return e.Err.Error() }
func (e *SessionError) Unwrap() error { return e.Err }

// Applied counts, by axis, the sessions whose policy has the parameter, and checks the values against those policies.
// A parameter that no policy has, or a value that one does not take, is a *SessionError.
func (p *Plan) Applied(list []*SweptSession) ([]int, error) {
	applied := make([]int, len(p.Axes))
	checked := map[*policy.Policy]bool{}
	for _, s := range list {
		var err error
		for i, has := range p.variants(s.Policy).has {
			if !has {
				continue
			}
			applied[i]++
			if !checked[s.Policy] && err == nil {
				err = p.checkEnds(s.Policy, i)
			}
		}
		if !checked[s.Policy] && err == nil {
			err = p.checkPoints(s.Policy)
		}
		if err != nil {
			return nil, &SessionError{s, 1, err}
		}
		checked[s.Policy] = true
	}
	for i, n := range applied {
		if n == 0 && len(list) > 0 {
			return nil, &SessionError{list[0], len(list), list[0].Policy.Clone().Set(p.Axes[i].Key, p.Axes[i].Values[0])}
		}
	}
	return applied, nil
}

// Tried is what one point gives: its figures by session, and the models of its requests that have no price.
type Tried struct {
	Values   []compare.Values
	Unpriced []compare.Unpriced
}

// Try replays every session under one point's policy.
func (p *Plan) Try(point int, list []*SweptSession, opt replay.Options) (Tried, error) {
	t, sessions := Tried{}, make([]compare.ComparedSession, len(list))
	for i, s := range list {
		o, err := s.try(p, point, opt)
		if err != nil {
			return Tried{}, fmt.Errorf("%s: %w", s.File, err)
		}
		sessions[i] = compare.ComparedSession{Origin: s.Origin, Unpriced: o.unpriced}
		t.Values = append(t.Values, o.values)
	}
	t.Unpriced = compare.UnpricedModels(sessions)
	return t, nil
}
