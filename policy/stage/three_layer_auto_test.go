package stage

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
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
	if err := e.Encode(list); err != nil {
		t.Fatal(err)
	}
	return jsonl.Measure(strings.TrimSuffix(b.String(), "\n")).UTF16
}

// push appends message m of a conversation, as the API has it.
func (l *lesson) push(c *convo, m int) {
	msg := &c.Messages[m]
	var content []any
	for b := range msg.Blocks {
		bl := &msg.Blocks[b]
		text := c.texts[policy.Target{Item: policy.ItemID(m), Block: b}]
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
		entry["content"] = c.texts[policy.Target{Item: policy.ItemID(m)}]
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
	c := newConvo()
	c.Boundaries = append(c.Boundaries, boundaryAt(1))
	c.prompt("Read every TypeScript file in the agents/ directory one by one <&>")
	for i := range 60 {
		id := fmt.Sprintf("toolu_%02d", i)
		switch {
		case i%17 == 16:
			c.assistant(say("enough"), use(id, "compact"))
			c.answers(result(id, "Manual compression requested."))
		case i%5 == 4:
			c.assistant(say("two at once\n"), use(id, "Read"), use(id+"b", "Grep"))
			c.answers(result(id, strings.Repeat("\"é\"\n", 40+i)), result(id+"b", strings.Repeat("y", 99+i%3)))
		default:
			c.assistant(use(id, "Read"))
			c.answers(result(id, strings.Repeat("x", 31*i)))
		}
		if i%9 == 8 {
			c.assistant(say("done"))
			c.prompt("go on 😀")
		}
	}
	c.assistant(say("done"))
	sum := policy.NewContent(jsonl.KindText, "what was done\n\"quoted\"")
	r := newRun(t, c,
		start(t, defineThreeLayerMicro(), nil),
		start(t, defineThreeLayerAuto(), &ThreeLayerAuto{
			Threshold: threshold, SourceChars: 80000, MaxOutput: 2000, Tool: "compact",
			Summary: policy.SummaryChoices{{Kind: policy.SummaryRecorded}},
		}))
	r.record.summary = &sum

	var source lesson
	joined, compactions := 0, map[string]int{}
	r.each = func(k int) {
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
		var got jsonLength
		got.follow(r.view)
		if want := source.length(t); got.total() != want {
			t.Fatalf("request %d: %d characters of JSON, the source has %d", k+1, got.total(), want)
		}
		if want := len(source.messages); r.view.Len() != want {
			t.Fatalf("request %d: %d messages, the source has %d", k+1, r.view.Len(), want)
		}
		if v := view.CheckAPI(r.view); v != nil {
			t.Fatalf("request %d: %v", k+1, v)
		}
	}
	r.all()
	if compactions["auto"] < 3 || compactions["tool"] != 3 {
		t.Errorf("compactions %v: the test tests too little", compactions)
	}
	told := map[string]int{}
	for _, e := range r.view.Edits() {
		if e.Kind == policy.KindSummarize {
			told[e.Trigger]++
		}
	}
	if diff := cmp.Diff(compactions, told); diff != "" {
		t.Errorf("compactions: -want +got\n%s", diff)
	}
}

func TestThreeLayerAutoThreshold(t *testing.T) {
	// [{"role":"user","content":"…"}] is 30 characters longer than its text.
	for n, want := range map[int]bool{199999: false, 200000: false, 200001: true} {
		c := newConvo()
		c.prompt(strings.Repeat("x", n-30))
		c.assistant(say("done"))
		p := *defineThreeLayerAuto().Params.(*ThreeLayerAuto)
		p.Summary = policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: 5000}}
		r := newRun(t, c, start(t, defineThreeLayerAuto(), &p))
		r.view.Join(0)
		r.fire(policy.Prepare, 0, policy.Context{})
		if got := r.view.Epoch() > 0; got != want {
			t.Errorf("%d characters: compacted %t, want %t", n, got, want)
		}
		if !want {
			continue
		}
		e := r.view.Edits()[0]
		// 44 characters of prompt and the first 80,000 of the source; the
		// summary stops at 2,000 tokens.
		if diff := cmp.Diff(&policy.Call{Kind: "compaction", Prompt: 11, Input: 20011, Output: 2000, Prefix: "own"}, e.Call); diff != "" {
			t.Errorf("call: -want +got\n%s", diff)
		}
		if got := e.Insert[0].Contents; len(got) != 2 || got[0].Text != "[Compressed]\n\n" || got[1].Tokens != 2000 {
			t.Errorf("summary %+v", got)
		}
		if got := e.Insert[1]; got.Role != "assistant" || got.Contents[0].Text != "Understood. Continuing." {
			t.Errorf("acknowledgement %+v", got)
		}
	}
}

func TestThreeLayerAutoCutsRecorded(t *testing.T) {
	for n, want := range map[int]int{8000: 8000, 8001: 8000, 100: 100} {
		c := newConvo()
		c.Boundaries = append(c.Boundaries, boundaryAt(1))
		c.prompt("go")
		sum := c.user(session.ClassSummary, say(strings.Repeat("s", n)))
		c.Messages[sum].RecordOnly = true
		r := newRun(t, c, start(t, defineThreeLayerAuto(), nil))
		ref := policy.Target{Item: policy.ItemID(sum)}
		r.record.summary = &policy.Content{Kind: jsonl.KindText, Ref: &ref, Length: c.Messages[sum].Blocks[0].Text}
		r.view.Join(0)
		r.fire(policy.Manual, 0, policy.Context{})
		got := r.view.Edits()[0].Insert[0].Contents[0].Text
		if got != "[Compressed]\n\n"+strings.Repeat("s", want) {
			t.Errorf("a summary of %d: %d characters, want %d", n, len(got)-14, want)
		}
	}
}

func TestFirstUnits(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"a😀b", 3, "a😀"}, {"a😀b", 2, "a"}, {"", 0, ""}, {"é", 1, "é"}} {
		if got := firstUnits(tt.text, tt.n); got != tt.want {
			t.Errorf("firstUnits(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}
