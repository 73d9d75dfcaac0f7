package stage

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Every stage, on random conversations with random parameters, keeps what
// docs/internals/model.md lists as invariants: see checks.

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
	if v := os.Getenv("CTXKIT_SEEDS"); v != "" { // a longer hunt: conversations a stage is tried on
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = n
	}
	for _, def := range All() {
		t.Run(def.Name, func(t *testing.T) {
			t.Parallel()
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
	stages := []named{d.stage(t, def)}
	if def.Name == "post_compact" { // it follows a compaction
		stages = append([]named{d.stage(t, defineAutocompact())}, stages...)
	}
	r := newRun(t, c, stages...)
	d.circumstances(r)
	check := &checks{run: r, sticky: true}
	r.each = check.request
	r.all()
	check.again()
	return slices.ContainsFunc(r.view.Edits(), func(e policy.Edit) bool { return e.Stage == def.Name })
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

// checks are made after every request. What has taken the place of a block
// stays there; what is left of one that was cut may be cut again, or cleared.
type checks struct {
	*run
	sticky   bool
	replaced map[policy.Target]policy.Content
	pinned   map[policy.Target]policy.ItemID
}

func (c *checks) request(k int) {
	c.t.Helper()
	where := fmt.Sprintf("request %d", k+1)
	for _, v := range view.CheckAPI(c.view) {
		c.t.Errorf("%s: message %d: %s", where, v.Item, v.Message)
	}
	c.counts(where)
	c.results(where)
	c.cacheEdits(where)
	if c.replaced == nil {
		c.replaced = map[policy.Target]policy.Content{}
	}
	for id := range c.view.Items {
		for b := range c.view.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			now := c.view.Replacement(t)
			if was, ok := c.replaced[t]; ok && c.sticky && (now == nil || !was.Partial && !reflect.DeepEqual(was, *now)) {
				c.t.Errorf("%s: block %d of message %d was %+v and is now %+v", where, b, id, was, now)
			}
			if now != nil {
				c.replaced[t] = *now
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

// cacheEdits holds the edits of the cached view against what the payload can
// carry: a user message in view, behind the result it deletes, and the same one
// at each request.
func (c *checks) cacheEdits(where string) {
	at := map[policy.ItemID]int{}
	for i, id := range c.view.IDs() {
		at[id] = i
	}
	pinned := map[policy.Target]policy.ItemID{}
	for _, e := range c.view.CacheEdits() {
		result, there := at[e.Target.Item]
		carrier, carried := at[e.Carrier]
		if !there || !carried || carrier <= result || c.view.Role(e.Carrier) != session.User || c.view.Kind(e.Target) != jsonl.KindToolResult {
			c.t.Errorf("%s: block %d of message %d is deleted by message %d", where, e.Target.Block, e.Target.Item, e.Carrier)
		}
		if _, twice := pinned[e.Target]; twice {
			c.t.Errorf("%s: block %d of message %d is deleted twice", where, e.Target.Block, e.Target.Item)
		}
		if was, ok := c.pinned[e.Target]; ok && was != e.Carrier && c.view.Has(was) && c.sticky {
			c.t.Errorf("%s: block %d of message %d was deleted by message %d, now by %d", where, e.Target.Block, e.Target.Item, was, e.Carrier)
		}
		pinned[e.Target] = e.Carrier
	}
	c.pinned = pinned
}

// results compares the index of results with what is in view.
func (c *checks) results(where string) {
	type known struct {
		policy.Target
		policy.ResultState
	}
	var want, got []known
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
			want = append(want, known{t, state})
		}
	}
	for _, r := range c.view.Results() {
		if r.State != policy.ResultGone {
			got = append(got, known{r.Target, r.State})
		}
	}
	if !slices.Equal(want, got) {
		c.t.Errorf("%s: results %v, in view are %v", where, got, want)
	}
}

// again makes the view anew from its edits alone.
func (c *checks) again() {
	c.t.Helper()
	w := quarter{c.c.Conversation}
	v := view.New(c.c.Conversation, w, w)
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
	if was, is := picture(c.view), picture(v); !reflect.DeepEqual(was, is) {
		diff := cmp.Diff(was, is)
		c.t.Fatalf("the view made again from its edits: -first +again\n%s\n%s", diff, c.names())
	}
}

// shown is one block, or one message, as a view shows it.
type shown struct {
	ID             policy.ItemID
	Role           session.Role
	Weight         int
	Length         jsonl.Metrics
	Content        *policy.Content
	Payload        bool
	PayloadContent *policy.Content
}

// shownView is everything a view shows.
type shownView struct {
	Sums    [6]int
	Shown   []shown
	Results []policy.Result
}

func picture(v *view.View) shownView {
	p := shownView{Sums: [6]int{v.Tokens(), v.PayloadTokens(), v.Len(), v.Epoch(), v.Joined(), len(v.Edits())}, Results: v.Results()}
	for id := range v.Items {
		p.Shown = append(p.Shown, shown{ID: id, Role: v.Role(id), Weight: v.Weight(id), Content: v.Tag(id)})
		for b := range v.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			content, ok := v.PayloadReplacement(t)
			p.Shown = append(p.Shown, shown{ID: id, Weight: v.BlockTokens(t), Length: v.Length(t), Content: v.Replacement(t), Payload: ok, PayloadContent: content})
		}
	}
	return p
}
