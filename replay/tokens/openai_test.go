package tokens_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	names := map[string]string{"new": tokens.NewTokenizer, "old": tokens.OldTokenizer, "openai": tokens.OpenAITokenizer, "google": tokens.GoogleTokenizer, "other": tokens.OtherTokenizer}
	must.Rows(t, `
claude-opus-4-7    | new | new
claude-opus-9      | ""  | old
""                 | ""  | old
<synthetic>        | ""  | old
gpt-5.6-sol        | ""  | openai
openai/GPT-5.4     | ""  | openai
gemini-3-pro       | ""  | google
deepseek-v4        | ""  | other
anthropic/claude-9 | ""  | old
`, func(model, listed, want string) {
		must.Both(tokens.TokenizerOf(model, listed))(t, names[want], nil, model)
	})
}

// TestThinkingUntilAnswer: thinking of a turn that was not answered stays, and a fork in mid-turn is sent that of all
// its parent's turns.
func TestThinkingUntilAnswer(t *testing.T) {
	kinds := map[string][]jsonl.Kind{"text": {jsonl.KindThinking, jsonl.KindText}, "call": {jsonl.KindThinking, jsonl.KindToolUse}, "both": {jsonl.KindThinking, jsonl.KindText, jsonl.KindToolUse}}
	must.Rows(t, `
# name | messages: prompts, and what is behind the thinking of a response: a text ends the turn, "cut" is one that was interrupted; those of a
# fork's parent begin with a * | what is left out by the response that a request is answered by
answered               | prompt both text prompt text                        | {"1": "[]", "2": "[]", "4": "[[1 0] [2 0]]"}
not answered           | prompt both prompt text prompt text                 | {"1": "[]", "3": "[]", "5": "[[1 0] [3 0]]"}
interrupted            | prompt both *cut prompt text prompt text            | {"1": "[]", "4": "[]", "6": "[[1 0] [2 0] [4 0]]"}
a fork in mid-turn     | prompt *text prompt *call prompt text prompt text   | {"5": "[]", "7": "[[1 0] [3 0] [5 0]]"}
a fork after an answer | prompt *call *text prompt text                      | {"4": "[[1 0] [2 0]]"}
`, func(name, messages string, wanted map[int]string) {
		conv := &session.Conversation{}
		for _, word := range strings.Fields(messages) {
			m := session.Message{Class: session.ClassPrompt}
			if word != "prompt" {
				what, copied := strings.CutPrefix(word, "*")
				m = session.Message{Model: "m", Role: session.Assistant, Class: session.ClassResponse, StopReason: map[string]string{"text": "end_turn", "call": "tool_use", "both": "tool_use"}[what]}
				if copied {
					m.Marks = session.NoRequest
				}
				if what == "cut" {
					what = "text"
				}
				for _, k := range kinds[what] {
					m.Blocks = append(m.Blocks, block(jsonl.ContentBlock{Kind: k}))
				}
			}
			conv.Messages = append(conv.Messages, m)
		}
		yes := func(string) bool { return true }
		th := tokens.NewThinking(conv, tokens.CountedModel{ClearsThinking: yes, UntilAnswer: yes})
		for _, m := range slices.Sorted(maps.Keys(wanted)) {
			left, _ := th.Request(m, "m")
			must.Equal(t, fmt.Sprint(figures(left)), wanted[m], name, m)
		}
	})
}
