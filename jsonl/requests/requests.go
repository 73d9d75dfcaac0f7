// Package requests reads the requests that Claude Code records in its session files (2.1.282 on): each as the messages that
// it keeps of an earlier one, and the hashes of those that follow. A hash names a message on a line of its own, or one
// made of lines of the conversation.
package requests

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
)

// The types of lines that hold requests.
const (
	TypeRequest = "api-request"
	TypeMessage = "api-request-blob"
	TypeShape   = "api-request-shape"
	TypeResumed = "api-request-resumed" // a request that goes on with the answer of another
)

// IsType reports whether lines of a type hold requests.
func IsType(name string) bool {
	return name == TypeRequest || name == TypeMessage || name == TypeShape || name == TypeResumed
}

// Log is the requests of one session file. It reads messages again from the file when they are asked for.
type Log struct {
	Requests []LogRequest // in file order
	Findings []LogFinding // by line

	src      *jsonl.Source
	messages []message
	shapes   []shape
	parts    []part
	byAnswer map[string]int  // message.id -> index into Requests
	held     map[int]Message // of the last body, by index into messages: the next one has most of them
}

// LogRequest is one request.
type LogRequest struct {
	ID     string
	Line   int
	Answer string // message.id of the first response to it; "": none is in the file
	Count  int    // messages
	Cut    bool   // the client left a part of it out of the recorded session
	Fault  string // why it cannot be put together; "": it can

	span  jsonl.Span // of the line
	shape int        // index into shapes, or -1
	base  int        // index of the request with the Keep messages, or -1
	keep  int
	tail  []int // indexes into messages
	lacks int   // index of the first message that is not in the file; Count: none
	jump  int   // a base of its bases, see linkOne
	depth int   // number of its bases

	broken int // index of the request of which the finding says that this one cannot be put together either, or -1
}

// LogCode is the kind of a finding. Codes never change.
type LogCode string

// The codes of findings.
const (
	CodeUnreadable LogCode = "unreadable-request"
	CodeRepeated   LogCode = "repeated-request"
	CodeBroken     LogCode = "broken-request"
	CodeHash       LogCode = "wrong-hash"
	CodeUnused     LogCode = "unused-message"
)

// LogFinding is what is wrong with a line.
type LogFinding struct {
	Line    int
	Code    LogCode
	Message string
}

// message is where one is in the file: on a line of its own, or on lines of the conversation.
type message struct {
	line  int        // the first; 0: it is not in the file
	whole jsonl.Span // of one with a line of its own
	parts int        // else 1 + index into Log.parts of the last
	role  string     // then
	used  bool
}

// part is the content of a message on one line.
type part struct {
	first   int // line of the message's first part
	content jsonl.Span
	before  int // index of the part before it, or -1
}

// shape is where a system prompt and tools are.
type shape struct {
	line int
	span jsonl.Span
	used bool
}

// Of is the request that a response answers, or nil.
func (l *Log) Of(answer string) *LogRequest {
	if i, ok := l.byAnswer[answer]; ok && answer != "" {
		return &l.Requests[i]
	}
	return nil
}

// Whole counts the requests that can be put together.
func (l *Log) Whole() (n int) {
	for i := range l.Requests {
		if l.Requests[i].Fault == "" {
			n++
		}
	}
	return n
}

// Messages counts the messages that requests name by their hashes, and those of them that are in the file.
func (l *Log) Messages() (found, of int) {
	for i := range l.Requests {
		for _, m := range l.Requests[i].tail {
			if of++; l.messages[m].line > 0 {
				found++
			}
		}
	}
	return found, of
}

// Read reads the requests of a file. A line that is not understood is a finding, and costs the requests that need it.
func Read(src *jsonl.Source) (*Log, error) {
	r := &reader{Log: &Log{src: src, byAnswer: map[string]int{}}, message: map[Digest]int{}, shape: map[Digest]int{}, request: map[string]int{}, answered: map[string]string{}, last: map[string]int{}}
	if err := src.Each(1, jsonl.ReadOptions{}, r.item); err != nil {
		return nil, err
	}
	r.link()
	r.answer()
	r.unused()
	slices.SortStableFunc(r.Findings, func(a, b LogFinding) int { return a.Line - b.Line })
	return r.Log, nil
}

// reader reads a log.
type reader struct {
	*Log
	message  map[Digest]int    // index into messages
	shape    map[Digest]int    // index into shapes
	request  map[string]int    // id -> index into Requests
	bases    []string          // ids, of Requests
	answered map[string]string // message.id -> id of its request, or ""
	order    []string          // those messages
	after    []int             // of those messages: the last request before
	runs     Runs
	last     map[string]int // index of the last part, by session
	buf      []byte
}

func (r *reader) add(line int, code LogCode, format string, args ...any) {
	r.Findings = append(r.Findings, LogFinding{line, code, fmt.Sprintf(format, args...)})
}

func (r *reader) item(rec *jsonl.Item) error {
	if rec.Kind != jsonl.ItemEntry {
		return nil
	}
	switch e := rec.Entry; e.Type {
	case TypeRequest:
		r.addRequest(e)
	case TypeMessage:
		r.addMessage(e)
	case TypeShape:
		r.addShape(e)
	case "user", "assistant":
		r.addLine(e)
	}
	return nil
}

func (r *reader) addRequest(e *jsonl.Entry) {
	var line struct {
		ID        string   `json:"id"`
		ShapeHash string   `json:"shapeHash"`
		Base      string   `json:"base"`
		Keep      int      `json:"keep"`
		Tail      []string `json:"tail"`
		Cut       any      `json:"cut"`
		cachePlaces
	}
	if err := json.Unmarshal(e.Raw, &line); err != nil || line.ID == "" || line.Keep < 0 {
		r.add(e.Line, CodeUnreadable, "the request is not readable: it is not used")
		return
	}
	if first, again := r.request[line.ID]; again {
		r.add(e.Line, CodeRepeated, "line %d has the request %s: this one is not used", r.Requests[first].Line, line.ID)
		return
	}
	q := LogRequest{
		ID: line.ID, Line: e.Line, Cut: line.Cut != nil,
		span: jsonl.Span{Off: e.Offset, Len: len(e.Raw)}, shape: -1, base: -1, keep: line.Keep, broken: -1,
	}
	if h, ok := readHash(line.ShapeHash); ok {
		q.shape = r.shapeOf(h)
	}
	for _, text := range line.Tail {
		h, ok := readHash(text)
		if !ok && q.Fault == "" {
			q.Fault = fmt.Sprintf("%.80q is no hash of a message", text)
		}
		q.tail = append(q.tail, r.messageOf(h))
	}
	r.request[line.ID] = len(r.Requests)
	r.Requests = append(r.Requests, q)
	r.bases = append(r.bases, line.Base)
}

// cachePlaces are the breakpoints of a request, and its digest.
type cachePlaces struct {
	CacheControl  []cachePlace `json:"cacheControl"`
	RequestDigest string       `json:"requestDigest"`
}

// cachePlace is a breakpoint.
type cachePlace struct {
	Path  []json.RawMessage `json:"path"`
	Value json.RawMessage   `json:"value"`
}

func readHash(text string) (h Digest, ok bool) {
	b, err := hex.DecodeString(text)
	return Digest(slices.Concat(b, make([]byte, len(h)))[:len(h)]), err == nil && len(b) == len(h)
}

// messageOf is the index of the message with a hash.
func (r *reader) messageOf(h Digest) int { return indexOf(r.message, &r.messages, h) }

func (r *reader) shapeOf(h Digest) int { return indexOf(r.shape, &r.shapes, h) }

// indexOf is the index of what has a hash, which is added where it is not there.
func indexOf[T any](places map[Digest]int, list *[]T, h Digest) int {
	i, ok := places[h]
	if !ok {
		i = len(*list)
		places[h] = i
		*list = append(*list, *new(T))
	}
	return i
}

// hashed is the value of a line, and the hash that it is named by; ok is false where it has not both.
func hashed(e *jsonl.Entry, name, of string) (value []byte, named Digest, ok bool) {
	eachMember(e.Raw, func(key string, v []byte) {
		switch key {
		case name:
			text, _ := jsonl.Unquote(v)
			named, ok = readHash(text)
		case of:
			value = v
		}
	})
	return value, named, ok && value != nil
}

// addMessage adds a message with a line of its own.
func (r *reader) addMessage(e *jsonl.Entry) {
	value, named, ok := hashed(e, "hash", "message")
	text, fine := appendMessage(r.buf[:0], value)
	r.buf = text
	_, role := jsonl.Unquote(Member(value, "role"))
	content := Member(value, "content")
	if !ok || !fine || !role || len(content) == 0 || content[0] != '"' && content[0] != '[' {
		r.add(e.Line, CodeUnreadable, "the message is not readable: it is not used")
		return
	}
	if sha256.Sum256(text) != named {
		r.add(e.Line, CodeHash, "the message is not the one with the hash %x: it is not used", named[:6])
		return
	}
	if m := &r.messages[r.messageOf(named)]; m.line == 0 || m.parts > 0 { // after a compaction the client may write one again
		m.line = e.Line
		m.parts = 0
		m.whole, _ = e.SpanOf(value)
	}
}

// addShape adds a system prompt with tools. One that does not have its hash is used all the same, with a finding: the
// messages are not of it.
func (r *reader) addShape(e *jsonl.Entry) {
	value, named, ok := hashed(e, "shapeHash", "shape")
	text, fine := appendSorted(r.buf[:0], value)
	r.buf = text
	if !ok || !fine {
		r.add(e.Line, CodeUnreadable, "the system prompt and tools are not readable: they are not used")
		return
	}
	s := &r.shapes[r.shapeOf(named)]
	if s.line > 0 {
		return
	}
	if sha256.Sum256(text) != named {
		r.add(e.Line, CodeHash, "the system prompt and tools are not those with the hash %x: they were changed after they were recorded", named[:6])
	}
	s.line = e.Line
	s.span, _ = e.SpanOf(value)
}

// answer finds which request each response answers: the line names it, or the request stands before it.
func (r *reader) answer() {
	named := make([]bool, len(r.Requests))
	for _, id := range r.answered {
		if i, ok := r.request[id]; ok {
			named[i] = true
		}
	}
	for k, id := range r.order {
		i, ok := r.request[r.answered[id]]
		if !ok && r.answered[id] == "" {
			i = r.after[k]
			ok = i >= 0 && !named[i] && r.Requests[i].Answer == ""
		}
		if !ok {
			continue
		}
		r.byAnswer[id] = i
		if q := &r.Requests[i]; q.Answer == "" {
			q.Answer = id
		}
	}
}

// unused reports what no request uses.
func (r *reader) unused() {
	for i := range r.Requests {
		q := &r.Requests[i]
		for _, m := range q.tail {
			r.messages[m].used = true
		}
		if q.shape >= 0 {
			r.shapes[q.shape].used = true
		}
	}
	for i := range r.messages {
		if m := &r.messages[i]; m.line > 0 && m.parts == 0 && !m.used {
			r.add(m.line, CodeUnused, "no request has the message")
		}
	}
	for i := range r.shapes {
		if s := &r.shapes[i]; s.line > 0 && !s.used {
			r.add(s.line, CodeUnused, "no request has the system prompt and tools")
		}
	}
}
