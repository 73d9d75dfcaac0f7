package stage

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
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
