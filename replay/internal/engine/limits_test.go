package engine

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay/internal/record"
)

// TestLimits replays every shipped session under every built-in policy: the events name the limits that the policy
// states, and the timeline states the same ones.
func TestLimits(t *testing.T) {
	must.BeCI(t)
	reg := must.Get(stage.Registry())(t)
	files := must.Glob(t, 1, "../../../testdata/sessions/*.jsonl")
	l := &limitsTest{T: t, acted: map[string]int{}}
	for _, name := range preset.Names(reg) {
		pol := must.Get(preset.Load(name, reg))(t)
		l.policies = append(l.policies, pol)
		for i := range pol.Stages {
			if actsAtAny(pol.Stages[i].Limits(policy.Circumstances{Window: DefaultWindow}).List) {
				l.acted[pol.Stages[i].Definition.Name] = 0
			}
		}
	}
	for _, path := range files {
		f := must.Get(session.Load(path, session.LoadOptions{Jobs: 2}))(t)
		for _, conv := range f.Conversations() {
			l.session(conv)
		}
		f.Close()
	}
	for _, name := range slices.Sorted(maps.Keys(l.acted)) {
		if l.acted[name] == 0 {
			t.Errorf("%s: it has limits at which it acts, and it acted in no session", name)
		}
	}
}

func actsAtAny(limits []policy.Limit) bool {
	return slices.ContainsFunc(limits, func(l policy.Limit) bool { return l.Acts })
}

type limitsTest struct {
	*testing.T
	policies []*policy.Policy
	acted    map[string]int // events by stage, of the stages that have limits
}

// session replays a conversation in its own window and in smaller ones, where more stages act.
func (t *limitsTest) session(conv *session.Conversation) {
	rec := must.Get(record.New(conv, record.RecordOptions{}))(t)
	for _, pol := range t.policies {
		for _, window := range []int{0, 100_000, 30_000} {
			opt := Options{Window: window}
			e := must.Get(New(rec, pol, opt))(t)
			must.Do(t, e.Run())
			tl := must.Get(e.Result())(t)
			t.stated(rec, pol, opt, tl)
			for _, e := range tl.Events {
				t.event(rec, pol, opt, &e)
			}
		}
	}
}

// stated compares the timeline's limits with the policy's in its window.
func (t *limitsTest) stated(rec *record.Record, pol *policy.Policy, opt Options, tl *ReplayResult) {
	c := policy.Circumstances{Window: tl.Window}
	widest := 0
	for k := range rec.Conv.Requests {
		if at := inForce(rec, pol, opt, k); at.Window > widest {
			widest, c.MaxOutput, c.Model = at.Window, at.MaxOutput, at.Model
		}
	}
	if widest != tl.Window && len(rec.Conv.Requests) > 0 {
		t.Errorf("%s, %s: the timeline's window is %d, the widest of a request %d", rec.Conv.Path, pol.Name, tl.Window, widest)
	}
	if diff := cmp.Diff(pol.Limits(c).List, tl.Limits); diff != "" {
		t.Errorf("%s, %s: the policy's limits and the timeline's differ:\n%s", rec.Conv.Path, pol.Name, diff)
	}
}

// inForce are the circumstances of request k.
func inForce(rec *record.Record, pol *policy.Policy, opt Options, k int) policy.Circumstances {
	m := &rec.Conv.Messages[rec.Conv.Requests[k].Message]
	model, _ := rec.Table(opt.Prices).Find(m.Model)
	e := &Engine{record: rec, policy: pol, options: opt, conv: rec.Conv, windows: newWindows(pol)}
	c := policy.Circumstances{Window: e.window(k), MaxOutput: model.MaxOutput, Model: m.Model}
	return c
}

// namesNoLimit are the kinds of events that undo what a stage did at a limit: their reasons say why it does not hold
// any more.
var namesNoLimit = map[policy.EditKind]bool{policy.KindServerKeep: true}

// noTokens are the quantities of a reason that are no number of tokens.
var noTokens = regexp.MustCompile(`\d+ (characters|characters of results in one message|events|live results|messages|tool uses|tools called|calls of earlier turns)$`)

var (
	comparison = regexp.MustCompile(`([^,;:]*?) (>=|>) (?:[a-z_]+ )?(-?\d+)\b`)
	number     = regexp.MustCompile(`-?\d+\b`)
)

// event compares the reason of an event with the limits of its stage in the window in force.
func (t *limitsTest) event(rec *record.Record, pol *policy.Policy, opt Options, ev *Event) {
	i := slices.IndexFunc(pol.Stages, func(s policy.StageConfig) bool { return s.Definition.Name == ev.Stage })
	if i < 0 || ev.Trigger != "auto" || namesNoLimit[ev.Kind] {
		return
	}
	k := len(rec.Conv.Requests) - 1
	if ev.Request != nil {
		k = min(k, *ev.Request-1)
	}
	limits := pol.Stages[i].Limits(inForce(rec, pol, opt, k)).List
	numbers := number.FindAllString(ev.Reason, -1)
	if actsAtAny(limits) {
		t.acted[ev.Stage]++
		if !slices.ContainsFunc(limits, func(l policy.Limit) bool { return l.Acts && slices.Contains(numbers, strconv.Itoa(l.Tokens)) }) {
			t.Errorf("%s, %s: %s acts because of %q, which names none of its limits %+v", rec.Conv.Path, pol.Name, ev.Stage, ev.Reason, limits)
		}
	}
	for _, m := range comparison.FindAllStringSubmatch(ev.Reason, -1) {
		known := slices.ContainsFunc(limits, func(l policy.Limit) bool { return strconv.Itoa(l.Tokens) == m[3] && l.Operator == m[2] })
		if !known && !noTokens.MatchString(m[1]) {
			t.Errorf("%s, %s: %s acts because of %q, and %s %s is none of its limits %+v", rec.Conv.Path, pol.Name, ev.Stage, ev.Reason, m[2], m[3], limits)
		}
	}
}
