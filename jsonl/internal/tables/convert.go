package tables

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// row is a row of a session, message or usage.
type row struct {
	unit foreign.Unit
	line int

	Row       string          `json:"row"` // the client's name of a session's
	ID        json.RawMessage `json:"id"`
	MessageID string          `json:"message_id"`
	Model     string          `json:"model"`
	Created   json.RawMessage `json:"created_at"`
	Stamp     json.RawMessage `json:"created_timestamp"`

	Parent    string `json:"parent_session_id"`
	CWD       string `json:"working_dir"`
	Provider  string `json:"provider_name"`
	Title     string `json:"title"`
	Name      string `json:"name"`
	SummaryID string `json:"summary_message_id"` // the payload begins with it
	Config    struct {
		Model  string `json:"model_name"`
		Window int    `json:"context_limit"`
	} `json:"model_config_json"`

	Role    string          `json:"role"`
	Parts   json.RawMessage `json:"parts"`
	Content json.RawMessage `json:"content_json"`
	Summary int             `json:"is_summary_message"`
	Seen    struct {
		User  *bool `json:"userVisible"`
		Agent *bool `json:"agentVisible"`
	} `json:"metadata_json"`

	Input      int     `json:"input_tokens"`
	Output     int     `json:"output_tokens"`
	CacheRead  int     `json:"cache_read_tokens"`
	CacheWrite int     `json:"cache_write_tokens"`
	Cost       float64 `json:"cost"`
	Compaction int     `json:"is_compaction"`

	blocks []foreign.Block
	usage  *foreign.Usage // of a response
}

// hidden reports whether the user does not see a message: Goose wrote it.
func (m *row) hidden() bool { return m.Seen.User != nil && !*m.Seen.User }

func (m *row) key() string { return strings.Trim(string(m.ID), `"`) }

func (m *row) time() time.Time {
	return when(strings.Trim(cmp.Or(string(m.Stamp), string(m.Created)), `"`))
}

// used is the usage of a row that has one; nil: nothing is recorded. The input includes what the cache read and wrote.
func (m *row) used() *foreign.Usage {
	count := func(n int) int { return min(max(n, 0), 1e12) }
	u := &foreign.Usage{Input: count(m.Input), CacheRead: count(m.CacheRead), CacheWrite: count(m.CacheWrite), Output: count(m.Output)}
	if u.Input+u.CacheRead+u.CacheWrite+u.Output == 0 {
		return nil
	}
	if cached := u.CacheRead + u.CacheWrite; u.Input >= cached {
		u.Input -= cached
	}
	if m.Cost > 0 && m.Cost < 1e9 {
		u.Cost = m.Cost
	}
	return u
}

// part is a part of a message. Crush has its members in an object of their own.
type part struct {
	Type      string          `json:"type"`
	Data      json.RawMessage `json:"data"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	MIME      string          `json:"mimeType"`
	ID        string          `json:"id"`

	Request struct {
		Value struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"value"`
	} `json:"toolCall"`
	Response struct {
		Status string          `json:"status"`
		Value  json.RawMessage `json:"value"`
		Error  string          `json:"error"`
	} `json:"toolResult"`

	Name     string `json:"name"`
	Input    string `json:"input"`
	CallID   string `json:"tool_call_id"`
	Content  string `json:"content"`
	IsError  bool   `json:"is_error"`
	Image    string `json:"mime_type"` // of a result's data
	Command  string `json:"command"`
	Printed  string `json:"output"`
	ExitCode int    `json:"exit_code"`
}

// inner is what a part of Crush's holds.
func (p *part) inner() (in part) {
	_ = json.Unmarshal(p.Data, &in) // the readable part
	in.Type = p.Type
	return in
}

// text of a JSON value that is one.
func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

// block is what the model is sent of a part; ok: anything.
func (p *part) block() (b foreign.Block, ok bool) {
	in := p.inner()
	switch p.Type {
	case "text":
		said := cmp.Or(p.Text, in.Text)
		return foreign.Text(said), said != ""
	case "thinking", "reasoning":
		said := cmp.Or(p.Thinking, in.Thinking)
		return foreign.Thinking(said, cmp.Or(p.Signature, in.Signature)), said != ""
	case "image":
		return foreign.Picture(p.MIME, text(p.Data)), true
	case "binary":
		return foreign.Picture(in.MIME, text(in.Data)), true
	case "toolRequest", "frontendToolRequest":
		return foreign.Call(p.ID, p.Request.Value.Name, p.Request.Value.Arguments), true
	case "tool_call":
		return foreign.Call(in.ID, in.Name, []byte(cmp.Or(in.Input, "{}"))), true
	case "toolResponse":
		content, failed := p.result()
		return foreign.Result(p.ID, content, failed), true
	case "tool_result":
		list := []foreign.Block{foreign.Text(in.Content)}
		if data := text(in.Data); data != "" {
			return foreign.Result(in.CallID, append(list, foreign.Picture(in.Image, data)), in.IsError), true
		}
		return foreign.Result(in.CallID, in.Content, in.IsError), true
	case "shell_command":
		return foreign.Text(fmt.Sprintf("$ %s\n%s\n(exit code %d)", in.Command, in.Printed, in.ExitCode)), true
	}
	return b, false
}

// result is the content of a result of Goose's: an object with a list, or the list.
func (p *part) result() (content any, failed bool) {
	if p.Response.Status == "error" {
		return p.Response.Error, true
	}
	var object struct {
		Content []part `json:"content"`
		IsError bool   `json:"isError"`
	}
	if json.Unmarshal(p.Response.Value, &object) != nil {
		_ = json.Unmarshal(p.Response.Value, &object.Content) // the readable part
	}
	list := []foreign.Block{}
	for i := range object.Content {
		if b, ok := object.Content[i].block(); ok {
			list = append(list, b)
		}
	}
	if len(list) == 1 && list[0].Type == "text" {
		return *list[0].Text, object.IsError
	}
	return list, object.IsError
}

// reader converts one session.
type reader struct {
	*foreign.Writer
	session  row
	messages []*row
	usages   []*row // of requests
	compacts []*row // usages of compactions
	agent    string
	prompt   string // the last one
}

func convert(in io.Reader, out *foreign.Writer) error {
	r := &reader{Writer: out}
	err := out.Lines(in, r.read)
	id := text(r.session.ID)
	if r.session.Parent != "" {
		r.agent = id
	}
	s := &r.session
	out.Begin(foreign.Session{Provider: s.Provider, ID: id, Parent: s.Parent, CWD: s.CWD, Window: s.Config.Window})
	if title := cmp.Or(s.Title, s.Name); title != "" {
		out.Put(-1, foreign.Line{Type: "ai-title", Title: title})
	}
	r.bill()
	for i, m := range r.messages {
		if out.Err() != nil {
			break
		}
		r.put(i, m)
	}
	return err
}

func (r *reader) read(u foreign.Unit, e *jsonl.Entry) {
	m := &row{unit: u, line: e.Line}
	r.Decode(e.Raw, e.Line, m)
	switch m.Row {
	case "message":
		var list []part
		if json.Unmarshal(slices.Concat(m.Parts, m.Content), &list) != nil { // a message has one of the two
			r.Warn(e.Line, "malformed-line", "what the message says is no JSON: its row is set aside")
		}
		for i := range list {
			if b, ok := list[i].block(); ok {
				m.blocks = append(m.blocks, b)
			}
		}
		r.messages = append(r.messages, m)
	case "usage":
		if m.Compaction != 0 {
			r.compacts = append(r.compacts, m)
		} else {
			r.usages = append(r.usages, m)
		}
	default:
		r.session = *m
	}
}

// response reports whether a message is a response of the model: of those with one id the first.
func (r *reader) response(i int) bool {
	m := r.messages[i]
	return m.Role == "assistant" && !m.hidden() && len(m.blocks) > 0 &&
		(m.MessageID == "" || i == 0 || r.messages[i-1].Role != "assistant" || r.messages[i-1].MessageID != m.MessageID)
}

// bill gives each response its usage, where there is one for each; else they are calls by themselves.
func (r *reader) bill() {
	var list []*row
	for i, m := range r.messages {
		if r.response(i) {
			list = append(list, m)
		}
	}
	for i, u := range r.usages {
		if used := u.used(); len(list) == len(r.usages) {
			list[i].usage = used
			list[i].Model = u.Model
		} else if used != nil {
			r.PutCall(u.unit, foreign.BilledCall{ID: "usage-" + u.key(), Kind: "other", Model: u.Model, Time: u.time(), Usage: used})
		}
	}
}

// put puts message i.
func (r *reader) put(i int, m *row) {
	l := foreign.Line{Type: "user", UUID: m.key(), Time: m.time(), Agent: r.agent, Sidechain: r.agent != "", Message: foreign.Said(m.blocks...)}
	said := ""
	if len(m.blocks) > 0 && m.blocks[0].Text != nil {
		said = *m.blocks[0].Text
	}
	continued := i+1 < len(r.messages) && r.messages[i+1].hidden() && r.messages[i+1].Role == "assistant"
	switch {
	case len(m.blocks) == 0:
		r.Aside(m.unit, "a message without content")
		return
	case m.Summary != 0 || m.key() == r.session.SummaryID, m.hidden() && m.Role == "user" && continued:
		r.compaction(m, l)
		return
	case m.hidden() && m.Role == "assistant":
		l.Type, l.Message, l.Attachment = "attachment", nil, &foreign.Attachment{Type: "continue", Content: said}
	case m.hidden() && m.Seen.Agent != nil && !*m.Seen.Agent:
		r.Aside(m.unit, "a prompt that stands behind the summary as well")
		return
	case m.hidden(): // a summary of calls
		l.Meta = true
	case m.Role == "assistant":
		l.Type = "assistant"
		l.Message = foreign.Response(cmp.Or(m.MessageID, m.key()), cmp.Or(m.Model, r.session.Config.Model), m.blocks, m.usage)
	case m.Role == "user" && m.blocks[0].Type != "tool_result":
		if i > 0 && r.messages[i-1].hidden() && said == r.prompt { // the turn goes on behind the summary
			l.Turn = foreign.TurnQueued
		}
		r.prompt = said
	case m.Role != "user" && m.Role != "tool":
		r.Aside(m.unit, "a message of an unknown role")
		return
	}
	r.Put(m.unit, l)
}

// compaction puts a summary, with which the payload begins from there on. Who asked for it is not recorded.
func (r *reader) compaction(m *row, l foreign.Line) {
	compact := &foreign.Compact{Trigger: "unknown"}
	if len(r.compacts) > 0 {
		compact.Usage = r.compacts[0].used()
		compact.Model = r.compacts[0].Model
		r.compacts = r.compacts[1:]
	}
	boundary := foreign.Line{Type: "system", Subtype: "compact_boundary", Time: l.Time, Agent: l.Agent, Sidechain: l.Sidechain, Compact: compact}
	r.Put(m.unit, boundary)
	l.Summary = true
	r.Put(m.unit, l)
}
