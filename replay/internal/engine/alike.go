package engine

import (
	"reflect"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/internal/record"
)

// Alike replays the policy, at the start of which the engine is, and reports which of the others do the same at every
// step. Their replays have the same figures; only the reasons of events and the limits differ. Only policies that differ in
// the parameters of stages or in limits are compared; false does not mean that the figures differ.
//
// Stages with other parameters run next to those of the policy, on the same view, until their edits differ. That costs
// less than further replays.
func (e *Engine) Alike(others []*policy.Policy) (same []bool, err error) {
	same = make([]bool, len(others))
	for i, other := range others {
		if s := newShadow(e.record, e.policy, other); s != nil {
			s.other = i
			e.shadows = append(e.shadows, s)
		}
	}
	err = e.Run()
	for _, s := range e.shadows {
		same[s.other] = true
	}
	return same, err
}

// shadow is a policy whose stages run next to those of the policy that is replayed, with the same edits so far.
type shadow struct {
	other    int // index of the policy
	window   policy.Window
	ceilings ceilings
	stages   []policy.Stage // by stage of the policy; nil where both have the same parameters
	shared   []any          // by stage of the policy: the shared parameters it reads
}

// newShadow returns nil where the policies differ in more than the parameters of stages and limits.
func newShadow(r *record.Record, pol, other *policy.Policy) *shadow {
	a := pol.Window
	b := other.Window
	if pol.Recorded || other.Recorded || pol.Cache != other.Cache || a.Overhead != b.Overhead || a.Tail != b.Tail ||
		len(pol.Stages) != len(other.Stages) {
		return nil
	}
	s := &shadow{window: b, ceilings: ceilings{policy: other}, stages: make([]policy.Stage, len(pol.Stages)), shared: make([]any, len(pol.Stages))}
	for i, of := range other.Stages {
		beside := &pol.Stages[i]
		if of.Definition.Name != beside.Definition.Name || of.Definition.Program != "" || of.When.Expression != beside.When.Expression {
			return nil
		}
		if when := of.When.Condition; when != nil && (when.NeedsEdits() || a != b || !slices.Equal(pol.Numbers, other.Numbers)) {
			return nil
		}
		s.shared[i] = of.Shared
		if reflect.DeepEqual(of.Params, beside.Params) &&
			(!of.Definition.Window || a == b && reflect.DeepEqual(of.Shared, beside.Shared)) {
			continue
		}
		var err error
		if s.stages[i], err = newStage(r, of); err != nil {
			return nil // its own replay reports the error
		}
	}
	return s
}

// agree runs the i-th stage of the shadows and drops those with other edits. k is the 0-based request of the window,
// -1 where there is none.
func (e *Engine) agree(i, k int, c *policy.Context, edits []policy.Edit) {
	window := c.Window
	shared := c.Shared
	warned := c.Warned
	c.Warned = nil
	e.shadows = slices.DeleteFunc(e.shadows, func(s *shadow) bool {
		if s.stages[i] == nil {
			return false
		}
		if e.stages.list[i].Definition.Window {
			c.Shared = s.shared[i]
			if k >= 0 {
				c.Window = e.windowUnder(s.window, k)
			}
		}
		own, err := s.stages[i].Run(c)
		return err != nil || !slices.EqualFunc(edits, own, sameEdit)
	})
	c.Window = window
	c.Shared = shared
	c.Warned = warned
}

// sameEdit reports whether two edits that are not applied yet do the same, whatever their reasons. It compares all
// other fields, so that a new field of an edit cannot be forgotten here.
func sameEdit(a, b policy.Edit) bool {
	a.Reason = ""
	b.Reason = ""
	return reflect.DeepEqual(&a, &b)
}
