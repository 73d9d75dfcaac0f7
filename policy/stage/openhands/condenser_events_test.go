package openhands

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func condensing(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	def := defineCondenserEvents()
	def.Params = stagetest.Params(t, def, "summary: [{fixed: 500}]")
	return stagetest.Start(t, def, set, args...)
}

// 120 events stay as they are; of 121 the first 4 and the newest 55 do.
func TestCondenserEventsSize(t *testing.T) {
	// prompts: beside the system prompt
	must.Rows(t, `
118 | m0-m117
119 | m0-m118
120 | m0-m2 summary m65-m119
121 | m0-m2 summary m66-m120
`, func(prompts int, want string) {
		c := stagetest.NewConvo()
		for range prompts {
			c.Prompt("a message")
		}
		r := stagetest.NewRun(t, c, condensing(t, ""))
		r.Join()
		r.Fire(policy.Prepare, 0, policy.Context{})
		must.Equal(t, r.Order(), want, prompts)
	})
}

// The definition's example: calls and results are events.
func TestCondenserEventsExample(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	for i := range 58 {
		c.Play(`call %v Read 40`, i)
	}
	c.Play(`assistant use 58 Read; prompt "never mind"; assistant say well`)
	r := stagetest.NewRun(t, c, condensing(t, ""))
	r.Join()
	if n := 1 + 1 + 2*58 + 1 + 1 + 1; n != 121 {
		t.Fatal(n)
	}
	r.Fire(policy.Prepare, 0, policy.Context{})
	must.Equal(t, r.Order(), "m0-m2 summary m65-m119")
}

// sourceEvent is an event as the source has it.
type sourceEvent struct {
	item    policy.ItemID // of the view it stands for; its own where it is a summary
	summary bool
}

// The view is the source's: what is left of the events, without those that lost their other half, worked out anew
// from the list of the last time.
func TestCondenserEventsSource(t *testing.T) {
	condensed := 0
	for seed := range uint64(600) {
		d := stagetest.NewDice(seed, nil)
		c := d.Conversation()
		keep := d.N(5)
		st := condensing(t, "keep_first: %d, max_size: %d", keep, 2*(keep+2)+d.N(14))
		p := &st.Stage.(*condenserEvents).CondenserEvents
		r := stagetest.NewRun(t, c, st)
		var list []sourceEvent
		joined := 0
		r.Each = func(k int) {
			for ; joined < c.Requests[k].Message; joined++ {
				if c.Messages[joined].RecordOnly {
					continue
				}
				for range events(r.View, policy.ItemID(joined)) {
					list = append(list, sourceEvent{item: policy.ItemID(joined)})
				}
			}
			if 1+len(list) > p.MaxSize {
				if next := sourceCondensed(r, list, p); next != nil {
					list = next
					condensed++
				}
			}
			var want, got []string
			for i, e := range list {
				if i == 0 || e != list[i-1] {
					want = append(want, sourceName(e))
				}
			}
			for id := range r.View.Items {
				if r.View.Synthetic(id) != nil {
					got = append(got, "summary")
				} else if events(r.View, id) > 0 {
					got = append(got, fmt.Sprint(id))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, request %d, %+v: -source +stage\n%s", seed, k+1, p, diff)
			}
		}
		r.All()
	}
	if condensed < 300 {
		t.Errorf("condensed %d times: the test tests too little", condensed)
	}
}

func sourceName(e sourceEvent) string {
	if e.summary {
		return "summary"
	}
	return fmt.Sprint(e.item)
}

// sourceCondensed is get_condensation and the view that comes of it.
func sourceCondensed(r *stagetest.Bench, list []sourceEvent, p *CondenserEvents) []sourceEvent {
	tail := p.MaxSize/2 - p.KeepFirst - 1
	from, to := max(p.KeepFirst-1, 0), len(list)-tail // without the system prompt
	forgotten := map[policy.ItemID]bool{}
	for i := from; i < to; i++ {
		if !list[i].summary {
			forgotten[list[i].item] = true
		}
	}
	if len(forgotten) == 0 {
		return nil
	}
	kept := func(drop map[policy.ItemID]bool) []sourceEvent {
		return slices.DeleteFunc(slices.Clone(list), func(e sourceEvent) bool { return e.summary || drop[e.item] })
	}
	// What stands before the summary is known before the halves are dropped.
	before := map[policy.ItemID]bool{}
	for i, e := range list {
		if i < from && !e.summary {
			before[e.item] = true
		}
	}
	for {
		answered, asked := map[string]bool{}, map[string]policy.ItemID{}
		rest := kept(forgotten)
		for _, e := range rest {
			for _, b := range r.C.Messages[e.item].Blocks {
				switch b.Kind {
				case jsonl.KindToolUse:
					asked[b.ID] = e.item
				case jsonl.KindToolResult:
					answered[b.ID] = true
				}
			}
		}
		again := false
		for _, e := range rest {
			for _, b := range r.C.Messages[e.item].Blocks {
				_, ok := asked[b.ID]
				result := b.Kind == jsonl.KindToolResult && !ok
				call := b.Kind == jsonl.KindToolUse && !answered[b.ID] && hasResult(r, b.ID)
				if (result || call) && !forgotten[e.item] {
					forgotten[e.item], again = true, true
				}
			}
		}
		if !again {
			break
		}
	}
	var out []sourceEvent
	put := false
	for _, e := range kept(forgotten) {
		if !put && !before[e.item] {
			out, put = append(out, sourceEvent{summary: true}), true
		}
		out = append(out, e)
	}
	if !put {
		out = append(out, sourceEvent{summary: true})
	}
	return out
}

// hasResult reports whether a call has been answered by now.
func hasResult(r *stagetest.Bench, id string) bool {
	for m := range r.View.Joined() {
		for _, b := range r.C.Messages[m].Blocks {
			if b.Kind == jsonl.KindToolResult && b.ID == id {
				return true
			}
		}
	}
	return false
}

func TestCondenserEventsCount(t *testing.T) {
	c := stagetest.NewConvo()
	for want, m := range map[int]int{
		0: c.User(session.ClassAttachment, stagetest.Block(jsonl.KindAttachment, "attachment", "")),
		1: c.Assistant(stagetest.Think("hm"), stagetest.Say("text")),
		2: c.Assistant(stagetest.Say("text"), stagetest.Use("a", "Read"), stagetest.Use("b", "Read")),
		3: c.Answers(stagetest.Result("a", "x"), stagetest.Result("b", "y"), stagetest.Say("and")),
	} {
		r := stagetest.NewRun(t, c)
		must.Equal(t, events(r.View, policy.ItemID(m)), want, m)
	}
}

func TestCondenserEventsTokens(t *testing.T) {
	must.Rows(t, `
# tokens | want
1021 | false
1020 | false
1019 | true
`, func(tokens int, want bool) {
		c := stagetest.NewConvo()
		for range 80 {
			c.Play(`prompt x*4`)
		}
		r := stagetest.NewRun(t, c, condensing(t, "max_tokens: %v", tokens))
		r.Overhead = 940
		r.Join()
		r.Fire(policy.Prepare, 0, policy.Context{})
		must.Equal(t, r.View.Epoch() > 0, want, tokens)
	})
}

// By hand half of the events are left, and the call sees what is forgotten.
func TestCondenserEventsManual(t *testing.T) {
	must.Rows(t, `
# prompts | manual | want
11 | replay | m0-m2 summary m10  # 12 events, 6 are left
13 | replay | m0-m2 summary m11-m12
10 | replay | m0-m9  # 11 events: half of them leave no tail
13 | ignore | m0-m12
`, func(prompts int, manual, theWant string) {
		c := stagetest.NewConvo()
		for range prompts {
			c.Play(`prompt x*20000`)
		}
		r := stagetest.NewRun(t, c, condensing(t, "manual: %s", manual))
		r.Join()
		r.Fire(policy.Manual, 0, policy.Context{})
		must.Equal(t, r.Order(), theWant, prompts)
		for _, e := range r.View.Edits() {
			forgotten := prompts - len(e.Lead) - len(e.Keep)
			if want := 480 + forgotten*125; e.Trigger != "manual" || e.Call.Input != want { // 500 of 20,000 characters each
				t.Errorf("%s, %+v: want %d tokens sent", e.Trigger, e.Call, want)
			}
		}
	})
}

func TestCondenserEventsRoom(t *testing.T) {
	must.Rows(t, `
120 | 4  | true
120 | 58 | true
120 | 59 | false
100 | 1  | true
12  | 4  | true
11  | 4  | false
4   | 0  | true
4   | 1  | false
`, func(size, first int, ok bool) {
		p := stagetest.Params(t, defineCondenserEvents(), "").(*CondenserEvents)
		p.MaxSize, p.KeepFirst = size, first
		_, err := defineCondenserEvents().New(p)
		var say *policy.Error
		if (err == nil) != ok || err != nil && (!errors.As(err, &say) || say.Hint == "") {
			t.Errorf("%d events, %d first: %v", size, first, err)
		}
	})
}

func unitsOf(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	def := defineCondenserEvents()
	def.Params = stagetest.Params(t, def, "summary: [{fixed: 500}], max_size: 12, keep_first: 2, cut: units, minimum_progress: 0.1, hard_reset: true, max_event_chars: 40, prompt_tokens: 10")
	return stagetest.Start(t, def, set, args...)
}

// turns is a prompt and rounds of 100 tokens a result for each number; the calls of a negative number follow thinking,
// once a turn.
func turns(rounds ...int) *stagetest.Convo {
	c := stagetest.NewConvo()
	for i, n := range rounds {
		c.Prompt("go")
		for j := range max(n, -n) {
			id := fmt.Sprint(i, "-", j)
			if n < 0 && j == 0 {
				c.Play(`assistant think hm use %q Read; answers result %q x*400`, id, id)
			} else {
				c.Play(`call %q Read 400`, id)
			}
		}
	}
	return c
}

// In the form units nothing parts a call from its result, nor a tool loop with thinking. The events are the system
// prompt and m0, m1 and so on, one each.
func TestCondenserEventsUnits(t *testing.T) {
	must.Rows(t, `
# name | turns | window | change | want | reason
12 events             | [2,2]     | 0   | ""                               | ""                 | ""
before a call         | [1,2,3]   | 0   | ""                               | m0 summary m13-m14 | 16 events > 12  # events 13 to 15 were left: 13 is a result
thinking              | [1,2,-3]  | 0   | ""                               | m0 summary         | 16 events > 12
a turn after thinking | [1,-4,1]  | 0   | ""                               | m0 summary m12-m14 | 16 events > 12
progress              | [0,0,0,8] | 0   | minimum_progress: 0.82           | ""                 | ""
progress enough       | [0,0,0,8] | 0   | minimum_progress: 0.8            | m0 summary m18-m19 | 21 events > 12
tokens                | [2,2]     | 300 | agent_limit: true                | m0 summary m8-m9   | the window of 300  # the results of m2, m4 and m7 are over what has to go,
hard                  | [0,-4]    | 300 | agent_limit: true, keep_first: 3 | m0-m1 summary      | the window of 300
hard reset            | [4]       | 300 | agent_limit: true, minimum_progress: 0.95 | summary            | nothing less can be forgotten
no hard reset         | [4]       | 300 | agent_limit: true, minimum_progress: 0.95, hard_reset: false | ""                 | ""
overflow              | [2,2]     | 300 | overflow: true                   | m0 summary m8-m9   | the window of 300  # 11 events, 2 of them from the end
no overflow           | [2,2]     | 300 | overflow: false                  | ""                 | ""
`, func(_ string, theTurns []int, window int, change, theWant, reason string) {
		c := turns(theTurns...)
		r := stagetest.NewRun(t, c, unitsOf(t, change))
		r.Window = window
		r.Join()
		r.Fire(policy.Prepare, 0, policy.Context{})
		want := theWant
		if want == "" {
			want = fmt.Sprintf("m0-m%d", len(c.Messages)-1)
		}
		must.Equal(t, r.Order(), want)
		for _, e := range r.View.Edits() {
			if !strings.Contains(e.Reason, reason) {
				t.Errorf("%s: want %s", e.Reason, reason)
			}
		}
	})
}

// In the form units the view is the source's too.
func TestCondenserEventsUnitsSource(t *testing.T) {
	condensed, inLoop := 0, 0
	for seed := range uint64(600) {
		d := stagetest.NewDice(seed, nil)
		c := d.Conversation()
		keep := 1 + d.N(4)
		st := unitsOf(t, "keep_first: %d, max_size: %d", keep, 2*(keep+2)+d.N(14))
		p := &st.Stage.(*condenserEvents).CondenserEvents
		r := stagetest.NewRun(t, c, st)
		list := []unitEvent{{kind: "system", item: -1}}
		joined := 0
		r.Each = func(k int) {
			for ; joined < c.Requests[k].Message; joined++ {
				if !c.Messages[joined].RecordOnly {
					list = append(list, unitEvents(r, policy.ItemID(joined))...)
				}
			}
			if len(list) > p.MaxSize {
				from, to, within := unitSpan(list, p)
				if to > from && float64(to-from) >= float64(len(list))*p.Progress {
					list = slices.Replace(list, from, to, unitEvent{kind: "summary", item: -1})
					condensed++
					inLoop += within
				}
			}
			var want, got []string
			for i, e := range list[1:] {
				if name := e.name(); e.kind == "summary" || i == 0 || name != list[i].name() {
					want = append(want, name)
				}
			}
			for id := range r.View.Items {
				if r.View.Synthetic(id) != nil {
					got = append(got, "summary")
				} else if events(r.View, id) > 0 {
					got = append(got, fmt.Sprint(id))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, request %d, %+v: -source +stage\n%s", seed, k+1, p, diff)
			}
		}
		r.All()
	}
	if condensed < 300 || inLoop < 20 {
		t.Errorf("condensed %d times, %d of them moved: the test tests too little", condensed, inLoop)
	}
}

// unitEvent is an event: a message, an action or an observation.
type unitEvent struct {
	kind, call string
	thinking   bool
	item       policy.ItemID
}

func (e unitEvent) name() string {
	if e.kind == "summary" {
		return e.kind
	}
	return fmt.Sprint(e.item)
}

func unitEvents(r *stagetest.Bench, id policy.ItemID) (list []unitEvent) {
	m := &r.C.Messages[id]
	thinking := slices.ContainsFunc(m.Blocks, func(b session.Block) bool {
		return b.Kind == jsonl.KindThinking || b.Kind == jsonl.KindRedactedThinking
	})
	for _, b := range m.Blocks {
		switch b.Kind {
		case jsonl.KindToolUse:
			list = append(list, unitEvent{kind: "action", call: b.ID, thinking: thinking, item: id})
			thinking = false // the thoughts are the first call's
		case jsonl.KindToolResult:
			list = append(list, unitEvent{kind: "observation", call: b.ID, item: id})
		}
	}
	if n := events(r.View, id); len(list) < n { // texts come last
		list = append(list, unitEvent{kind: "message", item: id})
	}
	return list
}

// unitSpan is the span from find_next of both ends in the manipulation indices, and whether one of them was moved.
func unitSpan(list []unitEvent, p *CondenserEvents) (from, to, moved int) {
	ok := make([]bool, len(list)+1)
	for i := range ok {
		ok[i] = true
	}
	answered, pending := map[string]bool{}, map[string]bool{}
	for _, e := range list {
		answered[e.call] = answered[e.call] || e.kind == "observation"
	}
	loop := false
	for i, e := range list {
		switch {
		case e.kind == "action" && e.thinking:
			loop = true
		case e.kind == "action" || e.kind == "observation":
			ok[i] = ok[i] && !loop
		default:
			loop = false
		}
		if i > 0 && e.kind == "action" && list[i-1].kind == "action" && list[i-1].item == e.item {
			ok[i] = false
		}
		if e.kind == "action" && answered[e.call] {
			pending[e.call] = true
		} else if e.kind == "observation" {
			delete(pending, e.call)
		}
		if len(pending) > 0 {
			ok[i+1] = false
		}
	}
	find := func(at int) int {
		for !ok[at] {
			at, moved = at+1, 1
		}
		return at
	}
	from = find(p.KeepFirst)
	return from, find(len(list) - (p.MaxSize/2 - p.KeepFirst - 1)), moved
}
