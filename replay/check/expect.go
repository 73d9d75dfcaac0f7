package check

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/policy/strict"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

const (
	anything  = "any" // the expectation that leaves a figure out
	limitHint = "write a number, any, or {max: N}, {min: N}, {equals: N}, {within: 2%}"
)

// Expectation is what is expected of a figure of each session.
type Expectation struct {
	strict.Position              // of the figure
	Figure          string       `yaml:"-"`
	Min             *FigureLimit `yaml:"min" none:"-"`
	Max             *FigureLimit `yaml:"max" none:"-"`
	Equals          *FigureLimit `yaml:"equals" none:"-"`
	Within          *Tolerance   `yaml:"within" none:"-"` // of the baseline
	Any             bool         `yaml:"-"`               // nothing is expected

	Former string `yaml:"-"` // the name that the file has, of another version
}

// Expectations are in the order of the file.
type Expectations []Expectation

// ReadNode reads {FIGURE: LIMIT}.
func (l *Expectations) ReadNode(r *strict.Decoder, n *strict.Node, key string) {
	for _, kv := range r.Map(n, key, "write {figure: limit}, such as {compactions: {max: 2}}") {
		former := ""
		if kv.Key == "excess_misses" { // of versions that estimated how many of them were chance
			kv.Key, former = "misses", kv.Key
		}
		if figures := compare.Names(); !slices.Contains(figures, kv.Key) {
			r.Report(kv.At, "expect: unknown figure "+strconv.Quote(kv.Key), strict.Suggest(kv.Key, figures))
			continue
		}
		e := Expectation{Figure: kv.Key, Former: former}
		switch {
		case kv.Value.Kind != yaml.ScalarNode:
			r.Struct(kv.Value, &e, e.Figure)
		case kv.Value.Value == anything:
			e.Any = true
		default:
			x, ok := amount(kv.Value)
			e.Equals = &FigureLimit{x}
			if !ok {
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
		return &strict.Error{Msg: "equals next to min or max", Hint: "keep one of them"}
	case e.Min != nil && e.Max != nil && e.Min.Cmp(e.Max.Decimal) > 0:
		return &strict.Error{Msg: "min is above max: no figure can keep both", Hint: "exchange them"}
	}
	return nil
}

// FigureLimit is a number that a figure is compared with.
type FigureLimit struct{ exact.Decimal }

// ReadNode reads a number, also one as [strict.ParseCount] reads it.
func (l *FigureLimit) ReadNode(r *strict.Decoder, n *strict.Node, key string) {
	var ok bool
	if l.Decimal, ok = amount(n); !ok {
		r.Report(n, key+": "+strict.KindName(n)+" is not a number", "write digits, such as 1000")
	}
}

// amount reads a number exactly.
func amount(n *strict.Node) (exact.Decimal, bool) {
	if _, ok := strict.Amount(n); !ok {
		return exact.Decimal{}, false
	}
	if i, ok := strict.ParseCount(n.Value); ok {
		return exact.Whole(i), true
	}
	return exact.Parse(strings.ReplaceAll(n.Value, "_", ""))
}

// Tolerance is how far a figure may be from that of the baseline, both ways.
type Tolerance struct {
	Share  exact.Decimal // of the baseline's figure
	Amount exact.Decimal // in the figure's unit
}

// ReadNode reads 2% or a number.
func (t *Tolerance) ReadNode(r *strict.Decoder, n *strict.Node, key string) {
	x, ok := amount(n)
	t.Amount = x
	if share, percent := strings.CutSuffix(n.Value, "%"); percent {
		x, ok = exact.Parse(strings.TrimSpace(share))
		*t, ok = Tolerance{Share: x.Tenth().Tenth()}, ok && x.Cmp(exact.Whole(1000)) <= 0
	}
	if !ok || x.N < 0 {
		r.Report(n, key+": "+strict.KindName(n)+" is not a distance from the baseline", "write a share such as 2%, or a number that is not negative")
	}
}

// String is the tolerance as it is written.
func (t Tolerance) String() string {
	if t.Share.N > 0 {
		return t.Share.Times(100).String() + "%"
	}
	return cmp.Or(t.Amount.String(), "0")
}

// allows reports whether a change from before to after is within the tolerance.
func (t Tolerance) allows(before, after exact.Decimal) bool {
	d := after.Sub(before).Abs()
	return d.Cmp(t.Amount) <= 0 || d.Within(t.Share, before)
}
