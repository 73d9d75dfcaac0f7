package regret_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/regret"
)

// story writes a small session, one exchange after another.
type story struct {
	lines []map[string]any
	last  string
	calls int
	at    map[string]string // name given in the test -> tool_use id
	plain bool              // it escapes no more than JSON.stringify does
}

func (s *story) line(kind string, message map[string]any, more map[string]any) {
	l := map[string]any{
		"type": kind, "uuid": fmt.Sprintf("l%d", len(s.lines)+1), "parentUuid": nil, "sessionId": "s1", "version": "2.1.50", "cwd": "/home/dev/harbor-warehouse",
		"timestamp": fmt.Sprintf("2026-02-01T10:%02d:%02d.000Z", len(s.lines)/60, len(s.lines)%60),
	}
	if message != nil {
		l["message"] = message
	}
	if s.last != "" {
		l["parentUuid"] = s.last
	}
	for k, v := range more {
		l[k] = v
	}
	s.last = l["uuid"].(string)
	s.lines = append(s.lines, l)
}

func (s *story) prompt(text string) {
	s.line("user", map[string]any{"role": "user", "content": text}, nil)
}

func (s *story) assistant(block map[string]any) {
	s.line("assistant", map[string]any{
		"id": fmt.Sprintf("m%d", len(s.lines)), "role": "assistant", "model": "claude-opus-4-6", "content": []any{block},
		"usage": map[string]any{"input_tokens": 1000, "output_tokens": 10},
	}, nil)
}

func (s *story) says(text string) { s.assistant(map[string]any{"type": "text", "text": text}) }

// call is one call and its result; name is what the test calls it.
func (s *story) call(name, tool string, input any, result string) {
	s.calls++
	id := fmt.Sprintf("toolu_%d", s.calls)
	if s.at == nil {
		s.at = map[string]string{}
	}
	s.at[name] = id
	s.assistant(map[string]any{"type": "tool_use", "id": id, "name": tool, "input": input})
	s.line("user", map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "tool_result", "tool_use_id": id, "content": result},
	}}, nil)
}

func (s *story) load(t testing.TB) *session.Conversation {
	t.Helper()
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(!s.plain)
	for _, l := range s.lines {
		must.Do(t, enc.Encode(l))
	}
	f := must.Get(session.LoadReader("story.jsonl", strings.NewReader(text.String()), session.LoadOptions{}))(t)
	t.Cleanup(func() { f.Close() })
	return f.Main
}

// result is where the result of a call stands.
func result(t testing.TB, conv *session.Conversation, id string) policy.Target {
	t.Helper()
	for m := range conv.Messages {
		for b := range conv.Messages[m].Blocks {
			if bl := &conv.Messages[m].Blocks[b]; bl.Kind == jsonl.KindToolResult && bl.ID == id {
				return policy.Target{Item: policy.ItemID(m), Block: b}
			}
		}
	}
	t.Fatalf("no result of %s", id)
	return policy.Target{}
}

// clear is the edit that puts text in the place of a result before request n.
func clear(conv *session.Conversation, n int, at policy.Target, text string) policy.Edit {
	c := policy.NewContent(jsonl.KindToolResult, text)
	return policy.Edit{Request: n, Stage: "test", Kind: policy.KindClear, Target: at, New: &c, Joined: conv.Requests[n-1].Message}
}

// flat weighs every block 100 tokens.
type flat struct{ conv *session.Conversation }

func (flat) Block(int, int) int          { return 100 }
func (w flat) Message(m int) int         { return 100 * len(w.conv.Messages[m].Blocks) }
func (flat) Content(*policy.Content) int { return 10 }

func judge(t testing.TB, conv *session.Conversation, recorded, edits []policy.Edit) *regret.Regret {
	t.Helper()
	x := must.Get(regret.NewIndex(conv, recorded))(t)
	r := must.Get(x.Judge(regret.Judged{Edits: edits, Weigh: flat{conv}}))(t)
	return r
}

// fail makes the last result one of a call that failed.
func (s *story) fail() {
	content := s.lines[len(s.lines)-1]["message"].(map[string]any)["content"].([]any)
	content[0].(map[string]any)["is_error"] = true
}
