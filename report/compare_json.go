package report

import (
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/sweep"
)

// spread returns one number of each figure of a policy.
func spread(p *compare.PolicyRow, of func(s *compare.Distribution) exact.Decimal) compare.Values {
	v := make(compare.Values, len(p.Figures))
	for f := range p.Figures {
		v[f] = of(&p.Figures[f])
	}
	return v
}

func totals(p *compare.PolicyRow) compare.Values {
	return spread(p, func(s *compare.Distribution) exact.Decimal { return s.Total })
}

// compareJSON is the JSON form of comparisons. Unknown figures are left out.
func compareJSON(groups []compare.Comparison, in compare.Inputs, hints *Hints) object {
	list := []object{}
	for _, c := range groups {
		list = append(list, groupJSON(&c, hints))
	}
	return append(inputsJSON(compare.Schema, in), member{"groups", list})
}

func inputsJSON(schema string, in compare.Inputs) object {
	return object{{"schema", schema}, {"inputs", in.Given}, {"failed_inputs", in.Failed}, {"without_requests,omitempty", in.Empty}}
}

func groupJSON(c *compare.Comparison, hints *Hints) object {
	policies, each := []object{}, []object{}
	uses := c.Uses()
	for i := range c.Policies {
		policies = append(policies, policyJSON(c, i, &uses[i]))
	}
	for _, s := range c.Sessions {
		figures := map[string]compare.Values{}
		for p, v := range s.Values {
			figures[c.Policies[p].Name] = v
		}
		each = append(each, object{
			{"session", s.Session}, {"agent,omitempty", s.Agent}, {"file", s.File}, {"model", s.Model}, {"client_version,omitempty", s.Version},
			{"project,omitempty", s.Project}, {"malformed_lines,omitempty", s.Malformed}, {"figures", figures},
		})
	}
	var differ object
	if c.Differ >= 0 {
		s := &c.Sessions[c.Differ]
		differ = object{
			{"session", s.Session}, {"file", s.File}, {"policy", c.Policies[c.DifferPolicy].Name}, {"against", c.Policies[0].Name},
			{"figure", c.DifferFigure}, {"command,omitempty", strings.Join(commandLines(c, hints), " && ")},
		}
	}
	mode := ""
	if len(c.Sessions) > 0 {
		mode = string(c.Sessions[0].Cache)
	}
	return object{
		{"group,omitempty", c.Group}, {"prompt_cache,omitempty", mode}, {"sessions", len(c.Sessions)}, {"few_sessions", len(c.Sessions) < compare.Few}, {"policies", policies},
		{"most_different,omitempty", differ}, {"unpriced,omitempty", compare.UnpricedModels(c.Sessions)}, {"each", each},
	}
}

func policyJSON(c *compare.Comparison, i int, u *policy.Use) object {
	p, best := &c.Policies[i], map[string]int{}
	for f, figure := range compare.Figures() {
		if figure.Better != compare.Neither {
			best[figure.Name] = p.Figures[f].Wins
		}
	}
	var difference compare.Values
	if i > 0 {
		difference = totals(p)
		for f, total := range totals(&c.Policies[0]) {
			difference[f] = difference[f].Sub(total)
		}
	}
	var parts []compare.CostPart
	if i > 0 {
		parts = c.Parts(i)
	}
	return object{
		{"policy", p.Name}, {"ran,omitempty", u.Ran}, {"truth,omitempty", u.Truths}, {"score,omitempty", u.Score}, {"totals", totals(p)},
		{"median", spread(p, func(s *compare.Distribution) exact.Decimal { return s.Median })},
		{"p90", spread(p, func(s *compare.Distribution) exact.Decimal { return s.P90 })},
		{"best", best}, {"difference,omitempty", difference}, {"cost_difference,omitempty", parts},
	}
}

// sweepJSON is the JSON form of a sweep.
func sweepJSON(s *sweep.Grid) object {
	vary, points := []object{}, []object{}
	for i, a := range s.Axes {
		vary = append(vary, object{{"key", a.Key}, {"values", a.Values}, {"sessions", s.Applied[i]}})
	}
	for i := range s.Results {
		set := map[string]string{}
		for j, v := range s.Points[i] {
			set[s.Axes[j].Key] = v
		}
		points = append(points, object{{"set", set}, {"totals", totals(&s.Results[i])}, {"front", s.Front[i]}})
	}
	o := object{{"schema", sweep.Schema}, {"policy", s.Policy}, {"sessions", s.Sessions}}
	o = append(o, inputsJSON("", s.Inputs)[1:]...)
	return append(o, object{
		{"unpriced,omitempty", s.Unpriced}, {"vary", vary}, {"points_wanted", len(s.Points)}, {"front_by", frontTitles(s)}, {"points", points},
	}...)
}
