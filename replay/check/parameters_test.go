package check

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
)

// TestParameterChangesAreNoticed changes parameters of the built-in policies and replays the sample sessions. A
// change that changes an event must be noticed twice: by a baseline that knows the figures alone, and in each session
// by one that knows the events alone. It takes one change of 23, those that several releases have once;
// CTXKIT_LONG=1 all of them.
func TestParameterChangesAreNoticed(t *testing.T) {
	t.Parallel()
	reg := must.Get(stage.Registry())(t)
	step := 92
	if must.CI() {
		step = 23
	}
	if os.Getenv("CTXKIT_LONG") == "1" {
		step = 1
	}
	records := sampleRecords(t)
	total, tried, edited := 0, 0, 0
	seen := map[string]bool{}
	for _, name := range preset.Names(reg) {
		p := must.Get(preset.Load(name, reg))(t)
		var before []outcome
		for _, c := range parameterChanges(p) {
			total++
			_, what, _ := strings.Cut(c.name, ": ")
			if step > 1 && seen[what] {
				continue
			}
			if seen[what] = true; len(seen)%step != 0 && step > 1 {
				continue
			}
			if before == nil {
				before = outcomes(t, records, p)
			}
			tried++
			after := outcomes(t, records, c.policy)
			if slices.EqualFunc(before, after, func(a, b outcome) bool { return a.events == b.events }) {
				continue
			}
			edited++
			c.judge(t, p, before, after)
		}
	}
	t.Logf("%d of %d changes tried, %d change an event", tried, total, edited)
	if total < 500 || edited < 3 {
		t.Errorf("%d changes, %d of the tried ones change an event: too few to show anything", total, edited)
	}
}

// parameterChange is a policy with another value of one parameter.
type parameterChange struct {
	policy *policy.Policy
	name   string // policy: key from -> to
}

// judge reports the outcomes that neither figures nor events notice.
func (c parameterChange) judge(t *testing.T, p *policy.Policy, before, after []outcome) {
	t.Helper()
	config := &Config{Cases: []Case{{Name: p.Name, Policy: TextLine{Text: p.Name}}}}
	report := func(figures, events bool) []SessionReport {
		results := func(list []outcome) (results []CaseResult) {
			for i, o := range list {
				o.Policy = p // what is judged is the outcome, not the changed setting
				if !figures {
					o.Values = before[i].Values
				}
				if !events {
					o.Events = nil
				}
				results = append(results, o.CaseResult)
			}
			return results
		}
		return Judge(config, results(after), NewBaseline(config, results(before), "before"), CheckRun{Tool: "before"}).Cases[0].Sessions
	}
	if !slices.ContainsFunc(report(true, false), func(s SessionReport) bool { return s.Status != OK }) {
		t.Errorf("%s: events change and no figure does", c.name)
	}
	for i, s := range report(false, true) {
		if before[i].events != after[i].events && s.Status == OK {
			t.Errorf("%s: %s: events change and the check does not notice", c.name, s.Session)
		}
	}
}

// outcome is one replay: what the check judges, and its whole events as JSON, without their reasons.
type outcome struct {
	CaseResult
	events string
}

func outcomes(t *testing.T, records []*replay.Record, p *policy.Policy) (list []outcome) {
	t.Helper()
	for i, rec := range records {
		tl := must.Get(rec.Replay(p, replay.Options{}))(t)
		o := outcome{CaseResult: CaseResult{Outcome: NewOutcome(tl)}}
		o.Session, o.Input = strconv.Itoa(i), "sha256:same"
		same := slices.Clone(tl.Events)
		for i := range same {
			same[i].Reason = ""
		}
		events := must.Get(json.Marshal(same))(t)
		o.events = string(events)
		list = append(list, o)
	}
	return list
}

// sampleRecords reads the main conversations of the sample sessions.
func sampleRecords(t *testing.T) (records []*replay.Record) {
	t.Helper()
	for _, pattern := range []string{"*.jsonl", "offload/*.jsonl", "subagent/*.jsonl"} {
		files := must.Glob(t, 1, filepath.Join("..", "..", "testdata", "sessions", filepath.FromSlash(pattern)))
		for _, file := range files {
			f := must.Get(session.Load(file, session.LoadOptions{Jobs: 1}))(t)
			rec := must.Get(replay.NewRecord(f.Main))(t)
			records = append(records, rec)
		}
	}
	return records
}

// parameterChanges lists the policy with each other value of each parameter that it accepts.
func parameterChanges(p *policy.Policy) (list []parameterChange) {
	if p.Recorded {
		return nil
	}
	params := map[string]policy.Param{}
	describe := func(owner string, list []policy.Param) {
		for _, one := range list {
			params[owner+"."+one.Name] = one
		}
	}
	describe("window", policy.WindowParameters())
	describe("cache", policy.CachingParameters())
	for _, s := range p.Stages {
		describe(s.Definition.Name, s.Definition.Parameters())
	}
	for _, key := range p.Keys() {
		from, err := p.Get(key)
		if err != nil {
			continue
		}
		seen := map[string]bool{from: true}
		for _, to := range otherValues(params[key], from) {
			c := p.Clone()
			if c.Set(key, to) != nil {
				continue
			}
			if now, err := c.Get(key); err == nil && !seen[now] { // two texts may be one value
				seen[now] = true
				list = append(list, parameterChange{c, p.Name + ": " + key + " " + from + " -> " + now})
			}
		}
	}
	return list
}

// otherValues lists values to try for one parameter: numbers doubled, halved and one more, the other switch, the next
// word.
func otherValues(p policy.Param, value string) (list []string) {
	plain := strings.Trim(value, `'"`)
	if value == "true" || value == "false" {
		return []string{strconv.FormatBool(value == "false")}
	}
	if len(p.Enum) > 0 {
		return []string{p.Enum[(slices.Index(p.Enum, plain)+1)%len(p.Enum)]}
	}
	if d, err := time.ParseDuration(value); err == nil && d > 0 {
		return []string{(2 * d).String(), (d / 2).String(), (d + time.Second).String()}
	}
	if x, err := strconv.ParseFloat(plain, 64); err == nil {
		for _, y := range []float64{2 * x, x / 2, x + 1} {
			text := strconv.FormatFloat(y, 'f', -1, 64)
			list = append(list, text, strconv.FormatFloat(math.Floor(y), 'f', -1, 64), strconv.Quote(text))
		}
		return list
	}
	switch {
	case slices.Contains([]string{p.Zero, p.None, "", "none", "auto"}, plain):
		return []string{"20000", "3"}
	case strings.HasPrefix(value, "["):
		return []string{"[]", "[Read]"}
	}
	return nil
}
