package mock

import (
	"encoding/base64"
	"encoding/json"
	"slices"
)

// messagesAPI answers as the Messages API.
func (s *Server) messagesAPI(r *request, a *step, u *usage) reply {
	content := []object{}
	if a.think != "" {
		content = append(content, object{"type": "thinking", "thinking": a.think, "signature": "bW9jaw=="})
	}
	if a.text != "" {
		content = append(content, object{"type": "text", "text": a.text})
	}
	for i := range a.calls {
		c := &a.calls[i]
		c.id = s.newID("toolu_")
		content = append(content, object{"type": "tool_use", "id": c.id, "name": c.name, "input": c.input})
	}
	used := object{
		"input_tokens": u.total - u.read - u.written, "cache_creation_input_tokens": u.written, "cache_read_input_tokens": u.read,
		"output_tokens": u.out, "cache_creation": object{"ephemeral_5m_input_tokens": u.written, "ephemeral_1h_input_tokens": 0},
		"service_tier": "standard",
	}
	id, reason := s.newID("msg_"), "end_turn"
	switch {
	case a.refuse:
		reason = "refusal"
	case len(a.calls) > 0:
		reason = "tool_use"
	}
	message := func(content any, reason any, used object) object {
		return object{"id": id, "type": "message", "role": "assistant", "model": r.model, "content": content, "stop_reason": reason, "stop_sequence": nil, "usage": used}
	}
	begin := object{}
	for k, v := range used {
		begin[k] = v
	}
	begin["output_tokens"] = 1
	events := []event{{"message_start", object{"type": "message_start", "message": message([]object{}, nil, begin)}}}
	put := func(kind string, index int, rest object) {
		rest["type"], rest["index"] = kind, index
		events = append(events, event{kind, rest})
	}
	for i, c := range content {
		delta := func(d object) { put("content_block_delta", i, object{"delta": d}) }
		switch c["type"] {
		case "thinking":
			put("content_block_start", i, object{"content_block": object{"type": "thinking", "thinking": "", "signature": ""}})
			delta(object{"type": "thinking_delta", "thinking": c["thinking"]})
			delta(object{"type": "signature_delta", "signature": c["signature"]})
		case "text":
			put("content_block_start", i, object{"content_block": object{"type": "text", "text": ""}})
			delta(object{"type": "text_delta", "text": c["text"]})
		default:
			put("content_block_start", i, object{"content_block": object{"type": "tool_use", "id": c["id"], "name": c["name"], "input": object{}}})
			delta(object{"type": "input_json_delta", "partial_json": string(c["input"].(json.RawMessage))})
		}
		put("content_block_stop", i, object{})
	}
	events = append(events,
		event{"message_delta", object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": used}},
		event{"message_stop", object{"type": "message_stop"}})
	return reply{id, message(content, reason, used), events}
}

// responsesAPI answers as the Responses API.
func (s *Server) responsesAPI(r *request, a *step, u *usage) reply {
	output := []object{}
	if a.think != "" {
		output = append(output, object{"type": "reasoning", "id": s.newID("rs_"), "summary": []object{{"type": "summary_text", "text": a.think}}, "encrypted_content": base64.StdEncoding.EncodeToString([]byte(a.think))})
	}
	switch {
	case a.remote:
		output = append(output, object{"type": "compaction", "id": s.newID("cmp_"), "encrypted_content": base64.StdEncoding.EncodeToString([]byte(a.text))})
	case a.refuse:
		output = append(output, object{"type": "message", "id": s.newID("msg_"), "role": "assistant", "status": "completed", "content": []object{{"type": "refusal", "refusal": a.text}}})
	case a.text != "" || len(a.calls) == 0:
		if a.text == "" {
			a.text = "ok"
		}
		output = append(output, object{"type": "message", "id": s.newID("msg_"), "role": "assistant", "status": "completed", "content": []object{{"type": "output_text", "text": a.text, "annotations": []object{}}}})
	}
	custom := r.toolNames(func(kind string) bool { return kind == "custom" })
	for i := range a.calls {
		c := &a.calls[i]
		c.id = s.newID("call_")
		if slices.Contains(custom, c.name) {
			var free struct{ Input string }
			_ = json.Unmarshal(c.input, &free)
			output = append(output, object{"type": "custom_tool_call", "id": s.newID("ctc_"), "call_id": c.id, "name": c.name, "input": free.Input, "status": "completed"})
			continue
		}
		output = append(output, object{"type": "function_call", "id": s.newID("fc_"), "call_id": c.id, "name": c.name, "arguments": string(c.input), "status": "completed"})
	}
	id := s.newID("resp_")
	response := func(status string, output []object, used any) object {
		return object{"id": id, "object": "response", "created_at": s.last.Unix(), "status": status, "model": r.model, "output": output, "usage": used}
	}
	used := object{
		"input_tokens": u.total, "input_tokens_details": object{"cached_tokens": u.read}, "output_tokens": u.out,
		"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": u.total + u.out,
	}
	whole := response("completed", output, used)
	var events []event
	put := func(kind string, rest object) {
		rest["type"], rest["sequence_number"] = kind, len(events)
		events = append(events, event{kind, rest})
	}
	put("response.created", object{"response": response("in_progress", []object{}, nil)})
	for i, item := range output {
		put("response.output_item.added", object{"output_index": i, "item": item})
		if item["type"] == "message" && !a.refuse {
			put("response.output_text.delta", object{"item_id": item["id"], "output_index": i, "content_index": 0, "delta": a.text})
		}
		put("response.output_item.done", object{"output_index": i, "item": item})
	}
	put("response.completed", object{"response": whole})
	return reply{id, whole, events}
}

// chatAPI answers as the chat completions API.
func (s *Server) chatAPI(r *request, a *step, u *usage) reply {
	calls := []object{}
	for i := range a.calls {
		c := &a.calls[i]
		c.id = s.newID("call_")
		calls = append(calls, object{"index": i, "id": c.id, "type": "function", "function": object{"name": c.name, "arguments": string(c.input)}})
	}
	reason := "stop"
	switch {
	case a.refuse:
		reason = "content_filter"
	case len(calls) > 0:
		reason = "tool_calls"
	}
	used := object{"prompt_tokens": u.total, "completion_tokens": u.out, "total_tokens": u.total + u.out, "prompt_tokens_details": object{"cached_tokens": u.read}}
	id := s.newID("chatcmpl-")
	message := object{"role": "assistant", "content": nil}
	var events []event
	chunk := func(choices []object, used any) {
		c := object{"id": id, "created": s.last.Unix(), "model": r.model, "object": "chat.completion.chunk", "choices": choices}
		if used != nil {
			c["usage"] = used
		}
		events = append(events, event{"", c})
	}
	delta := func(d object) { chunk([]object{{"index": 0, "delta": d, "finish_reason": nil}}, nil) }
	delta(object{"role": "assistant", "content": ""})
	if a.think != "" {
		message["reasoning_content"] = a.think
		delta(object{"reasoning_content": a.think})
	}
	if a.text != "" {
		message["content"] = a.text
		delta(object{"content": a.text})
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
		delta(object{"tool_calls": calls})
	}
	chunk([]object{{"index": 0, "delta": object{}, "finish_reason": reason}}, nil)
	chunk([]object{}, used)
	events = append(events, event{"", "[DONE]"})
	whole := object{"id": id, "created": s.last.Unix(), "model": r.model, "object": "chat.completion", "choices": []object{{"index": 0, "message": message, "finish_reason": reason}}, "usage": used}
	return reply{id, whole, events}
}

// geminiAPI answers as the Gemini API.
func (s *Server) geminiAPI(r *request, a *step, u *usage) reply {
	parts := []object{}
	if a.think != "" {
		parts = append(parts, object{"text": a.think, "thought": true})
	}
	if a.text != "" {
		parts = append(parts, object{"text": a.text})
	}
	for _, c := range a.calls { // calls have no ids here
		parts = append(parts, object{"functionCall": object{"name": c.name, "args": c.input}})
	}
	reason := "STOP"
	if a.refuse {
		reason = "SAFETY"
	}
	id := s.newID("r")
	whole := object{
		"candidates":    []object{{"content": object{"role": "model", "parts": parts}, "finishReason": reason, "index": 0}},
		"usageMetadata": object{"promptTokenCount": u.total, "cachedContentTokenCount": u.read, "candidatesTokenCount": u.out, "totalTokenCount": u.total + u.out},
		"modelVersion":  r.model, "responseId": id,
	}
	return reply{id, whole, []event{{"", whole}}}
}
