package threelayer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

// lesson is the source's loop, word by word, on messages as JSON has them.
type lesson struct{ messages []map[string]any }

func (l *lesson) microCompact(keepRecent int) {
	var toolResults []map[string]any
	for _, m := range l.messages {
		if content, ok := m["content"].([]any); m["role"] == "user" && ok {
			for _, part := range content {
				if p := part.(map[string]any); p["type"] == "tool_result" {
					toolResults = append(toolResults, p)
				}
			}
		}
	}
	if len(toolResults) <= keepRecent {
		return
	}
	for _, result := range toolResults[:len(toolResults)-keepRecent] {
		if s, ok := result["content"].(string); ok && jsonl.Measure(s).UTF16 > 100 {
			result["content"] = "[Previous tool result compacted]"
		}
	}
}

// length is JSON.stringify(messages).length.
func (l *lesson) length(t *testing.T) int {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	list := l.messages
	if list == nil {
		list = []map[string]any{}
	}
	must.Do(t, e.Encode(list))
	return jsonl.Measure(strings.TrimSuffix(b.String(), "\n")).UTF16
}

// push appends message m of a conversation, as the API has it.
func (l *lesson) push(c *stagetest.Convo, m int) {
	msg := &c.Messages[m]
	var content []any
	for b := range msg.Blocks {
		bl := &msg.Blocks[b]
		text := c.Texts[policy.Target{Item: policy.ItemID(m), Block: b}]
		switch bl.Kind {
		case jsonl.KindToolUse:
			var input any
			_ = json.Unmarshal([]byte(text), &input)
			content = append(content, map[string]any{"type": "tool_use", "id": bl.ID, "name": bl.Name, "input": input})
		case jsonl.KindToolResult:
			content = append(content, map[string]any{"type": "tool_result", "tool_use_id": bl.ID, "content": text})
		default:
			content = append(content, map[string]any{"type": "text", "text": text})
		}
	}
	entry := map[string]any{"role": msg.Role.String(), "content": content}
	if len(msg.Blocks) == 1 && msg.Blocks[0].Kind == jsonl.KindText && msg.Blocks[0].IsString {
		entry["content"] = c.Texts[policy.Target{Item: policy.ItemID(m)}]
	}
	l.messages = append(l.messages, entry)
}

func (l *lesson) autoCompact(summary string) {
	l.messages = []map[string]any{
		{"role": "user", "content": "[Compressed]\n\n" + summary},
		{"role": "assistant", "content": "Understood. Continuing."},
	}
}

// The stages do at every request what the source's loop does.
func TestThreeLayerLoop(t *testing.T) {
	const threshold = 900
	c := stagetest.NewConvo()
	c.Boundaries = append(c.Boundaries, stagetest.BoundaryAt(1))
	c.Prompt("Read every TypeScript file in the agents/ directory one by one <&>")
	for i := range 60 {
		id := fmt.Sprintf("toolu_%02d", i)
		switch {
		case i%17 == 16:
			c.Play(`assistant say enough use %q compact; answers result %q "Manual compression requested."`, id, id)
		case i%5 == 4:
			c.Assistant(stagetest.Say("two at once\n"), stagetest.Use(id, "Read"), stagetest.Use(id+"b", "Grep"))
			c.Answers(stagetest.Result(id, strings.Repeat("\"é\"\n", 40+i)), stagetest.Result(id+"b", strings.Repeat("y", 99+i%3)))
		default:
			c.Play(`assistant use %q Read; answers result %q x*%d`, id, id, 31*i)
		}
		if i%9 == 8 {
			c.Play(`assistant say done; prompt "go on 😀"`)
		}
	}
	c.Play(`assistant say done`)
	sum := policy.NewContent(jsonl.KindText, "what was done\n\"quoted\"")
	r := stagetest.NewRun(t, c,
		stagetest.Start(t, defineThreeLayerMicro(), nil),
		stagetest.Start(t, defineThreeLayerAuto(), &ThreeLayerAuto{
			Threshold: threshold, SourceChars: 80000, MaxOutput: 2000, Tool: "compact",
			Summary: policy.SummaryChoices{{Kind: policy.SummaryRecorded}},
		}))
	r.Record.Content = &sum

	var source lesson
	joined, compactions := 0, map[string]int{}
	r.Each = func(k int) {
		// The loop of the source, from the last response to this request.
		response := c.Requests[k].Message
		for ; joined < response; joined++ {
			source.push(c, joined)
			if last := joined == len(c.Messages)-1 || c.Messages[joined+1].Role == session.Assistant || c.Messages[joined+1].Class == session.ClassPrompt; last && k > 0 {
				if u := &c.Messages[c.Requests[k-1].Message]; joined == c.Requests[k-1].Message+1 && u.Blocks[len(u.Blocks)-1].Name == "compact" {
					source.autoCompact(sum.Text) // layer 3
					compactions["tool"]++
				}
			}
		}
		source.microCompact(3)
		if n := source.length(t); float64(n)/4 > threshold {
			source.autoCompact(sum.Text)
			compactions["auto"]++
		}
		var got measure.JsonLength
		got.Follow(r.View)
		if want := source.length(t); got.Total() != want {
			t.Fatalf("request %d: %d characters of JSON, the source has %d", k+1, got.Total(), want)
		}
		if want := len(source.messages); r.View.Len() != want {
			t.Fatalf("request %d: %d messages, the source has %d", k+1, r.View.Len(), want)
		}
		if v := view.CheckAPI(r.View); v != nil {
			t.Fatalf("request %d: %v", k+1, v)
		}
	}
	r.All()
	if compactions["auto"] < 3 || compactions["tool"] != 3 {
		t.Errorf("compactions %v: the test tests too little", compactions)
	}
	told := map[string]int{}
	for _, e := range r.View.Edits() {
		if e.Kind == policy.KindSummarize {
			told[e.Trigger]++
		}
	}
	must.Equal(t, told, compactions, "compactions")
}

func TestThreeLayerAutoThreshold(t *testing.T) {
	// [{"role":"user","content":"…"}] is 30 characters longer than its text.
	must.Rows(t, `
# n | want
199999 | false
200000 | false
200001 | true
`, func(n int, want bool) {
		c := stagetest.Talk(`prompt x*%d; assistant say done`, n-30)
		p := *defineThreeLayerAuto().Params.(*ThreeLayerAuto)
		p.Summary = policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: 5000}}
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineThreeLayerAuto(), &p))
		r.View.Join(0)
		r.Fire(policy.Prepare, 0, policy.Context{})
		must.Equal(t, r.View.Epoch() > 0, want, n)
		if !want {
			return
		}
		e := r.View.Edits()[0]
		// 44 characters of prompt and the first 80,000 of the source; the summary stops at 2,000 tokens.
		must.Equal(t, e.Call, &policy.Call{Kind: "compaction", Prompt: 11, Input: 20011, Output: 2000, Prefix: "own"}, "call")
		if got := e.Insert[0].Contents; len(got) != 2 || got[0].Text != "[Compressed]\n\n" || got[1].Tokens != 2000 {
			t.Errorf("summary %+v", got)
		}
		if got := e.Insert[1]; got.Role != "assistant" || got.Contents[0].Text != "Understood. Continuing." {
			t.Errorf("acknowledgement %+v", got)
		}
	})
}

func TestThreeLayerAutoCutsRecorded(t *testing.T) {
	must.Rows(t, `
# n | want
8000 | 8000
8001 | 8000
100  | 100
`, func(n, want int) {
		c := stagetest.NewConvo()
		c.Boundaries = append(c.Boundaries, stagetest.BoundaryAt(1))
		c.Prompt("go")
		sum := c.User(session.ClassSummary, stagetest.Say(strings.Repeat("s", n)))
		c.Messages[sum].RecordOnly = true
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineThreeLayerAuto(), nil))
		ref := policy.Target{Item: policy.ItemID(sum)}
		r.Record.Content = &policy.Content{Kind: jsonl.KindText, Ref: &ref, Length: c.Messages[sum].Blocks[0].Text}
		r.View.Join(0)
		r.Fire(policy.Manual, 0, policy.Context{})
		must.Equal(t, r.View.Edits()[0].Insert[0].Contents[0].Text, "[Compressed]\n\n"+strings.Repeat("s", want), n)
	})
}

func TestFirstUnits(t *testing.T) {
	must.Rows(t, `
abc | 3 | abc
abc | 2 | ab
a😀b | 3 | a😀
a😀b | 2 | a
""  | 0 | ""
é   | 1 | é
`, func(text string, n int, want string) {
		must.Equal(t, measure.FirstUnits(text, n), want, text, n)
	})
}

// [{"role":"user","content":"…"}] is 30 characters longer than its text. The prompt is of 11 tokens.
func TestThreeLayerAutoSource(t *testing.T) {
	must.Rows(t, `
79997  | 80000 | 19999
79998  | 80000 | 20000
79999  | 80000 | 20000
80000  | 80000 | 20000
80001  | 80000 | 20000
80002  | 80000 | 20000
80006  | 80000 | 20000
200000 | 80000 | 20000
101    | 102   | 25
102    | 102   | 26
103    | 102   | 26
106    | 102   | 26
102    | 101   | 25
200000 | 0     | 0
`, func(n, source, want int) {
		c := stagetest.Talk(`prompt x*%d`, n-30)
		p := *defineThreeLayerAuto().Params.(*ThreeLayerAuto)
		if p.SourceChars != 80000 {
			t.Fatalf("%d characters of source by default", p.SourceChars)
		}
		p.SourceChars = source
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineThreeLayerAuto(), &p))
		r.View.Join(0)
		r.Fire(policy.Manual, 0, policy.Context{})
		e := r.View.Edits()[0]
		if e.Call.Input != 11+want || e.Call.Prompt != 11 || e.Detail["json_chars"] != n {
			t.Errorf("%d characters, %d of source: %+v, %v; want input %d", n, source, e.Call, e.Detail, 11+want)
		}
	})
}

func TestThreeLayerAutoLimits(t *testing.T) {
	must.Rows(t, `
199999 | -1 | false
200000 | -1 | false
200001 | -1 | true
200004 | -1 | true
39     | 10 | false
40     | 10 | false
41     | 10 | true
`, func(n, threshold int, want bool) {
		c := stagetest.Talk(`prompt x*%d`, n-30)
		p := defineThreeLayerAuto().Params.(*ThreeLayerAuto)
		if threshold >= 0 {
			p.Threshold = threshold
		}
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineThreeLayerAuto(), p))
		r.View.Join(0)
		r.Fire(policy.Prepare, 0, policy.Context{})
		must.Equal(t, r.View.Epoch() > 0, want, n, p.Threshold)
	})
}
