package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// TestRebuild holds that every built-in policy can be made anew of what a baseline has of it, and does the same.
func TestRebuild(t *testing.T) {
	t.Parallel()
	reg := must.Get(stage.Registry())(t)
	records := sampleRecords(t)
	for i, name := range preset.Names(reg) {
		if i%4 > 0 && !must.CI() {
			continue
		}
		p := must.Get(preset.Load(name, reg))(t)
		conf := &Config{Cases: []Case{{Name: "x"}}}
		b := baseline(conf, result(p, "a.jsonl", ""))
		if b.Plan(conf, &CaseResult{Session: "a.jsonl", Policy: p}) != nil {
			t.Errorf("%s: the policy is another one than in its baseline", name)
		}
		for _, plan := range b.Cases[0].Policies {
			q := must.Get(plan.Rebuild(reg))(t)
			if got, want := q.Resolved(), p.Resolved(); !slices.Equal(got, want) {
				t.Errorf("%s is rebuilt with %v", name, policy.DiffSettings(want, got))
			}
			for i, rec := range records {
				if was, now := replayed(t, rec, p), replayed(t, rec, q); !bytes.Equal(was, now) {
					t.Errorf("%s does something else in session %d when rebuilt", name, i)
				}
			}
		}
	}
}

// replayed is a replay as JSON, without where its policy comes from.
func replayed(t *testing.T, rec *replay.Record, p *policy.Policy) []byte {
	t.Helper()
	tl := must.Get(rec.Replay(p, replay.Options{Cache: replay.CacheEqual}))(t)
	tl.Truth, tl.Score, tl.Chosen = "", nil, ""
	text := must.Get(json.Marshal(tl))(t)
	return text
}

// TestSplit holds that what ctxkit changed and what the policy changed are told apart, and that only the second fails.
func TestSplit(t *testing.T) {
	conf := cases(t, "[{policy: ./mine.yaml, name: x}]")
	was, now := decodePolicy(t, "mine.yaml", "extends: opencode-1.1.36\n"), decodePolicy(t, "mine.yaml", "extends: opencode-1.1.36\nset: {opencode_prune.protect: 30000}\n")
	cost := func(x float64) string { return fmt.Sprintf(`{"cost_usd": %v}`, x) }
	must.Rows(t, `
# name | version of ctxkit | the policy is another | cost, of 100 in the baseline | cost of the baseline's policy now; 0: it is not replayed, -1: it cannot be | verdict | and a step for words of the message
nothing | 1.0 | false | 100 | 0 | ok
the policy, for the worse | 1.0 | true | 101 | 100 | worse fails
	cost_usd 100.0000 -> 101.0000
	opencode_prune.protect 40000 -> 30000
ctxkit, for the worse | 1.1 | false | 101 | 0 | ok
	by ctxkit itself: cost_usd 100.0000 -> 101.0000 (+1.0000, +1.00%)
ctxkit, its events | 1.1 | false | 100 | 0 | ok
	by ctxkit itself: first differing event 0
both, for the worse | 1.1 | true | 103 | 102 | worse fails
	; cost_usd 102.0000 -> 103.0000 (+1.0000
	by ctxkit itself: cost_usd 100.0000 -> 102.0000 (+2.0000
ctxkit worse, the policy better | 1.1 | true | 101 | 102 | better
	; cost_usd 102.0000 -> 101.0000 (-1.0000
	by ctxkit itself: cost_usd 100.0000 -> 102.0000
ctxkit better, the policy worse | 1.1 | true | 99 | 98 | worse fails
	; cost_usd 98.0000 -> 99.0000
	by ctxkit itself: cost_usd 100.0000 -> 98.0000
ctxkit, and the policy to no effect | 1.1 | true | 102 | 102 | ok
	by ctxkit itself: cost_usd 100.0000 -> 102.0000
a newer ctxkit, the policy alone | 1.1 | true | 101 | 100 | worse fails
	; cost_usd 100.0000 -> 101.0000
the old policy cannot be replayed | 1.1 | true | 101 | -1 | worse fails
	ctxkit itself has changed from 1.0 to 1.1, and cannot replay the baseline's policy (there is no stage x)
another build of the same version | 1.0 | true | 101 | 102 | worse fails
	; cost_usd 100.0000 -> 101.0000
	the baseline's own policy does not do what the baseline says
	was edited, or made by another build
`, func(name, tool string, another bool, after, before float64, verdict string, words []string) {
		pol := was
		if another {
			pol = now
		}
		var events []string
		if strings.HasSuffix(name, "events") {
			events = []string{otherEvent}
		}
		old := baseline(conf, result(was, "a.jsonl", cost(100)))
		r := result(pol, "a.jsonl", cost(after), events...)
		if before > 0 {
			r.Old = &OldResult{Outcome: result(was, "", cost(before)).Outcome, Settings: was.Resolved()}
		} else if before < 0 {
			r.Old = &OldResult{Err: errors.New("there is no stage x")}
		}
		report := Judge(conf, []CaseResult{r}, old, CheckRun{Tool: tool, Update: "update"})
		s := report.Cases[0].Sessions[0]
		text := s.Message()
		one, got := report.Cases[0], ""
		if one.Fails {
			got = " fails"
		}
		must.Both(string(one.Status)+got, report.Passed)(t, verdict, !one.Fails, name, text)
		split := strings.Contains(strings.Join(words, ""), "by ctxkit itself")
		for _, want := range words {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q, want %q in it", name, text, want)
			}
		}
		if notes := strings.Join(report.Notes, "; "); (s.ByTool != nil) != split || strings.Contains(notes, "ctxkit itself changed 1 of 1 replays, which fails nothing: update takes its figures") != split {
			t.Errorf("%s: by ctxkit %v, notes %q", name, s.ByTool, notes)
		}
	})
}

// TestSplitKeys holds that a key which only one version of ctxkit knows is no change of the policy.
func TestSplitKeys(t *testing.T) {
	conf := cases(t, "[{policy: ./mine.yaml, name: x}]")
	p := decodePolicy(t, "mine.yaml", "extends: opencode-1.1.36\n")
	old := baseline(conf, result(p, "a.jsonl", ""))
	plan := old.Cases[0].Policies["mine"]
	delete(plan.Settings, "opencode_prune.turns")
	plan.Settings["opencode_prune.gone"] = "1"
	old.Cases[0].Policies["mine"] = plan
	reg := must.Get(stage.Registry())(t)
	r := result(p, "a.jsonl", "")
	q := must.Get(old.Plan(conf, &r).Rebuild(reg))(t)
	r.Old = &OldResult{Outcome: r.Outcome, Settings: q.Resolved()}
	report := Judge(conf, []CaseResult{r}, old, CheckRun{Tool: "1.1"})
	if s := report.Cases[0].Sessions[0]; s.Status != OK || len(s.Changes) > 0 || report.Cases[0].Effect != "" {
		t.Errorf("%s, effect %q", s.Message(), report.Cases[0].Effect)
	}
}

// TestEffect holds what is said of a policy that was changed, and of stages that do nothing.
func TestEffect(t *testing.T) {
	conf := cases(t, "[{policy: ./mine.yaml, name: x}]")
	const base = "extends: opencode-1.1.36\n"
	file := func(text string, session string, events ...string) CaseResult {
		r := result(decodePolicy(t, "mine.yaml", text), session, "", events...)
		r.Files = map[string]string{"mine.yaml": ContentHash([]byte(text))}
		for _, s := range r.Policy.Stages {
			r.Acted = append(r.Acted, s.Definition.Name)
		}
		return r
	}
	changes := map[string]func(r []CaseResult){
		"event":  func(r []CaseResult) { r[1].Events = []string{oneEvent} },
		"figure": func(r []CaseResult) { r[0].Values[slices.Index(compare.Names(), "calls")] = exact.Of(101, 0) },
		"idle stage": func(r []CaseResult) {
			r[0].Acted, r[1].Acted = slices.DeleteFunc(r[0].Acted, func(s string) bool { return s == "opencode_prune" }), nil
		},
		"sessions": func(r []CaseResult) { r[0].Session, r[1].Session = "y", "z" },
	}
	must.Rows(t, `
# name | the policy; BASE is as in the baseline | what else is another | its name in the baseline | effect | line
as it was | BASE | "" | ./mine.yaml | "" | ""
another value that no session shows | "BASE\nset: {opencode_prune.protect: 40001}" | "" | ./mine.yaml | unseen | changed: opencode_prune.protect 40000 -> 40001 (mine.yaml:2); no session here can tell
the cache | "BASE\nset: {cache.ttl: 1h}" | "" | ./mine.yaml | unseen | changed: cache.ttl 5m -> 1h (mine.yaml:2); no session here can tell: keys of the cache count under cache: own alone
another value, and one event | "BASE\nset: {opencode_prune.protect: 40001}" | event | ./mine.yaml | seen | ""
another value, and a figure within its tolerance | "BASE\nset: {opencode_prune.protect: 40001}" | figure | ./mine.yaml | seen | ""
a comment | "#\u0020mine\nBASE" | "" | ./mine.yaml | none | mine.yaml changed: the policy does the same
a name | "BASE\nname: other" | "" | ./mine.yaml | none | mine.yaml changed: the policy does the same
about | "BASE\nabout: other words" | "" | ./mine.yaml | none | mine.yaml changed: the policy does the same
what names it | BASE | "" | opencode | none | ./mine.yaml in place of opencode: the policy does the same
a stage that does nothing | BASE | idle stage | ./mine.yaml | "" | no session here makes opencode_prune act
a new session alone | "BASE\nset: {opencode_prune.protect: 40001}" | sessions | ./mine.yaml | "" | ""
`, func(name, text, change, was string, effect Effect, line string) {
		text = strings.Replace(text, "BASE", strings.TrimSpace(base), 1) + "\n"
		old := baseline(conf, file(base, "a.jsonl"), file(base, "b.jsonl"))
		old.Cases[0].Policy = was
		now := []CaseResult{file(text, "a.jsonl"), file(text, "b.jsonl")}
		if change != "" {
			changes[change](now)
		}
		one := Judge(conf, now, old, CheckRun{Tool: "1.0"}).Cases[0]
		must.Both(one.Effect, strings.Join(one.Lines(), "; "))(t, effect, line, name)
		if passes := effect != EffectSeen && one.Status != Stale; passes == one.Fails {
			t.Errorf("%s: fails: %v", name, one.Fails)
		}
	})
}

// TestFaultLimits holds that a fault fails without a baseline, but for one that is allowed.
func TestFaultLimits(t *testing.T) {
	none := `{"refused": 0, "violations": 0, "preserved_thinking": 0, "thrash": 0, "failed_compactions": 0}`
	for allow, failing := range map[string]int{"[]": 5, "[thrash]": 4, "[thrash, refused]": 3} {
		conf := must.Get(Decode("c.yaml", []byte("version: 1\nsessions: a\nallow: [violations]\ncases: [{policy: none, allow: "+allow+"}]")))(t)
		p := decodePolicy(t, "p.yaml", "stages: []")
		s := judgeOne(conf, nil, result(p, "a.jsonl", ""))
		broken := 0
		for _, f := range s.Figures {
			if f.Status == Broken {
				broken++
			}
		}
		if broken != failing || s.Status != Broken || !strings.Contains(s.Message(), "preserved_thinking 100, wanted 0, or allow: [preserved_thinking]") {
			t.Errorf("allow %s: %d fail: %s", allow, broken, s.Message())
		}
		if s := judgeOne(conf, nil, result(p, "a.jsonl", none)); s.Status != OK || len(s.Figures) > 0 {
			t.Errorf("allow %s, without a fault: %s", allow, s.Message())
		}
	}
}

// TestLaterEvents holds that an event is compared also where the baseline holds a digest of it.
func TestLaterEvents(t *testing.T) {
	var many []string
	for range keptEvents + 5 {
		many = append(many, oneEvent)
	}
	s := BaselineSession{}
	s.Events, s.More = eventDigest(many, keptEvents)
	was := s.past()
	if r := was.compare(many); r.First != nil || *r.Before != len(many) || r.After != len(many) {
		t.Errorf("%+v", r)
	}
	changed := slices.Clone(many)
	changed[keptEvents+1] = otherEvent
	for name, c := range map[string]struct {
		got []string
		n   int
	}{"changed": {changed, keptEvents}, "fewer": {many[:len(many)-1], keptEvents}, "as many as are kept": {many[:keptEvents], keptEvents}, "few": {many[:3], 3}, "more": {append(slices.Clone(many), oneEvent), keptEvents}} {
		r := was.compare(c.got)
		if r.First == nil || r.First.N != c.n || c.n == keptEvents != strings.Contains(r.First.Message(), "event 8 or a later one differs") {
			t.Errorf("%s: %+v", name, r.First)
		}
	}
	whole := &past{events: many}
	if r := whole.compare(changed); r.First.N != keptEvents+1 || r.First.Got == nil {
		t.Errorf("%+v", r.First)
	}
}

// TestLocks holds that a bare name which means another release than in the baseline is told, as long as the case names it
// as it did.
func TestLocks(t *testing.T) {
	t.Parallel()
	reg := must.Get(stage.Registry())(t)
	named := func(day string) *policy.Policy {
		at := must.Get(time.Parse(time.DateOnly, day))(t)
		p := must.Get(preset.New(reg).LoadFor("opencode", preset.Client{Time: at}))(t)
		return p
	}
	before, now := named("2026-03-01"), named("2026-10-03")
	conf := &Config{Cases: []Case{{Name: "x", Policy: TextLine{Text: "opencode"}}}}
	b := baseline(conf, result(before, "a.jsonl", ""))
	r := result(now, "a.jsonl", "")
	plan := b.Plan(conf, &r)
	if plan == nil || !b.Locks(conf, &r, plan) {
		t.Fatalf("%+v: the release of the baseline does not run", plan)
	}
	if b.Locks(&Config{Cases: []Case{{Name: "x", Policy: TextLine{Text: "opencode@latest"}}}}, &r, plan) {
		t.Error("another name is not as it was in the baseline")
	}
	ran := result(before, "a.jsonl", "")
	ran.Now = now.Name
	report := Judge(conf, []CaseResult{ran}, b, CheckRun{Tool: "1.0", Update: "ctxkit check --update"})
	want := "mine.yaml means opencode-2.0.21 now; opencode-1.1.60 ran, as in the baseline: ctxkit check --update takes the other"
	must.Say(t, "true true", report.Passed, slices.Equal(report.Notes, []string{want}))
}
