package check

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// anything is the expectation that leaves a figure out.
const anything = "any"

func limitKeys() []string { return []string{"min", "max", "equals", "within"} }

const limitHint = "write a number, any, or {max: N}, {min: N}, {equals: N}, {within: 2%}"

// expect reads the expectations of a case.
func (d *decoder) expect(n *yaml.Node, one *Case, c *Config) {
	if n.Kind != yaml.MappingNode {
		d.report(n, "expect: "+strict.KindName(n)+" is no map", "write {figure: limit}, such as {compactions: {max: 2}}")
		return
	}
	strict.EachKey(n, func(key string, at, value *yaml.Node) {
		if !slices.Contains(figureNames(), key) {
			d.report(at, "expect: unknown figure "+strconv.Quote(key), strict.Suggest(key, figureNames()))
			return
		}
		e := Expectation{Figure: key, Position: strict.At(d.file, at)}
		d.limit(value, &e)
		if e.Within != nil && c.Baseline == "" {
			d.report(value, key+": within what, where there is no baseline", "name a baseline file at the top, or give a min and a max")
		}
		one.Expect = append(one.Expect, e)
	})
}

// limit reads what is expected of one figure.
func (d *decoder) limit(n *yaml.Node, e *Expectation) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Value == anything:
		e.Any = true
		return
	case n.Kind == yaml.ScalarNode:
		e.Equals = d.number(n, e.Figure)
		return
	case n.Kind != yaml.MappingNode || len(n.Content) == 0:
		d.report(n, e.Figure+": "+strict.KindName(n)+" is no limit", limitHint)
		return
	}
	strict.EachKey(n, func(key string, at, value *yaml.Node) {
		name := e.Figure + "." + key
		switch key {
		case "min":
			e.Min = d.number(value, name)
		case "max":
			e.Max = d.number(value, name)
		case "equals":
			e.Equals = d.number(value, name)
		case "within":
			e.Within = d.tolerance(value, name)
		default:
			d.report(at, e.Figure+": unknown limit "+strconv.Quote(key), strict.Suggest(key, limitKeys()))
		}
	})
	switch {
	case e.Equals != nil && (e.Min != nil || e.Max != nil):
		d.report(n, e.Figure+": equals stands beside min or max", "keep one of them")
	case e.Min != nil && e.Max != nil && *e.Min > *e.Max:
		d.report(n, e.Figure+": min is above max: nothing can hold", "exchange them")
	}
}

func (d *decoder) number(n *yaml.Node, key string) *float64 {
	x, ok := parseNumber(n)
	if !ok {
		d.report(n, key+": "+strict.KindName(n)+" is not a number", limitHint)
		return nil
	}
	return &x
}

func parseNumber(n *yaml.Node) (float64, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" && n.ShortTag() != "!!float" {
		return 0, false
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}

// tolerance reads 2% or a number.
func (d *decoder) tolerance(n *yaml.Node, key string) *Tolerance {
	if n == nil {
		return nil
	}
	if share, ok := strings.CutSuffix(n.Value, "%"); ok && n.Kind == yaml.ScalarNode {
		x, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
		if err == nil && x >= 0 && x <= 1000 {
			return &Tolerance{Share: x / 100}
		}
	} else if x, ok := parseNumber(n); ok && x >= 0 {
		return &Tolerance{Amount: x}
	}
	d.report(n, key+": "+strict.KindName(n)+" is no distance from the baseline", "write a share such as 2%, or a number that is not negative")
	return nil
}
