package stage

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Every stage, on random conversations with random parameters, keeps what
// 1-model.md asks of every request: see checks.

func FuzzStage(f *testing.F) {
	defs := All()
	for i := range defs {
		f.Add(uint8(i), uint64(i), []byte(nil))
	}
	f.Fuzz(func(t *testing.T, stage uint8, seed uint64, data []byte) {
		fuzzOne(t, defs[int(stage)%len(defs)], newDice(seed, data))
	})
}

func FuzzStages(f *testing.F) {
	for i := range uint64(20) {
		f.Add(i, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) { fuzzSome(t, newDice(seed, data)) })
}

func TestStageSeeds(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() {
		seeds = 50
	}
	for _, def := range All() {
		t.Run(def.Name, func(t *testing.T) {
			acted := 0
			for seed := range seeds {
				if fuzzOne(t, def, newDice(seed, nil)) {
					acted++
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			if acted < int(seeds)/100 {
				t.Errorf("it made edits in %d of %d conversations: too few to mean anything", acted, seeds)
			}
		})
	}
}

func TestStagesSeeds(t *testing.T) {
	for seed := range uint64(1500) {
		fuzzSome(t, newDice(seed, nil))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// fuzzOne runs one stage and reports whether it made edits.
func fuzzOne(t *testing.T, def policy.Definition, d *dice) bool {
	c := d.conversation()
	r := newRun(t, c, d.stage(t, def))
	d.circumstances(r)
	check := &checks{run: r, sticky: true}
	r.each = check.request
	r.all()
	check.again()
	return len(r.view.Edits()) > 0
}

// fuzzSome runs several stages, in any order.
func fuzzSome(t *testing.T, d *dice) {
	defs := All()
	c := d.conversation()
	var stages []named
	for range 1 + d.n(4) {
		i := d.n(len(defs))
		stages = append(stages, d.stage(t, defs[i]))
		defs = slices.Delete(defs, i, i+1)
	}
	r := newRun(t, c, stages...)
	d.circumstances(r)
	check := &checks{run: r}
	r.each = check.request
	r.all()
	check.again()
}

// checks are made after every request.
type checks struct {
	*run
	sticky   bool
	replaced map[policy.Target]string
}

func (c *checks) request(k int) {
	c.t.Helper()
	where := fmt.Sprintf("request %d", k+1)
	for _, v := range policy.CheckAPI(c.view) {
		c.t.Errorf("%s: message %d: %s", where, v.Item, v.Message)
	}
	c.counts(where)
	c.results(where)
	if c.replaced == nil {
		c.replaced = map[policy.Target]string{}
	}
	for id := range c.view.Items {
		for b := range c.view.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			now := describe(c.view.Replacement(t))
			if was, ok := c.replaced[t]; ok && c.sticky && was != now {
				c.t.Errorf("%s: block %d of message %d was %q and is now %q", where, b, id, was, now)
			}
			if now != "" {
				c.replaced[t] = now
			}
		}
	}
	if c.t.Failed() {
		c.t.Logf("stages %s; edits %v", c.names(), c.edits())
		c.t.FailNow()
	}
}

func (c *checks) names() string {
	var list []string
	for _, s := range c.stages {
		list = append(list, fmt.Sprintf("%s%+v", s.def.Name, reflect.Indirect(reflect.ValueOf(s.stage))))
	}
	return strings.Join(list, "; ")
}

// counts compares the running sums with a naive recount.
func (c *checks) counts(where string) {
	w := quarter{c.c.Conversation}
	tokens, payload, items := 0, 0, 0
	for id := range c.view.Items {
		items++
		if tag := c.view.Tag(id); tag != nil {
			tokens += w.Content(tag)
			payload += w.Content(tag)
		}
		for b := range c.view.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			n := 0
			if r := c.view.Replacement(t); r != nil {
				n = w.Content(r)
			} else {
				n = w.Block(int(id), b)
			}
			tokens += n
			if r, ok := c.view.PayloadReplacement(t); !ok {
				payload += n
			} else if r != nil {
				payload += w.Content(r)
			}
		}
	}
	if c.view.Tokens() != tokens || c.view.ClientTokens() != tokens || c.view.PayloadTokens() != payload || c.view.Len() != items {
		c.t.Errorf("%s: the view says %d tokens (client %d), payload %d, %d items; counted anew %d, %d, %d",
			where, c.view.Tokens(), c.view.ClientTokens(), c.view.PayloadTokens(), c.view.Len(), tokens, payload, items)
	}
}

// results compares the index of results with what is in view.
func (c *checks) results(where string) {
	var want, got []string
	for id := range c.view.Items {
		for b := range c.view.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			if id < 0 || c.view.Kind(t) != jsonl.KindToolResult {
				continue
			}
			state := policy.ResultLive
			if r := c.view.Replacement(t); r != nil && !r.Partial {
				state = policy.ResultChanged
			}
			want = append(want, fmt.Sprint(t, state))
		}
	}
	for _, r := range c.view.Results() {
		if r.State != policy.ResultGone {
			got = append(got, fmt.Sprint(r.Target, r.State))
		}
	}
	if !slices.Equal(want, got) {
		c.t.Errorf("%s: results %v, in view are %v", where, got, want)
	}
}

func describe(c *policy.Content) string {
	if c == nil {
		return ""
	}
	return fmt.Sprint(c.Kind, c.Tokens, c.Ref, c.Partial, c.Length, c.Text)
}

// again makes the view anew from its edits alone.
func (c *checks) again() {
	c.t.Helper()
	w := quarter{c.c.Conversation}
	v := policy.NewView(c.c.Conversation, w, w)
	join := func(to int) {
		for m := v.Joined(); m < to; m++ {
			if c.c.Messages[m].RecordOnly {
				v.Skip(m)
			} else {
				v.Join(m)
			}
		}
	}
	for _, e := range c.view.Edits() {
		join(e.Joined)
		e.Insert, e.Tail = slices.Clone(e.Insert), slices.Clone(e.Tail)
		if _, err := v.Apply(e); err != nil {
			c.t.Fatalf("applying edits again: %v", err)
		}
	}
	join(c.view.Joined())
	if diff := cmp.Diff(picture(c.view), picture(v)); diff != "" {
		c.t.Fatalf("the view made again from its edits: -first +again\n%s\n%s", diff, c.names())
	}
}

// picture is everything a view shows.
func picture(v *policy.View) []string {
	list := []string{fmt.Sprint(v.Tokens(), v.PayloadTokens(), v.Len(), v.Epoch(), v.Joined(), len(v.Edits()))}
	for id := range v.Items {
		list = append(list, fmt.Sprint(id, v.Role(id), v.Weight(id), describe(v.Tag(id))))
		for b := range v.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			p, ok := v.PayloadReplacement(t)
			list = append(list, fmt.Sprint(v.BlockTokens(t), v.Length(t), describe(v.Replacement(t)), ok, describe(p)))
		}
	}
	for _, r := range v.Results() {
		list = append(list, fmt.Sprint(r))
	}
	return list
}

// dice are the choices of a random case: from data while there is some, then
// from a generator.
type dice struct {
	data []byte
	rng  *rand.Rand
}

func newDice(seed uint64, data []byte) *dice { return &dice{data, rand.New(rand.NewPCG(seed, 7))} }

// n is a number from 0 up to, not including, limit.
func (d *dice) n(limit int) int {
	if limit <= 1 {
		return 0
	}
	if len(d.data) == 0 {
		return d.rng.IntN(limit)
	}
	v := 0
	for m := limit - 1; m > 0 && len(d.data) > 0; m >>= 8 {
		v = v<<8 | int(d.data[0])
		d.data = d.data[1:]
	}
	return v % limit
}

func (d *dice) one(in int) bool { return d.n(in) == 0 }

// size is a number up to about limit, small ones as likely as large ones.
func (d *dice) size(limit int) int { return d.n(1 + d.n(1+d.n(1+limit))) }

func (d *dice) pick(list ...string) string { return list[d.n(len(list))] }

func (d *dice) text() string {
	switch d.n(12) {
	case 0:
		return ClearedText
	case 1:
		return CompactedText
	case 2:
		return "before <persisted-output> behind"
	case 3:
		return strings.Repeat("line\n", d.size(800))
	case 4:
		return strings.Repeat("\"😀é\\", d.size(500))
	}
	return strings.Repeat("x", d.size(9000))
}

// conversation is one that the API takes at every request.
func (d *dice) conversation() *convo {
	c := newConvo()
	if d.one(12) {
		c.Agent = d.pick("a1", "acompact-1")
	}
	c.Model = d.pick("claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-5-5", "")
	c.prompt("go")
	for i := range 1 + d.n(20) {
		if d.one(3) {
			c.clock = c.clock.Add(time.Duration(d.n(200)) * time.Minute)
		}
		if open := d.response(c, i); open {
			break
		}
		d.between(c)
	}
	for m := range c.Messages {
		c.Messages[m].Version = d.pick("2.1.19", "2.1.30", "")
	}
	for i := range c.Boundaries {
		b := &c.Boundaries[i]
		for b.Request = 1; b.Request <= len(c.Requests) && c.Requests[b.Request-1].Message < b.Before; b.Request++ {
		}
	}
	return c
}

// response is an assistant message and what answers it; open: its calls have
// no answers yet.
func (d *dice) response(c *convo, i int) (open bool) {
	var parts, answers []part
	if d.one(3) {
		parts = append(parts, think("hm"))
	}
	if d.one(9) {
		parts = append(parts, block(jsonl.KindRedactedThinking, "redacted_thinking", "secret"))
	}
	if d.one(2) {
		parts = append(parts, say("let me see"))
	}
	for j := range d.n(4) {
		id := fmt.Sprintf("t%d.%d", i, j)
		parts = append(parts, use(id, d.pick("Read", "Bash", "Grep", "Edit", "Task", "Skill", "compact", "mcp__a__b")))
		a := result(id, d.text())
		switch d.n(8) {
		case 0:
			a = results(id, d.text(), image)
		case 1:
			a = results(id, d.text(), d.text())
		case 2:
			a = results(id)
		}
		a.IsError = d.one(8)
		answers = append(answers, a)
	}
	if len(answers) == 0 {
		parts = append(parts, say("done"))
		c.assistant(parts...)
		return false
	}
	c.assistant(parts...)
	if d.one(60) {
		return true
	}
	for k := len(answers) - 1; k > 0; k-- {
		o := d.n(k + 1)
		answers[k], answers[o] = answers[o], answers[k]
	}
	if d.one(2) {
		c.answers(answers...)
	} else {
		for _, a := range answers {
			c.answers(a)
		}
	}
	return false
}

// between is what stands between one response and the next.
func (d *dice) between(c *convo) {
	if d.one(5) {
		kind := d.pick("memory", "file", "todo_reminder")
		c.add(session.Message{Role: session.User, Class: session.ClassAttachment, Attachment: kind}, block(jsonl.KindAttachment, "attachment", d.pick("", "remember", "listing")))
	}
	if d.one(9) {
		c.user(session.ClassMeta, say("a reminder"))
	}
	last := &c.Messages[len(c.Messages)-1]
	if last.Class == session.ClassResponse || d.one(4) {
		if at := c.prompt(d.pick("go on", "fix it 😀", strings.Repeat("y", 500))); d.one(4) {
			c.Messages[at].Queued = true
		}
	}
	if d.one(12) {
		at := len(c.Messages)
		c.Messages[c.user(session.ClassSummary, say("a recorded summary"))].RecordOnly = true
		c.Boundaries = append(c.Boundaries, session.Boundary{Line: at, Summary: at, Trigger: "auto", Before: at})
	}
}

// circumstances are the limits and the client's arithmetic.
func (d *dice) circumstances(r *run) {
	w := policy.DefaultWindow()
	w.AutoCompact = !d.one(6)
	w.OutputReserve, w.Buffer, w.WarningOffset = d.size(2000), d.size(1000), d.size(2000)
	r.limits = w.Resolve(1000+d.size(20000), 0)
	r.overhead = d.size(60000)
	if d.one(2) {
		r.overhead = d.size(500)
	}
	if d.one(3) {
		shift := d.size(3000)
		r.used = func(int) (int, int) { return r.overhead + r.view.Tokens() + shift, shift }
	}
	r.manual = map[int]bool{d.n(12): d.one(3)}
	taken := map[int]bool{}
	r.record.find = func(n int) (policy.Content, int, bool) {
		for i := range r.c.Boundaries {
			b := &r.c.Boundaries[i]
			if b.Request >= n && !taken[i] {
				taken[i] = true
				ref := policy.Target{Item: policy.ItemID(b.Summary)}
				return policy.Content{Kind: jsonl.KindText, Ref: &ref, Length: r.c.Messages[b.Summary].Blocks[0].Text}, i, true
			}
		}
		return policy.Content{}, -1, false
	}
	if d.one(2) {
		r.record.tail = []policy.Synthetic{{Role: "user", Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 50}}}}
	}
}

// stage makes a stage with random parameters; with its defaults where it
// refuses them.
func (d *dice) stage(t testing.TB, def policy.Definition) named {
	p := reflect.New(reflect.TypeOf(def.Params).Elem())
	p.Elem().Set(reflect.ValueOf(def.Params).Elem())
	for i := range p.Elem().NumField() {
		if f := p.Elem().Type().Field(i); d.n(4) > 0 {
			d.param(p.Elem().Field(i), f.Tag)
		}
	}
	st, err := def.New(p.Interface())
	if err != nil {
		return start(t, def, nil)
	}
	return named{def, st}
}

func (d *dice) param(v reflect.Value, tag reflect.StructTag) {
	low, _ := strconv.Atoi(tag.Get("min"))
	switch x := v.Addr().Interface().(type) {
	case *bool:
		*x = d.one(2)
	case *int:
		*x = low + d.size(20000)
		if d.one(2) {
			*x = low + d.n(6)
		}
	case **int:
		n := low + d.size(5000)
		if d.one(2) {
			n = max(low, 1) + d.n(3)
		}
		*x = &n
		if d.one(4) {
			*x = nil
		}
	case *time.Duration:
		*x = time.Duration(d.n(90)) * time.Minute
	case *string:
		if words := tag.Get("enum"); words != "" {
			*x = d.pick(strings.Split(words, ",")...)
		}
	case *[]string:
		*x = nil
		for range d.n(4) {
			*x = append(*x, d.pick("Read", "Bash", "Grep", "Edit", "Task", "skill", "mcp__*"))
		}
	case *map[string]int:
		*x = map[string]int{}
		for range d.n(4) {
			(*x)[d.pick("Read", "Bash", "Grep", "Task")] = d.size(5000) - 1
		}
	case *policy.Trigger:
		*x = policy.Trigger{Type: policy.TriggerInputTokens, Value: 1 + d.size(20000)}
		if d.one(2) {
			*x = policy.Trigger{Type: policy.TriggerToolUses, Value: 1 + d.n(12)}
		}
	case *policy.SummaryChoices:
		*x = policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: 1 + d.size(3000)}}
		for _, k := range []policy.SummaryKind{policy.SummaryOutline, policy.SummaryRecorded} {
			if d.one(2) {
				*x = append(policy.SummaryChoices{{Kind: k}}, *x...)
			}
		}
	case *ToolInputs:
		*x = ToolInputs{All: d.one(2)}
		if d.one(2) {
			x.Tools = []string{"Bash"}
		}
	default:
		panic(fmt.Sprintf("no random value for a %s: add one", v.Type()))
	}
}
