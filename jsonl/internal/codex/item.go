package codex

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// item is a response item: what the model is sent, and what it answers.
type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Phase     string          `json:"phase"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Content   json.RawMessage `json:"content"`
	Summary   json.RawMessage `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
	Arguments json.RawMessage `json:"arguments"` // of a function: its JSON as a string
	Input     json.RawMessage `json:"input"`
	Action    json.RawMessage `json:"action"`
	Prompt    json.RawMessage `json:"revised_prompt"`
	Output    json.RawMessage `json:"output"`
	Tools     json.RawMessage `json:"tools"`
}

// name gives an item the type that it has in this package: versions have several names for one.
func (it *item) name() {
	switch it.Type {
	case "compaction_summary", "context_compaction":
		it.Type = "compaction"
	case "additional_tools":
		it.Type = "message"
		it.Role = "developer"
		it.Content = content(compact(it.Tools))
	}
}

// agent makes the item of what another agent says.
func (it *item) agent(payload []byte) error {
	var said struct {
		Content string `json:"content"`
	}
	if err := json.Unmarshal(payload, &said); err != nil {
		return err
	}
	it.Type, it.Content = "agent_message", content(said.Content)
	return nil
}

// content is the content of a message that is one text.
func content(s string) json.RawMessage {
	raw, _ := json.Marshal([]text{{Type: "input_text", Text: s}}) // strings always can be
	return raw
}

// endOfResponse is the type of a part that is no item: a token count in a copy.
const endOfResponse = "end of response"

// redacted stands for encrypted content that was taken out of a file.
const redacted = "REDACTED"

// encrypted is the item's encrypted content; "": it is not known.
func (it *item) encrypted() string {
	if it.Encrypted == redacted {
		return ""
	}
	return it.Encrypted
}

// texts are the parts of a content that have one.
type text struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Image string `json:"image_url"`

	Encrypted string `json:"encrypted_content,omitempty"` // of what another agent says
}

// texts reads a list of texts, or a string.
func texts(raw json.RawMessage) (list []text) {
	var s string
	if json.Unmarshal(raw, &list) != nil && json.Unmarshal(raw, &s) == nil {
		return []text{{Text: s}}
	}
	return list
}

// blocks are the blocks of a content.
func blocks(raw json.RawMessage) (out []foreign.Block) {
	for _, t := range texts(raw) {
		if t.Encrypted != "" {
			out = append(out, foreign.Block{Type: "encrypted_content", Signature: (&item{Encrypted: t.Encrypted}).encrypted()})
			continue
		}
		if t.Image == "" {
			out = append(out, foreign.Text(t.Text))
			continue
		}
		out = append(out, picture(t.Image))
	}
	return out
}

// picture is an image by its address, or its data.
func picture(url string) foreign.Block {
	source := map[string]string{"type": "url", "url": url}
	if media, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,"); ok {
		source = map[string]string{"type": "base64", "media_type": media, "data": data}
	}
	return foreign.Block{Type: "image", Source: source}
}

// joined is all text of a content.
func joined(raw json.RawMessage) string {
	var b strings.Builder
	for _, t := range texts(raw) {
		b.WriteString(t.Text)
	}
	return b.String()
}

// contextual are the beginnings and ends of user messages that the client writes.
var contextual = [][2]string{
	{"# agents.md instructions", "</instructions>"},
	{"<user_instructions>", "</user_instructions>"},
	{"<environment_context>", "</environment_context>"},
	{"<skill>", "</skill>"},
	{"<user_shell_command>", "</user_shell_command>"},
	{"<turn_aborted>", "</turn_aborted>"},
	{"<subagent_notification>", "</subagent_notification>"},
	{"<hook_prompt", "</hook_prompt>"},
	{"<goal_context>", "</goal_context>"},
	{"<extension_context>", "</extension_context>"},
	{"<codex_internal_context", "</codex_internal_context>"},
	{"<external_", ">"},
	{"warning: the maximum number of unified exec processes you can keep open is", ""},
	{"warning: your account was flagged for potentially high-risk cyber activity", ""},
}

// added reports whether the client wrote a user message: any of its texts shows it.
func added(raw json.RawMessage) bool {
	for _, t := range texts(raw) {
		s := strings.TrimSpace(t.Text)
		for _, c := range contextual {
			if len(s) >= len(c[0])+len(c[1]) && strings.EqualFold(s[:len(c[0])], c[0]) && strings.EqualFold(s[len(s)-len(c[1]):], c[1]) {
				return true
			}
		}
	}
	return false
}

// item reads one item of the history.
func (c *converter) item(p part) {
	it := &p.item
	c.endCounted()
	c.endCompaction(false)
	switch it.Type {
	case endOfResponse:
		c.endResponse(p.used)
		return
	case "ghost_snapshot":
		c.Aside(p.unit, asideGhost)
		return
	case "message":
		if it.Role == "system" {
			c.Aside(p.unit, asideSystem)
			return
		}
	case "reasoning", "function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call",
		"image_generation_call", "compaction", "agent_message":
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output":
		if !c.calls[it.CallID] {
			c.Aside(p.unit, asideOrphan)
			return
		}
		c.output = c.output || len(c.answer) > 0
	default:
		c.Aside(p.unit, "unknown item: "+it.Type)
		return
	}
	if len(c.answer) == 0 {
		c.before = c.spoken
	}
	c.spoken = true
	if !it.generated() {
		if len(c.answer) > 0 {
			c.rest = append(c.rest, p)
		} else {
			c.write(&p)
		}
		return
	}
	if c.output { // a response has all its items before the first output of its calls
		c.endResponse(nil)
	}
	if it.CallID != "" {
		c.calls[it.CallID] = true
	}
	c.answer = append(c.answer, p)
	c.resets = it.Name == "new_context"
}

// generated reports whether a model writes such items.
func (it *item) generated() bool {
	switch it.Type {
	case "message":
		return it.Role == "assistant"
	case "reasoning", "function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call",
		"image_generation_call", "compaction":
		return true
	}
	return false
}

// known reports whether an item has a type that rollouts without records have.
func (it *item) known() bool {
	switch it.Type {
	case "ghost_snapshot", "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		return true
	}
	return it.Type == "message" || it.generated()
}

// endResponse writes the response in progress, then what came since. Without usage it was interrupted, or its count is
// not recorded.
func (c *converter) endResponse(u *foreign.Usage) {
	answer := c.answer
	rest := c.rest
	id := c.usedID
	if u == nil {
		u = c.used
	}
	if r := c.billed; u == nil && r != nil && len(answer) > 0 {
		u = r.used()
		id = r.ID
		c.billed = nil
	}
	c.answer = nil
	c.rest = nil
	c.output = false
	c.used = nil
	c.usedID = ""
	if len(answer) > 0 {
		c.n++
		m := foreign.Message{ID: fmt.Sprintf("response-%d", c.n), Type: "message", Role: "assistant", Model: c.model, Usage: u}
		m.StopReason = "end_turn"
		for i := range answer {
			if strings.HasSuffix(answer[i].item.Type, "_call") && answer[i].item.CallID != "" {
				m.StopReason = "tool_use"
			}
		}
		if u == nil && !c.unmetered {
			m.StopReason = ""
		}
		for i := range answer {
			p := &answer[i]
			own := m
			own.Content = p.item.answered()
			uuid := c.put(p, foreign.Line{Type: "assistant", Message: &own, Request: c.request(id), NoRequest: u == nil && !c.unmetered || c.copied})
			c.history = append(c.history, entry{uuid: uuid, said: p.item.retained()})
		}
	}
	for i := range rest {
		c.write(&rest[i])
	}
}

// request tells a response apart from those of all sessions.
func (c *converter) request(id string) string {
	if id == "" && c.session.ID != "" {
		return fmt.Sprintf("%s/%d", c.session.ID, c.n)
	}
	return id
}

// answered is an item of the model as blocks; nothing for a response without items.
func (it *item) answered() []foreign.Block {
	switch it.Type {
	case "message":
		return blocks(it.Content)
	case "reasoning":
		return []foreign.Block{foreign.Thinking(joined(it.Summary)+joined(it.Content), it.encrypted())}
	case "function_call":
		var s string
		if json.Unmarshal(it.Arguments, &s) == nil {
			return []foreign.Block{foreign.Call(it.CallID, it.Name, []byte(s))}
		}
		return []foreign.Block{foreign.Call(it.CallID, it.Name, orNull(it.Arguments))}
	case "custom_tool_call":
		return []foreign.Block{foreign.Call(it.CallID, it.Name, orNull(it.Input))}
	case "local_shell_call":
		return []foreign.Block{foreign.Call(it.CallID, "local_shell", orNull(it.Action))}
	case "tool_search_call":
		return []foreign.Block{foreign.Call(it.CallID, "tool_search", orNull(it.Arguments))}
	case "web_search_call", "image_generation_call":
		b := foreign.Call(it.ID, strings.TrimSuffix(it.Type, "_call"), orNull(it.Action))
		if it.Type == "image_generation_call" {
			b = foreign.Call(it.ID, "image_generation", orNull(it.Prompt))
		}
		b.Type = "server_tool_use" // the provider runs it, and its result is on no line
		return []foreign.Block{b}
	case "compaction":
		return []foreign.Block{foreign.Thinking("", it.encrypted())}
	}
	return nil
}

func orNull(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}

// retained identifies what a compaction may keep of the history; "": nothing.
func (it *item) retained() string {
	if it.Type != "message" || it.Role == "assistant" && it.Phase == "commentary" {
		return ""
	}
	return it.Role + "\n" + joined(it.Content)
}

// write writes an item that is no model's.
func (c *converter) write(p *part) {
	it := &p.item
	l := foreign.Line{Type: "user", Message: &foreign.Message{}}
	var e entry
	switch it.Type {
	case "message", "agent_message":
		l.Message.Content = blocks(it.Content)
		e.context = it.Role == "developer" || added(it.Content)
		e.boundary = !e.context
		l.Meta = e.context
		e.said = it.retained()
		if e.boundary {
			e.text = joined(it.Content)
		}
	case "tool_search_output":
		l.Message.Content = []foreign.Block{foreign.Result(it.CallID, c.cut(compact(it.Tools)), false)}
	default:
		l.Message.Content = []foreign.Block{foreign.Result(it.CallID, c.result(it.Output), false)}
	}
	e.uuid = c.put(p, l)
	c.history = append(c.history, e)
}

func compact(raw json.RawMessage) string {
	b, err := json.Marshal(raw)
	if err != nil {
		return ""
	}
	return string(b)
}

// result is the output of a call as the history keeps it: a string, or a list of blocks.
func (c *converter) result(raw json.RawMessage) any {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return c.cut(s)
	}
	var list []text
	if json.Unmarshal(raw, &list) != nil {
		var o struct { // the form of early versions
			Content string `json:"content"`
		}
		if json.Unmarshal(raw, &o) == nil && o.Content != "" {
			return c.cut(o.Content)
		}
		return c.cut(compact(raw))
	}
	room := c.kept()
	out := []foreign.Block{}
	for _, t := range list {
		switch {
		case t.Image != "":
			out = append(out, picture(t.Image))
		case len(t.Text) <= room:
			out = append(out, foreign.Text(t.Text))
			room -= len(t.Text)
		case room > 0:
			out = append(out, foreign.Text(shortened(t.Text, room)))
			room = 0
		}
	}
	return out
}

// cut is an output as the history keeps it.
func (c *converter) cut(s string) string {
	if len(s) <= c.kept() {
		return s
	}
	return shortened(s, c.kept())
}

// shortened is the beginning and the end of a text, of a total number of bytes, and between them how many tokens are
// missing.
func shortened(s string, room int) string {
	head := room / 2
	tail := len(s) - (room - room/2)
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s…%d tokens truncated…%s", s[:head], (len(s)-room+3)/4, s[tail:])
}
