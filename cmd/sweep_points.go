package cmd

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// points reads the axes and lists the points.
func (o *SweepOptions) points() ([]compare.Axis, []compare.Point, error) {
	var axes []compare.Axis
	for _, v := range o.Vary {
		a, err := compare.ParseAxis(v)
		if err != nil {
			return nil, nil, fmt.Errorf("flag --vary: %w", err)
		}
		for _, other := range axes {
			if other.Key == a.Key {
				return nil, nil, fmt.Errorf("flag --vary: %s varies twice: give all its values at once", a.Key)
			}
		}
		axes = append(axes, a)
	}
	if o.Samples < 0 || o.Samples > compare.MaxPoints {
		return nil, nil, fmt.Errorf("flag --samples: %d: want 1 to %d, or 0 for the full grid", o.Samples, compare.MaxPoints)
	}
	if o.Samples > 0 {
		return axes, compare.Sample(axes, o.Samples, rand.New(rand.NewPCG(o.Seed, 0)).IntN), nil
	}
	points, err := compare.Grid(axes)
	if err != nil {
		return nil, nil, fmt.Errorf("flag --vary: %w", hinted(err))
	}
	return axes, points, nil
}

// variants are the policies of all points, from each policy they start with.
type variants struct {
	mu     sync.Mutex
	axes   []compare.Axis
	points []compare.Point
	made   map[*policy.Policy]*variant
}

// variant are the policies of all points from one that they start with.
type variant struct {
	has    []bool // by axis: the policy has the parameter
	points []*policy.Policy
}

func (v *variants) from(base *policy.Policy) *variant {
	one := v.made[base]
	if one == nil {
		one = &variant{points: make([]*policy.Policy, len(v.points))}
		for _, a := range v.axes {
			_, err := base.Get(a.Key)
			one.has = append(one.has, err == nil)
		}
		v.made[base] = one
	}
	return one
}

func (v *variants) of(base *policy.Policy, point int) (*policy.Policy, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one := v.from(base)
	if one.points[point] == nil {
		p := base.Clone()
		for i, value := range v.points[point] {
			if !one.has[i] {
				continue
			}
			if err := p.Set(v.axes[i].Key, value); err != nil {
				return nil, err
			}
		}
		one.points[point] = p
	}
	return one.points[point], nil
}

// try sets every value that a point has, and the ends of every axis, on a
// policy.
func (v *variants) try(base *policy.Policy) error {
	for i, a := range v.axes {
		if err := v.tryAxis(base, i, a); err != nil {
			return fmt.Errorf("flag --vary: %w", err)
		}
	}
	return nil
}

func (v *variants) tryAxis(base *policy.Policy, i int, a compare.Axis) error {
	tried := map[string]bool{}
	set := func(value string) error {
		if tried[value] {
			return nil
		}
		tried[value] = true
		return base.Clone().Set(a.Key, value)
	}
	for _, end := range []string{a.Values[0], a.Values[len(a.Values)-1]} {
		if err := set(end); err != nil {
			return err
		}
	}
	for _, p := range v.points {
		if err := set(p[i]); err != nil {
			return err
		}
	}
	return nil
}

// applies counts for each axis the sessions whose policy has its parameter, and
// tries its values on those policies. A parameter that none has is an error.
func (r *replaying) applies(v *variants, list []*sweptSession) ([]int, error) {
	applied := make([]int, len(v.axes))
	ok := map[*policy.Policy]bool{}
	for _, one := range list {
		has := v.from(one.base).has
		for i, a := range v.axes {
			if !has[i] {
				continue
			}
			applied[i]++
			if ok[one.base] {
				continue
			}
			if err := v.tryAxis(one.base, i, a); err != nil {
				return nil, r.versionError(one.recorded, fmt.Errorf("flag --vary: %w", err))
			}
		}
		ok[one.base] = true
	}
	for i, n := range applied {
		if n == 0 && len(list) > 0 {
			err := fmt.Errorf("flag --vary: %w", list[0].base.Clone().Set(v.axes[i].Key, v.axes[i].Values[0]))
			if len(list) > 1 {
				err = fmt.Errorf("none of the %d sessions' policies has it: %w", len(list), err)
			}
			return nil, r.versionError(list[0].recorded, err)
		}
	}
	return applied, nil
}

// versionError says which policy a session's version of the client has made of
// the one that was asked for.
func (r *replaying) versionError(one recorded, err error) error {
	if r.o.byVersion() {
		version := one.conv.conv.Version
		err = fmt.Errorf("%s is %s for %s: %w", r.o.unfolded().Policy, one.base.Name, clientText(version), err)
	}
	return pathError(one.conv.input, err)
}
