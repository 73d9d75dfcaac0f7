// Package qwen reads the chats of Qwen Code: JSON lines with Claude Code's tree around the contents of Gemini's API.
//
// A line of an assistant is one request; its input includes what was read from the cache. What a compression leaves is in
// its line as a whole (chatRecordingService.ts and session-api-history.ts of qwen-code).
package qwen

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// words.txt lists the words that carry the structure of a session.
//
//go:embed words.txt
var words string

// Form is the form of Qwen Code's chats.
func Form() foreign.Form {
	return foreign.Form{
		Name: "qwen-code", Client: "Qwen Code", Looks: looks, Convert: convert, Words: words,
		Declared: foreign.Declared{
			Reads:     "chats",
			Exact:     "tokens of each request, with the cache that it read, branches, compressions with what they kept",
			Estimated: "the request of a compression",
		},
		Store: foreign.Store{Home: ".qwen", Folder: "projects", Inside: []string{"*", "*/chats"}},
		Tools: foreign.Tools(`
			Read: read_file read_many_files
			Write: write_file
			Edit: edit replace
			Bash: run_shell_command
			Glob: glob
			Grep: grep_search search_file_content
			LS: list_directory
			WebFetch: web_fetch
			WebSearch: web_search
			Task: task agent
			TodoWrite: todo_write
			Skill: skill
			AskUserQuestion: ask_user_question
		`),
	}
}

// looks recognises a line with both a place in a tree and parts.
func looks(v *foreign.Value) bool {
	return v.Has("uuid", "sessionId") && v.Fields["message.parts"] == "[" && !v.Has("message.content")
}

// record is a line.
type record struct {
	UUID      string    `json:"uuid"`
	Parent    string    `json:"parentUuid"`
	SessionID string    `json:"sessionId"`
	Time      time.Time `json:"timestamp"`
	Type      string    `json:"type"`
	Subtype   string    `json:"subtype"`
	CWD       string    `json:"cwd"`
	Version   string    `json:"version"`
	Model     string    `json:"model"`
	Window    int       `json:"contextWindowSize"`
	Agent     string    `json:"agentId"`
	Sidechain bool      `json:"isSidechain"`
	Message   *content  `json:"message"`
	Usage     *usage    `json:"usageMetadata"`
	Payload   payload   `json:"systemPayload"`
	Call      struct {
		Status string `json:"status"`
	} `json:"toolCallResult"`
	Fork struct {
		SessionID string `json:"sessionId"`
	} `json:"forkedFrom"`
}

// payload is what a system line says.
type payload struct {
	Title   string    `json:"customTitle"`
	Command string    `json:"rawCommand"`
	History []content `json:"compressedHistory"`
	Info    struct {
		Before int `json:"originalTokenCount"`
		After  int `json:"newTokenCount"`
	} `json:"info"`
}

// content is a message as Gemini's API has it.
type content struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	Text      string `json:"text"`
	Thought   bool   `json:"thought"`
	Signature string `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string          `json:"id"`
		Response json.RawMessage `json:"response"`
		Parts    []part          `json:"parts"` // pictures within the result
	} `json:"functionResponse"`
	Inline *struct {
		MIME string `json:"mimeType"`
		Data string `json:"data"`
	} `json:"inlineData"`
}

// usage is that of a request: the prompt includes what was read from the cache. Candidates include thoughts where the
// total shows it.
type usage struct {
	Prompt     int `json:"promptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
	Cached     int `json:"cachedContentTokenCount"`
	Total      int `json:"totalTokenCount"`
}

func (u *usage) recorded() *foreign.Usage {
	if u == nil || u.Prompt+u.Candidates <= 0 {
		return nil
	}
	out := &foreign.Usage{Input: max(u.Prompt-u.Cached, 0), CacheRead: max(u.Cached, 0), Output: max(u.Candidates, 0)}
	if u.Thoughts > 0 && u.Total == u.Prompt+u.Candidates+u.Thoughts {
		out.Output += u.Thoughts
	}
	out.Thinks(u.Thoughts)
	return out
}

// reader converts one session.
type reader struct {
	*foreign.Writer
	begun bool
	about foreign.Session
	above map[string]string // uuid -> that of the line in the conversation that it hangs on, where it is none itself
	said  map[string]string // digest of a content, id of a call, or resultOf one -> uuid of the last line with it
	asked bool              // the user asked for a compression
}

// resultOf is before the id of a call whose result a line has.
const resultOf = "result of "

// key is a block's key in said; "": it has none.
func key(b foreign.Block) string {
	if b.ToolUseID != "" {
		return resultOf + b.ToolUseID
	}
	return b.ID
}

func convert(in io.Reader, out *foreign.Writer) error {
	r := &reader{Writer: out, above: map[string]string{}, said: map[string]string{}}
	return out.Lines(in, r.line)
}

// begin writes what recorded the session, once it is known, and again where the window changes.
func (r *reader) begin(rec *record) {
	if !r.begun || rec.Window > 0 && rec.Window != r.about.Window {
		if !r.begun {
			r.about = foreign.Session{Version: rec.Version, ID: rec.SessionID, CWD: rec.CWD}
		}
		r.begun = true
		r.about.Window = max(rec.Window, r.about.Window)
		r.Begin(r.about)
	}
}

// parent is the line in the conversation that a record hangs on.
func (r *reader) parent(rec *record) string {
	if above, ok := r.above[rec.Parent]; ok {
		return above
	}
	return rec.Parent
}

func (r *reader) line(u foreign.Unit, e *jsonl.Entry) {
	var rec record
	r.Decode(e.Raw, e.Line, &rec)
	r.begin(&rec)
	switch {
	case rec.Type == "system" && rec.Subtype == "chat_compression":
		r.compression(u, &rec)
		return
	case rec.Type == "system" && rec.Payload.Title != "":
		r.Put(u, foreign.Line{Type: "ai-title", Title: rec.Payload.Title})
	case rec.Type == "system":
		if rec.Subtype == "slash_command" && strings.HasPrefix(rec.Payload.Command, "/compress") {
			r.asked = true
		}
		r.Aside(u, "not sent: "+strings.TrimSpace("system "+rec.Subtype))
	case rec.Type != "user" && rec.Type != "assistant" && rec.Type != "tool_result":
		r.Aside(u, "unknown type")
	case rec.Message == nil:
		r.Aside(u, "a message without content")
	case rec.Subtype == "realtime_message" || rec.Subtype == "code_mode_tool_result":
		r.Aside(u, "not sent: "+rec.Subtype)
	default:
		r.message(u, &rec)
		return
	}
	r.above[rec.UUID] = r.parent(&rec)
}

// put puts a line of a record.
func (r *reader) put(u foreign.Unit, rec *record, l foreign.Line) {
	l.Root = l.Parent == ""
	l.Time = rec.Time
	l.Agent = rec.Agent
	l.Sidechain = rec.Sidechain
	r.Put(u, l)
}

// message puts a prompt, a response or results.
func (r *reader) message(u foreign.Unit, rec *record) {
	blocks := rec.Message.blocks(rec.Call.Status)
	l := foreign.Line{Type: "user", Message: foreign.Said(blocks...)}
	if rec.Type == "assistant" {
		use := rec.Usage.recorded()
		if use == nil && len(blocks) == 0 {
			r.Aside(u, "a message without content")
			r.above[rec.UUID] = r.parent(rec)
			return
		}
		l.Type = "assistant"
		l.NoRequest = rec.Fork.SessionID != ""
		l.Message = foreign.Response(rec.UUID, rec.Model, blocks, use)
	} else if len(blocks) == 0 {
		r.Aside(u, "a message without content")
		r.above[rec.UUID] = r.parent(rec)
		return
	}
	if rec.Type == "user" && rec.Subtype != "" { // a notification, a prompt while the agent ran, a planned one
		l.Turn = foreign.TurnQueued
	}
	if rec.Type == "user" {
		r.asked = false
	}
	r.said[rec.Message.digest()] = rec.UUID
	for _, b := range blocks {
		r.said[key(b)] = rec.UUID
	}
	delete(r.said, "")
	l.UUID, l.Parent = rec.UUID, r.parent(rec)
	r.put(u, rec, l)
}

// blocks are the blocks of a content.
func (c *content) blocks(status string) (list []foreign.Block) {
	for i := range c.Parts {
		switch p := &c.Parts[i]; {
		case p.Call != nil:
			list = append(list, foreign.Call(p.Call.ID, p.Call.Name, p.Call.Args))
		case p.Response != nil:
			list = append(list, foreign.Result(p.Response.ID, p.result(), status == "error" || status == "cancelled"))
		case p.Inline != nil:
			list = append(list, p.picture())
		case p.Thought && p.Text != "":
			list = append(list, foreign.Thinking(p.Text, p.Signature))
		case p.Text != "":
			list = append(list, foreign.Text(p.Text))
		}
	}
	return list
}

// picture is the block of a part that holds a file.
func (p *part) picture() foreign.Block {
	return foreign.Picture(p.Inline.MIME, p.Inline.Data)
}

// result is the content of a result, a text or blocks where it has pictures.
func (p *part) result() any {
	var said struct {
		Output *string `json:"output"`
		Error  *string `json:"error"`
	}
	_ = json.Unmarshal(p.Response.Response, &said)
	text := string(p.Response.Response)
	switch {
	case said.Output != nil:
		text = *said.Output
	case said.Error != nil:
		text = *said.Error
	}
	list := []foreign.Block{foreign.Text(text)}
	for i := range p.Response.Parts {
		if within := &p.Response.Parts[i]; within.Inline != nil {
			list = append(list, within.picture())
		}
	}
	if len(list) > 1 {
		return list
	}
	return text
}

// digest tells contents apart.
func (c *content) digest() string {
	text, _ := json.Marshal(c.Parts) // of what was read from JSON
	sum := sha256.Sum256(append(text, c.Role...))
	return string(sum[:])
}

// compression puts a compression: the history that it left is the summary, the model's short answer to it, what the client
// sends again, and the messages that were kept. Results of the last calls follow it, and have their lines before it.
func (r *reader) compression(u foreign.Unit, rec *record) {
	compact := &foreign.Compact{Trigger: "auto", PreTokens: rec.Payload.Info.Before, PostTokens: rec.Payload.Info.After, Preserved: &foreign.Preserved{}}
	if r.asked {
		compact.Trigger = "manual"
	}
	var written []foreign.Line
	var results []string
	kept := map[string]bool{"": true}
	keep := func(uuid string) {
		if !kept[uuid] {
			kept[uuid] = true
			compact.Order = append(compact.Order, uuid)
			compact.Preserved.UUIDs = append(compact.Preserved.UUIDs, uuid)
		}
	}
	for i := range rec.Payload.History {
		c := &rec.Payload.History[i]
		said, ok := r.said[c.digest()]
		keep(said)
		l := foreign.Line{Type: "user", UUID: fmt.Sprintf("%s-%d", rec.UUID, i), Summary: true, Message: &foreign.Message{}}
		if c.Role == "model" {
			l.Message.Role = "assistant"
		}
		for _, b := range c.blocks("") {
			at, known := r.said[key(b)]
			if b.ID != "" {
				results = append(results, r.said[resultOf+b.ID])
			}
			if keep(at); !known && !ok {
				if l.Message.Content == nil {
					compact.Order = append(compact.Order, l.UUID)
				}
				l.Message.Content = append(l.Message.Content, b)
			}
		}
		if l.Message.Content != nil {
			written = append(written, l)
		}
	}
	for _, uuid := range results {
		keep(uuid)
	}
	r.put(u, rec, foreign.Line{UUID: rec.UUID, Parent: r.parent(rec), Type: "system", Subtype: "compact_boundary", Compact: compact})
	for _, l := range written {
		l.Parent = r.Last()
		r.put(u, rec, l)
	}
	r.above[rec.UUID] = r.Last()
	r.asked = false
}
