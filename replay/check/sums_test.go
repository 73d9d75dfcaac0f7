package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestTotal holds that the sessions of a case are judged together, with what they come to in words.
func TestTotal(t *testing.T) {
	p := decodePolicy(t, "mine.yaml", "extends: opencode-1.1.36\n")
	must.Rows(t, `
# name | extra | cost | refetch | status | fails | want
all lower                   | ""                      | [90, 90, 90, 90, 90]     | 100 | better  | false | cost_usd 500.0000 -> 450.0000 (-50.0000, -10.00%) in all: lower in 5 of 5 sessions, higher in 0; 90 % interval over sessions, with the price of what is needed later: -10 % to -10 %; run update to keep it so
lower in sum, one higher    | ""                      | [80, 110]                | 100 | better  | false | (-10.0000, -5.00%) in all: lower in 1 of 2 sessions, higher in 1; run update
higher in sum, one lower    | ""                      | [120, 90]                | 100 | worse   | true  | cost_usd 200.0000 -> 210.0000 (+10.0000, +5.00%)
lower, and the interval holds nothing | ""                      | [50, 101, 101, 101, 101] | 100 | ok      | false | over other sessions the difference could be nothing
lower, and what is needed later costs more than that | ""                      | [99, 100]                | 102 | worse   | true  | refetch_usd 200.0000 -> 202.0000 (+2.0000, +1.00%)
lower, and something is needed later | ""                      | [90, 100]                | 102 | changed | true  | (-10.0000, -5.00%) in all: lower in 1 of 2 sessions, higher in 0; refetch_usd 200.0000 -> 202.0000 (+2.0000, +1.00%) in all; misses 200 -> 202 (+2, +1.00%) in all; it saves, and more of what it removes is needed later: allow: [misses] lets that pass
the same, allowed           | allow: [misses]         | [90, 100]                | 102 | better  | false | refetch_usd 200.0000 -> 202.0000
the same, changes allowed   | allow_changes: true     | [90, 100]                | 102 | changed | false | refetch_usd 200.0000 -> 202.0000
each within what is allowed | within: 3%              | [102, 103]               | 100 | ok      | false | ""
one beyond what is allowed  | within: 3%              | [98, 104]                | 100 | worse   | true  | cost_usd 200.0000 -> 202.0000 (+2.0000, +1.00%) in all: lower in 1 of 2 sessions, higher in 1
a limit that holds          | expect: {cost_usd: {max: 200}} | [150, 150]               | 100 | worse   | true  | cost_usd 200.0000 -> 300.0000
a tolerance in place of the sum | expect: {cost_usd: {within: 60}} | [150, 150]               | 100 | ok      | false | ""
beyond a tolerance, for the better | expect: {cost_usd: {within: 2%}} | [50, 50]                 | 101 | changed | true  | it saves, and more
more is needed later, at a lower price of all | ""                      | [100, 100]               | 100 | ok      | false | ""
anything                    | expect: {cost_usd: any} | [150, 150]               | 100 | ok      | false | ""
`, func(theName, extra string, theCost []float64, refetch float64, status Verdict, fails bool, want string) {
		conf := must.Get(Decode("c.yaml", []byte(head+"cases:\n  - policy: ./mine.yaml\n    name: x\n    "+extra+"\n")))(t)
		var was, now []CaseResult
		for i, cost := range theCost {
			name := fmt.Sprintf("%d.jsonl", i)
			was = append(was, result(p, name, ""))
			figures := fmt.Sprintf(`{"cost_usd": %v}`, cost)
			if i == 0 {
				figures = fmt.Sprintf(`{"cost_usd": %v, "refetch_usd": %v, "misses": %[2]v}`, cost, refetch)
			}
			now = append(now, result(p, name, figures))
		}
		r := Judge(conf, now, NewBaseline(conf, was, "1.0"), CheckRun{Tool: "1.0", Update: "update"})
		one := r.Cases[0]
		if one.Status != status || one.Fails != fails || r.Passed == fails || !strings.Contains(one.Message(), want) {
			t.Errorf("%s: fails %v, %s; want %s, %v: %s", theName, one.Fails, one.Message(), status, fails, want)
		}
	})
}

// TestAssumption holds that another assumption is told apart from another policy, and fails nothing.
func TestAssumption(t *testing.T) {
	conf := cases(t, "[{policy: ./mine.yaml, name: x}]")
	was := decodePolicy(t, "mine.yaml", "extends: opencode-1.1.36\n")
	old := baseline(conf, result(was, "a.jsonl", ""))
	const assumed = "extends: opencode-1.1.36\nset: {opencode_compaction.summary: [{fixed: 300}]"
	cost := func(text string, x float64) CaseResult {
		return result(decodePolicy(t, "mine.yaml", text), "a.jsonl", fmt.Sprintf(`{"cost_usd": %v}`, x))
	}

	r := cost(assumed+"}\n", 150)
	if plan := old.Plan(conf, &r); plan != nil {
		t.Errorf("the policy is another one: %v", plan)
	}
	report := Judge(conf, []CaseResult{r}, old, CheckRun{Tool: "1.0"})
	one := report.Cases[0]
	s := one.Sessions[0]
	if one.Status != OK || !report.Passed || report.Counts.Assumed != 1 || report.Counts.ByTool != 0 || one.Effect != "" || len(s.Changes) > 0 ||
		!strings.Contains(s.Message(), "by another assumption, opencode_compaction.summary [recorded, typical] -> [{fixed: 300}] (mine.yaml:2): cost_usd 100.0000 -> 150.0000") {
		t.Errorf("%s, effect %q: %s", one.Status, one.Effect, s.Message())
	}

	r = cost(assumed+", opencode_prune.protect: 30000}\n", 160)
	plan := old.Plan(conf, &r)
	if plan == nil || plan.Settings["opencode_prune.protect"] != "40000" || plan.Settings["opencode_compaction.summary"] != "[{fixed: 300}]" {
		t.Fatalf("%v", plan)
	}
	before := cost(assumed+"}\n", 150)
	r.Old = &OldResult{Outcome: before.Outcome, Settings: before.Policy.Resolved()}
	report = Judge(conf, []CaseResult{r}, old, CheckRun{Tool: "1.0"})
	one = report.Cases[0]
	s = one.Sessions[0]
	must.Say(t, "worse false 1 true true", one.Status, report.Passed, len(s.Changes), strings.Contains(one.Message(), "cost_usd 150.0000 -> 160.0000"), strings.Contains(s.Message(), "by another assumption"))
}
