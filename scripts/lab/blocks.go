package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"
)

// block is a content block of a request body, as it is compared. API forms differ, so every body becomes a list of these.
type block struct {
	role    string
	kind    string // text, thinking, tool_use, tool_result, image
	call    string // id of the call, "" where the API has none
	text    string
	marked  bool // a cache breakpoint is on it
	message int  // position in the body
	at      int  // position in the message
}

// same reports whether two blocks say the same. Gemini's calls have no ids.
func (b block) same(o block, ids bool) bool {
	return b.kind == o.kind && b.text == o.text && (!ids || b.call == o.call)
}

// content is a content block of any of the APIs.
type content struct {
	Type         string
	Text         *string
	Thinking     string
	Signature    string
	ID           string
	Name         string
	Input        json.RawMessage
	Content      json.RawMessage
	ToolUseID    string          `json:"tool_use_id"`
	ToolName     string          `json:"tool_name"`
	CacheControl json.RawMessage `json:"cache_control"`
	ImageURL     json.RawMessage `json:"image_url"`
	Source       struct{ Data string }

	// chat completions
	Role       string
	Reasoning  string `json:"reasoning_content"`
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string
		Function struct{ Arguments string }
	} `json:"tool_calls"`

	// Responses
	CallID    string `json:"call_id"`
	Arguments json.RawMessage
	Output    json.RawMessage
	Summary   json.RawMessage
	Encrypted string `json:"encrypted_content"`

	// Gemini
	Parts        []json.RawMessage
	Thought      bool
	FunctionCall *struct{ Args json.RawMessage }
	Response     *struct{ Response json.RawMessage } `json:"functionResponse"`
	Inline       *struct{ Data string }              `json:"inlineData"`
}

func readContent(raw json.RawMessage) (content, error) {
	var c content
	err := json.Unmarshal(raw, &c)
	return c, err
}

var dataURL = regexp.MustCompile(`^data:[^,]*,`)

// plain is the text of a content value: a text, a block or a list of them. An image is its digest.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		parts := make([]string, len(list))
		for i, x := range list {
			parts[i] = plain(x)
		}
		return strings.Join(parts, "\n")
	}
	c, err := readContent(raw)
	switch {
	case err != nil || len(raw) == 0:
		return ""
	case isImage(c.Type):
		data := c.Source.Data
		if data == "" {
			if json.Unmarshal(c.ImageURL, &data) != nil {
				var at struct{ URL string }
				_ = json.Unmarshal(c.ImageURL, &at)
				data = at.URL
			}
		}
		return digest(data)
	case c.Text != nil && *c.Text != "":
		return *c.Text
	case c.ToolName != "":
		return c.ToolName
	}
	return plain(c.Content)
}

// digest stands for the data of an image.
func digest(data string) string {
	sum := sha256.Sum256([]byte(dataURL.ReplaceAllString(data, "")))
	return "IMG " + hex.EncodeToString(sum[:6])
}

func isImage(kind string) bool {
	return kind == "image" || kind == "input_image" || kind == "image_url"
}

func kindOf(raw json.RawMessage) string {
	if c, err := readContent(raw); err == nil && isImage(c.Type) {
		return "image"
	}
	return "text"
}

// sorted is JSON with sorted keys. JSON in a text is read; other text stays.
func sorted(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// listOf reads a content that may be one text.
func listOf(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	if len(raw) == 0 || string(raw) == "null" || string(raw) == `""` {
		return nil
	}
	return []json.RawMessage{raw}
}

// blocksOf reads the conversation of a body of one of the APIs.
func blocksOf(api string, conversation json.RawMessage) ([]block, error) {
	var messages []json.RawMessage
	if err := json.Unmarshal(conversation, &messages); err != nil {
		return nil, err
	}
	var out []block
	for i, raw := range messages {
		m, err := readContent(raw)
		if err != nil {
			return nil, err
		}
		begin := len(out)
		switch api {
		case "anthropic":
			out = messagesBlocks(out, m)
		case "chat":
			out = chatBlocks(out, m)
		case "responses":
			out = responsesBlocks(out, m, raw)
		case "gemini":
			out = geminiBlocks(out, m)
		}
		for j := begin; j < len(out); j++ {
			out[j].message, out[j].at = i, j-begin
		}
	}
	return out, nil
}

func messagesBlocks(out []block, m content) []block {
	for _, raw := range listOf(m.Content) {
		c, err := readContent(raw)
		if err != nil || c.Type == "" { // a text
			out = append(out, block{role: m.Role, kind: "text", text: plain(raw)})
			continue
		}
		b := block{role: m.Role, kind: c.Type, marked: len(c.CacheControl) > 0 && string(c.CacheControl) != "null"}
		switch c.Type {
		case "tool_use":
			b.call, b.text = c.ID, sorted(c.Input)
		case "tool_result":
			b.call, b.text = c.ToolUseID, plain(c.Content)
		case "thinking":
			b.text = c.Thinking
		case "compaction":
			b.text = c.Signature
		default:
			b.text = plain(raw)
		}
		out = append(out, b)
	}
	return out
}

var attached = regexp.MustCompile(`^Attached (media|image\(s\)) from tool result:`)

func chatBlocks(out []block, m content) []block {
	switch m.Role {
	case "system", "developer":
		return out
	case "tool":
		return append(out, block{role: "user", kind: "tool_result", call: m.ToolCallID, text: plain(m.Content)})
	}
	list := listOf(m.Content)
	if len(out) > 0 && out[len(out)-1].kind == "tool_result" && len(list) > 0 && attached.MatchString(plain(list[0])) {
		// OpenCode and Pi send a result's image this way where results are text only.
		for _, raw := range list[1:] {
			out[len(out)-1].text += "\n" + plain(raw)
		}
		return out
	}
	if m.Reasoning != "" {
		out = append(out, block{role: m.Role, kind: "thinking", text: m.Reasoning})
	}
	for _, raw := range list {
		out = append(out, block{role: m.Role, kind: kindOf(raw), text: plain(raw)})
	}
	for _, c := range m.ToolCalls {
		out = append(out, block{role: "assistant", kind: "tool_use", call: c.ID, text: sorted(json.RawMessage(c.Function.Arguments))})
	}
	return out
}

func responsesBlocks(out []block, m content, raw json.RawMessage) []block {
	switch m.Type {
	case "message", "":
		for _, part := range listOf(m.Content) {
			out = append(out, block{role: m.Role, kind: kindOf(part), text: plain(part)})
		}
	case "function_call":
		out = append(out, block{role: "assistant", kind: "tool_use", call: m.CallID, text: sorted(m.Arguments)})
	case "reasoning":
		out = append(out, block{role: "assistant", kind: "thinking", text: plain(m.Summary)})
	case "compaction":
		out = append(out, block{role: "user", kind: m.Type, text: m.Encrypted})
	case "custom_tool_call":
		out = append(out, block{role: "assistant", kind: "tool_use", call: m.CallID, text: sorted(m.Input)})
	case "function_call_output", "custom_tool_call_output":
		out = append(out, block{role: "user", kind: "tool_result", call: m.CallID, text: plain(m.Output)})
	default:
		text := sorted(raw)
		out = append(out, block{role: m.Type, kind: m.Type, text: text[:min(len(text), 200)]})
	}
	return out
}

func geminiBlocks(out []block, m content) []block {
	role := "user"
	if m.Role == "model" {
		role = "assistant"
	}
	for _, raw := range m.Parts {
		p, err := readContent(raw)
		switch {
		case err != nil:
		case p.FunctionCall != nil:
			out = append(out, block{role: role, kind: "tool_use", text: sorted(p.FunctionCall.Args)})
		case p.Response != nil:
			var r struct{ Output json.RawMessage }
			_ = json.Unmarshal(p.Response.Response, &r)
			text := plain(r.Output)
			if text == "" {
				text = sorted(p.Response.Response)
			}
			out = append(out, block{role: role, kind: "tool_result", text: text})
		case p.Inline != nil:
			out = append(out, block{role: role, kind: "image", text: digest(p.Inline.Data)})
		case p.Thought:
			out = append(out, block{role: role, kind: "thinking", text: plain(raw)})
		default:
			out = append(out, block{role: role, kind: "text", text: plain(raw)})
		}
	}
	return out
}

var (
	// The client's own without a reminder's tags: of Claude Code, and what Qwen Code before 0.20 begins with.
	ownWords = regexp.MustCompile(`^(Tool loaded\.$|This is the Qwen Code\. We are setting up|Got it\. Thanks for the context!$)`)
	queued   = regexp.MustCompile(`^The user sent a new message while you were working:\n((?s:.*?))\n\n(?:This is how|IMPORTANT)(?s:.*)$`)
	ending   = regexp.MustCompile(`(?s)\s*<system-reminder>.*$`)
)

const reminder, reminderEnd = "<system-reminder>", "</system-reminder>"

// withoutReminders leaves out what a client adds to a text: reminders, which may hold reminders.
func withoutReminders(text string) string {
	if ownWords.MatchString(text) {
		return ""
	}
	text = queued.ReplaceAllString(text, "$1")
	for {
		// An innermost reminder begins at the last opening tag before a closing one.
		end := strings.Index(text, reminderEnd)
		if end < 0 {
			break
		}
		begin := strings.LastIndex(text[:end], reminder)
		if begin < 0 {
			// A closing tag of no reminder: what follows it is looked at alone.
			rest := withoutReminders(text[end+len(reminderEnd):])
			return strings.TrimSpace(text[:end+len(reminderEnd)] + rest)
		}
		text = strings.TrimRight(text[:begin], " \t\r\n") + strings.TrimLeft(text[end+len(reminderEnd):], " \t\r\n")
	}
	return strings.TrimSpace(ending.ReplaceAllString(text, ""))
}

// conversation is what people and the model said: prompts, answers, thinking, calls and results, without what the client
// adds of its own. With prompts, a user's text counts only if it is one of them.
func conversation(blocks []block, prompts map[string]bool) []block {
	var out []block
	for _, b := range blocks {
		if b.role == "system" || b.role == "developer" {
			continue
		}
		if b.call == "" || b.kind != "tool_use" && b.kind != "tool_result" {
			b.text = withoutReminders(b.text)
			if b.text == "" {
				continue
			}
		} else if strings.TrimSpace(b.text) != "" {
			b.text = withoutReminders(b.text)
		}
		if b.role == "user" && b.kind == "text" && prompts != nil && !prompts[b.text] {
			continue
		}
		out = append(out, b)
	}
	return out
}
