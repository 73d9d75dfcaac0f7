package session_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// A line is one line of a hand-made session, still without its JSON.
type line map[string]any

// with sets a field.
func (l line) with(key string, value any) line {
	l[key] = value
	return l
}

func chained(kind, uuid, parent string) line {
	l := line{"type": kind, "uuid": uuid, "parentUuid": nil, "sessionId": "s1", "isSidechain": false, "version": "2.1.50", "timestamp": "2026-02-01T10:00:00.000Z"}
	if parent != "" {
		l["parentUuid"] = parent
	}
	return l
}

// user is a user line whose content is a string, or blocks.
func user(uuid, parent string, content any) line {
	return chained("user", uuid, parent).with("message", line{"role": "user", "content": content})
}

// result is the line with a tool call's result.
func result(uuid, parent, id string) line {
	return user(uuid, parent, []any{line{"type": "tool_result", "tool_use_id": id, "content": "result of " + id}})
}

// assistant is one line of the message id: a block of its own, a usage of 100 tokens in and 5 out.
func assistant(uuid, parent, id string, block line) line {
	return chained("assistant", uuid, parent).with("message", line{
		"id": id, "role": "assistant", "model": "claude-opus-4-6", "content": []any{block}, "usage": usage(100, 5),
	})
}

func usage(in, out int) line {
	return line{"input_tokens": in, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 3, "output_tokens": out}
}

// used sets the usage of an assistant line.
func (l line) used(in, out int) line {
	l["message"].(line)["usage"] = usage(in, out)
	return l
}

func text(s string) line { return line{"type": "text", "text": s} }
func thinking() line     { return line{"type": "thinking", "thinking": "hm", "signature": "c2ln"} }
func call(id string) line {
	return line{"type": "tool_use", "id": id, "name": "Read", "input": line{"file_path": id + ".go"}}
}

func said(uuid, parent, id string) line { return assistant(uuid, parent, id, text("said "+uuid)) }

func called(uuid, parent, id, tool string) line { return assistant(uuid, parent, id, call(tool)) }

func progress(uuid, parent string) line {
	return chained("progress", uuid, parent).with("data", line{"type": "hook_progress"})
}

func attachment(uuid, parent, kind string) line {
	return chained("attachment", uuid, parent).with("attachment", line{"type": kind, "content": "some text"})
}

func system(uuid, parent, subtype string) line {
	return chained("system", uuid, parent).with("subtype", subtype)
}

// boundary is a compact boundary; logical is the last message before it.
func boundary(uuid, logical, trigger string, tokens int) line {
	return system(uuid, "", "compact_boundary").with("logicalParentUuid", logical).
		with("compactMetadata", line{"trigger": trigger, "preTokens": tokens})
}

func summary(uuid, parent string) line {
	return user(uuid, parent, "This session is being continued from a previous conversation.").with("isCompactSummary", true)
}

func micro(uuid, parent string, saved int, ids ...string) line {
	return system(uuid, parent, "microcompact_boundary").
		with("microcompactMetadata", line{"trigger": "auto", "preTokens": 58573, "tokensSaved": saved, "compactedToolIds": ids, "clearedAttachmentUUIDs": []string{}})
}

func lastPrompt(leaf string) line {
	return line{"type": "last-prompt", "lastPrompt": "x", "leafUuid": leaf, "sessionId": "s1"}
}

func snapshot() line { return line{"type": "file-history-snapshot", "messageId": "x"} }

func queued(uuid, parent, prompt string) line {
	return chained("attachment", uuid, parent).with("attachment", line{"type": "queued_command", "prompt": prompt, "commandMode": "prompt"})
}

// forms are the functions that a transcript names.
func forms() map[string]any {
	return map[string]any{
		"user": user, "result": result, "assistant": assistant, "said": said, "called": called, "progress": progress, "attachment": attachment,
		"system": system, "boundary": boundary, "summary": summary, "micro": micro, "lastPrompt": lastPrompt, "snapshot": snapshot, "queued": queued,
		"commit": commit, "replacement": replacement, "keeping": keeping, "noResponse": noResponse, "hookOutput": hookOutput, "operation": operation,
		"snips": snips, "snipped": snipped, "queueLine": queueLine,
	}
}

var transcriptWord = regexp.MustCompile(`^[ \t]*(?:(\w+)=)?([^\s;"\[{]*)`)

// transcript is lines written in short: one of the forms and what it is called with, then members that are set, as
// in "user u1 - hello isMeta=true; said a1 u1 m1". A line ends with its line, or at "; ". An object is a line as it is. A word is a string where it is no
// JSON, "-" an empty one; used=[in,out] is the usage.
func transcript(text string) (list []any) {
	for text = strings.Trim(text, "; \n\t"); text != ""; text = strings.TrimLeft(text, "; \n\t") {
		var args []any
		set := line{}
		for text != "" && text[0] != ';' && text[0] != '\n' {
			found := transcriptWord.FindStringSubmatch(text)
			text = text[len(found[0]):]
			var v any = found[2]
			if found[2] == "" {
				dec := json.NewDecoder(strings.NewReader(text))
				if err := dec.Decode(&v); err != nil {
					panic(fmt.Sprint(err, " at ", text))
				}
				text = text[dec.InputOffset():]
			} else if json.Unmarshal([]byte(found[2]), &v) != nil {
				v = strings.TrimPrefix(found[2], "-")
			}
			if m, ok := v.(map[string]any); ok {
				v = line(m)
			}
			if found[1] != "" {
				set[found[1]] = v
			} else {
				args = append(args, v)
			}
		}
		if l, ok := args[0].(line); ok {
			list = append(list, l)
			continue
		}
		form := reflect.ValueOf(forms()[args[0].(string)])
		var in []reflect.Value
		for i, v := range args[1:] {
			want := form.Type().In(min(i, form.Type().NumIn()-1))
			if form.Type().IsVariadic() && i >= form.Type().NumIn()-1 {
				want = want.Elem()
			}
			at := reflect.New(want).Elem()
			if v == "thinking" && want == reflect.TypeFor[line]() {
				v = thinking()
			}
			if v != nil {
				at.Set(reflect.ValueOf(v).Convert(want))
			}
			in = append(in, at)
		}
		l := form.Call(in)[0].Interface().(line)
		if n, ok := set["used"].([]any); ok {
			l.used(int(n[0].(float64)), int(n[1].(float64)))
			delete(set, "used")
		}
		maps.Copy(l, set)
		list = append(list, l)
	}
	return list
}

// file is the text of a session file: lines, transcripts of them and, as they are, strings.
func file(lines ...any) string {
	var b strings.Builder
	for _, l := range lines {
		switch l := l.(type) {
		case string:
			b.WriteString(l)
		case []any:
			b.WriteString(file(l...))
		default:
			data, err := json.Marshal(l)
			if err != nil {
				panic(err)
			}
			b.Write(data)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// loadText reads a hand-made session, and checks what holds for every one.
func loadText(t *testing.T, text string, opt session.LoadOptions) *session.File {
	t.Helper()
	f := must.Get(session.LoadReader("hand-made", strings.NewReader(text), opt))(t)
	t.Cleanup(func() { f.Close() })
	balanced(t, f)
	for _, conv := range f.Conversations() {
		checkConversation(t, conv)
	}
	return f
}

func load(t *testing.T, lines ...any) *session.Conversation {
	t.Helper()
	return loadText(t, file(lines...), session.LoadOptions{}).Main
}

// shape writes a conversation on one line: the uuids of each message's lines, joined by +. [x] is on the recorded
// track only, x~ a queued prompt, x* a synthetic response.
func shape(conv *session.Conversation) string {
	var out []string
	for i := range conv.Messages {
		m := &conv.Messages[i]
		s := strings.Join(m.UUIDs, "+")
		if s == "" {
			s = m.UUID // a stand-in
		}
		if m.Is(session.Queued) {
			s += "~"
		}
		if m.Synthetic {
			s += "*"
		}
		if m.RecordOnly {
			s = "[" + s + "]"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func wantShape(t *testing.T, conv *session.Conversation, want string) {
	t.Helper()
	same(t, want, shape(conv), "messages\n got")
}

// wantWarning wants a warning of the line with all of the words in it.
func wantWarning(t *testing.T, conv *session.Conversation, line int, words ...string) {
	t.Helper()
next:
	for _, w := range conv.Warnings {
		if w.Line != line {
			continue
		}
		for _, s := range words {
			if !strings.Contains(w.Message, s) {
				continue next
			}
		}
		return
	}
	t.Errorf("no warning of line %d with %q; there are: %v", line, words, conv.Warnings)
}

func wantNoWarning(t *testing.T, conv *session.Conversation) {
	t.Helper()
	if len(conv.Warnings) > 0 {
		t.Errorf("warnings: %v", conv.Warnings)
	}
}

// same fails a test whose result is not the one that is wanted; of says what it belongs to.
func same[T any](t testing.TB, want, got T, of ...any) {
	t.Helper()
	must.Equal(t, got, want, of)
}

// object is a line, or a part of one, of JSON.
func object(text string) (l line) {
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		panic(err)
	}
	return l
}
