package tokens_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// TestCountedByEncoding: of a model that is not Claude's, what is no response is counted in o200k_base. Reasoning is as
// the usage has it, and so is what the server leaves out of it. What the provider searched for joins with the response.
func TestCountedByEncoding(t *testing.T) {
	const usage = `"usage":{"input_tokens":%d,"output_tokens":100,"output_tokens_details":{"thinking_tokens":60}}`
	lines := []string{
		`{"type":"user","message":{"role":"user","content":"Count the files."}}`,
		`{"type":"assistant","message":{"id":"m1","role":"assistant","model":"gpt-5.4","stop_reason":"tool_use","content":[{"type":"thinking","thinking":"**A summary**"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls | wc -l"}}],` + fmt.Sprintf(usage, 1000) + `}}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"token REDACTED, 1234 files, and REDACTED"}]}}`,
		`{"type":"assistant","message":{"id":"m2","role":"assistant","model":"gpt-5.4","stop_reason":"end_turn","content":[{"type":"thinking","thinking":""},{"type":"server_tool_use","id":"w1","name":"web_search","input":{"query":"files"}},{"type":"server_tool_use","id":"w2","name":"web_search","input":{"input":null}},{"type":"text","text":"There are 1234."}],` + fmt.Sprintf(usage, 5000) + `}}`,
		`{"type":"user","message":{"role":"user","content":"Thanks."}}`,
		`{"type":"assistant","message":{"id":"m3","role":"assistant","model":"gpt-5.4","stop_reason":"end_turn","content":[{"type":"text","text":"You are welcome."}],` + fmt.Sprintf(usage, 5000) + `}}`,
	}
	for i := range lines {
		own := fmt.Sprintf(`{"uuid":"u%d","parentUuid":%s,"sessionId":"s","version":"2.1.139","timestamp":"2026-06-15T09:00:0%dZ",`, i, map[bool]string{true: "null", false: fmt.Sprintf(`"u%d"`, i-1)}[i == 0], i)
		lines[i] = own + lines[i][1:]
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	must.Do(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	conv, e := load(t, path), encoder(t, tokens.NameO200K)
	model := tokens.CountedModel{Tokenizer: tokens.OpenAITokenizer, Encoder: e, ClearsThinking: func(string) bool { return true }}
	spans, _ := tokens.Spans(conv, model)
	if len(spans) != 2 {
		t.Fatalf("%d spans", len(spans))
	}
	meter := tokens.NewMeter(conv, model)
	want := []map[tokens.Measure]int{
		{tokens.Output: 100, tokens.Reasoning: 60, tokens.Responses: 1, tokens.Results: 1, tokens.EncodedTokens: e.Count("token REDACTED, 1234 files, and REDACTED"), tokens.Redacted: 2, tokens.Searches: 1},
		{tokens.Output: 100, tokens.Reasoning: 60, tokens.Responses: 1, tokens.Prompts: 1, tokens.EncodedTokens: e.Count("Thanks.")},
	}
	for i := range spans {
		joined, left, _ := meter.Next(&spans[i])
		for m, x := range joined {
			must.Equal(t, x, float64(want[i][tokens.Measure(m)]), i)
		}
		if len(left) != 2*i {
			t.Errorf("span %d: %v left", i, left)
			continue
		}
		if out := meter.Sent(left...); i == 1 && (out[tokens.Output] != 120 || out[tokens.Reasoning] != 120) {
			t.Errorf("what is left out: %v", out)
		}
	}
	c, text := calibrate(t, conv, model), policy.NewContent(jsonl.KindToolResult, "[Old tool result content cleared]")
	must.Equal(t, c.Content(&text), int(float64(e.Count(text.Text))*c.Rates[tokens.EncodedTokens]+0.5))
	if hidden := c.Block(1, 0); hidden < 55 || hidden > 65 {
		t.Errorf("the reasoning weighs %d", hidden)
	}
}

// TestTokenizerOf: the price table's name comes first, then the model's own.
func TestTokenizerOf(t *testing.T) {
	for _, tt := range [][3]string{
		{"claude-opus-4-7", "new", tokens.NewTokenizer}, {"claude-opus-9", "", tokens.OldTokenizer}, {"", "", tokens.OldTokenizer},
		{"<synthetic>", "", tokens.OldTokenizer}, {"gpt-5.6-sol", "", tokens.OpenAITokenizer}, {"openai/GPT-5.4", "", tokens.OpenAITokenizer},
		{"gemini-3-pro", "", tokens.GoogleTokenizer}, {"deepseek-v4", "", tokens.OtherTokenizer}, {"anthropic/claude-9", "", tokens.OldTokenizer},
	} {
		must.Both(tokens.TokenizerOf(tt[0], tt[1]))(t, tt[2], nil)
	}
}

// TestThinkingUntilAnswer: thinking of a turn that was not answered stays, and a fork in mid-turn is sent that of all
// its parent's turns.
func TestThinkingUntilAnswer(t *testing.T) {
	think := func(stop string, copied bool, kinds ...jsonl.Kind) session.Message {
		m := session.Message{Model: "m", StopReason: stop}
		m.Role, m.Class = session.Assistant, session.ClassResponse
		if copied {
			m.Marks = session.NoRequest
		}
		for _, k := range append([]jsonl.Kind{jsonl.KindThinking}, kinds...) {
			m.Blocks = append(m.Blocks, session.Block{ContentBlock: jsonl.ContentBlock{Kind: k}})
		}
		return m
	}
	prompt := session.Message{Class: session.ClassPrompt}
	answer, calls := think("end_turn", false, jsonl.KindText), think("tool_use", false, jsonl.KindText, jsonl.KindToolUse)
	cut := think("", true, jsonl.KindText)
	parents, running := think("end_turn", true, jsonl.KindText), think("tool_use", true, jsonl.KindToolUse)
	for _, tt := range []struct {
		name     string
		messages []session.Message
		left     map[int]string // by the response that a request is answered by
	}{
		{"answered", []session.Message{prompt, calls, answer, prompt, answer}, map[int]string{1: "[]", 2: "[]", 4: "[[1 0] [2 0]]"}},
		{"not answered", []session.Message{prompt, calls, prompt, answer, prompt, answer}, map[int]string{1: "[]", 3: "[]", 5: "[[1 0] [3 0]]"}},
		{"interrupted", []session.Message{prompt, calls, cut, prompt, answer, prompt, answer}, map[int]string{1: "[]", 4: "[]", 6: "[[1 0] [2 0] [4 0]]"}},
		{"a fork in mid-turn", []session.Message{prompt, parents, prompt, running, prompt, answer, prompt, answer}, map[int]string{5: "[]", 7: "[[1 0] [3 0] [5 0]]"}},
		{"a fork after an answer", []session.Message{prompt, running, parents, prompt, answer}, map[int]string{4: "[[1 0] [2 0]]"}},
	} {
		yes := func(string) bool { return true }
		th := tokens.NewThinking(&session.Conversation{Messages: tt.messages}, tokens.CountedModel{ClearsThinking: yes, UntilAnswer: yes})
		for m := range tt.messages {
			want, asked := tt.left[m]
			if !asked {
				continue
			}
			left, _ := th.Request(m, "m")
			must.Equal(t, fmt.Sprint(figures(left)), want, tt.name, m)
		}
	}
}
