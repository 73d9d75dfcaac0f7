package requests

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// SentBody is what was sent: the parameters of the call, the system prompt, the tools and the messages.
type SentBody struct {
	Params   []Param // as recorded, in order
	System   []byte  // JSON, with its cache breakpoints; nil: it is not in the file
	Tools    []byte
	Messages []Message
	Line     int      // of the system prompt and tools; 0: not in the file
	Wrong    []string // parts of the line that do not fit the request, and are left out

	digest string
}

// Param is one parameter of a call.
type Param struct {
	Name  string
	Value json.RawMessage
}

// Param is the value of a parameter, nil without it.
func (b *SentBody) Param(name string) json.RawMessage {
	if i := slices.IndexFunc(b.Params, func(p Param) bool { return p.Name == name }); i >= 0 {
		return b.Params[i].Value
	}
	return nil
}

// Message is one message of a request.
type Message struct {
	Role   string
	Line   int // of the file, the first with a part of it
	Blocks []Block
}

// Block is one block of a message.
type Block struct {
	JSON []byte
	Mark json.RawMessage // its cache_control; nil: it is no breakpoint
}

// Body puts a request together.
func (l *Log) Body(q *LogRequest) (*SentBody, error) {
	if q.Fault != "" {
		return nil, errors.New(q.Fault)
	}
	raw, err := l.src.ReadSpan(q.span)
	if err != nil {
		return nil, err
	}
	b := &SentBody{}
	held := map[int]Message{}
	for _, m := range l.list(q) {
		msg, ok := l.held[m]
		if !ok {
			if msg, err = l.read(&l.messages[m]); err != nil {
				return nil, err
			}
		}
		held[m] = msg
		msg.Blocks = slices.Clone(msg.Blocks) // marks belong to this request
		b.Messages = append(b.Messages, msg)
	}
	l.held = held
	if b.Line = l.ShapeLine(q); b.Line > 0 {
		shape, err := l.src.ReadSpan(l.shapes[q.shape].span)
		if err != nil {
			return nil, err
		}
		b.System, b.Tools = Member(shape, "system"), Member(shape, "tools")
	}
	eachMember(Member(raw, "params"), func(key string, value []byte) { b.Params = append(b.Params, Param{key, value}) })
	var line cachePlaces
	if err := json.Unmarshal(raw, &line); err != nil {
		return nil, err
	}
	b.digest = line.RequestDigest
	for i := range line.CacheControl {
		if m := &line.CacheControl[i]; !b.mark(m) {
			b.Wrong = append(b.Wrong, fmt.Sprintf("a cache breakpoint at %.80s, where nothing can have one: it is left out", fmt.Sprintf("%s", m.Path)))
		}
	}
	return b, nil
}

// read reads a message.
func (l *Log) read(m *message) (msg Message, err error) {
	msg = Message{Role: m.role, Line: m.line}
	if m.parts == 0 {
		raw, err := l.src.ReadSpan(m.whole)
		if err != nil {
			return msg, err
		}
		if err := json.Unmarshal(Member(raw, "role"), &msg.Role); err != nil {
			return msg, fmt.Errorf("line %d: a message without a role", m.line)
		}
		msg.Blocks = blocks(nil, Member(raw, "content"))
		return msg, nil
	}
	var contents [][]byte
	for i := m.parts - 1; i >= 0; i = l.parts[i].before {
		raw, err := l.src.ReadSpan(l.parts[i].content)
		if err != nil {
			return msg, err
		}
		contents = append(contents, raw)
	}
	for _, raw := range slices.Backward(contents) {
		msg.Blocks = blocks(msg.Blocks, raw)
	}
	return msg, nil
}

// blocks appends the blocks of a content.
func blocks(list []Block, content []byte) []Block {
	for _, value := range texts(content) {
		list = append(list, Block{JSON: value})
	}
	return list
}

// eachElement calls fn with the elements of an array that is JSON.
func eachElement(raw []byte, fn func(value []byte)) {
	if len(raw) == 0 || raw[0] != '[' {
		return
	}
	m := scan.Array(raw, 0, 0)
	for m.Next() {
		from := m.At
		if m.At, m.Code = scan.Value(raw, from, 1); m.Code == scan.OK {
			fn(raw[from:m.At])
		}
	}
}

// mark puts a cache breakpoint at its place. It reports false where there is no such place.
func (b *SentBody) mark(at *cachePlace) (ok bool) {
	var top string
	if len(at.Path) < 2 || json.Unmarshal(at.Path[0], &top) != nil {
		return false
	}
	path := at.Path[1:]
	switch top {
	case "system":
		if b.System != nil {
			b.System, ok = insert(b.System, path, at.Value)
		}
		return ok || b.Line == 0
	case "tools":
		if b.Tools != nil {
			b.Tools, ok = insert(b.Tools, path, at.Value)
		}
		return ok || b.Line == 0
	case "messages":
		var m, k int
		if len(path) < 3 || json.Unmarshal(path[0], &m) != nil || json.Unmarshal(path[2], &k) != nil || m < 0 || k < 0 || m >= len(b.Messages) || k >= len(b.Messages[m].Blocks) {
			return false
		}
		bl := &b.Messages[m].Blocks[k]
		if len(path) > 3 {
			bl.JSON, ok = insert(bl.JSON, path[3:], at.Value)
			return ok
		}
		if bl.JSON[0] == '{' {
			bl.Mark = at.Value
			ok = true
		}
	}
	return ok
}

// insert adds cache_control to the object at a path of a value.
func insert(raw []byte, path []json.RawMessage, value []byte) ([]byte, bool) {
	if len(path) == 0 {
		if len(raw) < 2 || raw[0] != '{' {
			return raw, false
		}
		return withMember(raw, withoutMarks, value), true
	}
	var name string
	var index int
	var found []byte
	if json.Unmarshal(path[0], &name) == nil {
		found = Member(raw, name)
	} else if json.Unmarshal(path[0], &index) == nil {
		k := 0
		eachElement(raw, func(v []byte) {
			if k == index {
				found = v
			}
			k++
		})
	}
	if len(found) == 0 {
		return raw, false
	}
	changed, ok := insert(found, path[1:], value)
	at := cap(raw) - cap(found)
	return slices.Concat(raw[:at], changed, raw[at+len(found):]), ok
}

// withMember adds a member to the end of an object.
func withMember(object []byte, name string, value []byte) []byte {
	head := bytes.TrimRight(object[:len(object)-1], " \t\r\n")
	comma := ","
	if len(head) == 1 {
		comma = ""
	}
	return slices.Concat(head, []byte(comma+`"`+name+`":`), value, []byte("}"))
}

// Append appends the block's JSON with its breakpoint.
func (b *Block) Append(dst []byte) []byte {
	if b.Mark == nil {
		return append(dst, b.JSON...)
	}
	return append(dst, withMember(b.JSON, withoutMarks, b.Mark)...)
}

// Append appends the message's JSON.
func (m *Message) Append(dst []byte) []byte {
	role, _ := json.Marshal(m.Role)
	dst = append(append(append(dst, `{"role":`...), role...), `,"content":[`...)
	for i := range m.Blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = m.Blocks[i].Append(dst)
	}
	return append(dst, `]}`...)
}

// Append appends the body's JSON, with one message a line.
func (b *SentBody) Append(dst []byte) []byte {
	dst = append(dst, "{\n"...)
	member := func(name string, value []byte) {
		key, _ := json.Marshal(name)
		dst = append(append(append(append(dst, key...), ':'), value...), ",\n"...)
	}
	for _, p := range b.Params {
		member(p.Name, p.Value)
	}
	if b.System != nil {
		member("system", b.System)
	}
	if b.Tools != nil {
		member("tools", b.Tools)
	}
	dst = append(dst, `"messages":[`...)
	for i := range b.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = b.Messages[i].Append(append(dst, '\n'))
	}
	return append(dst, "\n]}\n"...)
}

// Exact reports whether the whole body is the one that the client sent, by the digest that it recorded; known is false
// where it recorded none.
func (b *SentBody) Exact() (exact, known bool) {
	if b.digest == "" {
		return false, false
	}
	text, _, code := scan.AppendSorted(nil, b.Append(nil), 0, 0, "")
	sum := sha256.Sum256(text)
	return code == scan.OK && hex.EncodeToString(sum[:]) == b.digest, true
}

// Shape is the system prompt and the tools of a request, without breakpoints.
type Shape struct {
	Line          int      // of the file
	System, Tools [][]byte // its texts and definitions, JSON each
}

// ShapeLine is the line of a request's system prompt and tools, 0 where they are not in the file.
func (l *Log) ShapeLine(q *LogRequest) int {
	if q.shape < 0 {
		return 0
	}
	return l.shapes[q.shape].line
}

// Shape reads the system prompt and the tools of a request, nil where they are not in the file.
func (l *Log) Shape(q *LogRequest) (*Shape, error) {
	s := &Shape{Line: l.ShapeLine(q)}
	if s.Line == 0 {
		return nil, nil
	}
	raw, err := l.src.ReadSpan(l.shapes[q.shape].span)
	if err != nil {
		return nil, err
	}
	s.System, s.Tools = texts(Member(raw, "system")), texts(Member(raw, "tools"))
	return s, nil
}

// texts are the elements of a value; a string is one text.
func texts(raw []byte) (list [][]byte) {
	if len(raw) > 0 && raw[0] == '"' {
		raw = textBlocks(raw)
	}
	eachElement(raw, func(v []byte) { list = append(list, v) })
	return list
}
