package cmd

import (
	"fmt"
	"strings"
	"testing"
)

// lines numbers lines and joins them: each has a %02d for the seconds of its time, and may have a second one for its id.
func lines(list ...string) string {
	var b strings.Builder
	for i, l := range list {
		b.WriteString(strings.ReplaceAll(l, "%02d", fmt.Sprintf("%02d", i+1)) + "\n")
	}
	return b.String()
}

// The records of Codex.
func codexRecord(kind, payload string) string {
	return `{"timestamp":"2026-11-18T10:00:%02d.000Z","type":"` + kind + `","payload":` + payload + `}`
}

func codexHead(id, more string) string {
	return codexRecord("session_meta", `{"id":"`+id+`","cwd":"/p","cli_version":"0.157.1","model_provider":"openai"`+more+`}`)
}

func codexEvent(kind, more string) string {
	return codexRecord("event_msg", `{"type":"`+kind+`"`+more+`}`)
}

func codexTurn(model string) string { return codexRecord("turn_context", `{"model":"`+model+`"}`) }

func codexSaid(role, text string) string {
	return codexRecord("response_item", `{"type":"message","role":"`+role+`","content":[{"type":"`+map[string]string{"user": "input_text", "assistant": "output_text"}[role]+`","text":"`+text+`"}]}`)
}

func codexTokens(input, cached, output int) string {
	return fmt.Sprintf(`{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d,"total_tokens":%d}`, input, cached, output, input+output)
}

func codexCount(total, input, cached, output int) string {
	return codexEvent("token_count", fmt.Sprintf(`,"info":{"total_token_usage":{"total_tokens":%d},"last_token_usage":%s}`, total, codexTokens(input, cached, output)))
}

func codexUsed(id string, input, cached, output int) string {
	return codexRecord("token_usage_record", `{"response_id":"`+id+`","usage":`+codexTokens(input, cached, output)+`}`)
}

// The entries of Pi.
func piHead(id, more string) string {
	return `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-11-21T09:00:00.000Z","cwd":"/p"` + more + `}`
}

func piEntry(kind, id, parent, more string) string {
	return `{"type":"` + kind + `","id":"` + id + `","parentId":` + parent + `,"timestamp":"2026-11-21T09:%02d:00.000Z",` + more + `}`
}

func piUser(id, parent string) string {
	return piEntry("message", id, parent, `"message":{"role":"user","content":"go"}`)
}

func piUsage(input, read, write, output int) string {
	return fmt.Sprintf(`"usage":{"input":%d,"output":%d,"cacheRead":%d,"cacheWrite":%d}`, input, output, read, write)
}

func piAnswer(id, parent, more, usage string) string {
	return piEntry("message", id, parent, `"message":{"role":"assistant","content":[{"type":"text","text":"ok"}],"provider":"anthropic","model":"claude-opus-5","stopReason":"stop",`+more+usage+`}`)
}

// The events of Copilot.
func copilotEvent(kind, id, data string) string {
	return `{"type":"` + kind + `","id":"` + id + `","timestamp":"2026-09-01T09:00:%02d.000Z","data":{` + data + `}}`
}

func copilotRun(n int) []string {
	return []string{
		copilotEvent("user.message", fmt.Sprintf("u%d", n), `"content":"go","transformedContent":"go","attachments":[]`),
		copilotEvent("assistant.message", fmt.Sprintf("e%d", n), fmt.Sprintf(`"messageId":"m%d","model":"claude-opus-5","content":"ok","toolRequests":[],"outputTokens":20,"apiCallId":"a%d"`, n, n)),
	}
}

func copilotEnd(id string, requests, input, read, output int) string {
	return copilotEvent("session.shutdown", id, fmt.Sprintf(`"modelMetrics":{"claude-opus-5":{"requests":{"count":%d},"usage":{"inputTokens":%d,"outputTokens":%d,"cacheReadTokens":%d,"cacheWriteTokens":0}}}`, requests, input, output, read))
}

const copilotStart = `{"type":"session.start","id":"e0","timestamp":"2026-09-01T09:00:00.000Z","data":{"sessionId":"s-1","version":1,"producer":"copilot-agent","copilotVersion":"1.0.81","context":{"cwd":"/p"}}}`

// opencodeDoc is an export of OpenCode with answers.
func opencodeDoc(answers ...string) string {
	return `{"info":{"id":"ses_1","directory":"/p","title":"t","version":"1.18.33","time":{"created":1790000000000,"updated":1790000100000}},"messages":[` +
		`{"info":{"id":"msg_0","sessionID":"ses_1","role":"user","time":{"created":1790000000000}},"parts":[{"id":"prt_0","messageID":"msg_0","sessionID":"ses_1","type":"text","text":"go"}]},` +
		strings.Join(answers, ",") + `]}`
}

func opencodeAnswer(id, model string, cost string, input, read, write, output, reasoning int) string {
	return fmt.Sprintf(`{"info":{"id":%q,"sessionID":"ses_1","role":"assistant","parentID":"msg_0","modelID":%q,"providerID":"anthropic","mode":"build","cost":%s,`+
		`"tokens":{"input":%d,"output":%d,"reasoning":%d,"cache":{"read":%d,"write":%d}},"time":{"created":17900000%s000,"completed":1790000095000},"finish":"stop"},`+
		`"parts":[{"id":"prt_%s","messageID":%q,"sessionID":"ses_1","type":"text","text":"ok"}]}`, id, model, cost, input, output, reasoning, read, write, "0"+id[len(id)-1:], id, id)
}

// opencodeStep is the end of a request.
func opencodeStep(input, output int) string {
	return fmt.Sprintf(`{"id":"prt_s%d","type":"step-finish","reason":"stop","tokens":{"input":%d,"output":%d,"reasoning":0,"cache":{"read":0,"write":0}}}`, input, input, output)
}

// TestBillsOfOtherClients holds what sessions of other clients were billed, by kind. The models cost, per million tokens: GPT-5.4
// 2.5, read 0.25, output 15; Claude Opus 5 5, read 0.5, written 6.25, output 25.
func TestBillsOfOtherClients(t *testing.T) {
	one := func(name string, list ...string) map[string]string { return map[string]string{name: lines(list...)} }
	codex := func(list ...string) map[string]string {
		return one("rollout.jsonl", append([]string{codexHead("s1", "")}, list...)...)
	}
	asked, answered := codexSaid("user", "go"), codexSaid("assistant", "ok")
	turn := func(tier string) []string {
		return []string{codexTurn("gpt-5.4"), codexEvent("thread_settings_applied", `,"thread_settings":{"service_tier":`+tier+`}`), asked, answered, codexCount(101_000, 100_000, 0, 1000)}
	}
	const plain = 0.1*2.5 + 0.015
	parent := []string{codexTurn("gpt-5.4"), asked, answered, codexUsed("r1", 100_000, 0, 1000), codexCount(101_000, 100_000, 0, 1000), codexEvent("task_complete", "")}
	piParent := []string{piUser("1", "null"), piAnswer("2", `"1"`, `"responseId":"r1",`, piUsage(10, 0, 40_000, 1000)), piUser("3", `"2"`), piAnswer("4", `"3"`, `"responseId":"r2",`, piUsage(10, 40_000, 1000, 100))}
	const piBilled = (20*5 + 41_000*6.25 + 40_000*0.5 + 1100*25) / 1e6
	gemini := func(id string, tool int) string {
		return `{"id":"` + id + `","timestamp":"2026-11-10T09:00:%02dZ","type":"gemini","content":"ok","model":"gemini-2.5-pro","tokens":` +
			fmt.Sprintf(`{"input":10000,"output":100,"cached":4000,"thoughts":50,"tool":%d,"total":%d}}`, tool, 10_150+tool)
	}
	for _, c := range []billCase{
		{name: "Codex", files: codex(turn("null")...), usd: plain, calls: 1},
		{name: "Codex, default tier", files: codex(turn(`"default"`)...), usd: plain, calls: 1},
		{name: "Codex, flex", files: codex(turn(`"flex"`)...), usd: plain / 2, calls: 1},
		{name: "Codex, priority", files: codex(turn(`"priority"`)...), usd: plain * 2, calls: 1},
		{name: "Codex, fast", files: codex(turn(`"fast"`)...), usd: plain * 2, calls: 1},
		{name: "Codex, a tier without a price", files: codex(turn(`"scale"`)...), calls: 1, text: "no price for service_tier scale of gpt-5.4 (1 call, 101,000 tokens)"},
		{name: "Codex, a repeated count", files: codex(append(turn("null"), codexCount(101_000, 100_000, 0, 1000))...), usd: plain, calls: 1},
		{name: "Codex, an inherited total", files: codex(codexCount(3_000_000, 0, 0, 0), codexTurn("gpt-5.4"), asked, answered, codexCount(3_101_000, 100_000, 0, 1000)), usd: plain, calls: 1},
		{name: "Codex, records of usage", files: codex(codexTurn("gpt-5.4"), asked, answered, codexUsed("r1", 100_000, 0, 1000), codexCount(101_000, 100_000, 0, 1000), codexUsed("r2", 100_000, 80_000, 0)),
			usd: plain + (20_000*2.5+80_000*0.25)/1e6, calls: 2},
		{name: "Codex, a provider that reports no usage", files: codex(codexTurn("gpt-5.4"), asked, codexEvent("token_count", `,"info":null`), answered, codexEvent("token_count", `,"info":null`), codexEvent("task_complete", "")),
			check: func(b *billed) bool { return b.Without == 1 }, text: "not known: no usage for 1 of 1 response (about 0.05 USD more)."},
		{name: "Codex, a fork", files: map[string]string{
			"a.jsonl": lines(append([]string{codexHead("s1", "")}, parent...)...),
			"b.jsonl": strings.ReplaceAll(lines(append([]string{codexHead("s2", `,"forked_from_id":"s1"`)}, parent...)...), "T10:00:", "T11:00:") +
				strings.ReplaceAll(lines(codexEvent("task_started", `,"turn_id":"t9"`), codexTurn("gpt-5.4"), codexSaid("user", "on"), codexSaid("assistant", "yes"), codexUsed("r9", 101_000, 100_000, 0), codexCount(202_000, 101_000, 100_000, 0)), "T10:00:", "T12:00:"),
		}, usd: plain + (1000*2.5+100_000*0.25)/1e6, calls: 2},
		{name: "Pi, a fork", files: map[string]string{"a.jsonl": lines(append([]string{piHead("one", "")}, piParent...)...),
			"b.jsonl": lines(append(append([]string{piHead("two", `,"parentSession":"/x/a.jsonl"`)}, piParent...), piUser("5", `"4"`), piAnswer("6", `"5"`, `"responseId":"r3",`, piUsage(10, 41_000, 0, 0)))...)},
			usd: piBilled + (10*5+41_000*0.5)/1e6, calls: 3, check: func(b *billed) bool { return b.Copies.Calls == 2 }},
		{name: "Pi, entries of usage", files: one("a.jsonl", append(append([]string{piHead("one", "")}, piParent...),
			piEntry("usage", "5", `"4"`, `"kind":"cache_warm","model":"claude-opus-5",`+piUsage(0, 41_000, 0, 0)), piEntry("usage", "6", `"5"`, `"kind":"title","model":"claude-opus-5",`+piUsage(1000, 0, 0, 10)))...),
			usd: piBilled + 41_000*0.5/1e6 + (1000*5+10*25)/1e6, calls: 4, text: "cache warming 1"},
		{name: "Pi, the summary of a branch", files: one("a.jsonl", append(append([]string{piHead("one", "")}, piParent...),
			piEntry("branch_summary", "5", `"2"`, `"fromId":"4","summary":"tried",`+piUsage(5300, 0, 0, 300)), piUser("6", `"5"`), piAnswer("7", `"6"`, "", piUsage(10, 40_000, 0, 0)))...),
			usd: piBilled + (5310*5+40_000*0.5+300*25)/1e6, calls: 4, text: "summaries of branches 1"},
		{name: "OpenCode", files: map[string]string{"s.json": opencodeDoc(opencodeAnswer("msg_1", "claude-opus-5", "0.5", 1000, 2000, 4000, 100, 50))},
			usd: (1000*5 + 2000*0.5 + 4000*6.25 + 150*25) / 1e6, calls: 1, text: "The client itself reports 0.5000 USD"},
		{name: "OpenCode, the client's cost of some", files: map[string]string{"s.json": opencodeDoc(opencodeAnswer("msg_1", "claude-opus-5", "0.06", 12_000, 0, 0, 0, 0), opencodeAnswer("msg_2", "claude-opus-5", "0", 1000, 0, 0, 40, 0))},
			usd: 0.066, calls: 2, text: "The client itself reports 0.0600 USD for 1 of 2 calls, the same."},
		{name: "OpenCode, several requests in a response", files: map[string]string{"s.json": strings.Replace(opencodeDoc(opencodeAnswer("msg_1", "claude-opus-5", "0", 3000, 0, 0, 30, 0)), `"text":"ok"}]`, `"text":"ok"},`+
			opencodeStep(1000, 10)+`,{"id":"prt_8","type":"text","text":"on"},`+opencodeStep(2000, 20)+`,{"id":"prt_9","type":"text","text":"end"},`+opencodeStep(3000, 30)+`]`, 1)}, usd: (6000*5 + 60*25) / 1e6, calls: 3},
		{name: "Gemini, a subagent of a subagent's", files: map[string]string{
			"tmp/p/chats/session-2026-11-10T09-00-s1.jsonl": lines(`{"sessionId":"s-1","projectHash":"h","startTime":"2026-11-10T09:00:00Z","lastUpdated":"2026-11-10T09:05:00Z","kind":"main"}`, `{"id":"u1","timestamp":"2026-11-10T09:00:%02dZ","type":"user","content":"go"}`, gemini("g1", 0)),
			"tmp/p/chats/s-1/sub-1.jsonl":                   lines(`{"sessionId":"sub-1","projectHash":"h","startTime":"2026-11-10T09:00:00Z","lastUpdated":"2026-11-10T09:05:00Z","kind":"subagent"}`, `{"id":"u1","timestamp":"2026-11-10T09:00:%02dZ","type":"user","content":"look"}`, gemini("g2", 1000)),
		}, args: []string{"tmp"}, usd: (13_000*1.25 + 8000*0.125 + 300*10) / 1e6, calls: 2},
		{name: "Copilot, totals of a run", files: one("events.jsonl", append(append(append([]string{copilotStart}, copilotRun(1)...), copilotRun(2)...), copilotEnd("e9", 2, 60_000, 40_000, 40))...),
			usd: (20_000*5 + 40_000*0.5 + 40*25) / 1e6, calls: 2, text: "calls that only the totals of their run count 2"},
		{name: "Copilot, of two runs", files: one("events.jsonl", append(append(append(append(append([]string{copilotStart}, copilotRun(1)...), copilotRun(2)...), copilotEnd("e9", 2, 60_000, 40_000, 40)), copilotRun(3)...), copilotEnd("e10", 1, 14_000, 9000, 20))...),
			usd: (25_000*5 + 49_000*0.5 + 60*25) / 1e6, calls: 3},
		{name: "Copilot, a run without totals", files: one("events.jsonl", append(append(append([]string{copilotStart}, copilotRun(1)...), copilotEnd("e9", 1, 14_000, 9000, 20)), copilotRun(3)...)...),
			usd: (5000*5 + 9000*0.5 + 20*25) / 1e6, check: func(b *billed) bool { return b.Without == 1 }, text: "billed at least"},
	} {
		t.Run(c.name, c.run)
	}
}
