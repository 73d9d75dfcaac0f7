package report

import "github.com/ctxkit/ctxkit/replay/compare"

// comparedJSON is the JSON form of comparisons.
type comparedJSON struct {
	Schema string       `json:"schema"`
	Inputs int          `json:"inputs"`
	Failed int          `json:"failed_inputs"`
	Empty  []sourceJSON `json:"without_requests,omitempty"`
	Groups []groupJSON  `json:"groups"`
}

type sourceJSON struct {
	Session   string `json:"session"`
	Agent     string `json:"agent,omitempty"`
	File      string `json:"file"`
	Malformed int    `json:"malformed_lines,omitempty"`
}

func sourcesJSON(list []compare.Source) []sourceJSON {
	var out []sourceJSON
	for _, s := range list {
		out = append(out, sourceJSON(s))
	}
	return out
}

type unpricedJSON struct {
	Model    string     `json:"model"`
	Sessions int        `json:"sessions"`
	First    sourceJSON `json:"first"`
}

func unpricedModelsJSON(list []compare.Unpriced) []unpricedJSON {
	var out []unpricedJSON
	for _, u := range list {
		out = append(out, unpricedJSON{u.Model, u.Sessions, sourceJSON(u.First)})
	}
	return out
}

type groupJSON struct {
	Group    string            `json:"group,omitempty"`
	Sessions int               `json:"sessions"`
	Few      bool              `json:"few_sessions"`
	Policies []policyJSON      `json:"policies"`
	Differ   *differJSON       `json:"most_different,omitempty"`
	Unpriced []unpricedJSON    `json:"unpriced,omitempty"`
	Each     []comparedSession `json:"each"`
}

type policyJSON struct {
	Policy     string             `json:"policy"`
	Totals     map[string]float64 `json:"totals"`
	Median     map[string]float64 `json:"median"`
	P90        map[string]float64 `json:"p90"`
	Best       map[string]int     `json:"best"`
	Difference map[string]float64 `json:"difference,omitempty"` // of totals, to the first policy
}

type differJSON struct {
	Session string `json:"session"`
	File    string `json:"file"`
	Policy  string `json:"policy"`
	Against string `json:"against"`
	Figure  string `json:"figure"`            // by which they differ
	Command string `json:"command,omitempty"` // several are joined by &&; none of standard input
}

type comparedSession struct {
	Session   string                        `json:"session"`
	Agent     string                        `json:"agent,omitempty"`
	File      string                        `json:"file"`
	Model     string                        `json:"model"`
	Version   string                        `json:"client_version,omitempty"`
	Project   string                        `json:"project,omitempty"`
	Malformed int                           `json:"malformed_lines,omitempty"`
	Figures   map[string]map[string]float64 `json:"figures"` // by policy
}

func compareJSON(groups []compare.Comparison, in compare.Inputs, hints Hints) comparedJSON {
	out := comparedJSON{Schema: compare.Schema, Inputs: in.Given, Failed: in.Failed, Empty: sourcesJSON(in.Empty), Groups: []groupJSON{}}
	figures := compare.Figures()
	for i := range groups {
		c := &groups[i]
		g := groupJSON{Group: c.Group, Sessions: len(c.Sessions), Few: len(c.Sessions) < compare.Few, Policies: []policyJSON{}, Each: []comparedSession{}}
		for p := range c.Policies {
			j := policyJSON{Policy: c.Policies[p].Name, Totals: map[string]float64{}, Median: map[string]float64{}, P90: map[string]float64{}, Best: map[string]int{}}
			if p > 0 {
				j.Difference = map[string]float64{}
			}
			for f := range figures {
				s, name := c.Policies[p].Figures[f], figures[f].Name
				put(j.Totals, name, s.Total)
				put(j.Median, name, s.Median)
				put(j.P90, name, s.P90)
				if figures[f].Better != compare.Neither {
					j.Best[name] = s.Wins
				}
				if p > 0 {
					put(j.Difference, name, s.Total-c.Policies[0].Figures[f].Total)
				}
			}
			g.Policies = append(g.Policies, j)
		}
		if c.Differ >= 0 {
			s := c.Sessions[c.Differ]
			g.Differ = &differJSON{s.Session, s.File, c.Policies[c.DifferPolicy].Name, c.Policies[0].Name, c.DifferFigure, oneLine(c, hints)}
		}
		g.Unpriced = unpricedModelsJSON(compare.UnpricedModels(c.Sessions))
		for _, s := range c.Sessions {
			e := comparedSession{Session: s.Session, Agent: s.Agent, File: s.File, Model: s.Model, Version: s.Version, Project: s.Project, Malformed: s.Malformed, Figures: map[string]map[string]float64{}}
			for p := range s.Values {
				e.Figures[c.Policies[p].Name] = s.Values[p].Map()
			}
			g.Each = append(g.Each, e)
		}
		out.Groups = append(out.Groups, g)
	}
	return out
}

func put(m map[string]float64, name string, x float64) {
	if compare.Known(x) {
		m[name] = x
	}
}
