package session_test

import (
	"encoding/json"
	"strings"
	"testing"

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

// file is the text of a session file: lines and, as they are, strings.
func file(lines ...any) string {
	var b strings.Builder
	for _, l := range lines {
		if s, ok := l.(string); ok {
			b.WriteString(s)
			continue
		}
		data, err := json.Marshal(l)
		if err != nil {
			panic(err)
		}
		b.Write(data)
		b.WriteByte('\n')
	}
	return b.String()
}

// loadText reads a hand-made session, and checks what holds for every one.
func loadText(t *testing.T, text string, opt session.LoadOptions) *session.File {
	t.Helper()
	f, err := session.LoadReader("hand-made", strings.NewReader(text), opt)
	if err != nil {
		t.Fatal(err)
	}
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
	if got := shape(conv); got != want {
		t.Errorf("messages\n got %s\nwant %s", got, want)
	}
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
