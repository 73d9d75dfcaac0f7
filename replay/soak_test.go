package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/jsonl/synth"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/condition"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/internal/engine"
	"github.com/ctxkit/ctxkit/replay/internal/record"
)

// TestSoak replays random policies over random sessions by the engine and by a naive one, in which every stage sees a
// view that is made from the list of edits alone: both give the same timeline, edits and figures, and keep the
// invariants of docs/internals/model.md.
//
// It tries a sample. CTXKIT_SOAK is the number of cases or the time to spend, such as 2000 or 10m; CTXKIT_SOAK_SEED is
// the first seed. A case depends on its seed alone, and on the folders of real sessions that are given.
func TestSoak(t *testing.T) {
	cases, until := 40, time.Time{}
	if testing.Short() {
		cases = 10
	}
	if long := os.Getenv("CTXKIT_LONG") == "1"; long {
		cases = 2000
	}
	if v := os.Getenv("CTXKIT_SOAK"); v != "" {
		if d, err := time.ParseDuration(v); err == nil {
			cases, until = 1<<60, time.Now().Add(d)
		} else if cases, err = strconv.Atoi(v); err != nil {
			t.Fatalf("CTXKIT_SOAK=%s is no number and no duration", v)
		}
	}
	first := uint64(1)
	if v := os.Getenv("CTXKIT_SOAK_SEED"); v != "" {
		first = must.Get(strconv.ParseUint(v, 10, 64))(t)
	}
	soak := must.Get(newSoak())(t)
	failed := 0
	for seed := first; seed < first+uint64(cases) && (until.IsZero() || time.Now().Before(until)); seed++ {
		c := soak.make(seed)
		if err := soak.try(c); err != nil {
			c, err = soak.shrink(c, err)
			t.Errorf("seed %d: %v\nagain: CTXKIT_SOAK=1 CTXKIT_SOAK_SEED=%d go test ./replay -run TestSoak\noptions: %s\nsession: %s\npolicy:\n%s", seed, err, seed, c.options(), c.session, c.policy)
			if failed++; failed == 5 {
				break
			}
		}
	}
	t.Logf("%s", soak.tally())
	if soak.done > 20 && (soak.edits < soak.done || soak.acted < soak.done/4) {
		t.Error("too few edits to mean anything")
	}
}

// soaked are the stages and sessions that cases are made of, and what was done.
type soaked struct {
	reg     policy.Registry
	defs    []policy.Definition
	presets []string
	files   []string // real sessions

	done, acted, real, requests, edits, conditions int
	stages                                         map[string]int // edits by stage
}

func newSoak() (*soaked, error) {
	reg, err := stage.Registry()
	if err != nil {
		return nil, err
	}
	s := &soaked{reg: reg, stages: map[string]int{}}
	for _, d := range reg.Definitions() {
		if d.Program == "" {
			s.defs = append(s.defs, d)
		}
	}
	for _, name := range preset.Names(reg) {
		if p, err := preset.Load(name, reg); err != nil {
			return nil, err
		} else if !p.Recorded {
			s.presets = append(s.presets, name)
		}
	}
	for _, name := range []string{"CTXKIT_CORPUS", "CTXKIT_MORE", "CTXKIT_AGENTS", "CTXKIT_CODEX"} {
		dir := os.Getenv(name)
		if dir == "" {
			continue
		}
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			if _, ok := session.SessionID(e.Name()); ok {
				if info, err := e.Info(); err == nil && info.Size() < 4<<20 {
					s.files = append(s.files, path)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *soaked) tally() string {
	var never []string
	for _, d := range s.defs {
		if s.stages[d.Name] == 0 {
			never = append(never, d.Name)
		}
	}
	return fmt.Sprintf("%d cases, %d over real sessions, %d with edits; %d requests, %d edits, %d cases with conditions; stages that made none: %s",
		s.done, s.real, s.acted, s.requests, s.edits, s.conditions, strings.Join(never, " "))
}

// soakCase is a replay to try.
type soakCase struct {
	seed    uint64
	policy  string // as YAML
	session string // what it is
	file    string // a real session; "" for a synthetic one
	synth   synth.SessionOptions
	damaged bool // lines are lost or repeated
	opt     Options
	other   string // a parameter that a policy replayed beside it has otherwise: STAGE.PARAM=VALUE
}

func (c *soakCase) options() string {
	return fmt.Sprintf("counter %q, model %q, window %d, compact at %v, cache %q, regret %t; beside it %s", c.opt.Counter, c.opt.Model, c.opt.Window, c.opt.CompactAt, c.opt.Cache, c.opt.Regret, c.other)
}

// make makes the case of a seed.
func (s *soaked) make(seed uint64) soakCase {
	d := &soakDice{rand.New(rand.NewPCG(seed, 17))}
	c := soakCase{seed: seed}
	c.policy, c.other = s.randomPolicy(d)
	o := synth.Default()
	o.Seed, o.Requests = d.Uint64()|1, 5+d.IntN(60)
	o.Version = pick(d, "1.0.17", "1.0.53", "2.0.22", "2.0.76", "2.1.12", "2.1.19", "2.1.20", "2.1.29", "2.1.50", "2.1.77", "2.1.119", "2.1.139", "2.1.210", "2.1.239")
	o.Subagents, o.Offloads = 0, 0
	o.RequestsPerTurn, o.ResultChars = 1+d.IntN(15), 200+d.IntN(1+d.IntN(20000))
	o.Window = 120000 + d.IntN(100000)
	o.ManualCompacts, o.Lost = d.Float64()/5, d.Float64()
	o.Parallel, o.Thinking, o.Pauses, o.Rewinds, o.Attachments, o.CJK = d.Float64()/2, d.Float64(), d.Float64()/4, d.Float64()/5, d.Float64()/2, d.Float64()/8
	c.synth, c.damaged = o, d.one(5)
	c.session = fmt.Sprintf("%+v", o)
	if c.damaged {
		c.session = "damaged " + c.session
	}
	if len(s.files) > 0 && d.one(3) {
		c.file = s.files[d.IntN(len(s.files))]
		c.session = c.file
	}
	c.opt.Counter = pick(d, "", "", "", "heuristic")
	if d.one(4) {
		c.opt.Model = pick(d, "claude-opus-4-5", "claude-haiku-4-5", "gpt-5.4", "no-such-model")
	}
	if d.one(3) {
		c.opt.Window = 30000 + d.IntN(200000)
	}
	if d.one(4) {
		c.opt.CompactAt = []int{1 + d.IntN(5)}
	}
	if d.one(3) {
		c.opt.Cache = CacheEqual
	}
	c.opt.Regret = d.one(6)
	return c
}

type soakDice struct{ *rand.Rand }

func (d *soakDice) one(in int) bool { return d.IntN(in) == 0 }

func pick(d *soakDice, list ...string) string { return list[d.IntN(len(list))] }

// randomPolicy is a policy as YAML, and a parameter to change in it.
func (s *soaked) randomPolicy(d *soakDice) (yaml, other string) {
	for {
		var b strings.Builder
		b.WriteString("version: 1\nname: soak\n")
		if d.one(4) {
			fmt.Fprintf(&b, "extends: %s\n", s.presets[d.IntN(len(s.presets))])
		} else {
			b.WriteString("stages:\n")
			for _, i := range d.Perm(len(s.defs))[:1+d.IntN(5)] {
				fmt.Fprintf(&b, "  - %s\n", s.defs[i].Name)
			}
		}
		p, err := policy.Decode("soak.yaml", []byte(b.String()), s.reg, preset.Resolve(s.reg))
		if err != nil {
			continue // stages that do not go together
		}
		set := func(prefix string, params []policy.Param, in int) {
			for i := range params {
				if d.one(in) {
					_ = p.Set(prefix+"."+params[i].Name, randomValue(d, &params[i])) // one that is refused changes nothing
				}
			}
		}
		for i := range p.Stages {
			def := &p.Stages[i].Definition
			set(def.Name, def.Parameters(), 2)
			if d.one(4) {
				_ = p.Set(def.Name+".when", randomCondition(d, 2))
			}
		}
		if d.one(2) {
			set("window", policy.WindowParameters(), 4)
		}
		if d.one(2) {
			_ = p.Set("window.context", strconv.Itoa(25000+d.IntN(150000)))
		}
		if d.one(3) {
			set("cache", policy.CachingParameters(), 2)
		}
		if i := d.IntN(len(p.Stages) + 1); i < len(p.Stages) {
			if params := p.Stages[i].Definition.Parameters(); len(params) > 0 {
				q := params[d.IntN(len(params))]
				other = p.Stages[i].Definition.Name + "." + q.Name + "=" + randomValue(d, &q)
			}
		}
		return string(policy.Marshal(p)), other
	}
}

// randomValue is a value for a parameter, in its notation. It may be one that the policy refuses.
func randomValue(d *soakDice, p *policy.Param) string {
	if p.None != "" && d.one(4) {
		return p.None
	}
	if len(p.Enum) > 0 {
		return p.Enum[d.IntN(len(p.Enum))]
	}
	number := func() string {
		low, _ := strconv.Atoi(p.Min)
		was, err := strconv.Atoi(p.Default)
		if err != nil {
			was = 10
		}
		was = max(was, 0)
		n := []int{low, low + d.IntN(6), was / 10, was / 2, was, 2 * was, low + d.IntN(1+2*was), low + d.IntN(20000)}[d.IntN(8)]
		if most, err := strconv.Atoi(p.Max); err == nil {
			n = min(n, most)
		}
		return strconv.Itoa(max(n, low))
	}
	tool := func() string { return pick(d, "Read", "Bash", "Grep", "Edit", "Task", "Glob", "mcp__*") }
	switch p.Type {
	case "a whole number":
		return number()
	case "a number":
		low, _ := strconv.ParseFloat(p.Min, 64)
		most, err := strconv.ParseFloat(p.Max, 64)
		if err != nil {
			most = low + 3
		}
		return strconv.FormatFloat(low+(most-low)*float64(d.IntN(11))/10, 'g', 6, 64)
	case "true or false":
		return strconv.FormatBool(d.one(2))
	case "a duration":
		return strconv.Itoa(1+d.IntN(90)) + "m"
	case "text":
		return pick(d, "x", "[cleared]", "50", "95")
	case "a list of text":
		return "[" + strings.Join([]string{tool(), tool(), tool()}[:d.IntN(4)], ", ") + "]"
	case "a list of recorded, outline, typical or fixed: N":
		return fmt.Sprintf("[%s{fixed: %d}]", pick(d, "", "recorded, ", "outline, ", "outline, recorded, "), 1+d.IntN(6000))
	case "input_tokens: N or tool_uses: N":
		return pick(d, fmt.Sprintf("{tool_uses: %d}", 1+d.IntN(12)), fmt.Sprintf("{input_tokens: %d}", 1+d.IntN(60000)))
	case "a whole number, or {type: tool_uses, value: N}", "a whole number, or {type: input_tokens, value: N}":
		return number()
	case "true, false or a list of tools":
		return pick(d, "true", "false", "[Bash]")
	case "a map of names to whole numbers or none":
		return fmt.Sprintf("{%s: %d}", pick(d, "Read", "Bash", "Grep"), d.IntN(9000))
	case "a list of ID@REQUEST":
		return "[]" // ids are those of a session
	}
	return p.Default
}

// randomCondition is an expression over the variables of conditions.
func randomCondition(d *soakDice, depth int) string {
	if depth > 0 && d.one(2) {
		return "(" + randomCondition(d, depth-1) + pick(d, " && ", " || ") + randomCondition(d, depth-1) + ")"
	}
	list := condition.Variables()
	v := list[d.IntN(len(list))]
	if v.Truth {
		return pick(d, "", "!") + v.Name
	}
	least := map[string]string{"tokens": "30000", "share": "0.4", "minutes": "5", "turns": "2", "requests": "7", "results": "5"}[v.Unit]
	return v.Name + pick(d, " > ", " <= ", " >= ", " < ") + least
}

// conversation loads the session of a case.
func (c *soakCase) conversation() (*session.File, error) {
	if c.file != "" {
		return session.Load(c.file, session.LoadOptions{Jobs: 1})
	}
	var text bytes.Buffer
	if _, err := synth.Generate(&text, c.synth); err != nil {
		return nil, err
	}
	if c.damaged {
		d := &soakDice{rand.New(rand.NewPCG(c.seed, 23))}
		lines := bytes.SplitAfter(text.Bytes(), []byte("\n"))
		var out [][]byte
		for _, line := range lines {
			switch d.IntN(40) {
			case 0:
			case 1:
				out = append(out, line, line)
			case 2:
				out = append(out, line[:len(line)/2], []byte("\n"))
			default:
				out = append(out, line)
			}
		}
		text = *bytes.NewBuffer(bytes.Join(out, nil))
	}
	return session.LoadReader("soak.jsonl", &text, session.LoadOptions{Jobs: 1})
}

// try replays a case.
func (s *soaked) try(c soakCase) error {
	p, err := policy.Decode("soak.yaml", []byte(c.policy), s.reg, nil)
	if err != nil {
		return fmt.Errorf("a policy that was written is refused: %w", err)
	}
	if again := policy.Marshal(p); string(again) != c.policy {
		return fmt.Errorf("a policy that was written reads as another one:\n%s", gocmp.Diff(c.policy, string(again)))
	}
	file, err := c.conversation()
	if err != nil {
		if c.damaged || c.file != "" {
			return nil // nothing is left to replay
		}
		return err
	}
	defer file.Close()
	for _, conv := range file.Conversations() {
		if err := s.replays(c, p, conv); err != nil {
			return err
		}
	}
	return nil
}

func (s *soaked) replays(c soakCase, p *policy.Policy, conv *session.Conversation) error {
	rec, err := NewRecordWith(conv, RecordOptions{})
	if err != nil {
		return err
	}
	opt := c.opt
	opt.CompactAt = slices.DeleteFunc(slices.Clone(opt.CompactAt), func(n int) bool { return n > len(conv.Requests) })
	var others []*policy.Policy
	if key, value, ok := strings.Cut(c.other, "="); ok {
		if q := p.Clone(); q.Set(key, value) == nil {
			others = append(others, q)
		}
	}
	plain, same, err := rec.ReplayAlike(p, others, opt)
	naive, edits, nerr := naively(rec, p, opt)
	if err != nil || nerr != nil {
		if fmt.Sprint(err) != fmt.Sprint(nerr) {
			return fmt.Errorf("the engine: %w; the naive one: %w", err, nerr)
		}
		return nil
	}
	if diff := timelinesDiffer(plain, naive); diff != "" {
		return fmt.Errorf("-engine +naive\n%s", diff)
	}
	if err := plain.CheckValid(); err != nil {
		return err
	}
	if err := recounted(plain); err != nil {
		return err
	}
	if len(same) > 0 && same[0] {
		own, err := rec.Replay(others[0], opt)
		if err != nil {
			return err
		}
		if diff := gocmp.Diff(figuresOf(plain), figuresOf(own)); diff != "" {
			return fmt.Errorf("with %s it was said to do the same: -policy +other\n%s", c.other, diff)
		}
	}
	s.done++
	if c.file != "" {
		s.real++
	}
	if len(edits) > 0 {
		s.acted++
	}
	if len(plain.Conditions) > 0 {
		s.conditions++
	}
	s.requests += len(plain.Requests)
	s.edits += len(edits)
	for i := range edits {
		s.stages[edits[i].Stage]++
	}
	return nil
}

// timelinesDiffer compares all that two replays say.
func timelinesDiffer(a, b *Timeline) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	var texts [2]string
	for i, t := range []*Timeline{a, b} {
		data, err := json.MarshalIndent(t, "", " ")
		if err != nil {
			return err.Error()
		}
		texts[i] = string(data)
	}
	if texts[0] == texts[1] {
		return "" // what is not exported is kept for further calls
	}
	diff := gocmp.Diff(texts[0], texts[1])
	return diff[:min(len(diff), 4000)]
}

// figuresOf are what replays that do the same have in common: all but the reasons.
func figuresOf(t *Timeline) string {
	events := slices.Clone(t.Events)
	for i := range events {
		events[i].Reason = ""
	}
	data, err := json.MarshalIndent([]any{events, t.Requests, t.Totals}, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// recounted holds the totals of a replay against its rows and events.
func recounted(t *Timeline) error {
	var want, got Totals
	tot := &t.Totals
	for _, r := range t.Requests {
		want.Calls++
		want.Payload += r.Payload
		want.ModelInput += r.Tokens
		want.Output += r.Output
		want.Cache.Read += r.Cache.Read
		want.Cache.Write5m += r.Cache.Write5m
		want.Cache.Write1h += r.Cache.Write1h
		want.Cache.Uncached += r.Cache.Uncached
		if sum := r.Cache.Read + r.Cache.Write5m + r.Cache.Write1h + r.Cache.Uncached; sum != r.Payload {
			return fmt.Errorf("request %d (%s) sends %d tokens, its parts by the cache are %d", r.N, r.Kind, r.Payload, sum)
		}
		if r.Kind != "main" {
			want.OwnInput += r.Payload
			want.OwnOutput += r.Output
			continue
		}
		want.Requests++
		want.RawInput += r.Raw
		want.RawPeak, want.ModelPeak, want.PayloadPeak = max(want.RawPeak, r.Raw), max(want.ModelPeak, r.Tokens), max(want.PayloadPeak, r.Payload)
	}
	for _, e := range t.Events {
		want.Events++
		if e.Saved != e.Before-e.After {
			return fmt.Errorf("event %d saved %d, from %d to %d", e.N, e.Saved, e.Before, e.After)
		}
	}
	want.Saved = want.RawInput - tot.NotReadBack - (want.Payload - want.OwnInput)
	got = Totals{
		Requests: tot.Requests, Calls: tot.Calls, RawPeak: tot.RawPeak, ModelPeak: tot.ModelPeak, RawInput: tot.RawInput, ModelInput: tot.ModelInput, Payload: tot.Payload,
		PayloadPeak: tot.PayloadPeak, OwnInput: tot.OwnInput, Saved: tot.Saved, Output: tot.Output, OwnOutput: tot.OwnOutput, Events: tot.Events, Cache: tot.Cache,
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Errorf("totals %+v, the rows say %+v", got, want)
	}
	return nil
}

// naiveStage runs a stage on the naive view.
type naiveStage struct {
	policy.Stage
	*naiveRun
}

func (s naiveStage) Fork() policy.Stage { return naiveStage{policy.Fork(s.Stage), s.naiveRun} }

// naiveRun is a replay in which nothing is taken from one step to the next but edits and what stages remember.
type naiveRun struct {
	record  *record.Record
	counter record.ReplayCounter
	plain   *plainView // nil before the first stage or request
	seen    map[[2]string]bool
	rows    [][3]int // of main requests: tokens, payload, messages
	err     error
}

// follow brings the naive view to the state of a view.
func (n *naiveRun) follow(v policy.View) *plainView {
	if n.plain == nil {
		n.plain = newPlainView(v.(*view.View), n.counter.Report, n.counter.Client)
	}
	n.plain.follow()
	return n.plain
}

func (s naiveStage) Run(c *policy.Context) ([]policy.Edit, error) {
	if diff := s.follow(c.View).differs(c.View, false); diff != "" && s.err == nil {
		s.err = fmt.Errorf("before request %d, %s: %s", c.Request, c.Moment, diff)
	}
	was := c.View
	c.View = s.plain
	edits, err := s.Stage.Run(c)
	c.View = was
	return edits, err
}

// request holds the row and the checks of a request against the naive view.
func (n *naiveRun) request(e *engine.Engine, k int, v *view.View) {
	diff := n.follow(v).differs(v, true)
	over := e.OverheadAt(k - 1)
	n.rows = append(n.rows, [3]int{max(n.plain.tokens(0)+over, 0), max(n.plain.payload(0)+over, 0), len(n.plain.items)})
	for _, broken := range view.NewChecker(v).CheckRequest() {
		n.seen[[2]string{broken.Item.Name(n.record.Conv), broken.Message}] = true
	}
	if diff != "" && n.err == nil {
		n.err = fmt.Errorf("request %d: %s", k, diff)
	}
}

// wrap returns the policy with stages that run on the naive view.
func (n *naiveRun) wrap(p *policy.Policy) *policy.Policy {
	q := *p
	q.Stages = slices.Clone(p.Stages)
	for i := range q.Stages {
		d := &q.Stages[i].Definition
		make := d.New
		d.New = func(params any) (policy.Stage, error) {
			st, err := make(params)
			if err != nil {
				return nil, err
			}
			if starter, ok := st.(policy.Starter); ok {
				if err := starter.Start(n.record.Conv); err != nil {
					return nil, err
				}
			}
			return naiveStage{st, n}, nil
		}
	}
	return &q
}

// naively replays a policy by the naive engine.
func naively(r *Record, p *policy.Policy, opt Options) (*Timeline, []policy.Edit, error) {
	under, err := r.record.Under(opt.Model, r.record.Table(opt.Prices))
	if err != nil {
		return nil, nil, err
	}
	run := &naiveRun{record: under, seen: map[[2]string]bool{}}
	if run.counter, err = under.Counter(opt.Counter); err != nil {
		return nil, nil, err
	}
	var e *engine.Engine
	opt.Observe = func(n int, v *view.View) { run.request(e, n, v) }
	if e, err = engine.New(r.record, run.wrap(p), opt); err != nil {
		return nil, nil, err
	}
	defer e.Close()
	if err := e.Run(); err != nil {
		return nil, nil, err
	}
	result, err := e.Result()
	if err != nil {
		return nil, nil, err
	}
	t, err := r.timeline(result, p, opt)
	if err == nil {
		err = run.err
	}
	var rows [][3]int
	for _, r := range t.Main() {
		rows = append(rows, [3]int{r.Tokens, r.Payload, r.Messages})
	}
	if err == nil && !slices.Equal(rows, run.rows) {
		err = fmt.Errorf("the rows say %v, recounted %v", rows, run.rows)
	}
	reported := map[[2]string]bool{}
	for _, f := range t.Findings {
		if f.Rule != view.DecisionsSticky && f.Rule != view.ThinkingKeepsPrefix {
			reported[[2]string{f.Message, f.Text}] = true
		}
	}
	if err == nil && !reflect.DeepEqual(run.seen, reported) {
		err = fmt.Errorf("broken rules %v, checked anew at each request %v", reported, run.seen)
	}
	return t, result.View.Edits(), err
}

// shrink leaves out stages and requests as long as the case fails.
func (s *soaked) shrink(c soakCase, err error) (soakCase, error) {
	smaller := func(change func(*soakCase) bool) bool {
		next := c
		if !change(&next) {
			return false
		}
		if e := s.try(next); e != nil {
			c, err = next, e
			return true
		}
		return false
	}
	for again := true; again; {
		again = false
		p, e := policy.Decode("soak.yaml", []byte(c.policy), s.reg, nil)
		if e != nil {
			return c, err
		}
		for i := range p.Stages {
			again = again || smaller(func(n *soakCase) bool {
				q := p.Clone()
				q.Stages = slices.Delete(q.Stages, i, i+1)
				n.policy = string(policy.Marshal(q))
				return len(q.Stages) > 0
			})
		}
		again = again || smaller(func(n *soakCase) bool {
			n.synth.Requests = n.synth.Requests * 2 / 3
			n.session = fmt.Sprintf("%+v", n.synth)
			return c.file == "" && n.synth.Requests > 0
		})
		again = again || smaller(func(n *soakCase) bool { n.damaged = false; return c.damaged })
		again = again || smaller(func(n *soakCase) bool { n.opt = Options{}; return !reflect.DeepEqual(c.opt, Options{}) })
	}
	return c, err
}
