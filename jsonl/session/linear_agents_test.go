package session_test

import (
	"fmt"
	"strings"
)

// agents are sessions of other agents with a compaction every tenth message. Of each: its name, what the file begins with, a
// message, those whose number ends with 8 and 9 where they are others, and what the file ends with; i is the number of a message, n
// how many there are.
const agents = `
name pi 1
head {"type":"session","id":"x","timestamp":"2026-01-01T00:00:00Z","cwd":"/x"}\n
each {"type":"message","timestamp":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":[{"type":"text","text":"m{i}"}],"usage":{"input":9,"output":1}}}
9    {"type":"compaction","timestamp":"2026-01-01T00:00:00Z","summary":"s","firstKeptEntryIndex":{i-20 or 1},"tokensBefore":5}
name pi 3
head {"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00Z","cwd":"/x"}\n
each {"type":"message","id":"e{i}","parentId":"e{i-1}","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"m{i}"}}
9    {"type":"compaction","id":"e{i}","parentId":"e{i-1}","timestamp":"2026-01-01T00:00:00Z","summary":"s","firstKeptEntryId":"e{i-20 or 0}","tokensBefore":5}
name pi 3 from its end
head {"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00Z","cwd":"/x"}\n
each {"type":"custom","id":"e{n-i}","parentId":"e{n-i-1}","timestamp":"2026-01-01T00:00:00Z"}
9    {"type":"message","id":"m{i}","parentId":"e{n-i}","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"m"}}
name opencode
head {"info":{"id":"ses_1","title":"t","directory":"/","version":"1.18.33","time":{"created":1}},"messages":[
each {"info":{"id":"m{i}","role":"assistant","time":{"created":{i+1}},"modelID":"m","finish":"stop","tokens":{"input":9,"output":1}},"parts":[{"type":"text","text":"a{i}"},{"type":"tool","callID":"c{i}","tool":"bash","state":{"status":"completed","input":{},"output":"o","time":{"start":{i+1},"end":{i+1},"compacted":{i+40}}}}]}
8    {"info":{"id":"m{i}","role":"user","time":{"created":{i+1}}},"parts":[{"type":"compaction","auto":true,"tail_start_id":"m{i-15 or 0}"}]}
9    {"info":{"id":"m{i}","role":"assistant","parentID":"m{i-1}","summary":true,"finish":"stop","time":{"created":{i+1}},"tokens":{"input":9,"output":1}},"parts":[{"type":"text","text":"s"}]}
last ]}
name opencode 2
head {"info":{"id":"ses_1","title":"t","location":{"directory":"/"},"time":{"created":1}},"messages":[
each {"id":"m{i}","type":"assistant","time":{"created":{i+1}},"model":{"id":"m","providerID":"p"},"finish":"stop","tokens":{"input":9,"output":1},"content":[{"type":"text","text":"a{i}"}]}
9    {"id":"m{i}","type":"compaction","status":"completed","reason":"auto","summary":"s","recent":"r","time":{"created":{i+1}}}
last ]}
name qwen
each {"uuid":"u{i}","parentUuid":"u{i-1}","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","type":"assistant","model":"m","message":{"role":"model","parts":[{"text":"a{i}"}]},"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1}}
9    {"uuid":"u{i}","parentUuid":"u{i-1}","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","type":"system","subtype":"chat_compression","systemPayload":{"compressedHistory":[{"role":"user","parts":[{"text":"s{i}"}]},{"role":"model","parts":[{"text":"a{i-1}"}]}]}}
name cline
head {"client":"roo-code","id":"1","history":[
each {"role":"assistant","content":"a{i}","ts":{i+1}}
9    {"role":"user","content":"s","ts":{i+1},"isSummary":true,"condenseId":"s{i}"}
last ],"ui":[]}
name cline's CLI
head {".compaction.json":{"source_message_count":{n/2},"messages":[{"role":"user","content":"s"},{"id":"m0"}]},"agent":"lead","sessionId":"s","origin":{"source":"cli"},"messages":[
each {"id":"m{i}","role":"assistant","content":"a{i}","ts":{i+1},"metrics":{"inputTokens":9,"outputTokens":1}}
last ]}
name gemini
head {"sessionId":"s","projectHash":"p","startTime":"2026-01-01T00:00:00Z"}\n
each {"id":"m{i}","timestamp":"2026-01-01T00:00:00Z","type":"gemini","content":"a{i}","model":"m","tokens":{"input":9,"output":1}}
9    {"$set":{"messages":[{"id":"s{i}","type":"user","content":"s"},{"id":"m{i-1}","type":"gemini"}]}}
name kimi
head {"type":"metadata","protocol_version":"1.10"}\n
each {"timestamp":1,"message":{"type":"StepBegin","payload":{"n":1}}}\n{"timestamp":1,"message":{"type":"ToolCall","payload":{"id":"c{i}","function":{"name":"Shell","arguments":"{}"}}}}\n{"timestamp":1,"message":{"type":"StatusUpdate","payload":{"message_id":"m{i}","token_usage":{"input_other":9,"output":1}}}}\n{"timestamp":1,"message":{"type":"ToolResult","payload":{"tool_call_id":"c{i}","return_value":{"is_error":false,"output":"o","message":""}}}}
8    {"timestamp":1,"message":{"type":"TurnBegin","payload":{"user_input":"/clear"}}}
9    {"timestamp":1,"message":{"type":"CompactionEnd","payload":{}}}
name copilot
head {"type":"session.start","id":"x","timestamp":"2026-01-01T00:00:00Z","data":{"sessionId":"s","copilotVersion":"1.0.102"}}\n
each {"type":"assistant.message","id":"e{i}","timestamp":"2026-01-01T00:00:00Z","data":{"messageId":"m{i}","content":"a{i}","apiCallId":"a{i}","outputTokens":1,"toolRequests":[]}}
9    {"type":"session.compaction_start","id":"s{i}","timestamp":"2026-01-01T00:00:00Z","data":{}}\n{"type":"session.compaction_complete","id":"e{i}","timestamp":"2026-01-01T00:00:00Z","data":{"success":true,"summaryContent":"s"}}
name goose
head {"row":"goose","id":"s"}\n
each {"row":"message","id":{i},"role":"assistant","content_json":[{"type":"text","text":"a{i}"}],"created_timestamp":{i+1}}
8    {"row":"message","id":{i},"role":"user","content_json":[{"type":"text","text":"s"}],"metadata_json":{"userVisible":false}}
9    {"row":"message","id":{i},"role":"assistant","content_json":[{"type":"text","text":"go on"}],"metadata_json":{"userVisible":false}}
name crush
head {"row":"crush","id":"s"}\n
each {"row":"message","id":"m{i}","role":"assistant","parts":[{"type":"text","data":{"text":"a{i}"}}],"created_at":{i+1},"is_summary_message":0}
9    {"row":"message","id":"m{i}","role":"assistant","parts":[{"type":"text","data":{"text":"a{i}"}}],"created_at":{i+1},"is_summary_message":1}
name codex
head {"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"019f1f9d-47e8-7f62-a837-696e54bbcbe9","cwd":"/w","cli_version":"0.142.5","model_provider":"openai"}}\n
each {"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a{i}"}]}}\n{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":{10i+10}},"last_token_usage":{"input_tokens":9,"output_tokens":1,"total_tokens":10}}}}
9    {"timestamp":"2026-01-01T00:00:00Z","type":"compacted","payload":{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},{"type":"compaction","encrypted_content":"x"}]}}
`

// agentLines gives, by agent, the lines of a message.
func agentLines() map[string]func(i, n int) string {
	list := map[string]func(i, n int) string{}
	for agent := range strings.SplitSeq(strings.TrimPrefix(agents, "\nname "), "\nname ") {
		name, rest, _ := strings.Cut(agent, "\n")
		part := map[string]string{}
		for line := range strings.Lines(rest) {
			word, text, _ := strings.Cut(strings.TrimSpace(line), " ")
			part[word] = strings.ReplaceAll(strings.TrimSpace(text), `\n`, "\n")
		}
		list[name] = func(i, n int) string {
			text, ok := part[fmt.Sprint(i%10)]
			if !ok {
				text = part["each"]
			}
			if i == 0 {
				text = part["head"] + text
			}
			if last := part["last"]; i == n-1 {
				text += last
			} else if last != "" {
				text += ","
			}
			for at, v := range map[string]int{
				"i": i, "i-1": i - 1, "i+1": i + 1, "i+40": i + 40, "i-15 or 0": max(i-15, 0), "i-20 or 0": max(i-20, 0), "i-20 or 1": max(i-20, 1),
				"n-i": n - i, "n-i-1": n - i - 1, "n/2": n / 2, "10i+10": 10*i + 10,
			} {
				text = strings.ReplaceAll(text, "{"+at+"}", fmt.Sprint(v))
			}
			return strings.Replace(text, `"parentUuid":"u-1"`, `"parentUuid":null`, 1) + "\n"
		}
	}
	return list
}
