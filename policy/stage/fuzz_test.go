package stage

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/anthropic"
	"github.com/ctxkit/ctxkit/policy/stage/claude"
	"github.com/ctxkit/ctxkit/policy/stage/generic"
	"github.com/ctxkit/ctxkit/policy/stage/program"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Every stage, on random conversations with random parameters, keeps what docs/internals/model.md lists as
// invariants: see checks.

func FuzzStage(f *testing.F) {
	defs := allStages(f).Definitions()
	for i := range defs {
		f.Add(uint8(i), uint64(i), []byte(nil))
	}
	f.Fuzz(func(t *testing.T, stage uint8, seed uint64, data []byte) {
		fuzzOne(t, defs[int(stage)%len(defs)], stagetest.NewDice(seed, data))
	})
}

func FuzzStages(f *testing.F) {
	for i := range uint64(20) {
		f.Add(i, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) { fuzzSome(t, stagetest.NewDice(seed, data)) })
}

func TestStageSeeds(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 50
	}
	if v := os.Getenv("CTXKIT_SEEDS"); v != "" { // a longer hunt: conversations a stage is tried on
		n := must.Get(strconv.ParseUint(v, 10, 64))(t)
		seeds = n
	}
	long := map[string]bool{} // stages of no product: nothing else confirms them
	if os.Getenv("CTXKIT_LONG") == "1" {
		for _, def := range generic.Family().Stages {
			long[def.Name] = true
		}
	}
	for _, def := range allStages(t).Definitions() {
		t.Run(def.Name, func(t *testing.T) {
			t.Parallel()
			acted, seeds := 0, seeds
			if long[def.Name] {
				seeds = max(seeds, 10000)
			}
			for seed := range seeds {
				if fuzzOne(t, def, stagetest.NewDice(seed, nil)) {
					acted++
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			t.Logf("it made edits in %d of %d conversations", acted, seeds)
			if acted < int(seeds)/100 {
				t.Errorf("it made edits in %d of %d conversations: too few to mean anything", acted, seeds)
			}
		})
	}
}

func TestStagesSeeds(t *testing.T) {
	for seed := range uint64(500) {
		fuzzSome(t, stagetest.NewDice(seed, nil))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// fuzzOne runs one stage and reports whether it made edits.
func fuzzOne(t *testing.T, def policy.Definition, d *stagetest.Dice) bool {
	c := randomConversation(d)
	stages := []stagetest.Named{randomStage(d, t, def)}
	if def.Name == "post_compact" { // it follows a compaction
		autocompact, _ := allStages(t).Lookup("autocompact")
		stages = append([]stagetest.Named{randomStage(d, t, autocompact)}, stages...)
	}
	r := stagetest.NewRun(t, c, stages...)
	circumstances(d, r)
	check := &checks{Bench: r, sticky: def.Memory != policy.Stateless}
	r.Each = check.request
	r.All()
	check.again()
	return slices.ContainsFunc(r.View.Edits(), func(e policy.Edit) bool { return e.Stage == def.Name })
}

// fuzzSome runs several stages, in any order.
func fuzzSome(t *testing.T, d *stagetest.Dice) {
	defs := slices.Clone(allStages(t).Definitions())
	c := randomConversation(d)
	var stages []stagetest.Named
	for range 1 + d.N(4) {
		i := d.N(len(defs))
		stages = append(stages, randomStage(d, t, defs[i]))
		defs = slices.Delete(defs, i, i+1)
	}
	r := stagetest.NewRun(t, c, stages...)
	circumstances(d, r)
	check := &checks{Bench: r}
	r.Each = check.request
	r.All()
	check.again()
}

// fitting is a stage whose own calls have to fit the window, but those that the record shows.
type fitting struct {
	policy.Stage
	t testing.TB
}

func (s fitting) Run(c *policy.Context) ([]policy.Edit, error) {
	s.t.Helper()
	edits, err := s.Stage.Run(c)
	for i := range edits {
		for call := edits[i].Call; call != nil && edits[i].Trigger != "recorded"; call = call.Then {
			if _, sent := call.Size(c.View, c.Overhead); sent > c.Window {
				s.t.Errorf("%s at request %d sends %d tokens in a window of %d: %s", edits[i].Kind, c.Request, sent, c.Window, edits[i].Reason)
			}
		}
	}
	return edits, err
}

// checks are made after every request. What has taken the place of a block stays there, unless the stage decides anew
// at each request; what is left of one that was cut may be cut again, or cleared.
type checks struct {
	*stagetest.Bench
	sticky   bool
	replaced map[policy.Target]policy.Content
	pinned   map[policy.Target]policy.ItemID
}

func (c *checks) request(k int) {
	c.T.Helper()
	where := fmt.Sprintf("request %d", k+1)
	for _, v := range view.CheckAPI(c.View) {
		c.T.Errorf("%s: message %d: %s", where, v.Item, v.Message)
	}
	c.counts(where)
	c.results(where)
	c.cacheEdits(where)
	if c.replaced == nil {
		c.replaced = map[policy.Target]policy.Content{}
	}
	for id := range c.View.Items {
		for b := range c.View.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			now := c.View.Replacement(t)
			if was, ok := c.replaced[t]; ok && c.sticky && (now == nil || !was.Partial && !reflect.DeepEqual(was, *now)) {
				c.T.Errorf("%s: block %d of message %d was %+v and is now %+v", where, b, id, was, now)
			}
			if now != nil {
				c.replaced[t] = *now
			}
		}
	}
	if c.T.Failed() {
		c.T.Logf("stages %s; edits %v", c.names(), c.Edits())
		c.T.FailNow()
	}
}

func (c *checks) names() string {
	var list []string
	for _, s := range c.Stages {
		list = append(list, fmt.Sprintf("%s%+v", s.Def.Name, reflect.Indirect(reflect.ValueOf(s.Stage.(fitting).Stage))))
	}
	return strings.Join(list, "; ")
}

// counts compares the running sums with a naive recount.
func (c *checks) counts(where string) {
	w := stagetest.Quarter{Conv: c.C.Conversation}
	tokens, payload, items := 0, 0, 0
	for id := range c.View.Items {
		items++
		if tag := c.View.Tag(id); tag != nil {
			tokens += w.Content(tag)
			payload += w.Content(tag)
		}
		for b := range c.View.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			n := 0
			if r := c.View.Replacement(t); r != nil {
				n = w.Content(r)
			} else {
				n = w.Block(int(id), b)
			}
			tokens += n
			if r, ok := c.View.PayloadReplacement(t); !ok {
				payload += n
			} else if r != nil {
				payload += w.Content(r)
			}
		}
	}
	if c.View.Tokens() != tokens || c.View.ClientTokens() != tokens || c.View.PayloadTokens() != payload || c.View.Len() != items {
		c.T.Errorf("%s: the view says %d tokens (client %d), payload %d, %d items; counted anew %d, %d, %d",
			where, c.View.Tokens(), c.View.ClientTokens(), c.View.PayloadTokens(), c.View.Len(), tokens, payload, items)
	}
}

// cacheEdits holds the edits of the cached view against what the payload can carry: a user message in view, behind
// the result it deletes, and the same one at each request.
func (c *checks) cacheEdits(where string) {
	at := map[policy.ItemID]int{}
	for i, id := range c.View.IDs() {
		at[id] = i
	}
	pinned := map[policy.Target]policy.ItemID{}
	for _, e := range c.View.CacheEdits() {
		result, there := at[e.Target.Item]
		carrier, carried := at[e.Carrier]
		if !there || !carried || carrier <= result || c.View.Role(e.Carrier) != session.User || c.View.Kind(e.Target) != jsonl.KindToolResult {
			c.T.Errorf("%s: block %d of message %d is deleted by message %d", where, e.Target.Block, e.Target.Item, e.Carrier)
		}
		if _, twice := pinned[e.Target]; twice {
			c.T.Errorf("%s: block %d of message %d is deleted twice", where, e.Target.Block, e.Target.Item)
		}
		if was, ok := c.pinned[e.Target]; ok && was != e.Carrier && c.View.Has(was) && c.sticky {
			c.T.Errorf("%s: block %d of message %d was deleted by message %d, now by %d", where, e.Target.Block, e.Target.Item, was, e.Carrier)
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
	for id := range c.View.Items {
		for b := range c.View.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			if id < 0 || c.View.Kind(t) != jsonl.KindToolResult {
				continue
			}
			state := policy.ResultLive
			if r := c.View.Replacement(t); r != nil {
				state = r.ResultState()
			}
			if state != policy.ResultGone {
				want = append(want, known{t, state})
			}
		}
	}
	for _, r := range c.View.Results() {
		if r.State != policy.ResultGone {
			got = append(got, known{r.Target, r.State})
		}
	}
	if !slices.Equal(want, got) {
		c.T.Errorf("%s: results %v, in view are %v", where, got, want)
	}
}

// again makes the view anew from its edits alone.
func (c *checks) again() {
	c.T.Helper()
	w := stagetest.Quarter{Conv: c.C.Conversation}
	v := view.New(c.C.Conversation, w, w)
	join := func(to int) {
		for m := v.Joined(); m < to; m++ {
			if c.C.Messages[m].RecordOnly {
				v.Skip(m)
			} else {
				v.Join(m)
			}
		}
	}
	for _, e := range c.View.Edits() {
		join(e.Joined)
		e.Insert, e.Tail = slices.Clone(e.Insert), slices.Clone(e.Tail)
		if _, err := v.Apply(e); err != nil {
			c.T.Fatalf("applying edits again: %v", err)
		}
	}
	join(c.View.Joined())
	if was, is := picture(c.View), picture(v); !reflect.DeepEqual(was, is) {
		diff := cmp.Diff(was, is)
		c.T.Fatalf("the view made again from its edits: -first +again\n%s\n%s", diff, c.names())
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
	p := shownView{Sums: [6]int{v.Tokens(), v.PayloadTokens(), v.Len(), v.Epoch(), v.Joined(), len(v.Edits())}, Results: append([]policy.Result{}, v.Results()...)}
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

// stage makes a stage with random parameters; with its defaults where it refuses them.
func randomStage(d *stagetest.Dice, t testing.TB, def policy.Definition) stagetest.Named {
	p := reflect.New(reflect.TypeOf(def.Params).Elem())
	p.Elem().Set(reflect.ValueOf(def.Params).Elem())
	for _, f := range reflect.VisibleFields(p.Type().Elem()) {
		if !f.Anonymous && d.N(4) > 0 {
			randomParam(d, p.Elem().FieldByIndex(f.Index), f.Tag)
		}
	}
	st, err := def.New(p.Interface())
	if err != nil {
		st = stagetest.Start(t, def, nil).Stage
	}
	if def.Program != "" {
		st = stagetest.Start(t, def, &program.Parameters{Command: []string{"random"}}).Stage
		st.(policy.ProgramStage).Open(randomPrograms{d}, "")
	}
	return stagetest.Named{Def: def, Stage: fitting{st, t}}
}

func randomParam(d *stagetest.Dice, v reflect.Value, tag reflect.StructTag) {
	low, _ := strconv.Atoi(tag.Get("min"))
	switch x := v.Addr().Interface().(type) {
	case *bool:
		*x = d.One(2)
	case *int:
		*x = low + d.Size(20000)
		if d.One(2) {
			*x = low + d.N(6)
		}
	case *float64:
		least, _ := strconv.ParseFloat(tag.Get("min"), 64)
		most, _ := strconv.ParseFloat(tag.Get("max"), 64)
		*x = least + (most-least)*float64(d.N(11))/10
	case **int:
		n := low + d.Size(5000)
		if d.One(2) {
			n = max(low, 1) + d.N(3)
		}
		*x = &n
		if d.One(4) {
			*x = nil
		}
	case *time.Duration:
		*x = time.Duration(d.N(90)) * time.Minute
	case *string:
		if words := tag.Get("enum"); words != "" {
			*x = d.Pick(strings.Split(words, ",")...)
		}
	case *[]claude.SnipTrial:
		*x = nil
		for range d.N(3) {
			*x = append(*x, claude.SnipTrial{ID: fmt.Sprintf("m%d", d.N(12)), Request: 1 + d.N(15)})
		}
	case *[]string:
		*x = nil
		for range d.N(4) {
			*x = append(*x, d.Pick("Read", "Bash", "Grep", "Edit", "Task", "skill", "mcp__*"))
		}
	case *map[string]int:
		*x = map[string]int{}
		for range d.N(4) {
			(*x)[d.Pick("Read", "Bash", "Grep", "Task")] = d.Size(5000) - 1
		}
	case *policy.Trigger:
		*x = policy.Trigger{Type: policy.TriggerInputTokens, Value: 1 + d.Size(20000)}
		if d.One(2) {
			*x = policy.Trigger{Type: policy.TriggerToolUses, Value: 1 + d.N(12)}
		}
	case *policy.InputTokens:
		*x = policy.InputTokens(low + d.Size(20000))
	case *policy.ToolUses:
		*x = policy.ToolUses(low + d.N(6))
	case *policy.SummaryChoices:
		*x = policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: 1 + d.Size(3000)}}
		for _, k := range []policy.SummaryKind{policy.SummaryOutline, policy.SummaryRecorded} {
			if d.One(2) {
				*x = append(policy.SummaryChoices{{Kind: k}}, *x...)
			}
		}
	case *[]claude.Attachment:
		*x = []claude.Attachment{
			claude.AttachFiles, claude.AttachPlan, claude.AttachSkills, claude.AttachPlanMode, claude.AttachTaskStatus, claude.AttachDeferredTools,
			claude.AttachAgents, claude.AttachInstructions, claude.AttachHooks, claude.AttachTasks, claude.AttachTodos, claude.AttachTeam,
		}
		d.Rng.Shuffle(len(*x), func(i, j int) { (*x)[i], (*x)[j] = (*x)[j], (*x)[i] })
		*x = (*x)[:1+d.N(len(*x))]
	case *anthropic.ToolInputs:
		*x = anthropic.ToolInputs{All: d.One(2)}
		if d.One(2) {
			x.Tools = []string{"Bash"}
		}
	default:
		panic(fmt.Sprintf("no random value for a %s: add one", v.Type()))
	}
}
