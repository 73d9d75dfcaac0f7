package compare

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// Schema is the version of the JSON form of a comparison.
const Schema = "ctxkit.compare/v1"

// Few is how many sessions a median or a 90th percentile should rest on.
const Few = 10

// ComparedSession is one conversation under every policy.
type ComparedSession struct {
	Origin
	Conversations []ComparedSession // that it is made of: the main one and those of its subagents; nil: one alone
	Title         string            // "": it has none
	Model         string
	Version       string // of the client
	Project       string
	Window        int                  // tokens
	Recorder      string               // product that recorded it
	Repository    string               // of the project's folder; "": not recorded
	Unpriced      []string             // models of its requests that have no price, sorted
	Policies      []*policy.Policy     // those that ran
	Values        []Values             // by policy
	Breaks        [][]replay.StageCost // by policy: see BreaksOf
	Cache         replay.CacheMode     // whose prompt cache was simulated
	Apart         []int                // by policy: see Apart, against the first policy
	Flags         []Flag               // in the order of Flags
	Rereads       replay.Rereads       // after the recorded compactions
	Aftermath     replay.Aftermath     // of the recorded compactions
	Input         string               // the path it was read from; "-": standard input
	Selection     Selection
	Converted     *replay.Conversion // of its tokens, to those of another model; nil: none
	Billed        SessionBill        // what was billed for it
	Series        [][]int            // by policy: see Series; nil where the caller wants none
	Timelines     []*replay.Timeline // by policy; nil where the caller wants none
}

// Inputs counts the inputs of sessions, and names the conversations left out.
type Inputs struct {
	Given  int
	Failed int      // their sessions are missing, or there in part
	Empty  []Origin // conversations without a request
}

// Origin names a conversation.
type Origin struct {
	Session   string `json:"session"`
	Agent     string `json:"agent,omitempty"`
	File      string `json:"file"`
	Malformed int    `json:"malformed_lines,omitempty"` // lines that cannot be read and are left out
}

// NewSession is a session without values.
func NewSession(t *replay.Timeline, project string) ComparedSession {
	return ComparedSession{
		Origin: Origin{t.Session, t.Agent, t.File, t.Lines.SetAside[string(session.AsideMalformed)]},
		Title:  t.Title, Model: t.Model, Version: t.Version, Project: project, Window: t.Window, Unpriced: t.Unpriced(), Cache: t.Cache, Converted: t.Converted,
	}
}

// Add adds the replay under the next policy. That under the first policy comes first.
func (s *ComparedSession) Add(first, t *replay.Timeline) {
	s.Values = append(s.Values, Of(t))
	s.Breaks = append(s.Breaks, BreaksOf(t))
	s.Apart = append(s.Apart, Apart(first, t))
}

// Distribution is a figure over sessions.
type Distribution struct {
	Total  exact.Decimal // sum; of peaks the highest, of means the mean over requests
	Median exact.Decimal // per session, 0.5 quantile by linear interpolation
	P90    exact.Decimal // per session
}

// PolicyRow is one policy's row.
type PolicyRow struct {
	Name       string
	Figures    []Distribution // by index into Figures, over all sessions
	Common     []Distribution // the same over Comparison.Common
	Infeasible int            // sessions in which the policy is infeasible: there its figures are a bound
	Bound      bool           // infeasible in too many sessions to be a candidate
}

// Uses says what the name of each policy meant.
func (c *Comparison) Uses() []policy.Use {
	uses := make([]policy.Use, len(c.Policies))
	for i := range c.Policies {
		var ran []*policy.Policy
		for _, s := range c.Sessions {
			if i < len(s.Policies) {
				ran = append(ran, s.Policies[i])
			}
		}
		uses[i] = policy.NewUse(c.Policies[i].Name, ran)
	}
	return uses
}

// Recorded reports whether a policy is the recorded track. Its content needed later does not compare with that of a
// policy: nearly all are re-reads, which are found only where the recorded session had lost the text.
func (c *Comparison) Recorded(policy int) bool {
	return slices.ContainsFunc(c.Sessions, func(s ComparedSession) bool {
		return policy < len(s.Policies) && s.Policies[policy].Recorded
	})
}

// Comparison is policies over the same sessions.
type Comparison struct {
	Group        string // model, version or project all sessions share; "" for all of them
	Policies     []PolicyRow
	Sessions     []ComparedSession
	Common       []int      // the sessions, by index, in which every policy that is no bound is feasible
	Pairs        []Contrast // by policy: against the first, whose own is empty
	Judged       int        // index into Figures of the figure that the verdict is about: cost, or the input tokens where no cost is known, or the simulated cache does not fit the sessions
	Unseen       *Unseen    // what a compaction causes that no replay shows
	Differ       int        // the session in which a policy differs most from the first; -1: none differs
	DifferPolicy int        // that policy
	DifferFigure string
	Commands     [][]string // command lines that show the Evidence, filled in by the caller
}

// Group is what sessions can be grouped by.
type Group string

// The groups.
const (
	ByNothing Group = ""
	ByModel   Group = "model"
	ByVersion Group = "version"
	ByProject Group = "project"
)

// Compare sums sessions up, one comparison a group, sorted by name.
func Compare(policies []string, sessions []ComparedSession, by Group) (out []Comparison) {
	if by == ByNothing {
		return []Comparison{newComparison("", policies, sessions, 1, unseen(sessions))}
	}
	groups, measured := map[string][]ComparedSession{}, unseen(sessions)
	for _, s := range sessions {
		name := cmp.Or(map[Group]string{ByModel: s.Model, ByVersion: s.Version, ByProject: s.Project}[by], "(none)")
		groups[name] = append(groups[name], s)
	}
	order := strings.Compare
	if by == ByVersion {
		order = func(a, b string) int { return cmp.Or(session.CompareVersions(a, b), strings.Compare(a, b)) }
	}
	for _, name := range slices.SortedFunc(maps.Keys(groups), order) {
		out = append(out, newComparison(name, policies, groups[name], len(groups), measured))
	}
	return out
}

// newComparison is that of one of several groups. measured covers the sessions of all of them.
func newComparison(group string, policies []string, sessions []ComparedSession, groups int, measured *Unseen) Comparison {
	c, feasible := sums(group, policies, sessions)
	c.Unseen = measured
	c.pair(feasible, groups)
	c.differ()
	return c
}

// Sums is a comparison without what is judged of pairs: the rows of the policies, and the sessions in common.
func Sums(policies []string, sessions []ComparedSession) Comparison {
	c, _ := sums("", policies, sessions)
	return c
}

// sums sums sessions up, and says where each policy is feasible, by session and policy.
func sums(group string, policies []string, sessions []ComparedSession) (c Comparison, feasible [][]bool) {
	c = Comparison{Group: group, Sessions: sessions, Policies: make([]PolicyRow, len(policies)), Differ: -1}
	for p := range policies {
		c.Policies[p].Name = policies[p]
	}
	feasible = c.feasibility()
	all := make([]int, len(sessions))
	for s := range sessions {
		all[s] = s
	}
	for p := range policies {
		c.Policies[p].Figures, c.Policies[p].Common = c.spread(p, all), c.spread(p, c.Common)
	}
	return c, feasible
}

// spread sums the figures of a policy up over some sessions.
func (c *Comparison) spread(p int, sessions []int) []Distribution {
	figures := Figures()
	list := make([]Distribution, len(figures))
	requests := place("requests")
	for f := range figures {
		values, weights := make(Values, 0, len(sessions)), make(Values, 0, len(sessions))
		for _, s := range sessions {
			if figures[f].Unit != "USD" || c.priced(s, f) {
				v := c.Sessions[s].Values[p]
				values, weights = append(values, v[f]), append(weights, v[requests])
			}
		}
		list[f] = spread(figures[f].gather, values, weights)
	}
	return list
}

// priced reports whether an amount is known of a session under some policy: sums leave out a session without a price. One
// that is known under some only stays, and makes the others' sums unknown.
func (c *Comparison) priced(session, figure int) bool {
	return slices.ContainsFunc(c.Sessions[session].Values, func(v Values) bool { return v[figure].Known })
}

func spread(g gather, values, weights Values) Distribution {
	known, total := gathered(g, values, weights)
	if len(known) == 0 {
		return Distribution{}
	}
	slices.SortFunc(known, exact.Decimal.Cmp)
	return Distribution{Total: total, Median: quantile(known, 5), P90: quantile(known, 9)}
}

// gathered are the values that are known, and their total. There is none of a sum of which a value is not known.
func gathered(g gather, values, weights Values) (known Values, total exact.Decimal) {
	known = make(Values, 0, len(values))
	total, weight := exact.Whole(0), exact.Whole(0)
	for i, v := range values {
		switch {
		case !v.Known && g == sum:
			return nil, exact.Decimal{} // a sum without one of its parts would look small
		case !v.Known:
			continue
		case g == sum:
			total = total.Add(v)
		case g == highest && total.Cmp(v) < 0:
			total = v
		case g == mean:
			total = total.Add(v.Times(weights[i].N))
			weight = weight.Add(weights[i])
		}
		known = append(known, v)
	}
	switch {
	case len(known) == 0:
		return nil, exact.Decimal{}
	case g == mean && weight.N > 0:
		total = exact.Ratio(total, weight, 3)
	}
	return known, total
}

// quantile is the value that a number of tenths of the sorted values are below, by linear interpolation.
func quantile(sorted Values, tenths int) exact.Decimal {
	at := tenths * (len(sorted) - 1)
	i, part := at/10, at%10
	if part == 0 {
		return sorted[i]
	}
	return sorted[i].Add(sorted[i+1].Sub(sorted[i]).Times(int64(part)).Tenth())
}
