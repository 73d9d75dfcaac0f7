package stage

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

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
	d.snipCalls(c)
	for i := range c.Boundaries {
		b := &c.Boundaries[i]
		b.Request = c.requestAfter(b.Before)
	}
	if d.one(4) {
		d.collapses(c)
	}
	return c
}

// collapses are what a client may have recorded of its own: spans of whole
// rounds, apart, overlapping and nested, staged and committed in any order.
func (d *dice) collapses(c *convo) {
	open := map[string]bool{}
	cuts := []int{0} // messages before which all calls are answered
	for m := range c.Messages {
		calls(&c.Messages[m], open)
		if len(open) == 0 {
			cuts = append(cuts, m+1)
		}
	}
	span := func(limit int) (from, to int, ok bool) {
		k := 0
		for k < len(cuts) && cuts[k] <= limit {
			k++
		}
		if k < 2 {
			return 0, 0, false
		}
		a := d.n(k - 1)
		return cuts[a], cuts[a+1+d.n(k-1-a)] - 1, true
	}
	before := 0
	for i := range 1 + d.n(6) {
		before += d.n(len(c.Messages) - before + 1)
		if d.one(2) {
			s := session.CollapseSnapshot{Line: i, Before: before, Request: c.requestAfter(before)}
			for range d.n(4) {
				if from, to, ok := span(before); ok {
					s.Staged = append(s.Staged, session.Staged{From: from, To: to, Summary: d.pick("", "short", strings.Repeat("s", 400)), Risk: float64(d.n(5)) / 4})
				}
			}
			c.Snapshots = append(c.Snapshots, s)
		} else if from, to, ok := span(before); ok {
			c.Collapses = append(c.Collapses, session.Collapse{
				ID: fmt.Sprint(i), Line: i, From: from, To: to, Before: before, Request: c.requestAfter(before),
				Summary: "what it came to", Content: "<collapsed id='1'>what it came to</collapsed>",
			})
		}
	}
}

// snipCalls takes some tool calls for calls of Snip on prompts before them.
func (d *dice) snipCalls(c *convo) {
	var prompts []int
	for m := range c.Messages {
		if c.Messages[m].Class == session.ClassPrompt {
			prompts = append(prompts, m)
		}
		if !d.one(6) {
			continue
		}
		for b := range c.Messages[m].Blocks {
			if bl := &c.Messages[m].Blocks[b]; bl.Kind == jsonl.KindToolUse {
				c.snips(m, b, prompts[d.n(len(prompts))], prompts[d.n(len(prompts))])
				break
			}
		}
	}
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
		parts = append(parts, d.call(id, d.pick("Read", "Bash", "Grep", "Edit", "Task", "Skill", "compact", "mcp__a__b")))
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

// call is a tool_use, seldom with an input that means nothing.
func (d *dice) call(id, tool string) part {
	if d.one(9) {
		return use(id, tool)
	}
	file := fmt.Sprintf(`{"file_path":"/p/%d.go"`, d.n(4))
	switch tool {
	case "Read":
		if d.one(3) {
			return calling(id, tool, file+`,"offset":3}`)
		}
		return calling(id, tool, file+"}")
	case "Edit":
		switch tool = d.pick("Edit", "Write", "MultiEdit", "TodoWrite", "ExitPlanMode", "EnterPlanMode"); tool {
		case "Edit":
			return calling(id, tool, file+`,"old_string":"x","new_string":"yz","replace_all":true}`)
		case "MultiEdit":
			return calling(id, tool, file+`,"edits":[{"old_string":"x","new_string":"y"}]}`)
		case "TodoWrite":
			return calling(id, tool, `{"todos":[{"content":"do it","status":"pending"}]}`)
		case "Write":
			return calling(id, tool, d.pick(file, `{"file_path":"/h/.claude/plans/a.md"`)+`,"content":"`+strings.Repeat("w", d.size(9000))+`"}`)
		}
		return calling(id, tool, `{"plan":"first this"}`)
	case "Task":
		return calling(id, tool, `{"description":"look","run_in_background":true}`)
	case "Skill":
		return calling(id, tool, d.pick(`{"skill":"a"}`, `{"skill":"b"}`, `{"command":"c"}`))
	}
	return use(id, tool)
}

// between is what stands between one response and the next.
func (d *dice) between(c *convo) {
	if d.one(5) {
		kind := d.pick("memory", "file", "todo_reminder", "deferred_tools_delta", "plan_mode", "hook_success")
		c.add(session.Message{Role: session.User, Class: session.ClassAttachment, Attachment: kind}, block(jsonl.KindAttachment, "attachment", d.pick("", "remember", "listing")))
	}
	if d.one(9) {
		c.user(session.ClassMeta, say(d.pick("a reminder", "Base directory for this skill: /s/d\n\n# D\n"+strings.Repeat("s", d.size(9000)))))
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
	if d.one(3) {
		r.record.memory = d.pick("# Session Title\nA title\n", "# Session Title\n")
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
	case *float64:
		least, _ := strconv.ParseFloat(tag.Get("min"), 64)
		most, _ := strconv.ParseFloat(tag.Get("max"), 64)
		*x = least + (most-least)*float64(d.n(11))/10
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
	case *[]SnipTrial:
		*x = nil
		for range d.n(3) {
			*x = append(*x, SnipTrial{fmt.Sprintf("m%d", d.n(12)), 1 + d.n(15)})
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
	case *policy.InputTokens:
		*x = policy.InputTokens(low + d.size(20000))
	case *policy.ToolUses:
		*x = policy.ToolUses(low + d.n(6))
	case *policy.SummaryChoices:
		*x = policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: 1 + d.size(3000)}}
		for _, k := range []policy.SummaryKind{policy.SummaryOutline, policy.SummaryRecorded} {
			if d.one(2) {
				*x = append(policy.SummaryChoices{{Kind: k}}, *x...)
			}
		}
	case *[]Attachment:
		*x = attachments()
		d.rng.Shuffle(len(*x), func(i, j int) { (*x)[i], (*x)[j] = (*x)[j], (*x)[i] })
		*x = (*x)[:1+d.n(len(*x))]
	case *ToolInputs:
		*x = ToolInputs{All: d.one(2)}
		if d.one(2) {
			x.Tools = []string{"Bash"}
		}
	default:
		panic(fmt.Sprintf("no random value for a %s: add one", v.Type()))
	}
}
