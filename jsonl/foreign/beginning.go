package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/database"
)

// Beginning is what is known of a file by its beginning.
type Beginning struct {
	Bytes  []byte  // the beginning of the decompressed content
	Whole  bool    // it is all of it
	Values []Value // the JSON values in it, the last one perhaps in part; at most maxValues
}

// Value is a JSON value at the top of a file.
type Value struct {
	Kind byte // '{', '[', '"', or another first byte

	// Fields are the members of an object, and those of an object that is a member, as "outer.inner"; of an array those
	// of its first element, as "[].name". A string stands for itself, an object or array for its bracket, any other
	// value for its JSON text.
	Fields map[string]string
}

// Has reports whether the value has all of these members.
func (v *Value) Has(names ...string) bool {
	for _, n := range names {
		if _, ok := v.Fields[n]; !ok {
			return false
		}
	}
	return true
}

const (
	maxValues = 32   // in a Beginning
	maxPassed = 1000 // lines that are not JSON, passed over before and between them
	maxText   = 1024 // bytes of a string in Fields
)

// NewBeginning reads the beginning of a file. Lines that are not JSON are passed over, maxPassed of them.
func NewBeginning(b []byte, whole bool) *Beginning {
	h := &Beginning{Bytes: b, Whole: whole}
	rest := bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF"))
	for passed := 0; len(h.Values) < maxValues && passed < maxPassed; {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		if len(rest) == 0 {
			break
		}
		dec := json.NewDecoder(bytes.NewReader(rest))
		dec.UseNumber()
		v := Value{Kind: rest[0], Fields: map[string]string{}}
		err := v.read(dec, "", 0)
		if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			h.Values = append(h.Values, v)
			if err != nil {
				break
			}
			rest = rest[dec.InputOffset():]
			continue
		}
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
		passed++
	}
	return h
}

// read reads one value and notes its members, those of inner objects down to a depth of two.
func (v *Value) read(dec *json.Decoder, path string, depth int) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	switch t := tok.(type) {
	case json.Delim:
		if path != "" {
			v.Fields[path] = t.String()
		}
		for i := 0; dec.More(); i++ {
			inner := "" // not noted
			if t == '{' {
				key, err := dec.Token()
				if err != nil {
					return err
				}
				if name, _ := key.(string); depth < 2 && (depth == 0 || path != "") {
					inner = strings.TrimPrefix(path+"."+name, ".")
				}
			} else if depth == 0 && i == 0 {
				inner = "[]"
			}
			if err := v.read(dec, inner, depth+1); err != nil {
				return err
			}
		}
		_, err = dec.Token()
		return err
	case string:
		if path != "" {
			v.Fields[path] = t[:min(len(t), maxText)]
		}
	default:
		if path != "" {
			v.Fields[path] = fmt.Sprint(t)
		}
	}
	return nil
}

// Looks is the format that a file at a path looks like, nil for none of these; "" is a stream.
func Looks(h *Beginning, file string, formats []Form) *Form {
	for i := range formats {
		f := &formats[i]
		if slices.ContainsFunc(h.Values, func(v Value) bool { return f.Looks(&v) }) || f.Beside != nil && file != "" && f.Beside(h, file) {
			return f
		}
	}
	return nil
}

// RefusedError is the error for a file that is no session of a known agent.
type RefusedError struct{ text string }

// Error implements error.
func (e *RefusedError) Error() string { return e.text }

// Refuse is the error for a file that is no session of a known agent: what it looks like, and what can be done.
func Refuse(h *Beginning, formats []Form) *RefusedError {
	names := []string{"Claude Code"}
	for i := range formats {
		names = append(names, formats[i].Client)
	}
	known := "sessions of " + strings.Join(names, ", ") + " can be read"
	if what := h.what(); what != "" {
		if strings.Contains(what, ": ") { // it says what to do
			return &RefusedError{"it looks like " + what}
		}
		return &RefusedError{"it looks like " + what + ", not like a session: " + known}
	}
	return &RefusedError{"no line of it is a session's: " + known}
}

// what is what a file that is no session looks like; "" where nothing tells.
func (h *Beginning) what() string {
	if len(h.Bytes) == 0 {
		return "an empty file"
	}
	if len(bytes.TrimSpace(h.Bytes)) == 0 {
		return "a file of blank lines"
	}
	switch {
	case bytes.HasPrefix(h.Bytes, []byte(database.Magic)):
		return "an SQLite database in a stream or archive: name its file"
	case len(h.Bytes) > 4 && string(h.Bytes[:3]) == database.WALMagic[:3] && h.Bytes[3]&^1 == database.WALMagic[3]:
		return "the write-ahead log of an SQLite database: name the database next to it"
	}
	for i := range h.Values {
		v := &h.Values[i]
		list := v.Kind == '['
		switch {
		case v.Has("trajectory") && v.Fields["trajectory"] == "[", v.Has("history", "info") && v.Fields["history"] == "[":
			return "an SWE-agent trajectory"
		case v.Fields["session"] == "{" && v.Fields["items"] == "[":
			return "a session of the first Codex CLI, which records no calls"
		case v.Has("type", "thread_id") && v.Fields["type"] == "thread.started":
			return "the event stream of a run of Codex CLI: the session itself is below ~/.codex/sessions"
		case v.Has("protocol_version", "created_at") && v.Fields["type"] == "metadata":
			return "a session of Kimi Code, the successor of Kimi CLI"
		case strings.HasPrefix(v.Fields["role"], "_"):
			return "the context that Kimi CLI goes on with: name the wire.jsonl next to it"
		case list && v.Has("[].sessionId", "[].messageId", "[].message"):
			return "the log of prompts of Gemini CLI: its sessions are in the folder chats next to it"
		case list && v.Has("[].ts", "[].type") && (v.Has("[].say") || v.Has("[].ask")):
			return "what the window of Cline or Roo Code shows of a task: name the api_conversation_history.json next to it"
		case list && v.Has("[].role", "[].parts"), list && v.Has("[].role", "[].content"), v.Fields["messages"] == "[" && (v.Has("model") || v.Has("system")),
			v.Kind == '{' && v.Has("role", "content"):
			return "a list of API messages without the calls that sent them"
		case v.Has("type", "sessionID", "part"):
			return "the event stream of opencode run: write the session with opencode export"
		case v.Has("resourceLogs"), v.Has("resourceSpans"):
			return "OpenTelemetry data"
		}
	}
	if !utf8.Valid(h.Bytes[:max(0, len(h.Bytes)-utf8.UTFMax)]) || bytes.IndexByte(h.Bytes, 0) >= 0 {
		return "binary data"
	}
	if len(h.Values) == 0 {
		return "text"
	}
	switch v := &h.Values[0]; v.Kind {
	case '{':
		return "JSON objects of another kind"
	case '[':
		return "a JSON array"
	default:
		return "text"
	}
}
