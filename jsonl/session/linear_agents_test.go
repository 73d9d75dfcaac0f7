package session_test

import "fmt"

// agentLines are sessions of other agents with a compaction every tenth message, by the number of a message.
func agentLines() map[string]func(i, n int) string {
	ends := func(i, n int, first, text, last string) string {
		if i == 0 {
			text = first + text
		}
		if i == n-1 {
			text += last
		} else if last != "" {
			text += ","
		}
		return text + "\n"
	}
	return map[string]func(i, n int) string{
		"pi 1": func(i, n int) string {
			text := fmt.Sprintf(`{"type":"message","timestamp":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":[{"type":"text","text":"m%d"}],"usage":{"input":9,"output":1}}}`, i)
			if i%10 == 9 {
				text = fmt.Sprintf(`{"type":"compaction","timestamp":"2026-01-01T00:00:00Z","summary":"s","firstKeptEntryIndex":%d,"tokensBefore":5}`, max(i-20, 1))
			}
			return ends(i, n, `{"type":"session","id":"x","timestamp":"2026-01-01T00:00:00Z","cwd":"/x"}`+"\n", text, "")
		},
		"pi 3": func(i, n int) string {
			text := fmt.Sprintf(`{"type":"message","id":"e%d","parentId":"e%d","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"m%d"}}`, i, i-1, i)
			if i%10 == 9 {
				text = fmt.Sprintf(`{"type":"compaction","id":"e%d","parentId":"e%d","timestamp":"2026-01-01T00:00:00Z","summary":"s","firstKeptEntryId":"e%d","tokensBefore":5}`, i, i-1, max(i-20, 0))
			}
			return ends(i, n, `{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00Z","cwd":"/x"}`+"\n", text, "")
		},
		"pi 3 from its end": func(i, n int) string {
			text := fmt.Sprintf(`{"type":"custom","id":"e%d","parentId":"e%d","timestamp":"2026-01-01T00:00:00Z"}`, n-i, n-i-1)
			if i%10 == 9 {
				text = fmt.Sprintf(`{"type":"message","id":"m%d","parentId":"e%d","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"m"}}`, i, n-i)
			}
			return ends(i, n, `{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00Z","cwd":"/x"}`+"\n", text, "")
		},
		"opencode": func(i, n int) string {
			text := fmt.Sprintf(`{"info":{"id":"m%d","role":"assistant","time":{"created":%d},"modelID":"m","finish":"stop","tokens":{"input":9,"output":1}},"parts":[{"type":"text","text":"a%d"},{"type":"tool","callID":"c%d","tool":"bash","state":{"status":"completed","input":{},"output":"o","time":{"start":%d,"end":%d,"compacted":%d}}}]}`, i, i+1, i, i, i+1, i+1, i+40)
			if i%10 == 8 {
				text = fmt.Sprintf(`{"info":{"id":"m%d","role":"user","time":{"created":%d}},"parts":[{"type":"compaction","auto":true,"tail_start_id":"m%d"}]}`, i, i+1, max(i-15, 0))
			}
			if i%10 == 9 {
				text = fmt.Sprintf(`{"info":{"id":"m%d","role":"assistant","parentID":"m%d","summary":true,"finish":"stop","time":{"created":%d},"tokens":{"input":9,"output":1}},"parts":[{"type":"text","text":"s"}]}`, i, i-1, i+1)
			}
			return ends(i, n, `{"info":{"id":"ses_1","title":"t","directory":"/","version":"1.18.33","time":{"created":1}},"messages":[`, text, "]}")
		},
		"opencode 2": func(i, n int) string {
			text := fmt.Sprintf(`{"id":"m%d","type":"assistant","time":{"created":%d},"model":{"id":"m","providerID":"p"},"finish":"stop","tokens":{"input":9,"output":1},"content":[{"type":"text","text":"a%d"}]}`, i, i+1, i)
			if i%10 == 9 {
				text = fmt.Sprintf(`{"id":"m%d","type":"compaction","status":"completed","reason":"auto","summary":"s","recent":"r","time":{"created":%d}}`, i, i+1)
			}
			return ends(i, n, `{"info":{"id":"ses_1","title":"t","location":{"directory":"/"},"time":{"created":1}},"messages":[`, text, "]}")
		},
		"qwen": func(i, n int) string {
			text := fmt.Sprintf(`"type":"assistant","model":"m","message":{"role":"model","parts":[{"text":"a%d"}]},"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1}`, i)
			if i%10 == 9 {
				text = fmt.Sprintf(`"type":"system","subtype":"chat_compression","systemPayload":{"compressedHistory":[{"role":"user","parts":[{"text":"s%d"}]},{"role":"model","parts":[{"text":"a%d"}]}]}`, i, i-1)
			}
			parent := "null"
			if i > 0 {
				parent = fmt.Sprintf(`"u%d"`, i-1)
			}
			return fmt.Sprintf(`{"uuid":"u%d","parentUuid":%s,"sessionId":"s","timestamp":"2026-01-01T00:00:00Z",%s}`+"\n", i, parent, text)
		},
		"cline": func(i, n int) string {
			text := fmt.Sprintf(`{"role":"assistant","content":"a%d","ts":%d}`, i, i+1)
			if i%10 == 9 {
				text = fmt.Sprintf(`{"role":"user","content":"s","ts":%d,"isSummary":true,"condenseId":"s%d"}`, i+1, i)
			}
			return ends(i, n, `{"client":"roo-code","id":"1","history":[`, text, `],"ui":[]}`)
		},
		"cline's CLI": func(i, n int) string {
			text := fmt.Sprintf(`{"id":"m%d","role":"assistant","content":"a%d","ts":%d,"metrics":{"inputTokens":9,"outputTokens":1}}`, i, i, i+1)
			return ends(i, n, fmt.Sprintf(`{".compaction.json":{"source_message_count":%d,"messages":[{"role":"user","content":"s"},{"id":"m0"}]},"agent":"lead","sessionId":"s","origin":{"source":"cli"},"messages":[`, n/2), text, `]}`)
		},
		"gemini": func(i, n int) string {
			text := fmt.Sprintf(`{"id":"m%d","timestamp":"2026-01-01T00:00:00Z","type":"gemini","content":"a%d","model":"m","tokens":{"input":9,"output":1}}`, i, i)
			if i%10 == 9 {
				text = fmt.Sprintf(`{"$set":{"messages":[{"id":"s%d","type":"user","content":"s"},{"id":"m%d","type":"gemini"}]}}`, i, i-1)
			}
			return ends(i, n, `{"sessionId":"s","projectHash":"p","startTime":"2026-01-01T00:00:00Z"}`+"\n", text, "")
		},
		"kimi": func(i, n int) string {
			text := `{"timestamp":1,"message":{"type":"StepBegin","payload":{"n":1}}}` + "\n" +
				fmt.Sprintf(`{"timestamp":1,"message":{"type":"ToolCall","payload":{"id":"c%d","function":{"name":"Shell","arguments":"{}"}}}}`+"\n", i) +
				fmt.Sprintf(`{"timestamp":1,"message":{"type":"StatusUpdate","payload":{"message_id":"m%d","token_usage":{"input_other":9,"output":1}}}}`+"\n", i) +
				fmt.Sprintf(`{"timestamp":1,"message":{"type":"ToolResult","payload":{"tool_call_id":"c%d","return_value":{"is_error":false,"output":"o","message":""}}}}`, i)
			switch i % 10 {
			case 8:
				text = `{"timestamp":1,"message":{"type":"TurnBegin","payload":{"user_input":"/clear"}}}`
			case 9:
				text = `{"timestamp":1,"message":{"type":"CompactionEnd","payload":{}}}`
			}
			return ends(i, n, `{"type":"metadata","protocol_version":"1.10"}`+"\n", text, "")
		},
		"copilot": func(i, n int) string {
			text := fmt.Sprintf(`{"type":"assistant.message","id":"e%d","timestamp":"2026-01-01T00:00:00Z","data":{"messageId":"m%d","content":"a%d","apiCallId":"a%d","outputTokens":1,"toolRequests":[]}}`, i, i, i, i)
			if i%10 == 9 {
				text = fmt.Sprintf(`{"type":"session.compaction_start","id":"s%d","timestamp":"2026-01-01T00:00:00Z","data":{}}`+"\n"+
					`{"type":"session.compaction_complete","id":"e%d","timestamp":"2026-01-01T00:00:00Z","data":{"success":true,"summaryContent":"s"}}`, i, i)
			}
			return ends(i, n, `{"type":"session.start","id":"x","timestamp":"2026-01-01T00:00:00Z","data":{"sessionId":"s","copilotVersion":"1.0.102"}}`+"\n", text, "")
		},
		"goose": func(i, n int) string {
			text := fmt.Sprintf(`{"row":"message","id":%d,"role":"assistant","content_json":[{"type":"text","text":"a%d"}],"created_timestamp":%d}`, i, i, i+1)
			switch i % 10 {
			case 8:
				text = fmt.Sprintf(`{"row":"message","id":%d,"role":"user","content_json":[{"type":"text","text":"s"}],"metadata_json":{"userVisible":false}}`, i)
			case 9:
				text = fmt.Sprintf(`{"row":"message","id":%d,"role":"assistant","content_json":[{"type":"text","text":"go on"}],"metadata_json":{"userVisible":false}}`, i)
			}
			return ends(i, n, `{"row":"goose","id":"s"}`+"\n", text, "")
		},
		"crush": func(i, n int) string {
			text := fmt.Sprintf(`{"row":"message","id":"m%d","role":"assistant","parts":[{"type":"text","data":{"text":"a%d"}}],"created_at":%d,"is_summary_message":%d}`, i, i, i+1, (i%10)/9)
			return ends(i, n, `{"row":"crush","id":"s"}`+"\n", text, "")
		},
		"codex": func(i, n int) string {
			text := fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a%d"}]}}`+"\n"+
				`{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":%d},"last_token_usage":{"input_tokens":9,"output_tokens":1,"total_tokens":10}}}}`, i, 10*i+10)
			if i%10 == 9 {
				text = `{"timestamp":"2026-01-01T00:00:00Z","type":"compacted","payload":{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},{"type":"compaction","encrypted_content":"x"}]}}`
			}
			return ends(i, n, `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"019f1f9d-47e8-7f62-a837-696e54bbcbe9","cwd":"/w","cli_version":"0.142.5","model_provider":"openai"}}`+"\n", text, "")
		},
	}
}
