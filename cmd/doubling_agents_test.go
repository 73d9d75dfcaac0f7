//go:build unix

package cmd

import (
	"fmt"
	"strings"
	"time"
)

// agentShapes are sessions of other agents.
func agentShapes() []growth { return []growth{{"codex", rollout}, {"pi", piSession}} }

// entry writes a line of another agent's session: members of an object.
func (g *grower) entry(format string, args ...any) {
	g.id++
	g.now = g.now.Add(7 * time.Second)
	fmt.Fprintf(g, `{"timestamp":"%s",`, g.now.Format("2006-01-02T15:04:05.000Z"))
	fmt.Fprintf(g, format, args...)
	g.WriteString("}\n")
}

// rollout writes a session of Codex CLI: turns with a call each, and compactions.
func rollout(g *grower, n int) {
	total, used := 0, 0
	count := func(input, output int) {
		total += input + output
		g.entry(`"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":%d},"last_token_usage":{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d,"total_tokens":%d},"model_context_window":258400}}`,
			total, input, input*9/10, output, input+output)
	}
	said := func(role, kind, text string) {
		g.entry(`"type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":%q,"text":%q}]}`, role, kind, text)
	}
	g.entry(`"type":"session_meta","payload":{"id":"019f1f9d-47e8-7f62-a837-696e54bbcbe9","cwd":"/w","cli_version":"0.142.5","model_provider":"openai"}`)
	for i := range n / 9 {
		if used == 0 {
			used = 14000
		}
		g.entry(`"type":"event_msg","payload":{"type":"task_started","turn_id":"turn-%d","model_context_window":258400}`, i)
		g.entry(`"type":"turn_context","payload":{"turn_id":"turn-%d","model":"gpt-5.5"}`, i)
		said("user", "input_text", fmt.Sprint("do step ", i))
		g.entry(`"type":"event_msg","payload":{"type":"user_message","message":"do step %d"}`, i)
		g.entry(`"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"cat f%d.go\"}","call_id":"c%d"}`, i%50, i)
		g.entry(`"type":"response_item","payload":{"type":"function_call_output","call_id":"c%d","output":%q}`, i, strings.Repeat(fmt.Sprintf("line %d of a file\n", i), 50))
		count(used+10, 30)
		said("assistant", "output_text", fmt.Sprint("done ", i))
		count(used+280, 20)
		if used += 300; used > 230000 {
			g.entry(`"type":"compacted","payload":{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"do step %d"}]},{"type":"compaction","encrypted_content":"x"}]}`, i)
			used = 0
		}
	}
}

// piSession writes a session of pi: turns with a call each, and compactions.
func piSession(g *grower, n int) {
	entry := func(kind, format string, args ...any) {
		parent := "null"
		if g.last != "" {
			parent = g.last
		}
		g.last = fmt.Sprintf(`"%08x"`, g.id+1)
		g.entry(`"type":%q,"id":%s,"parentId":%s,%s`, kind, g.last, parent, fmt.Sprintf(format, args...))
	}
	answer := func(content string) {
		g.used += 90
		entry("message", `"message":{"role":"assistant","content":[%s],"api":"openai-responses","provider":"openai","model":"gpt-5.4","usage":{"input":100,"output":20,"cacheRead":%d,"cacheWrite":0,"totalTokens":%d,"cost":{"total":0.001}},"stopReason":"stop"}`,
			content, g.used, g.used+120)
	}
	g.entry(`"type":"session","version":3,"id":"33333333-0000-4000-8000-000000000003","cwd":"/w"`)
	for i := range n / 4 {
		entry("message", `"message":{"role":"user","content":[{"type":"text","text":"do step %d"}]}`, i)
		kept := g.last
		answer(fmt.Sprintf(`{"type":"toolCall","id":"t%d","name":"read","arguments":{"path":"f%d.go"}}`, i, i%50))
		entry("message", `"message":{"role":"toolResult","toolCallId":"t%d","toolName":"read","content":[{"type":"text","text":"line %d of a file"}],"isError":false}`, i, i)
		answer(fmt.Sprintf(`{"type":"text","text":"done %d"}`, i))
		if g.used > 160000 {
			entry("compaction", `"summary":"Steps were done.","firstKeptEntryId":%s,"tokensBefore":%d`, kept, g.used)
			g.used = 20000
		}
	}
}
