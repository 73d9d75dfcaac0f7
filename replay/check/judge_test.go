package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// result is a result whose figures are 100, but for those given as JSON, of which null is not known.
func result(p *policy.Policy, session, figures string, events ...string) CaseResult {
	var known map[string]*json.Number
	if err := json.Unmarshal([]byte(cmp.Or(figures, "{}")), &known); err != nil {
		panic(err)
	}
	r := CaseResult{Session: session, File: "dir/" + session, Command: "mine.yaml", Input: "sha256:1", Policy: p, Outcome: Outcome{Events: events, Window: 1000}}
	for _, name := range compare.Names() {
		x := exact.Of(100, 0)
		if n, ok := known[name]; ok && n == nil {
			x = exact.Decimal{}
		} else if ok {
			x, _ = exact.Parse(n.String())
		}
		r.Values = append(r.Values, x)
	}
	return r
}

// cases is a configuration of cases.
func cases(t testing.TB, list string) *Config {
	t.Helper()
	return must.Get(Decode("c.yaml", []byte(head+"cases: "+list)))(t)
}

// baseline is that of version 1.0.
func baseline(conf *Config, results ...CaseResult) *Baseline {
	return NewBaseline(conf, results, "1.0")
}

// judgeOne is what version 1.0 says of one session.
func judgeOne(conf *Config, old *Baseline, r CaseResult) *SessionReport {
	return &Judge(conf, []CaseResult{r}, old, CheckRun{Tool: "1.0"}).Cases[0].Sessions[0]
}

const (
	oneEvent   = "3 opencode_prune clear 50 10 2 aaaaaaaa"
	otherEvent = "end opencode_prune clear 50 10 2 bbbbbbbb"
)

// TestJudge: how a replay is judged whose figures were and are 100, but for those given (null: not known), with the first figure that
// decides, and words of it. The steps are its events, where they are others than before.
func TestJudge(t *testing.T) {
	p := decodePolicy(t, "mine.yaml", "extends: opencode-1.1.36\n")
	must.Rows(t, `
# name | keys of the case | figures in the baseline | figures now | verdict | figure | words
as it was | "" | {} | {} | ok | "" | ""
grown | "" | {} | {"cost_usd": 101} | worse fails | cost_usd | cost_usd 100.0000 -> 101.0000 (+1.0000, +1.00%)
a larger peak | "" | {} | {"payload_peak": 101} | changed fails | payload_peak | ""
a larger peak near the window | "" | {"payload_peak": 949} | {"payload_peak": 950, "cost_usd": 50} | worse fails | payload_peak | ""
a smaller peak near the window | "" | {"payload_peak": 990} | {"payload_peak": 950} | better | payload_peak | ""
saved less, which is not judged | "" | {} | {"tokens_saved": 99} | changed fails | tokens_saved | ""
saved less, and it is named | expect: {tokens_saved: {within: 0}} | {} | {"tokens_saved": 99} | worse fails | tokens_saved | ""
more refused | within: 50% | {} | {"cost_usd": 50, "refused": 101} | worse fails | refused | refused 100 -> 101 (+1, +1.00%), wanted at most 100
more thrash | "" | {} | {"thrash": 101} | worse fails | thrash | ""
more failures | "" | {} | {"failed_compactions": 101} | worse fails | failed_compactions | ""
more thinking lost | "" | {} | {"preserved_thinking": 101} | worse fails | preserved_thinking | ""
more violations | "" | {} | {"violations": 101} | worse fails | violations | ""
more refused, and allowed | allow: [refused] | {} | {"refused": 101} | ok | "" | ""
fewer refused | "" | {} | {"refused": 99} | better | refused | ""
cheaper, and forgot | "" | {} | {"cost_usd": 50, "tokens_saved": 200, "misses": 102, "refetch_usd": 101} | changed fails | tokens_saved | ""
cheaper, and forgot what costs more | "" | {} | {"cost_usd": 99, "misses": 102, "refetch_usd": 102} | worse fails | misses | ""
cheaper, and forgot, which is allowed | allow: [misses] | {} | {"cost_usd": 50, "misses": 102, "refetch_usd": 101} | better | cost_usd | ""
cheaper, and forgot more that costs less | "" | {} | {"cost_usd": 50, "misses": 102, "refetch_usd": 99} | better | misses | ""
cheaper, and forgot less that costs more | "" | {} | {"cost_usd": 50, "misses": 99, "refetch_usd": 101} | better | misses | ""
dearer, and remembers more | "" | {} | {"cost_usd": 101, "misses": 90, "refetch_usd": 98} | better | misses | ""
forgot | "" | {} | {"misses": 101, "refetch_usd": 101} | worse fails | misses | ""
cheaper, without prices, and forgot | "" | {"cost_usd": null} | {"cost_usd": null, "payload_input": 50, "misses": 101, "refetch_tokens": 101} | changed fails | payload_input | ""
smaller, without prices | "" | {"cost_usd": null} | {"cost_usd": null, "payload_input": 50} | better | "" | ""
cheaper, and nobody looked | "" | {"misses": null, "refetch_usd": null} | {"cost_usd": 50, "tokens_saved": 200, "misses": null, "refetch_usd": null} | changed fails | tokens_saved | ""
cheaper by sending more, and nobody looked | "" | {"misses": null, "refetch_usd": null} | {"cost_usd": 50, "tokens_saved": 90, "misses": null, "refetch_usd": null} | better | cost_usd | ""
cheaper by removing more, and nothing is used | "" | {"misses": 0} | {"misses": 0, "cost_usd": 50, "removed_blocks": 101} | better | cost_usd | ""
shrunk | "" | {} | {"cost_usd": 99} | better | cost_usd | ""
shrunk and otherwise changed | "" | {} | {"cost_usd": 99, "cache_read": 3} | better | cost_usd | ""
	end opencode_prune clear 50 10 2 bbbbbbbb
one better, one worse | "" | {} | {"cost_usd": 99, "refused": 102} | worse fails | refused | ""
neither | "" | {} | {"cache_read": 3} | changed fails | cache_read | ""
neither, allowed | allow_changes: true | {} | {"cache_read": 3} | changed | cache_read | ""
worse is not allowed by that | allow_changes: true | {} | {"cost_usd": 102} | worse fails | cost_usd | ""
events alone | "" | {} | {} | changed fails | "" | ""
	3 opencode_prune clear 50 10 2 aaaaaaaa
	end opencode_prune clear 50 10 2 bbbbbbbb
events gone | "" | {} | {} | changed fails | "" | ""
	none
within, up | within: 2% | {} | {"cost_usd": 102} | ok | "" | ""
within, down | within: 2% | {} | {"cost_usd": 98} | ok | "" | ""
beyond, up | within: 2% | {} | {"cost_usd": 102.1} | worse fails | cost_usd | wanted within 2% of the baseline
beyond, down | within: 2% | {} | {"cost_usd": 97.9} | better | cost_usd | ""
one figure within | expect: {cost_usd: {within: 5}} | {} | {"cost_usd": 105} | ok | "" | ""
one figure beyond | expect: {cost_usd: {within: 5}} | {} | {"cost_usd": 105.5} | worse fails | cost_usd | ""
one figure beyond for the better | expect: {cost_usd: {within: 5}} | {} | {"cost_usd": 94} | better | cost_usd | ""
a neutral figure beyond | expect: {cache_read: {within: 5}} | {} | {"cache_read": 94} | broken fails | cache_read | ""
a limit that holds, beside the baseline | expect: {cost_usd: {max: 200}} | {} | {"cost_usd": 150} | worse fails | "" | ""
above a limit | expect: {cost_usd: {max: 200}} | {} | {"cost_usd": 201} | broken fails | cost_usd | wanted at most 200
below a limit | expect: {cost_usd: {min: 20}} | {} | {"cost_usd": 19} | broken fails | cost_usd | wanted at least 20
not equal | expect: {violations: 0} | {} | {} | broken fails | violations | violations 100, wanted 0
both limits | expect: {cost_usd: {max: 200, within: 1%}} | {} | {"cost_usd": 102} | worse fails | cost_usd | wanted at most 200, within 1% of the baseline
left out | expect: {cost_usd: any} | {} | {"cost_usd": 1000} | ok | "" | ""
known no more | "" | {} | {"cost_usd": null} | worse fails | cost_usd | cost_usd 100.0000 -> not known
not known, and a limit | expect: {cost_usd: {max: 200}} | {"cost_usd": null} | {"cost_usd": null} | broken fails | cost_usd | cost_usd not known, wanted at most 200
known now | "" | {"misses": null} | {"misses": 7} | changed fails | misses | misses not known -> 7
never known | "" | {"misses": null} | {"misses": null} | ok | "" | ""
within nothing known | expect: {misses: {within: 1}} | {"misses": null} | {"misses": 7} | broken fails | misses | ""
`, func(name, keys, before, after, verdict, figure, words string, events []string) {
		conf := must.Get(Decode("c.yaml", []byte(head+"cases:\n  - policy: ./mine.yaml\n    name: x\n    "+keys+"\n")))(t)
		old := baseline(conf, result(p, "a.jsonl", before, oneEvent))
		if events == nil {
			events = []string{oneEvent}
		} else if events[0] == "none" {
			events = nil
		}
		now := result(p, "a.jsonl", after, events...)
		status, fails, _ := strings.Cut(verdict, " ")
		failed := fails == "fails"
		r := Judge(conf, []CaseResult{now}, old, CheckRun{Tool: "1.0"})
		one := r.Cases[0]
		s := one.Sessions[0]
		must.Equal(t, fmt.Sprintln(one.Status, one.Fails, r.Passed), fmt.Sprintln(status, failed, !failed), one.Message())
		if i := slices.IndexFunc(s.Figures, func(f FigureReport) bool { return f.Figure == figure && f.Status != OK }); figure != "" && i < 0 {
			t.Errorf("figures %+v, want %s among them", s.Figures, figure)
		}
		if !strings.Contains(s.Message(), words) {
			t.Errorf("message %q, want %q in it", s.Message(), words)
		}
		must.Equal(t, strings.Contains(s.Message(), "it was edited, or made by another build"), s.Status != OK && s.Status != Broken)
		all := Judge(conf, []CaseResult{now}, old, CheckRun{Tool: "1.1"})
		newer, differs := all.Cases[0].Sessions[0], !old.Cases[0].Sessions[0].past().same(&now.Outcome)
		if newer.Status != OK && newer.Status != Broken || newer.Failed != (newer.Status == Broken) || (newer.ByTool != nil) != differs || (all.Counts.ByTool == 1) != differs ||
			strings.Contains(newer.Message(), "by ctxkit itself: ") != differs {
			t.Errorf("%s, message %q: nothing changed but ctxkit", newer.Status, newer.Message())
		}
		update := Judge(conf, []CaseResult{now}, old, CheckRun{Tool: "1.0", Updating: true})
		one = update.Cases[0]
		s = one.Sessions[0]
		if string(one.Status) != status || s.Failed != (one.Status == Broken) || update.Passed == s.Failed || !update.Updated || strings.Contains(one.Message()+s.Message(), "--update") {
			t.Errorf("updating: %s, failed %v, passed %v: %s", one.Message(), s.Failed, update.Passed, s.Message())
		}
	})
}

// TestManyChanges holds that a policy that is another in many keys is told in a few lines, and that the command names
// the old one instead of its keys.
func TestManyChanges(t *testing.T) {
	for policyNow, against := range map[string]string{"codex-local": "opencode-1.1.36", "opencode-1.1.36": ""} {
		conf := cases(t, "[{policy: "+policyNow+", name: x}]")
		was := cases(t, "[{policy: opencode-1.1.36, name: x}]")
		old := baseline(was, result(decodePolicy(t, "p.yaml", "extends: opencode-1.1.36"), "a.jsonl", ""))
		s := judgeOne(conf, old, result(decodePolicy(t, "p.yaml", "extends: codex-local"), "a.jsonl", `{"cost_usd": 101}`))
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
		same := Judge(was, []CaseResult{result(decodePolicy(t, "p.yaml", "extends: opencode-1.1.36"), "a.jsonl", "")}, old, CheckRun{Tool: "1.0"})
		if list := same.Cases[0].Sessions[0].Changes; list == nil || len(list) > 0 {
			t.Errorf("the same policy: %#v, want a list, which the schema has", list)
		}
	}
	few := &SessionReport{Changes: make([]KeyChange, 9)}
	if got := few.ChangeLines(false, ""); len(got) != 9 || strings.Contains(got[8], "more") {
		t.Errorf("%q", got)
	}
}

// TestFirstDifference holds which event is named. The steps are the events in the baseline, and now.
func TestFirstDifference(t *testing.T) {
	conf := cases(t, "[{policy: opencode}]")
	p := decodePolicy(t, "p.yaml", "extends: opencode-1.1.36")
	must.Rows(t, `
""
	before 3 opencode_prune clear 50 10 2 aaaaaaaa
	after 3 opencode_prune clear 50 10 2 aaaaaaaa
first differing event 0: expected opencode_prune clear at request 3, 50 -> 10 tokens, results: 2; got none
	before 3 opencode_prune clear 50 10 2 aaaaaaaa
first differing event 0: expected none; got opencode_prune clear after the last request, 50 -> 10 tokens, results: 2
	after end opencode_prune clear 50 10 2 bbbbbbbb
"first differing event 1: expected opencode_prune clear at request 3, "
	before 3 opencode_prune clear 50 10 2 aaaaaaaa
	before 3 opencode_prune clear 50 10 2 aaaaaaaa
	after 3 opencode_prune clear 50 10 2 aaaaaaaa
	after end opencode_prune clear 50 10 2 bbbbbbbb
but with another trigger, other targets or other figures of its own (marks aaaaaaaa, ccccaaaa)
	before 3 opencode_prune clear 50 10 2 aaaaaaaa
	after 3 opencode_prune clear 50 10 2 ccccaaaa
expected "by hand"; got opencode_prune
	before by hand
	after 3 opencode_prune clear 50 10 2 aaaaaaaa
`, func(want string, steps []string) {
		events := map[string][]string{}
		for _, step := range steps {
			when, event, _ := strings.Cut(step, " ")
			events[when] = append(events[when], event)
		}
		s := judgeOne(conf, baseline(conf, result(p, "a.jsonl", "", events["before"]...)), result(p, "a.jsonl", "", events["after"]...))
		if want == "" && s.Events.First != nil || !strings.Contains(s.Message(), want) {
			t.Errorf("%+v: %q, want %q", s.Events.First, s.Message(), want)
		}
	})
}

// TestStale holds that a baseline of something else is told, and how.
func TestStale(t *testing.T) {
	conf := cases(t, "[{policy: none, name: x}, {policy: none, name: y}]")
	p := decodePolicy(t, "p.yaml", "stages: []")
	both := func(session string) []CaseResult {
		a, b := result(p, session, ""), result(p, session, "")
		b.Case = 1
		return []CaseResult{a, b}
	}
	must.Rows(t, `
# what of the baseline is another, as it was written and as it is read | what is said
session": "a.jsonl | session": "b.jsonl | the session is not in the baseline
name": "x | name": "z | the case is not in the baseline
tokens usage | tokens heuristic | the settings have changed since the baseline was made: tokens: heuristic -> usage
, regret on | , regret on, window 200k | made: window: 200k -> not set
, regret on | , regret on, prices 0011223344556677 | made: prices: file with content hash 0011223344556677 -> built-in
, regret on | "" | made: regret: not set -> on
, regret on | , prices 1 | hash 1 -> built-in; regret: not set -> on
, regret on | , regret on, unit words | made: "tokens usage, agent main, cache equal, regret on, unit words" -> "tokens usage, agent main, cache equal, regret on"
a.jsonl": "sha256:1 | a.jsonl": "sha256:2 | the session's content has changed
policy": "p | policy": "q | the baseline does not hold the session's policy
`, func(from, to, want string) {
		text := written(t, baseline(conf, both("a.jsonl")...))
		must.Equal(t, strings.Contains(text, from), true, from, text)
		old := must.Get(ReadBaseline("b.json", []byte(strings.Replace(text, from, to, 1)), "--update"))(t)
		r := Judge(conf, both("a.jsonl"), old, CheckRun{Tool: "2.0"})
		s := r.Cases[0].Sessions[0]
		if s.Status != Stale || !s.Failed || r.Passed || len(s.Reasons) == 0 || !strings.Contains(s.Reasons[0], want) || r.Counts.Stale == 0 {
			t.Errorf("%+v", s)
		}
		if !slices.Contains(r.Notes, "the baseline was made by ctxkit 1.0, this is 2.0") {
			t.Errorf("notes %q", r.Notes)
		}
		must.Equal(t, len(r.Stale) == 1, strings.HasSuffix(want, "is not in the baseline"), r.Stale)
	})
	if Judge(conf, nil, nil, CheckRun{Tool: "1.0"}).Passed {
		t.Error("an empty run passes")
	}
}

// written is a baseline as a file.
func written(t *testing.T, b *Baseline) string {
	var buf bytes.Buffer
	must.Do(t, b.Write(&buf))
	return buf.String()
}

// TestSettings holds that what changes figures besides policies and sessions is listed.
func TestSettings(t *testing.T) {
	must.Rows(t, `
{} | {"regret": true} | regret: not set -> on
{} | {"prices": "ca978112ca1bbdca"} | prices: built-in -> file with content hash ca978112ca1bbdca
{"prices": "ca978112ca1bbdca"} | {} | prices: file with content hash ca978112ca1bbdca -> built-in
{"prices": "ca978112ca1bbdca"} | {"prices": "3e23e8160039594a"} | prices: file with content hash ca978112ca1bbdca -> file with content hash 3e23e8160039594a
{} | {"model": "m"} | model: not set -> m
{"overhead": "5"} | {"overhead": "6", "agent": "all"} | agent: main -> all; overhead: 5 -> 6
`, func(before, after Counting, want string) {
		for _, c := range []*Counting{&before, &after} {
			c.Tokens, c.Agent = "usage", cmp.Or(c.Agent, "main")
		}
		if got := after.change(before.String()); got != want || before.String() == after.String() {
			t.Errorf("%s, %s: %q, want %q", before, after, got, want)
		}
	})
	must.Equal(t, ContentHash([]byte("a")), "ca978112ca1bbdca")
}

// TestNewFigure holds that a figure which the baseline's version did not know is told and not held, and one this
// version does not know is told.
func TestNewFigure(t *testing.T) {
	conf := cases(t, "[{policy: none, name: x}, {policy: none, name: y, expect: {cost_usd: {within: 5}, calls: {max: 200}, misses: any}}]")
	p := decodePolicy(t, "p.yaml", "stages: []")
	must.Rows(t, `
# name | i | run | absent | knew | status | note
known to neither | 0 | {"tool": "2.0", "update": "update"} | ["cost_usd"] | false | ok | did not know cost_usd: update adds it
updating | 0 | {"tool": "2.0", "updating": true} | ["cost_usd"] | false | ok | ""
with a limit in its place | 1 | {"tool": "1.0"} | ["calls", "misses"] | true | ok | ""
`, func(theName string, i int, run CheckRun, absent []string, knew bool, status Verdict, note string) {
		now := result(p, "a.jsonl", "")
		now.Case = i
		old := baseline(conf, now)
		for _, name := range absent {
			delete(old.Cases[i].Sessions[0].Figures, name)
			if !knew {
				old.Figures = slices.DeleteFunc(old.Figures, func(s string) bool { return s == name })
			}
		}
		r := Judge(conf, []CaseResult{now}, old, run)
		if s := r.Cases[i].Sessions[0]; s.Status != status {
			t.Errorf("%s: %s: %s, want %s", theName, s.Status, s.Message(), status)
		}
		if notes := strings.Join(r.Notes, "; "); !strings.Contains(notes, note) || note == "" && strings.Contains(notes, "did not know") {
			t.Errorf("%s: notes %q, want %q", theName, notes, note)
		}
	})
	old := NewBaseline(conf, []CaseResult{result(p, "a.jsonl", "")}, "3.0")
	old.Figures = append(old.Figures, "smoothness")
	if r := Judge(conf, []CaseResult{result(p, "a.jsonl", "")}, old, CheckRun{Tool: "2.0"}); !r.Passed || !slices.Contains(r.Notes, "the baseline holds smoothness, which this version does not know") {
		t.Errorf("passed %v, notes %q", r.Passed, r.Notes)
	}
}

// TestStaleLimits holds that a limit which needs no baseline is held where the baseline is of something else, and one
// that is the baseline's is not shown.
func TestStaleLimits(t *testing.T) {
	conf := cases(t, "[{policy: none, name: x, expect: {cost_usd: {within: 2%}, calls: {max: 200, within: 5}, violations: 0}}]")
	p := decodePolicy(t, "p.yaml", "stages: []")
	old := baseline(conf, result(p, "b.jsonl", ""))
	for violations, want := range map[float64]Verdict{0: Stale, 1: Broken} {
		s := judgeOne(conf, old, result(p, "a.jsonl", fmt.Sprintf(`{"violations": %v}`, violations)))
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
	must.Rows(t, `
# name | conf | before | after | place | against
in the policy's file | {policy: ./mine.yaml, name: x} | "extends: gemini-cli\nset: {gemini_compression.threshold: 0.7}" | "extends: gemini-cli\nset: {gemini_compression.threshold: 0.2}" | {"file": "mine.yaml", "line": 2, "column": 37} | mine.yaml,gemini_compression.threshold=0.7
taken out of the policy's file | {policy: ./mine.yaml, name: x} | "extends: gemini-cli\nset: {gemini_compression.threshold: 0.7}" | extends: gemini-cli | {"file": "mine.yaml", "line": 1, "column": 10} | mine.yaml,gemini_compression.threshold=0.7
among the case's settings | {policy: ./mine.yaml, name: x, set: {gemini_compression.threshold: 0.2}} | extends: gemini-cli | "extends: gemini-cli\nset: {gemini_compression.threshold: 0.2}" | {"file": "c.yaml", "line": 4, "column": 76} | mine.yaml,gemini_compression.threshold=0.5
behind the policy's name | {policy: './mine.yaml,gemini_compression.threshold=0.2', name: x} | extends: gemini-cli | "extends: gemini-cli\nset: {gemini_compression.threshold: 0.2}" | {"file": "c.yaml", "line": 4, "column": 18} | mine.yaml,gemini_compression.threshold=0.5
other stages | {policy: ./mine.yaml, name: x} | "name: mine\nextends: gemini-cli" | "name: mine\nextends: codex-local" | {"file": "mine.yaml", "line": 2, "column": 10} | ""
`, func(name, theConf, before, after string, place Place, against string) {
		conf := cases(t, "["+theConf+"]")
		old := baseline(conf, result(decodePolicy(t, "mine.yaml", before), "a.jsonl", ""))
		s := judgeOne(conf, old, result(decodePolicy(t, "mine.yaml", after), "a.jsonl", `{"cost_usd": 101}`, oneEvent))
		must.Equal(t, s.Place, place, name)
		want := compare.Pointer{Show: compare.ShowDiff, File: "dir/a.jsonl", Policy: "mine.yaml", Against: against, At: "3"}
		must.Equal(t, *s.Evidence, want, name)
	})
}

// TestBaselineRoundTrip holds that what is written is read as the same, a session a line, and that what most replays
// of a session have stands once.
func TestBaselineRoundTrip(t *testing.T) {
	conf := cases(t, "[{policy: opencode, name: x}, {policy: opencode, name: y}, {policy: opencode, name: z}]")
	p := decodePolicy(t, "p.yaml", "extends: opencode-1.1.36")
	var events []string
	for range keptEvents + 3 {
		events = append(events, oneEvent)
	}
	r := []CaseResult{
		result(p, "a.jsonl", `{"cost_usd": 18.745333}`, events...), result(p, "a.jsonl", `{"misses": null}`, oneEvent), result(p, "a.jsonl", `{"refused": 0}`),
		result(p, "b.jsonl", ""),
	}
	for i := range r {
		r[i].Case, r[i].Files = i%3, map[string]string{"p.yaml": ContentHash(nil)}
	}
	r[3].Agent = "a1"
	text := written(t, NewBaseline(conf, r, "1.0"))
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
	was, now := strings.Split(text, "\n"), strings.Split(written(t, baseline(conf, other...)), "\n")
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
	must.Equal(t, written(t, b), text)
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
	kept := func(change string) string {
		var e replay.Event
		for _, text := range []string{`{"request": 3, "stage": "s", "kind": "clear", "trigger": "auto", "reason": "why", "tokens_before": 9, "tokens_after": 1, "tokens_saved": 8, "results": 2, "messages": 1,
			"detail": {"pre_tokens": 5}, "targets": [{"message": "m", "tool_use_id": "t"}]}`, change} {
			must.Do(t, json.Unmarshal([]byte(text), &e))
		}
		r := NewOutcome(&replay.Timeline{Events: []replay.Event{e}})
		if back, ok := ParseEvent(r.Events[0]); !ok || back.String() != r.Events[0] {
			t.Errorf("%q reads as %+v, %v", r.Events[0], back, ok)
		}
		return r.Events[0]
	}
	must.Rows(t, `
{}                         | true
{"reason": "other words"}  | true
{"request": null}          | false
{"stage": "z"}             | false
{"kind": "remove"}         | false
{"trigger": ""}            | false
{"tokens_before": 10}             | false
{"tokens_after": 2}               | false
{"results": 3}             | false
{"messages": 2}            | false
{"detail": {"pre_tokens": 6}} | false
{"targets": [{"message": "m", "tool_use_id": "u"}]} | false
{"targets": null}          | false
`, func(change string, same bool) {
		must.Equal(t, kept(change) == kept("{}"), same, change)
	})
}

func FuzzBaseline(f *testing.F) {
	f.Add([]byte(`{"schema":"ctxkit.baseline/v2","tool":"1","inputs":{"a.jsonl":"sha256:1"},"policies":{"p":{"name":"n","settings":{"stages":"[x]"}}},"cases":[{"name":"x","policy":"opencode","counted":"tokens usage, agent main","sessions":[{"session":"a.jsonl","policy":"p","figures":{"cost_usd":1},"events":["1 a b 1 2 3 m"]}]}]}`))
	conf := cases(f, "[{policy: opencode, name: x}]")
	p := &policy.Policy{Name: "p"}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := ReadBaseline("b.json", data, "tool --update")
		if err != nil {
			return
		}
		r := Judge(conf, []CaseResult{result(p, "a.jsonl", "", oneEvent)}, b, CheckRun{Tool: "1.0"})
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
