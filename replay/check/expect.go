package check

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/policy/strict"
	"github.com/ctxkit/ctxkit/replay/compare"
)

const (
	anything  = "any" // the expectation that leaves a figure out
	limitHint = "write a number, any, or {max: N}, {min: N}, {equals: N}, {within: 2%}"
)

// Expectation is what is expected of a figure of each session.
type Expectation struct {
	strict.Position            // of the figure
	Figure          string     `yaml:"-"`
	Min             *float64   `yaml:"min" form:"count" none:"-" min:"-1e15" max:"1e15"`
	Max             *float64   `yaml:"max" form:"count" none:"-" min:"-1e15" max:"1e15"`
	Equals          *float64   `yaml:"equals" form:"count" none:"-" min:"-1e15" max:"1e15"`
	Within          *Tolerance `yaml:"within" none:"-"` // of the baseline
	Any             bool       `yaml:"-"`               // nothing is expected
}

// Expectations are in the order of the file.
type Expectations []Expectation

// ReadNode reads {FIGURE: LIMIT}.
func (l *Expectations) ReadNode(r *strict.Decoder, n *strict.Node, key string) {
	for _, kv := range r.Map(n, key, "write {figure: limit}, such as {compactions: {max: 2}}") {
		if figures := compare.Names(); !slices.Contains(figures, kv.Key) {
			r.Report(kv.At, "expect: unknown figure "+strconv.Quote(kv.Key), strict.Suggest(kv.Key, figures))
			continue
		}
		e := Expectation{Figure: kv.Key}
		switch {
		case kv.Value.Kind != yaml.ScalarNode:
			r.Struct(kv.Value, &e, e.Figure)
		case kv.Value.Value == anything:
			e.Any = true
		default:
			x, ok := strict.Amount(kv.Value)
			if e.Equals = &x; !ok {
				r.Report(kv.Value, e.Figure+": "+strict.KindName(kv.Value)+" is not a number", limitHint)
			}
		}
		e.Position = strict.At(r.File, kv.At)
		*l = append(*l, e)
	}
}

// CheckFields rejects limits that say nothing or that no figure can keep.
func (e *Expectation) CheckFields() error {
	switch {
	case e.Min == nil && e.Max == nil && e.Equals == nil && e.Within == nil:
		return &strict.Error{Msg: "a map without a limit", Hint: limitHint}
	case e.Equals != nil && (e.Min != nil || e.Max != nil):
		return &strict.Error{Msg: "equals beside min or max", Hint: "keep one of them"}
	case e.Min != nil && e.Max != nil && *e.Min > *e.Max:
		return &strict.Error{Msg: "min is above max: no figure can keep both", Hint: "exchange them"}
	}
	return nil
}

// Tolerance is how far a figure may be from that of the baseline, both ways.
type Tolerance struct {
	Share  float64 // of the baseline's figure
	Amount float64 // in the figure's unit
}

// ReadNode reads 2% or a number.
func (t *Tolerance) ReadNode(r *strict.Decoder, n *strict.Node, key string) {
	x, ok := strict.Amount(n)
	t.Amount = x
	if share, percent := strings.CutSuffix(n.Value, "%"); percent {
		var err error
		x, err = strconv.ParseFloat(strings.TrimSpace(share), 64)
		*t, ok = Tolerance{Share: x / 100}, err == nil && x <= 1000
	}
	if !ok || !(x >= 0) {
		r.Report(n, key+": "+strict.KindName(n)+" is not a distance from the baseline", "write a share such as 2%, or a number that is not negative")
	}
}

// String is the tolerance as it is written.
func (t Tolerance) String() string {
	if t.Share > 0 {
		return strconv.FormatFloat(t.Share*100, 'g', 12, 64) + "%"
	}
	return strconv.FormatFloat(t.Amount, 'f', -1, 64)
}

// allows reports whether a change from before to after is within the tolerance.
func (t Tolerance) allows(before, after float64) bool {
	return math.Abs(after-before) <= max(t.Amount, t.Share*math.Abs(before))*(1+1e-12)
}
