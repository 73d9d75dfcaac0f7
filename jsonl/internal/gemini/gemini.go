// Package gemini reads the chats of Gemini CLI: one JSON document, or since 2026 JSON lines.
//
// A document holds a list of messages. The lines hold a record of the session first, then one record for each message,
// again where it has changed, and {"$set": …} and {"$rewindTo": id}. A $set of the messages is a history that the
// client has rewritten: it compressed it, which is a compaction, or masked old tool results. (chatRecordingService.ts of
// gemini-cli.)
//
// A message of the model that has tokens is one request; one without goes on with the request before it. Its tool
// calls hold their results, which the next request sends. The input includes what was read from the cache.
package gemini

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// words.txt lists the words that carry the structure of a session.
//
//go:embed words.txt
var words string

// Form is the form of Gemini CLI's chats.
func Form() foreign.Form {
	return foreign.Form{
		Name: "gemini-cli", Client: "Gemini CLI", Looks: looks, Convert: convert, Words: words,
		Declared: foreign.Declared{
			Reads:     "chats: one document, or JSON lines",
			Exact:     "tokens of each request, with the cache that it read",
			Estimated: "the request of a compression; writes to the cache",
		},
		Store: foreign.Store{Home: ".gemini", Folder: "tmp", Inside: []string{"*", "*/chats", "*/chats/*"}},
		Tools: foreign.Tools(`
			Read: read_file read_many_files
			Write: write_file
			Edit: replace
			Bash: run_shell_command
			Glob: glob
			Grep: search_file_content grep_search
			LS: list_directory
			WebFetch: web_fetch
			WebSearch: google_web_search
		`),
	}
}

func looks(v *foreign.Value) bool { return v.Has("sessionId", "projectHash") }

// chat is what a record says of the whole session.
type chat struct {
	SessionID string `json:"sessionId"`
	Summary   string `json:"summary"`
}

// message is one message.
type message struct {
	unit foreign.Unit
	line int

	ID        string          `json:"id"`
	Timestamp time.Time       `json:"timestamp"`
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	Tokens    *tokens         `json:"tokens"`
	Model     string          `json:"model"`
	Calls     []toolCall      `json:"toolCalls"`

	kept    []string // of a compression: ids of the messages that it kept
	summary string   // of a compression
}

// The types of messages that stand for a compression, and for a resume.
const (
	compression = "$compression"
	resumed     = "$resumed"
)

type tokens struct {
	Input    int `json:"input"`
	Output   int `json:"output"`
	Cached   int `json:"cached"`
	Thoughts int `json:"thoughts"`
	Tool     int `json:"tool"`
}

// recorded is the usage of a request: the input includes what was read from the cache, the output has no thoughts. The
// results of tools that the API runs are input.
func (t *tokens) recorded() *foreign.Usage {
	if t == nil || t.Input+t.Output+t.Thoughts <= 0 {
		return nil
	}
	u := &foreign.Usage{Input: max(t.Input+t.Tool-t.Cached, 0), CacheRead: max(t.Cached, 0), Output: max(t.Output+t.Thoughts, 0)}
	u.Thinks(t.Thoughts)
	return u
}

type toolCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Result json.RawMessage `json:"result"`
	Status string          `json:"status"`
}

// part is one of a content.
type part struct {
	Text     string `json:"text"`
	Thought  bool   `json:"thought"`
	Response *struct {
		ID       string          `json:"id"`
		Response json.RawMessage `json:"response"`
		Parts    json.RawMessage `json:"parts"` // pictures within the result
	} `json:"functionResponse"`
	Inline *struct {
		MIME string `json:"mimeType"`
		Data string `json:"data"`
	} `json:"inlineData"`
}

// parts are those of a content: a string, a part or a list of both.
func parts(raw json.RawMessage) (list []part) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '[':
		var all []json.RawMessage
		_ = json.Unmarshal(raw, &all)
		for _, one := range all {
			if len(one) > 0 && one[0] != '[' {
				list = append(list, parts(one)...)
			}
		}
	case '"':
		var s string
		_ = json.Unmarshal(raw, &s)
		list = []part{{Text: s}}
	case '{':
		var p part
		_ = json.Unmarshal(raw, &p) // the readable part
		list = []part{p}
	}
	return list
}

// reader converts one session.
type reader struct {
	*foreign.Writer
	chat     chat
	messages []*message          // in order
	at       map[string]int      // id -> index
	copies   map[string]bool     // ids of records that are copies of others
	begins   bool                // a process began, and has not written its history yet
	left     []*message          // that were rewound
	open     string              // id of the request that a message without tokens goes on with
	uuids    map[string][]string // of the lines put of a message, by its id
}

func convert(in io.Reader, out *foreign.Writer) error {
	text, err := out.Limits.ReadDocument(in)
	r := &reader{Writer: out, at: map[string]int{}, copies: map[string]bool{}, uuids: map[string][]string{}}
	if isDocument(text) {
		r.document(text)
	} else if e := out.Lines(bytes.NewReader(text), r.record); e != nil {
		err = e
	}
	out.Begin(foreign.Session{ID: r.chat.SessionID})
	if r.chat.Summary != "" {
		out.Put(-1, foreign.Line{Type: "ai-title", Title: r.chat.Summary})
	}
	for _, m := range r.messages {
		r.put(m)
	}
	for _, m := range r.left {
		if u := m.Tokens.recorded(); u != nil {
			out.PutCall(m.unit, foreign.BilledCall{ID: m.ID, Kind: "branch", Model: m.Model, Time: m.Timestamp, Usage: u})
		}
	}
	return err
}

// isDocument reports whether a text is one document: its first object has the list of messages, or does not end on its
// first line.
func isDocument(text []byte) bool {
	m := scan.Object(text, scan.Space(text, 0), 0)
	for m.Next() {
		if key, _ := m.Key(); string(key) == "messages" {
			return true
		}
		m.At, m.Code = scan.Value(text, m.At, m.Depth())
	}
	return m.Code != scan.OK && bytes.Contains(bytes.TrimSpace(text[:min(m.At, len(text))]), []byte("\n"))
}

// add adds a message; one with the id of an earlier one takes its place.
func (r *reader) add(m *message) {
	if at, ok := r.at[m.ID]; ok && m.ID != "" {
		r.Aside(r.messages[at].unit, "an earlier record of the same message")
		r.messages[at] = m
		return
	}
	r.at[m.ID] = len(r.messages)
	r.messages = append(r.messages, m)
}

func (r *reader) decode(raw []byte, u foreign.Unit, line int) *message {
	m := &message{unit: u, line: line}
	r.Decode(raw, line, m)
	return m
}

// document reads a document as far as it is whole.
func (r *reader) document(text []byte) {
	_, line, fault := foreign.Members(text, func(name string, value []byte, line int) {
		switch name {
		case "messages[]":
			r.add(r.decode(value, r.Unit(line), line))
		case "messages":
			r.Aside(r.Unit(line), "no list of messages")
		default:
			r.about(map[string]json.RawMessage{name: value})
		}
	})
	if fault != "" {
		r.Aside(r.Unit(line), "malformed")
		r.Warn(line, "malformed-line", "the document ends here, or is damaged (%s): what is before it is used", fault)
	}
}

// about reads the description of the session.
func (r *reader) about(head map[string]json.RawMessage) {
	_ = json.Unmarshal(head["sessionId"], &r.chat.SessionID)
	_ = json.Unmarshal(head["summary"], &r.chat.Summary)
}

// rewritten reads a history that the client has rewritten; true: the unit is used. One that begins with messages which
// are not recorded elsewhere, and leaves out some that are, is a compression: the first of them is its summary; the model's short answer to that is left out.
func (r *reader) rewritten(set map[string]json.RawMessage, u foreign.Unit, line int) bool {
	var list []json.RawMessage
	_ = json.Unmarshal(set["messages"], &list)
	if len(r.messages) == 0 {
		for _, raw := range list {
			r.add(r.decode(raw, r.Unit(line), line))
		}
		return false
	}
	c := &message{unit: u, line: line, Type: compression}
	_ = json.Unmarshal(set["lastUpdated"], &c.Timestamp)
	kept := map[string]bool{}
	again := false
	for _, raw := range list {
		var m message
		_ = json.Unmarshal(raw, &m) // the readable part
		_, known := r.at[m.ID]
		switch {
		case r.copies[m.ID]:
		case known && m.ID != "":
			kept[m.ID] = true
			c.kept = append(c.kept, m.ID)
		case m.Type == "user" && c.summary == "" && len(c.kept) == 0:
			for _, p := range parts(m.Content) {
				c.summary += p.Text
			}
		default:
			again = again || m.Type == "user" && slices.ContainsFunc(parts(m.Content), func(p part) bool { return p.Response != nil })
		}
	}
	dropped := slices.ContainsFunc(r.messages, func(m *message) bool { return (m.Type == "user" || m.Type == "gemini") && !kept[m.ID] })
	switch {
	case r.begins && len(kept) == len(list): // a new process writes down what it begins with, before it reads the session back
		return false
	case again && !dropped:
		r.messages = append(r.messages, &message{unit: u, line: line, Type: resumed, Timestamp: c.Timestamp})
		return true
	case c.summary == "" || !dropped:
		if dropped {
			r.leaveCopies(kept)
		}
		r.Warn(line, "unreadable-metadata", "the client rewrote its history here (it masked old results, or left messages out): the messages stay as they were recorded first")
		return false
	}
	r.messages = append(r.messages, c)
	return true
}

// leaveCopies sets the records aside that a client makes of a history that it rewrites, under new ids and without tokens:
// those behind the last request that are in the new history. They are no requests.
func (r *reader) leaveCopies(kept map[string]bool) {
	from := len(r.messages)
	copies := false
	for ; from > 0 && r.messages[from-1].Tokens == nil && r.messages[from-1].Type != compression && r.messages[from-1].Type != resumed; from-- {
		m := r.messages[from-1]
		copies = copies || m.Type == "gemini" && len(m.Calls) == 0 && kept[m.ID]
	}
	if !copies {
		return
	}
	behind := r.messages[from:]
	r.messages = r.messages[:from]
	for _, m := range behind {
		if !kept[m.ID] {
			r.at[m.ID] = len(r.messages)
			r.messages = append(r.messages, m)
			continue
		}
		r.Aside(m.unit, "a copy of the history that the client rewrote")
		delete(r.at, m.ID)
		r.copies[m.ID] = true
	}
}

// record reads a line.
func (r *reader) record(u foreign.Unit, e *jsonl.Entry) {
	var rec struct {
		ID     *string                    `json:"id"`
		Rewind *string                    `json:"$rewindTo"`
		Set    map[string]json.RawMessage `json:"$set"`
		chat
	}
	_ = json.Unmarshal(e.Raw, &rec)
	switch {
	case rec.Rewind != nil:
		r.Aside(u, "a rewind")
		at, ok := r.at[*rec.Rewind]
		if !ok {
			at = 0 // as the client does
		}
		for _, m := range r.messages[at:] {
			r.Aside(m.unit, "abandoned branch")
			delete(r.at, m.ID)
		}
		r.left = append(r.left, r.messages[at:]...)
		r.messages = r.messages[:at]
	case rec.ID != nil:
		r.begins = false
		r.add(r.decode(bytes.Clone(e.Raw), u, e.Line))
	case rec.Set != nil:
		r.about(rec.Set)
		if rec.Set["messages"] == nil || !r.rewritten(rec.Set, u, e.Line) {
			r.Aside(u, "metadata: $set")
		}
	case rec.SessionID != "":
		if r.begins = true; r.chat.SessionID == "" {
			r.chat = rec.chat
		}
		r.Aside(u, "metadata: session")
	default:
		r.Aside(u, "no type")
	}
}
