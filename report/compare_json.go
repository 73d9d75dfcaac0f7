package report

import (
	"bufio"
	"io"
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
func compareJSON(groups []compare.Comparison, in compare.Inputs, opt *Layout) object {
	list := []object{}
	for _, c := range groups {
		list = append(list, groupJSON(&c, opt))
	}
	return append(inputsJSON(compare.Schema, in), member{"groups", list})
}

func inputsJSON(schema string, in compare.Inputs) object {
	return object{{"schema", schema}, {"inputs", in.Given}, {"failed_inputs", in.Failed}, {"without_requests,omitempty", in.Empty}}
}

func groupJSON(c *compare.Comparison, opt *Layout) object {
	policies := []object{}
	each := []object{}
	uses := c.Uses()
	for i := range c.Policies {
		o := policyJSON(c, i, &uses[i])
		if opt.Prefill != (Prefill{}) {
			o = append(o, member{"prefill_seconds", opt.Prefill.seconds(&c.Policies[i])})
		}
		policies = append(policies, o)
	}
	for _, s := range c.Sessions {
		figures := map[string]compare.Values{}
		for p, v := range s.Values {
			figures[c.Policies[p].Name] = v
		}
		each = append(each, object{
			{"session", s.Session}, {"agent,omitempty", s.Agent}, {"subagents,omitempty", s.Subagents()}, {"file", s.File}, {"model", s.Model}, {"client_version,omitempty", s.Version},
			{"project,omitempty", s.Project}, {"malformed_lines,omitempty", s.Malformed}, {"flags,omitempty", s.Flags}, {"figures", figures},
		})
	}
	var differ object
	if c.Differ >= 0 {
		s := &c.Sessions[c.Differ]
		differ = object{
			{"session", s.Session}, {"file", s.File}, {"policy", c.Policies[c.DifferPolicy].Name}, {"against", c.Policies[0].Name},
			{"figure", c.DifferFigure}, {"command,omitempty", strings.Join(commandLines(c, &opt.Hints), " && ")},
		}
	}
	var flags []object
	for _, f := range compare.Flags() {
		if n := c.Flagged(f); n > 0 {
			flags = append(flags, object{{"flag", f}, {"sessions", n}})
		}
	}
	again := c.Rereads()
	mode := ""
	if len(c.Sessions) > 0 {
		mode = string(c.Sessions[0].Cache)
	}
	return object{
		{"group,omitempty", c.Group}, {"prompt_cache,omitempty", mode}, {"sessions", len(c.Sessions)}, {"projects", projects(c)},
		{"feasible_sessions", len(c.Common)}, {"few_sessions", len(c.Sessions) < compare.Few}, {"policies", policies},
		{"billed", c.Money()}, {"most_different,omitempty", differ}, {"unpriced,omitempty", compare.UnpricedModels(c.Sessions)},
		{"flags,omitempty", flags}, {"rereads,omitempty", again},
		{"unseen", c.Unseen}, {"each", each},
	}
}

func policyJSON(c *compare.Comparison, i int, u *policy.Use) object {
	p := &c.Policies[i]
	o := object{
		{"policy", p.Name}, {"ran,omitempty", u.Ran}, {"truth,omitempty", u.Truths}, {"score,omitempty", u.Score},
		{"infeasible_sessions", p.Infeasible}, {"bound", p.Bound}, {"totals", totals(p)},
	}
	if len(c.Common) < len(c.Sessions) {
		o = append(o, member{"feasible_totals,omitempty", totals(&compare.PolicyRow{Figures: p.Common})})
	}
	o = append(o, object{
		{"median", spread(p, func(s *compare.Distribution) exact.Decimal { return s.Median })},
		{"p90", spread(p, func(s *compare.Distribution) exact.Decimal { return s.P90 })},
	}...)
	if i == 0 {
		return o
	}
	pair := &c.Pairs[i]
	figures := compare.Figures()
	judged := &c.Pairs[i].Figures[c.Judged]
	difference := make(compare.Values, len(figures))
	each := map[string]object{}
	for f, figure := range figures {
		v := &pair.Figures[f]
		difference[f] = v.Difference
		if figure.Better != compare.Neither && v.Sessions > 0 {
			each[figure.Name] = object{
				{"sessions", v.Sessions}, {"share,omitempty", v.Interval.Value}, {"low,omitempty", v.Interval.Lower}, {"high,omitempty", v.Interval.Upper},
				{"lower", v.Lower}, {"even", v.Even}, {"higher", v.Higher},
			}
		}
	}
	against := object{
		{"sessions", len(pair.Sessions)}, {"projects", judged.Projects}, {"clustered_by", either(judged.Projects == 1, "session", "project")},
		{"effective_clusters,omitempty", judged.Interval.Effective}, {"comparisons", judged.Comparisons}, {"judged", figures[c.Judged].Name}, {"verdict,omitempty", string(judged.Conclusion())}, {"conclusion", conclusion(c, i)},
		{"half_sessions,omitempty", pair.Half},
	}
	if pair.Half > 0 {
		against = append(against, member{"largest_project", pair.Largest})
	}
	if r := &judged.Interval.Range; r.Clusters > 0 {
		against = append(against, member{"range", r})
	}
	if k := pair.Correction; k != nil {
		against = append(against, member{"correction", object{
			{"stability", string(k.Stability)}, {"extra_compactions", k.Extra}, {"spared_compactions,omitempty", k.Spared}, {"low_usd", k.Corrected[0]}, {"high_usd", k.Corrected[1]}, {"low_usd_each", k.Each[0]}, {"high_usd_each", k.Each[1]},
			{"break_even_usd,omitempty", k.BreakEven}, {"break_even_requests,omitempty", k.BreakEvenRequests},
		}})
	}
	return append(o, object{
		{"difference", difference}, {"cost_difference,omitempty", c.Parts(i)}, {"against", append(against, member{"figures", each})},
	}...)
}

// sweepJSON is the JSON form of a sweep.
func sweepJSON(s *sweep.Grid) object {
	vary := []object{}
	points := []object{}
	for i, a := range s.Axes {
		vary = append(vary, object{{"key", a.Key}, {"values", a.Values}, {"sessions", s.Applied[i]}, {"inert,omitempty", s.Inert[i]}})
	}
	for i := range s.Results {
		set := map[string]string{}
		against := &s.Against.Pairs[1+i].Figures[s.Against.Judged]
		for j, v := range s.Points[i] {
			set[s.Axes[j].Key] = v
		}
		point := object{{"set", set}, {"totals", totals(&s.Results[i])}}
		if len(s.Against.Sessions) < len(s.Sessions) {
			point = append(point, member{"feasible_totals", totals(&compare.PolicyRow{Figures: s.Results[i].Common})})
		}
		points = append(points, append(point, object{
			{"infeasible_sessions", s.Results[i].Infeasible}, {"bound", s.Results[i].Bound}, {"front", s.Front[i]}, {"repeats", s.Same[i] < i},
			{"share,omitempty", against.Interval.Value}, {"low,omitempty", against.Interval.Lower}, {"high,omitempty", against.Interval.Upper},
		}...))
	}
	o := object{{"schema", sweep.Schema}, {"policy", s.Policy}, {"prompt_cache,omitempty", string(s.Cache)}, {"sessions", len(s.Sessions)}, {"feasible_sessions", len(s.Against.Sessions)}}
	o = append(o, inputsJSON("", s.Inputs)[1:]...)
	return append(o, object{
		{"billed", s.Money()}, {"unpriced,omitempty", compare.UnpricedModels(s.Sessions)}, {"vary", vary}, {"points_wanted", len(s.Points)}, {"front_by", s.By}, {"conclusion", strings.Join(bestTexts(s), " ")}, {"points", points},
	}...)
}

// Rows writes what ReadRows reads of package compare, safe to show on a terminal.
func Rows(w io.Writer, rows *compare.Rows) error {
	out := bufio.NewWriter(w)
	if err := compare.WriteRows(lineEscaper{out}, rows); err != nil {
		return err
	}
	return out.Flush()
}

// lineEscaper is written whole lines of JSON.
type lineEscaper struct{ w io.Writer }

func (e lineEscaper) Write(line []byte) (int, error) {
	_, err := e.w.Write(escapeJSON(line))
	return len(line), err
}
