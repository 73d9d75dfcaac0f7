package check

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

func decodePolicy(t *testing.T, name, text string) *policy.Policy {
	t.Helper()
	reg := must.Get(stage.Registry())(t)
	p := must.Get(policy.Decode(name, []byte(text), reg, preset.Resolve(reg)))(t)
	return p
}

// result is a result whose figures are 100, but for those given.
func result(p *policy.Policy, session string, figures map[string]float64, events ...string) CaseResult {
	r := CaseResult{Session: session, File: "dir/" + session, Command: "mine.yaml", Input: "sha256:1", Policy: p, Outcome: Outcome{Events: events, Window: 1000}}
	for _, name := range compare.Names() {
		x, ok := figures[name]
		if !ok {
			x = 100
		}
		r.Values = append(r.Values, decimal(x))
	}
	return r
}

// decimal is a number as it is written; NaN is not known.
func decimal(x float64) exact.Decimal {
	d, _ := exact.Parse(strconv.FormatFloat(x, 'f', -1, 64))
	return d
}

const (
	oneEvent   = "3 opencode_prune clear 50 10 2 aaaaaaaa"
	otherEvent = "end opencode_prune clear 50 10 2 bbbbbbbb"
)

func TestJudge(t *testing.T) {
	nan := math.NaN()
	figures := func(kv ...any) map[string]float64 {
		m := map[string]float64{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1].(float64)
		}
		return m
	}
	for _, c := range []struct {
		name           string
		extra          string // of the case
		before, after  map[string]float64
		events         []string // nil: as before
		status         Verdict
		failed         bool
		figure, within string // the first figure that decides, and its words
	}{
		{name: "as it was", status: OK},
		{name: "grown", after: figures("cost_usd", 101.0), status: Worse, failed: true, figure: "cost_usd", within: "cost_usd 100.0000 -> 101.0000 (+1.0000, +1.00%)"},
		{name: "a larger peak", after: figures("payload_peak", 101.0), status: Changed, failed: true, figure: "payload_peak"},
		{name: "a larger peak near the window", before: figures("payload_peak", 949.0), after: figures("payload_peak", 950.0, "cost_usd", 50.0), status: Worse, failed: true, figure: "payload_peak"},
		{name: "a smaller peak near the window", before: figures("payload_peak", 990.0), after: figures("payload_peak", 950.0), status: Better, figure: "payload_peak"},
		{name: "saved less, which is not judged", after: figures("tokens_saved", 99.0), status: Changed, failed: true, figure: "tokens_saved"},
		{name: "saved less, and it is named", extra: "expect: {tokens_saved: {within: 0}}", after: figures("tokens_saved", 99.0), status: Worse, failed: true, figure: "tokens_saved"},
		{name: "more refused", extra: "within: 50%", after: figures("cost_usd", 50.0, "refused", 101.0), status: Worse, failed: true, figure: "refused", within: "refused 100 -> 101 (+1, +1.00%), wanted at most 100"},
		{name: "more thrash", after: figures("thrash", 101.0), status: Worse, failed: true, figure: "thrash"},
		{name: "more failures", after: figures("failed_compactions", 101.0), status: Worse, failed: true, figure: "failed_compactions"},
		{name: "more thinking lost", after: figures("preserved_thinking", 101.0), status: Worse, failed: true, figure: "preserved_thinking"},
		{name: "more violations", after: figures("violations", 101.0), status: Worse, failed: true, figure: "violations"},
		{name: "more refused, and allowed", extra: "allow: [refused]", after: figures("refused", 101.0), status: OK},
		{name: "fewer refused", after: figures("refused", 99.0), status: Better, figure: "refused"},
		{name: "cheaper, and forgot", after: figures("cost_usd", 50.0, "tokens_saved", 200.0, "misses", 102.0, "refetch_usd", 101.0), status: Changed, failed: true, figure: "tokens_saved"},
		{name: "cheaper, and forgot what costs more", after: figures("cost_usd", 99.0, "misses", 102.0, "refetch_usd", 102.0), status: Worse, failed: true, figure: "misses"},
		{name: "cheaper, and forgot, which is allowed", extra: "allow: [misses]", after: figures("cost_usd", 50.0, "misses", 102.0, "refetch_usd", 101.0), status: Better, figure: "cost_usd"},
		{name: "cheaper, and forgot more that costs less", after: figures("cost_usd", 50.0, "misses", 102.0, "refetch_usd", 99.0), status: Better, figure: "misses"},
		{name: "cheaper, and forgot less that costs more", after: figures("cost_usd", 50.0, "misses", 99.0, "refetch_usd", 101.0), status: Better, figure: "misses"},
		{name: "dearer, and remembers more", after: figures("cost_usd", 101.0, "misses", 90.0, "refetch_usd", 98.0), status: Better, figure: "misses"},
		{name: "forgot", after: figures("misses", 101.0, "refetch_usd", 101.0), status: Worse, failed: true, figure: "misses"},
		{name: "cheaper, without prices, and forgot", before: figures("cost_usd", nan), after: figures("cost_usd", nan, "payload_input", 50.0, "misses", 101.0, "refetch_tokens", 101.0), status: Changed, failed: true, figure: "payload_input"},
		{name: "smaller, without prices", before: figures("cost_usd", nan), after: figures("cost_usd", nan, "payload_input", 50.0), status: Better},
		{name: "cheaper, and nobody looked", before: figures("misses", nan, "refetch_usd", nan), after: figures("cost_usd", 50.0, "tokens_saved", 200.0, "misses", nan, "refetch_usd", nan), status: Changed, failed: true, figure: "tokens_saved"},
		{name: "cheaper by sending more, and nobody looked", before: figures("misses", nan, "refetch_usd", nan), after: figures("cost_usd", 50.0, "tokens_saved", 90.0, "misses", nan, "refetch_usd", nan), status: Better, figure: "cost_usd"},
		{name: "cheaper by removing more, and nothing is used", before: figures("misses", 0.0), after: figures("misses", 0.0, "cost_usd", 50.0, "removed_blocks", 101.0), status: Better, figure: "cost_usd"},
		{name: "shrunk", after: figures("cost_usd", 99.0), status: Better, figure: "cost_usd"},
		{name: "shrunk and otherwise changed", after: figures("cost_usd", 99.0, "cache_read", 3.0), events: []string{otherEvent}, status: Better, figure: "cost_usd"},
		{name: "one better, one worse", after: figures("cost_usd", 99.0, "refused", 102.0), status: Worse, failed: true, figure: "refused"},
		{name: "neither", after: figures("cache_read", 3.0), status: Changed, failed: true, figure: "cache_read"},
		{name: "neither, allowed", extra: "allow_changes: true", after: figures("cache_read", 3.0), status: Changed, figure: "cache_read"},
		{name: "worse is not allowed by that", extra: "allow_changes: true", after: figures("cost_usd", 102.0), status: Worse, failed: true, figure: "cost_usd"},
		{name: "events alone", events: []string{oneEvent, otherEvent}, status: Changed, failed: true},
		{name: "events gone", events: []string{}, status: Changed, failed: true},
		{name: "within, up", extra: "within: 2%", after: figures("cost_usd", 102.0), status: OK},
		{name: "within, down", extra: "within: 2%", after: figures("cost_usd", 98.0), status: OK},
		{name: "beyond, up", extra: "within: 2%", after: figures("cost_usd", 102.1), status: Worse, failed: true, figure: "cost_usd", within: "wanted within 2% of the baseline"},
		{name: "beyond, down", extra: "within: 2%", after: figures("cost_usd", 97.9), status: Better, figure: "cost_usd"},
		{name: "one figure within", extra: "expect: {cost_usd: {within: 5}}", after: figures("cost_usd", 105.0), status: OK},
		{name: "one figure beyond", extra: "expect: {cost_usd: {within: 5}}", after: figures("cost_usd", 105.5), status: Worse, failed: true, figure: "cost_usd"},
		{name: "one figure beyond for the better", extra: "expect: {cost_usd: {within: 5}}", after: figures("cost_usd", 94.0), status: Better, figure: "cost_usd"},
		{name: "a neutral figure beyond", extra: "expect: {cache_read: {within: 5}}", after: figures("cache_read", 94.0), status: Broken, failed: true, figure: "cache_read"},
		{name: "a limit that holds, beside the baseline", extra: "expect: {cost_usd: {max: 200}}", after: figures("cost_usd", 150.0), status: Worse, failed: true},
		{name: "above a limit", extra: "expect: {cost_usd: {max: 200}}", after: figures("cost_usd", 201.0), status: Broken, failed: true, figure: "cost_usd", within: "wanted at most 200"},
		{name: "below a limit", extra: "expect: {cost_usd: {min: 20}}", after: figures("cost_usd", 19.0), status: Broken, failed: true, figure: "cost_usd", within: "wanted at least 20"},
		{name: "not equal", extra: "expect: {violations: 0}", status: Broken, failed: true, figure: "violations", within: "violations 100, wanted 0"},
		{name: "both limits", extra: "expect: {cost_usd: {max: 200, within: 1%}}", after: figures("cost_usd", 102.0), status: Worse, failed: true, figure: "cost_usd", within: "wanted at most 200, within 1% of the baseline"},
		{name: "left out", extra: "expect: {cost_usd: any}", after: figures("cost_usd", 1000.0), status: OK},
		{name: "known no more", after: figures("cost_usd", nan), status: Worse, failed: true, figure: "cost_usd", within: "cost_usd 100.0000 -> not known"},
		{name: "not known, and a limit", extra: "expect: {cost_usd: {max: 200}}", before: figures("cost_usd", nan), after: figures("cost_usd", nan), status: Broken, failed: true, figure: "cost_usd", within: "cost_usd not known, wanted at most 200"},
		{name: "known now", before: figures("misses", nan), after: figures("misses", 7.0), status: Changed, failed: true, figure: "misses", within: "misses not known -> 7"},
		{name: "never known", before: figures("misses", nan), after: figures("misses", nan), status: OK},
		{name: "within nothing known", extra: "expect: {misses: {within: 1}}", before: figures("misses", nan), after: figures("misses", 7.0), status: Broken, failed: true, figure: "misses"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf := must.Get(Decode("c.yaml", []byte(head+"cases:\n  - policy: ./mine.yaml\n    name: x\n    "+c.extra+"\n")))(t)
			p := decodePolicy(t, "mine.yaml", "extends: opencode-1.1.36\n")
			old := NewBaseline(conf, []CaseResult{result(p, "a.jsonl", c.before, oneEvent)}, "1.0")
			events := c.events
			if events == nil {
				events = []string{oneEvent}
			}
			r := Judge(conf, []CaseResult{result(p, "a.jsonl", c.after, events...)}, old, CheckRun{Tool: "1.0"})
			one := r.Cases[0]
			s := one.Sessions[0]
			if one.Status != c.status || one.Fails != c.failed || r.Passed == c.failed {
				t.Errorf("%s, fails %v, passed %v; want %s, failed %v", one.Message(), one.Fails, r.Passed, c.status, c.failed)
			}
			if i := slices.IndexFunc(s.Figures, func(f FigureReport) bool { return f.Figure == c.figure && f.Status != OK }); c.figure != "" && i < 0 {
				t.Errorf("figures %+v, want %s among them", s.Figures, c.figure)
			}
			if !strings.Contains(s.Message(), c.within) {
				t.Errorf("message %q, want %q in it", s.Message(), c.within)
			}
			must.Equal(t, strings.Contains(s.Message(), "it was edited, or made by another build"), s.Status != OK && s.Status != Broken)
			all := Judge(conf, []CaseResult{result(p, "a.jsonl", c.after, events...)}, old, CheckRun{Tool: "1.1"})
			newer, differs := all.Cases[0].Sessions[0], !old.Cases[0].Sessions[0].past().same(&Outcome{Values: result(p, "", c.after).Values, Events: events})
			if newer.Status != OK && newer.Status != Broken || newer.Failed != (newer.Status == Broken) || (newer.ByTool != nil) != differs || (all.Counts.ByTool == 1) != differs ||
				strings.Contains(newer.Message(), "by ctxkit itself: ") != differs {
				t.Errorf("%s, message %q: nothing changed but ctxkit", newer.Status, newer.Message())
			}
			update := Judge(conf, []CaseResult{result(p, "a.jsonl", c.after, events...)}, old, CheckRun{Tool: "1.0", Updating: true})
			one = update.Cases[0]
			s = one.Sessions[0]
			if one.Status != c.status || s.Failed != (c.status == Broken) || update.Passed == s.Failed || !update.Updated || strings.Contains(one.Message()+s.Message(), "--update") {
				t.Errorf("updating: %s, failed %v, passed %v: %s", one.Message(), s.Failed, update.Passed, s.Message())
			}
		})
	}
}

// TestManyChanges holds that a policy that is another in many keys is told in a few lines, and that the command names
// the old one instead of its keys.
func TestManyChanges(t *testing.T) {
	for policyNow, against := range map[string]string{"codex-local": "opencode-1.1.36", "opencode-1.1.36": ""} {
		conf := must.Get(Decode("c.yaml", []byte(head+"cases: [{policy: "+policyNow+", name: x}]")))(t)
		was := must.Get(Decode("c.yaml", []byte(head+"cases: [{policy: opencode-1.1.36, name: x}]")))(t)
		old := NewBaseline(was, []CaseResult{result(decodePolicy(t, "p.yaml", "extends: opencode-1.1.36"), "a.jsonl", nil)}, "1.0")
		s := Judge(conf, []CaseResult{result(decodePolicy(t, "p.yaml", "extends: codex-local"), "a.jsonl", map[string]float64{"cost_usd": 101})}, old, CheckRun{Tool: "1.0"}).Cases[0].Sessions[0]
		if len(s.Changes) < 12 {
			t.Fatalf("%d changes", len(s.Changes))
		}
		more := fmt.Sprintf("%d more keys of the policy changed: json holds them", len(s.Changes)-8)
		for _, lines := range [][]string{s.ChangeLines(false, "json holds them"), s.Lines()[2:]} {
			if lines[8] != more || lines[7] != s.Changes[7].Message() {
				t.Errorf("%q, want %q", lines, more)
			}
		}
		if all := s.ChangeLines(true, ""); len(all) != len(s.Changes) || !strings.Contains(s.Message(), more) || strings.Contains(s.Message(), s.Changes[8].Message()) {
			t.Errorf("%q", all)
		}
		want := compare.Pointer{Show: compare.ShowDiff, File: "dir/a.jsonl", Policy: "mine.yaml", Against: against}
		must.Equal(t, *s.Evidence, want)
		same := Judge(was, []CaseResult{result(decodePolicy(t, "p.yaml", "extends: opencode-1.1.36"), "a.jsonl", nil)}, old, CheckRun{Tool: "1.0"})
		if list := same.Cases[0].Sessions[0].Changes; list == nil || len(list) > 0 {
			t.Errorf("the same policy: %#v, want a list, which the schema has", list)
		}
	}
	few := &SessionReport{Changes: make([]KeyChange, 9)}
	if got := few.ChangeLines(false, ""); len(got) != 9 || strings.Contains(got[8], "more") {
		t.Errorf("%q", got)
	}
}

// TestFirstDifference holds which event is named.
func TestFirstDifference(t *testing.T) {
	conf := must.Get(Decode("c.yaml", []byte(head+"cases: [{policy: opencode}]")))(t)
	p := decodePolicy(t, "p.yaml", "extends: opencode-1.1.36")
	for _, c := range []struct {
		before, after []string
		want          string
	}{
		{[]string{oneEvent}, []string{oneEvent}, ""},
		{[]string{oneEvent}, nil, "first differing event 0: expected opencode_prune clear at request 3, 50 -> 10 tokens, results: 2; got none"},
		{nil, []string{otherEvent}, "first differing event 0: expected none; got opencode_prune clear after the last request, 50 -> 10 tokens, results: 2"},
		{[]string{oneEvent, oneEvent}, []string{oneEvent, otherEvent}, "first differing event 1: expected opencode_prune clear at request 3, "},
		{[]string{oneEvent}, []string{strings.Replace(oneEvent, "aaaa", "cccc", 1)}, "but with another trigger, other targets or other figures of its own (marks aaaaaaaa, ccccaaaa)"},
		{[]string{"by hand"}, []string{oneEvent}, `expected "by hand"; got opencode_prune`},
	} {
		old := NewBaseline(conf, []CaseResult{result(p, "a.jsonl", nil, c.before...)}, "1.0")
		s := Judge(conf, []CaseResult{result(p, "a.jsonl", nil, c.after...)}, old, CheckRun{Tool: "1.0"}).Cases[0].Sessions[0]
		switch {
		case c.want == "" && s.Events.First != nil:
			t.Errorf("%+v", s.Events.First)
		case c.want != "" && !strings.Contains(s.Message(), c.want):
			t.Errorf("%q, want %q", s.Message(), c.want)
		}
	}
}

// TestStale holds that a baseline of something else is told, and how.
func TestStale(t *testing.T) {
	conf := must.Get(Decode("c.yaml", []byte(head+"cases: [{policy: none, name: x}, {policy: none, name: y}]")))(t)
	p := decodePolicy(t, "p.yaml", "stages: []")
	both := func(session string) []CaseResult {
		a, b := result(p, session, nil), result(p, session, nil)
		b.Case = 1
		return []CaseResult{a, b}
	}
	for _, c := range []struct {
		name   string
		change func(b *Baseline)
		want   string
	}{
		{"session", func(b *Baseline) { b.Cases[0].Sessions[0].Session = "b.jsonl" }, "the session is not in the baseline"},
		{"case", func(b *Baseline) { b.Cases[0].Name = "z" }, "the case is not in the baseline"},
		{"counter", func(b *Baseline) { b.Counted = strings.Replace(b.Counted, "usage", "heuristic", 1) }, "the settings have changed since the baseline was made: tokens: heuristic -> usage"},
		{"window", func(b *Baseline) { b.Counted += ", window 200k" }, "made: window: 200k -> not set"},
		{"prices", func(b *Baseline) { b.Counted += ", prices 0011223344556677" }, "made: prices: file with content hash 0011223344556677 -> built-in"},
		{"regret", func(b *Baseline) { b.Counted = strings.Replace(b.Counted, ", regret on", "", 1) }, "made: regret: not set -> on"},
		{"both", func(b *Baseline) { b.Counted = "tokens usage, agent main, cache equal, prices 1" }, "hash 1 -> built-in; regret: not set -> on"},
		{"another version's counting", func(b *Baseline) { b.Counted += ", unit words" }, `made: "tokens usage, agent main, cache equal, regret on, unit words" -> "tokens usage, agent main, cache equal, regret on"`},
		{"content", func(b *Baseline) { b.Inputs["a.jsonl"] = "sha256:2" }, "the session's content has changed"},
		{"policy", func(b *Baseline) { clear(b.Cases[0].Policies) }, "the baseline does not hold the session's policy"},
	} {
		old := NewBaseline(conf, both("a.jsonl"), "1.0")
		c.change(old)
		r := Judge(conf, both("a.jsonl"), old, CheckRun{Tool: "2.0"})
		s := r.Cases[0].Sessions[0]
		if s.Status != Stale || !s.Failed || r.Passed || len(s.Reasons) == 0 || !strings.Contains(s.Reasons[0], c.want) || r.Counts.Stale == 0 {
			t.Errorf("%s: %+v", c.name, s)
		}
		if !slices.Contains(r.Notes, "the baseline was made by ctxkit 1.0, this is 2.0") {
			t.Errorf("notes %q", r.Notes)
		}
		must.Equal(t, c.name == "session" || c.name == "case", len(r.Stale) == 1, c.name, r.Stale)
	}
	if Judge(conf, nil, nil, CheckRun{Tool: "1.0"}).Passed {
		t.Error("an empty run passes")
	}
}

// TestSettings holds that what changes figures besides policies and sessions is listed.
func TestSettings(t *testing.T) {
	base := Counting{Tokens: "usage", Agent: "main"}
	with := func(change func(*Counting)) Counting {
		c := base
		change(&c)
		return c
	}
	file, other := with(func(c *Counting) { c.Prices = ContentHash([]byte("a")) }), with(func(c *Counting) { c.Prices = ContentHash([]byte("b")) })
	for _, c := range []struct {
		before, after Counting
		want          string
	}{
		{base, with(func(c *Counting) { c.Regret = true }), "regret: not set -> on"},
		{base, file, "prices: built-in -> file with content hash ca978112ca1bbdca"},
		{file, base, "prices: file with content hash ca978112ca1bbdca -> built-in"},
		{file, other, "prices: file with content hash ca978112ca1bbdca -> file with content hash 3e23e8160039594a"},
		{base, with(func(c *Counting) { c.Model = "m" }), "model: not set -> m"},
		{with(func(c *Counting) { c.Overhead = "5" }), with(func(c *Counting) { c.Overhead = "6"; c.Agent = "all" }), "agent: main -> all; overhead: 5 -> 6"},
	} {
		if got := c.after.change(c.before.String()); got != c.want || c.before.String() == c.after.String() {
			t.Errorf("%s, %s: %q, want %q", c.before, c.after, got, c.want)
		}
	}
}

// TestNewFigure holds that a figure which the baseline's version did not know is told and not held, and one this
// version does not know is told.
func TestNewFigure(t *testing.T) {
	conf := must.Get(Decode("c.yaml", []byte(head+"cases: [{policy: none, name: x}, {policy: none, name: y, expect: {cost_usd: {within: 5}, calls: {max: 200}, misses: any}}]")))(t)
	p := decodePolicy(t, "p.yaml", "stages: []")
	for _, c := range []struct {
		name   string
		i      int
		run    CheckRun
		absent []string // from the session
		knew   bool     // the version knew them
		status Verdict
		note   string
	}{
		{"known to neither", 0, CheckRun{Tool: "2.0", Update: "update"}, []string{"cost_usd"}, false, OK, "did not know cost_usd: update adds it"},
		{"updating", 0, CheckRun{Tool: "2.0", Updating: true}, []string{"cost_usd"}, false, OK, ""},
		{"with a limit in its place", 1, CheckRun{Tool: "1.0"}, []string{"calls", "misses"}, true, OK, ""},
	} {
		now := result(p, "a.jsonl", nil)
		now.Case = c.i
		old := NewBaseline(conf, []CaseResult{now}, "1.0")
		for _, name := range c.absent {
			delete(old.Cases[c.i].Sessions[0].Figures, name)
			if !c.knew {
				old.Figures = slices.DeleteFunc(old.Figures, func(s string) bool { return s == name })
			}
		}
		r := Judge(conf, []CaseResult{now}, old, c.run)
		if s := r.Cases[c.i].Sessions[0]; s.Status != c.status {
			t.Errorf("%s: %s: %s, want %s", c.name, s.Status, s.Message(), c.status)
		}
		if notes := strings.Join(r.Notes, "; "); !strings.Contains(notes, c.note) || c.note == "" && strings.Contains(notes, "did not know") {
			t.Errorf("%s: notes %q, want %q", c.name, notes, c.note)
		}
	}
	old := NewBaseline(conf, []CaseResult{result(p, "a.jsonl", nil)}, "3.0")
	old.Figures = append(old.Figures, "smoothness")
	if r := Judge(conf, []CaseResult{result(p, "a.jsonl", nil)}, old, CheckRun{Tool: "2.0"}); !r.Passed || !slices.Contains(r.Notes, "the baseline holds smoothness, which this version does not know") {
		t.Errorf("passed %v, notes %q", r.Passed, r.Notes)
	}
}

// TestStaleLimits holds that a limit which needs no baseline is held where the baseline is of something else, and one
// that is the baseline's is not shown.
func TestStaleLimits(t *testing.T) {
	conf := must.Get(Decode("c.yaml", []byte(head+"cases: [{policy: none, name: x, expect: {cost_usd: {within: 2%}, calls: {max: 200, within: 5}, violations: 0}}]")))(t)
	p := decodePolicy(t, "p.yaml", "stages: []")
	old := NewBaseline(conf, []CaseResult{result(p, "b.jsonl", nil)}, "1.0")
	for violations, want := range map[float64]Verdict{0: Stale, 1: Broken} {
		s := Judge(conf, []CaseResult{result(p, "a.jsonl", map[string]float64{"violations": violations})}, old, CheckRun{Tool: "1.0"}).Cases[0].Sessions[0]
		var limits []string
		for _, f := range s.Figures {
			limits = append(limits, f.Figure+" "+f.Limit)
		}
		if got := strings.Join(limits, "; "); got != "calls at most 200; violations 0" || s.Status != want {
			t.Errorf("%s: %q", s.Status, got)
		}
	}
}

// TestPlaces holds where a change is pointed at, and the command it gives.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		name, conf, before, after string
		place                     Place
		against                   string
	}{
		{"in the policy's file", "{policy: ./mine.yaml, name: x}", "extends: gemini-cli\nset: {gemini_compression.threshold: 0.7}", "extends: gemini-cli\nset: {gemini_compression.threshold: 0.2}",
			Place{"mine.yaml", 2, 37}, "mine.yaml,gemini_compression.threshold=0.7"},
		{"taken out of the policy's file", "{policy: ./mine.yaml, name: x}", "extends: gemini-cli\nset: {gemini_compression.threshold: 0.7}", "extends: gemini-cli",
			Place{"mine.yaml", 1, 10}, "mine.yaml,gemini_compression.threshold=0.7"},
		{"among the case's settings", "{policy: ./mine.yaml, name: x, set: {gemini_compression.threshold: 0.2}}", "extends: gemini-cli", "extends: gemini-cli\nset: {gemini_compression.threshold: 0.2}",
			Place{"c.yaml", 4, 76}, "mine.yaml,gemini_compression.threshold=0.5"},
		{"behind the policy's name", "{policy: './mine.yaml,gemini_compression.threshold=0.2', name: x}", "extends: gemini-cli", "extends: gemini-cli\nset: {gemini_compression.threshold: 0.2}",
			Place{"c.yaml", 4, 18}, "mine.yaml,gemini_compression.threshold=0.5"},
		{"other stages", "{policy: ./mine.yaml, name: x}", "name: mine\nextends: gemini-cli", "name: mine\nextends: codex-local", Place{"mine.yaml", 2, 10}, ""},
	} {
		conf := must.Get(Decode("c.yaml", []byte(head+"cases: ["+c.conf+"]")))(t)
		old := NewBaseline(conf, []CaseResult{result(decodePolicy(t, "mine.yaml", c.before), "a.jsonl", nil)}, "1.0")
		s := Judge(conf, []CaseResult{result(decodePolicy(t, "mine.yaml", c.after), "a.jsonl", map[string]float64{"cost_usd": 101}, oneEvent)}, old, CheckRun{Tool: "1.0"}).Cases[0].Sessions[0]
		must.Equal(t, s.Place, c.place, c.name)
		want := compare.Pointer{Show: compare.ShowDiff, File: "dir/a.jsonl", Policy: "mine.yaml", Against: c.against, At: "3"}
		must.Equal(t, *s.Evidence, want, c.name)
	}
}

// TestBaselineRoundTrip holds that what is written is read as the same, a session a line, and that what most replays
// of a session have stands once.
func TestBaselineRoundTrip(t *testing.T) {
	conf := must.Get(Decode("c.yaml", []byte(head+"cases: [{policy: opencode, name: x}, {policy: opencode, name: y}, {policy: opencode, name: z}]")))(t)
	p := decodePolicy(t, "p.yaml", "extends: opencode-1.1.36")
	var events []string
	for range keptEvents + 3 {
		events = append(events, oneEvent)
	}
	r := []CaseResult{
		result(p, "a.jsonl", map[string]float64{"cost_usd": 18.745333}, events...), result(p, "a.jsonl", map[string]float64{"misses": math.NaN()}, oneEvent), result(p, "a.jsonl", map[string]float64{"refused": 0}),
		result(p, "b.jsonl", nil),
	}
	for i := range r {
		r[i].Case, r[i].Files = i%3, map[string]string{"p.yaml": ContentHash(nil)}
	}
	r[3].Agent = "a1"
	write := func(b *Baseline) string {
		var buf bytes.Buffer
		must.Do(t, b.Write(&buf))
		return buf.String()
	}
	text := write(NewBaseline(conf, r, "1.0"))
	must.Rows(t, `
\n +"cost_usd": 18\.745333,\n | 1
\n +"misses": null,\n   | 1
\n +"calls": 100,\n     | 4
"\"refused\": "         | 3  # 0 is left out
\n +{\n +"name": "x",\n | 1
\n +"session": "b.jsonl",\n +"agent": "a1",\n | 1
\n +"more": "3 [0-9a-f]{16}"\n | 1
\n +"p": {\n            | 3
`, func(line string, times int) {
		must.Equal(t, len(regexp.MustCompile(line).FindAllString(text, -1)), times, line, text)
	})
	other := slices.Clone(r)
	other[1].Policy = decodePolicy(t, "p.yaml", "extends: opencode-1.1.36\nset: {opencode_prune.protect: 1}")
	was, now := strings.Split(text, "\n"), strings.Split(write(NewBaseline(conf, other, "1.0")), "\n")
	differ := 0
	for i := range min(len(was), len(now)) {
		if was[i] != now[i] {
			differ++
		}
	}
	if len(was) != len(now) || differ != 1 {
		t.Errorf("%d of %d lines differ from %d for one key", differ, len(now), len(was))
	}
	b := must.Get(ReadBaseline("b.json", []byte(text), "tool --update"))(t)
	must.Equal(t, write(b), text)
	if got := Judge(conf, r, b, CheckRun{Tool: "1.0"}); !got.Passed || got.Counts.OK != len(r) {
		t.Errorf("%+v", got)
	}
	must.Rows(t, `
""            | b.json:1: not a baseline: unexpected end of JSON input: make
[]            | b.json:1: not a baseline: array in place of a map: make
null          | b.json: schema "" is not ctxkit.baseline/v3: make
{"schema": 3} | b.json:1: not a baseline: schema has the wrong kind (number): make
{"schema": "ctxkit.baseline/v4"} | b.json: schema "ctxkit.baseline/v4" is not ctxkit.baseline/v3: make
"{\n\"schema\": \"ctxkit.baseline/v2\",\n<" | b.json:3: not a baseline: invalid character '<'
{"schema": "ctxkit.baseline/v2", "more": 1} | not a baseline: unknown field "more": make
"{\"schema\": \"ctxkit.baseline/v2\",\n\"cases\": 3}" | b.json:2: not a baseline: cases has the wrong kind (number): make
{"schema": "ctxkit.baseline/v2", "cases": [{"name": []}]} | not a baseline: cases.name has the wrong kind (array): make
`, func(bad, want string) {
		_, err := ReadBaseline("b.json", []byte(bad), "tool --update")
		if err == nil || !strings.HasPrefix(err.Error(), "b.json:") || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--update") {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	})
}

// TestIsBaseline holds which files --update may replace.
func TestIsBaseline(t *testing.T) {
	must.Rows(t, `
{"schema": "ctxkit.baseline/v2"} | true
{"schema": "ctxkit.baseline/v1", "more": 1} | true
{"tool": "1", "schema": "ctxkit.baseline/v2"} | true
"{\n  \"schema\": \"ctxkit.baseline/v2\",\n<<<<<" | true
{"schema": "ctxkit.baseline/v2" | true
""           | false
[]           | false
null         | false
version: 1   | false
{"schema": "ctxkit.replay/v1"} | false
{"schema": ["ctxkit.baseline/v2"]} | false
{"schema": 3 | false
"{\"type\": \"user\", \"schema\": 1}\n{\"schema\": \"ctxkit.baseline/v2\"}" | false
`, func(text string, want bool) {
		must.Equal(t, IsBaseline([]byte(text)), want, text)
	})
}

// TestEventKeeps holds that whatever changes of an event but its words changes what a baseline keeps of it.
func TestEventKeeps(t *testing.T) {
	at := 3
	make := func(change func(e *replay.Event)) string {
		e := replay.Event{Request: &at, Stage: "s", Kind: "clear", Trigger: "auto", Reason: "why", Before: 9, After: 1, Saved: 8, Results: 2, Messages: 1,
			Detail: map[string]int{"pre_tokens": 5}, Targets: []replay.EventTarget{{Message: "m", ToolUse: "t"}}}
		change(&e)
		r := NewOutcome(&replay.Timeline{Events: []replay.Event{e}})
		if back, ok := ParseEvent(r.Events[0]); !ok || back.String() != r.Events[0] {
			t.Errorf("%q reads as %+v, %v", r.Events[0], back, ok)
		}
		return r.Events[0]
	}
	was := make(func(*replay.Event) {})
	must.Equal(t, make(func(e *replay.Event) { e.Reason = "other words" }), was, "words count")
	for name, change := range map[string]func(e *replay.Event){
		"request": func(e *replay.Event) { e.Request = nil }, "stage": func(e *replay.Event) { e.Stage = "z" }, "kind": func(e *replay.Event) { e.Kind = "remove" },
		"trigger": func(e *replay.Event) { e.Trigger = "" }, "before": func(e *replay.Event) { e.Before++ }, "after": func(e *replay.Event) { e.After++ },
		"results": func(e *replay.Event) { e.Results++ }, "messages": func(e *replay.Event) { e.Messages++ }, "detail": func(e *replay.Event) { e.Detail = map[string]int{"pre_tokens": 6} },
		"target": func(e *replay.Event) { e.Targets = []replay.EventTarget{{Message: "m", ToolUse: "u"}} }, "targets": func(e *replay.Event) { e.Targets = nil },
	} {
		if make(change) == was {
			t.Errorf("%s does not count", name)
		}
	}
}

func FuzzBaseline(f *testing.F) {
	f.Add([]byte(`{"schema":"ctxkit.baseline/v2","tool":"1","inputs":{"a.jsonl":"sha256:1"},"policies":{"p":{"name":"n","settings":{"stages":"[x]"}}},"cases":[{"name":"x","policy":"opencode","counted":"tokens usage, agent main","sessions":[{"session":"a.jsonl","policy":"p","figures":{"cost_usd":1},"events":["1 a b 1 2 3 m"]}]}]}`))
	conf := must.Get(Decode("c.yaml", []byte(head+"cases: [{policy: opencode, name: x}]")))(f)
	p := &policy.Policy{Name: "p"}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := ReadBaseline("b.json", data, "tool --update")
		if err != nil {
			return
		}
		r := Judge(conf, []CaseResult{result(p, "a.jsonl", nil, oneEvent)}, b, CheckRun{Tool: "1.0"})
		for _, s := range r.Cases[0].Sessions {
			s.Message()
		}
	})
}

// TestBaselineSchema holds the shipped baselines against the published schema.
func TestBaselineSchema(t *testing.T) {
	s := must.Get(jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", "schemas", "baseline.v3.json")))(t)
	for _, name := range []string{"baseline.json", "threshold/baseline.json"} {
		text := must.Get(os.ReadFile(filepath.Join("..", "..", "testdata", "check", filepath.FromSlash(name))))(t)
		doc := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
		if err := s.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
