package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/ctxkit/ctxkit/replay/compare"
)

// The policy of the article, whose client compacts before the window is full, and what is set in it: tokens in every
// window, and shares of the window.
const thresholdPolicy = "claude-code@2.1.145"

var thresholdSettings = []string{"threshold=97k", "threshold=127k", "threshold=167k", "threshold=217k", "window.pct_override=30", "window.pct_override=40", "window.pct_override=60"}

// thresholds compares compacting at numbers of tokens, and at shares of the window, with the client as it is.
func thresholds(src *sources) (*article, error) {
	a := &article{title: "At how many tokens to compact"}
	every := &corpus{title: "all"}
	for _, c := range src.all() {
		every.files = append(every.files, c.files...)
	}
	policies := []string{thresholdPolicy}
	for _, s := range thresholdSettings {
		policies = append(policies, thresholdPolicy+","+s)
	}
	all, err := compareIn(every, policies, "--no-regret")
	if err != nil {
		return nil, err
	}
	t := newTable("thresholds", column{"setting", thresholdPolicy + " with"}, column{"change", "cost"}, column{"low", "from"}, column{"high", "to"},
		column{"extra", "extra compactions"}, column{"corrected_low", "with what they cause, low"}, column{"corrected_high", "high"},
		column{"even", "even at, requests each"}, column{"stability", "sign"}, column{"lower", "lower"}, column{"higher", "higher"})
	for i, setting := range thresholdSettings {
		p := &all.Policies[i+1]
		if p.Against == nil {
			return nil, fmt.Errorf("%s: nothing is compared", setting)
		}
		v, k := p.Against.Figures["cost_usd"], p.Against.Correction
		row := append([]cell{text(setting)}, v.cells()...)
		if k == nil { // no compaction more or less
			t.add(append(row, whole(0), blank, blank, blank, text("–"), count(v.Lower), count(v.Higher))...)
			continue
		}
		first := sum(all.common(all.Policies[0].Policy, p.Policy), all.Policies[0].Policy, "cost_usd")
		word := map[string]string{string(compare.Holds): "holds", string(compare.Flips): "flips", string(compare.CannotTell): "cannot tell"}[k.Stability]
		t.add(append(row, whole(k.Extra), change(k.Low/first), change(k.High/first), number(k.BreakEven, 1), text(word), count(v.Lower), count(v.Higher))...)
	}
	held := newTable("thresholds-held", column{"what", "what"}, column{"change", "cost"}, column{"worse", "draws that cost more"}, column{"draws", "draws"})
	for _, choice := range []struct {
		what     string
		from, to int
	}{{"tokens", 1, 5}, {"shares of the window", 5, len(all.Policies)}} {
		median, worse := heldOut(all, choice.from, choice.to)
		held.add(text(choice.what), change(median), count(worse), count(heldDraws))
	}
	a.addTable(t, held)
	picture := &chart{name: "thresholds", title: "Cost of compacting at a number of tokens, or a share of the window", axis: "cost by that of the client as it is"}
	for _, r := range t.rows {
		picture.rows = append(picture.rows, markOf(r[0].raw, []cell{r[1], r[5], r[6]}, 0))
	}
	return a, a.addChart(picture)
}

// heldDraws is how many halves of the projects are drawn.
const heldDraws = 1000

// heldOut chooses the cheapest policy of some on half of the projects, and gives what it costs on the others: the median, and
// in how many draws more than the first policy.
func heldOut(all *comparison, from, to int) (median float64, worse int) {
	names := []string{}
	for _, p := range all.Policies {
		names = append(names, p.Policy)
	}
	costs := map[string][]float64{} // by project and policy
	for _, s := range all.common(names...) {
		if costs[s.Project] == nil {
			costs[s.Project] = make([]float64, len(names))
		}
		for i, name := range names {
			costs[s.Project][i] += s.Figures[name]["cost_usd"]
		}
	}
	var projects []string
	for p := range costs {
		projects = append(projects, p)
	}
	slices.Sort(projects)
	total := func(list []string, policy int) (usd float64) {
		for _, p := range list {
			usd += costs[p][policy]
		}
		return usd
	}
	r := rand.New(rand.NewPCG(1, 0))
	var changes []float64
	for range heldDraws {
		r.Shuffle(len(projects), func(i, j int) { projects[i], projects[j] = projects[j], projects[i] })
		half, others := projects[:len(projects)/2], projects[len(projects)/2:]
		best := from
		for i := from; i < to; i++ {
			if total(half, i) < total(half, best) {
				best = i
			}
		}
		x := total(others, best)/total(others, 0) - 1
		if changes = append(changes, x); x > 0 {
			worse++
		}
	}
	slices.Sort(changes)
	return changes[len(changes)/2], worse
}
