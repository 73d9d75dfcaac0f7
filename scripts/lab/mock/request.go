package mock

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
)

// request is the body of a model request, of any of the four APIs.
type request struct {
	fields       map[string]json.RawMessage
	conversation json.RawMessage // messages, input or contents
	system       json.RawMessage
	tools        json.RawMessage
	model        string
	stream       bool
	agent        string // id of the subagent that asks, by its header
	messages     []message
}

// message is an entry of a conversation, as far as the mock reads it.
type message struct {
	Role    string
	Type    string
	Content json.RawMessage
	Parts   json.RawMessage
}

// parseRequest reads a body. A conversation that is a plain text counts as no messages.
func parseRequest(body []byte) (*request, error) {
	r := &request{}
	if err := json.Unmarshal(body, &r.fields); err != nil {
		return nil, err
	}
	first := func(names ...string) json.RawMessage {
		for _, name := range names {
			if v := r.fields[name]; len(v) > 0 && string(v) != "null" {
				return compact(v)
			}
		}
		return nil
	}
	r.conversation = first("messages", "input", "contents")
	r.system = first("system", "instructions", "systemInstruction")
	r.tools = first("tools")
	_ = json.Unmarshal(r.fields["model"], &r.model)
	_ = json.Unmarshal(r.fields["stream"], &r.stream)
	_ = json.Unmarshal(r.conversation, &r.messages)
	return r, nil
}

func compact(v json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return v
	}
	return b.Bytes()
}

// params is the body without conversation, system prompt, tools and ids of the user.
func (r *request) params() map[string]json.RawMessage {
	p := maps.Clone(r.fields)
	for _, name := range []string{"messages", "input", "contents", "system", "instructions", "systemInstruction", "tools", "metadata", "client_metadata"} {
		delete(p, name)
	}
	return p
}

// toolCount counts tools; Gemini's stand together in one entry.
func (r *request) toolCount() int { return len(r.toolNames(nil)) }

// toolNames lists the tools that a filter takes, or all.
func (r *request) toolNames(take func(kind string) bool) []string {
	type tool struct {
		Type, Name string
		Functions  []tool `json:"functionDeclarations"`
	}
	var tools []tool
	_ = json.Unmarshal(r.tools, &tools)
	var names []string
	for _, t := range tools {
		if len(t.Functions) == 0 {
			t.Functions = []tool{t}
		}
		for _, f := range t.Functions {
			if take == nil || take(f.Type) {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// userTexts lists the texts of the user's messages, results of tools left out.
func (r *request) userTexts() []string {
	var texts []string
	for _, m := range r.messages {
		if m.Role != "user" {
			continue
		}
		for _, part := range []json.RawMessage{m.Content, m.Parts} {
			var v any
			if json.Unmarshal(part, &v) == nil {
				texts = appendTexts(texts, v)
			}
		}
	}
	return texts
}

func appendTexts(texts []string, v any) []string {
	switch v := v.(type) {
	case string:
		return append(texts, v)
	case []any:
		for _, x := range v {
			texts = appendTexts(texts, x)
		}
	case map[string]any:
		if v["type"] == "tool_result" || v["type"] == "function_call_output" || v["role"] == "tool" || v["functionResponse"] != nil || v["functionCall"] != nil {
			return texts
		}
		for _, name := range []string{"text", "content", "parts"} {
			texts = appendTexts(texts, v[name])
		}
	}
	return texts
}

// wantsRemoteCompaction reports whether Codex asks its provider to compact.
func (r *request) wantsRemoteCompaction() bool {
	return len(r.messages) > 0 && r.messages[len(r.messages)-1].Type == "compaction_trigger"
}

var (
	oneMark   = regexp.MustCompile(`,"cache_control":\{[^{}]*\}`)
	firstMark = regexp.MustCompile(`"cache_control":\{[^{}]*\},?`)
)

// prefix is what the server counts, in the order in which providers cache it: tools, system prompt and conversation,
// without cache marks, which move while the content stays. marked is the length of its part up to the last mark; all of
// it where an API has no marks.
func (r *request) prefix() (text []rune, marked int) {
	for _, v := range []json.RawMessage{r.tools, r.system, r.conversation} {
		if marks := oneMark.FindAllIndex(v, -1); len(marks) > 0 {
			marked = len(text) + len(withoutMarks(v[:marks[len(marks)-1][0]]))
		}
		text = append(append(text, withoutMarks(v)...), '\n')
	}
	if marked == 0 {
		marked = len(text)
	}
	return text, marked
}

func withoutMarks(v []byte) []rune {
	return []rune(string(firstMark.ReplaceAll(oneMark.ReplaceAll(v, nil), nil)))
}
