package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay"
)

// products are the policies that are compared: the first is what the others are compared with.
var products = []string{"claude-code", "recorded", "opencode", "claude-code@latest", "opencode@latest", "codex", "gemini-cli", "qwen-code", "pi", "openhands", "goose", "crush", "cline", "roo-code"}

// agents compares the policies of products, each corpus under two prompt caches.
func agents(src *sources) (*article, error) {
	a := &article{title: "Claude Code against OpenCode, and against the others"}
	picture := &chart{name: "agents", title: "Cost against Claude Code's policy", axis: "change in cost, the same prompt cache for all"}
	for _, c := range src.all() {
		for _, mode := range []replay.CacheMode{replay.CacheEqual, replay.CacheOwn} {
			all, err := compareIn(c, products, "--cache", string(mode), "--no-regret")
			if err != nil {
				return nil, err
			}
			costs, err := costTable(fmt.Sprintf("agents-%s-%s", c.key, mode), all)
			if err != nil {
				return nil, err
			}
			a.addTable(costs)
			if mode != replay.CacheEqual {
				continue
			}
			if c == src.claude {
				a.addTable(truthTable("agents-truth", all))
			}
			if c != src.codex {
				kind := slices.Index(src.all(), c)
				for _, r := range costs.rows {
					picture.rows = append(picture.rows, markOf(r[0].raw+map[int]string{0: "", 1: ", second"}[kind], r[2:5], kind))
				}
				picture.rows = append(picture.rows, mark{})
			}
		}
	}
	return a, a.addChart(picture)
}

// parts are the parts of a difference in cost, as `ctxkit compare` names them.
var parts = []string{"content", "breaks", "lifetime", "placement", "own calls"}

// costTable has the differences of all policies to the first, over the sessions in which both are feasible, and their
// parts as shares of the first's cost there.
func costTable(name string, all *comparison) (*table, error) {
	t := newTable(name, column{"policy", "policy"}, column{"sessions", "sessions"}, column{"change", "cost"}, column{"low", "from"}, column{"high", "to"},
		column{"content", "content"}, column{"breaks", "breaks"}, column{"lifetime", "expired"}, column{"placement", "placement"}, column{"own", "own calls"}, column{"sent", "sent"},
		column{"lower", "lower"}, column{"even", "even"}, column{"higher", "higher"}, column{"infeasible", "infeasible in"})
	first := all.Policies[0].Policy
	for i := range all.Policies[1:] {
		p := &all.Policies[i+1]
		list := all.common(first, p.Policy)
		if p.Against == nil || p.Against.Sessions != len(list) {
			return nil, fmt.Errorf("%s: %s is compared over other sessions than the %d in which both are feasible", name, p.Policy, len(list))
		}
		before, after := sum(list, first, "cost_usd"), sum(list, p.Policy, "cost_usd")
		usd := map[string]float64{}
		rest := after - before
		for _, part := range p.Parts {
			usd[part.Part] = part.USD
			rest -= part.USD
		}
		v := p.Against.Figures["cost_usd"]
		if v.Share == nil {
			v.Share = new(float64)
		}
		if math.Abs(rest) > 1e-4*before+0.01 || math.Abs(*v.Share*before-(after-before)) > 1e-4*before {
			return nil, fmt.Errorf("%s: the parts of %s leave %g USD of %g", name, p.Policy, rest, after-before)
		}
		row := append([]cell{text(p.Policy), count(len(list))}, v.cells()...)
		for _, part := range parts {
			row = append(row, change(usd[part]/before))
		}
		row = append(row, p.Against.Figures["payload_input"].cells()[0], count(v.Lower), count(v.Even), count(v.Higher), count(p.Infeasible))
		t.add(row...)
	}
	return t, nil
}

// truthTable says which releases ran, how each policy is confirmed, and how often it decides as its client did.
func truthTable(name string, all *comparison) *table {
	t := newTable(name, column{"policy", "policy"}, column{"releases", "releases that ran"}, column{"older", "sessions older than the first"},
		column{"truth", "confirmed by"}, column{"decided", "decides"}, column{"recorded", "of recorded compactions"})
	for _, p := range all.Policies {
		var ran []string
		older := 0
		for _, r := range p.Ran {
			ran = append(ran, strings.TrimPrefix(r.Policy, p.Policy+"-"))
			older += r.Older
		}
		decided, recorded := blank, blank
		if p.Score != nil {
			decided, recorded = count(p.Score.Decided), count(p.Score.Recorded)
		}
		t.add(text(p.Policy), text(strings.Join(ran, ", ")), count(older), text(strings.Join(p.Truth, ", ")), decided, recorded)
	}
	return t
}
