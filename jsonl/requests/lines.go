package requests

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// withoutMarks is the member that hashes leave out.
const withoutMarks = "cache_control"

// eachMember calls fn with the members of an object that is JSON.
func eachMember(raw []byte, fn func(key string, value []byte)) {
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	m := scan.Object(raw, 0, 0)
	for m.Next() {
		key, _ := m.Key()
		from := m.At
		if m.At, m.Code = scan.Value(raw, from, m.Depth()); m.Code == scan.OK {
			fn(string(key), raw[from:m.At])
		}
	}
}

// Member is the value of an object's member, nil where it has none.
func Member(raw []byte, name string) (value []byte) {
	eachMember(raw, func(key string, v []byte) {
		if key == name {
			value = v
		}
	})
	return value
}

// appendSorted appends the input of the hash of a value.
func appendSorted(dst, raw []byte) ([]byte, bool) {
	dst, _, code := scan.AppendSorted(dst, raw, 0, 0, withoutMarks)
	return dst, code == scan.OK
}

// appendMessage appends the input of the hash of a message: a content that is a string counts as one block of text.
func appendMessage(dst, raw []byte) ([]byte, bool) {
	if content := Member(raw, "content"); len(content) > 0 && content[0] == '"' {
		at := cap(raw) - cap(content) // both end where their memory does
		raw = bytes.Join([][]byte{raw[:at], textBlocks(content), raw[at+len(content):]}, nil)
	}
	if len(raw) == 0 || raw[0] != '{' {
		return dst, false
	}
	return appendSorted(dst, raw)
}

// textBlocks is a content of one text.
func textBlocks(quoted []byte) []byte {
	return bytes.Join([][]byte{[]byte(`[{"type":"text","text":`), quoted, []byte(`}]`)}, nil)
}

// Digest is the SHA-256 of a message, or of a system prompt with tools, that requests name.
type Digest [sha256.Size]byte

// String is the sum as lines write it.
func (s Digest) String() string { return hex.EncodeToString(s[:]) }

// SumOf is the sum of a value without its breakpoints; ok is false where it is no JSON.
func SumOf(raw []byte) (sum Digest, ok bool) {
	text, ok := appendSorted(nil, raw)
	return sha256.Sum256(text), ok
}

// SumOfMessage is the sum of a message.
func SumOfMessage(raw []byte) (sum Digest, ok bool) {
	text, ok := appendMessage(nil, raw)
	return sha256.Sum256(text), ok
}

// Runs are the messages that lines of a conversation make: adjacent lines of one session form one message as far as they
// go, the user's, or of one response.
type Runs struct {
	now map[string]*run // by session
	buf []byte
}

type run struct {
	role, id string
	hash     hash.Hash // of the content so far
	blocks   int
}

// Add is the sum of the message that ends with a line of a session, of this role and message.id; begins: no line before
// belongs to it. ok is false where the line has no content, which ends a message.
func (r *Runs) Add(session, role, id string, content []byte) (sum Digest, begins, ok bool) {
	if role == "" || len(content) == 0 || content[0] != '"' && content[0] != '[' {
		delete(r.now, session)
		return sum, false, false
	}
	now := r.now[session]
	if begins = now == nil || now.role != role || role != "user" && (id == "" || now.id != id); begins {
		now = &run{role: role, id: id, hash: sha256.New()}
		now.hash.Write([]byte(`{"content":[`))
		if r.now == nil {
			r.now = map[string]*run{}
		}
		r.now[session] = now
	}
	if content[0] == '"' {
		content = textBlocks(content)
	}
	blocks := scan.Array(content, 0, 0)
	for blocks.Next() {
		r.buf = r.buf[:0]
		if now.blocks++; now.blocks > 1 {
			r.buf = append(r.buf, ',')
		}
		r.buf, blocks.At, blocks.Code = scan.AppendSorted(r.buf, content, blocks.At, 1, withoutMarks)
		now.hash.Write(r.buf)
	}
	sum, ok = now.sum()
	return sum, begins, ok
}

// sum is the hash of the message so far.
func (now *run) sum() (sum Digest, ok bool) {
	cloner, ok := now.hash.(hash.Cloner)
	if !ok {
		return sum, false
	}
	state, err := cloner.Clone()
	if err != nil {
		return sum, false
	}
	role, _ := json.Marshal(now.role)
	state.Write([]byte(`],"role":`))
	state.Write(append(role, '}'))
	return Digest(state.Sum(nil)), true
}

// addLine adds the message that ends with a line of the conversation.
func (r *reader) addLine(e *jsonl.Entry) {
	if e.Type == "assistant" && e.Message.Model != "<synthetic>" {
		r.noteAnswer(e)
	}
	content := Member(Member(e.Raw, "message"), "content")
	sum, begins, ok := r.runs.Add(e.SessionID, e.Message.Role, e.Message.ID, content)
	if !ok {
		return
	}
	p := part{first: e.Line, before: -1}
	if p.content, ok = e.SpanOf(content); !ok {
		return
	}
	if last, had := r.last[e.SessionID]; had && !begins {
		p.first = r.parts[last].first
		p.before = last
	}
	r.last[e.SessionID] = len(r.parts)
	r.parts = append(r.parts, p)
	if m := &r.messages[r.messageOf(sum)]; m.line == 0 {
		*m = message{line: p.first, parts: len(r.parts), role: e.Message.Role}
	}
}

// noteAnswer notes which request a response says that it answers.
func (r *reader) noteAnswer(e *jsonl.Entry) {
	id := e.Message.ID
	if _, again := r.answered[id]; again || id == "" {
		return
	}
	ref, _ := jsonl.Unquote(Member(e.Raw, "requestRef"))
	r.answered[id] = ref
	r.order = append(r.order, id)
	r.after = append(r.after, len(r.Requests)-1)
}
