package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/wire"
)

const shipped = "../../testdata/sessions"

// chainOf is a session of these messages, each under the one before.
func chainOf(t *testing.T, messages ...string) *session.Conversation {
	t.Helper()
	return chainNamed(t, func(i int) string { return fmt.Sprintf("u%d", i) }, messages...)
}

// chainNamed is chainOf with uuids of one's own.
func chainNamed(t *testing.T, uuid func(i int) string, messages ...string) *session.Conversation {
	t.Helper()
	var b strings.Builder
	for i, m := range messages {
		kind, id := "user", ""
		if strings.Contains(m, `"assistant"`) {
			kind = "assistant"
			id = fmt.Sprintf(`"id":"msg_%d","model":"claude-opus-4-5","usage":{"input_tokens":10},`, i)
		}
		parent := "null"
		if i > 0 {
			parent = fmt.Sprintf("%q", uuid(i-1))
		}
		fmt.Fprintf(&b, `{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"s","version":"2.1.300","message":{%s%s}`+"\n", kind, uuid(i), parent, id, m[1:])
	}
	f := must.Get(session.LoadReader("test", strings.NewReader(b.String()), session.LoadOptions{}))(t)
	t.Cleanup(func() { f.Close() })
	return f.Main
}

func viewOf(t *testing.T, conv *session.Conversation, edits ...policy.Edit) *view.View {
	t.Helper()
	v := view.New(conv, nil, nil)
	for m := range conv.Messages {
		v.Join(m)
	}
	for _, e := range edits {
		must.Get(v.Apply(e))(t)
	}
	return v
}

func text(kind jsonl.Kind, s string) *policy.Content {
	c := policy.NewContent(kind, s)
	return &c
}

// lines is a body as its messages, one a line.
func lines(t *testing.T, b *wire.Body) []string {
	t.Helper()
	js := must.Get(b.Append(nil))(t)
	if !json.Valid(js) {
		t.Fatalf("not JSON: %s", js)
	}
	var out []string
	for _, l := range strings.Split(string(js), "\n") {
		if l = strings.TrimSuffix(l, ","); strings.HasPrefix(l, `{"`) {
			out = append(out, l)
		}
	}
	return out
}

// A loop with two parallel calls, and what follows.
var loop = []string{
	`{"role":"user","content":"Fix \u0069t"}`,
	`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"tool_use","id":"t1","name":"Read","input":{"b": 1,"a":2},"caller":{"type":"direct"}},{"type":"tool_use","id":"t2","name":"Bash","input":{}}]}`,
	`{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"one"}]}`,
	`{"role":"user","content":[{"tool_use_id":"t2","type":"tool_result","is_error":true}]}`,
	`{"role":"assistant","content":[{"type":"new_kind","deep":[{"x":null}]},{"type":"text","text":"Done."}]}`,
	`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},{"type":"text","text":"And this?"}]}`,
}

func TestModel(t *testing.T) {
	plain := []string{
		`{"role":"user","content":[{"type":"text","text":"Fix \u0069t"}]}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"tool_use","id":"t1","name":"Read","input":{"b": 1,"a":2},"caller":{"type":"direct"}},{"type":"tool_use","id":"t2","name":"Bash","input":{}}]}`,
		`{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"one"},{"tool_use_id":"t2","type":"tool_result","is_error":true}]}`,
		`{"role":"assistant","content":[{"type":"new_kind","deep":[{"x":null}]},{"type":"text","text":"Done."}]}`,
		`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},{"type":"text","text":"And this?"}]}`,
	}
	change := func(at int, line string) []string {
		out := append([]string(nil), plain...)
		out[at] = line
		return out
	}
	for _, tt := range []struct {
		name  string
		edits []policy.Edit
		want  []string
	}{
		{"as recorded, one role one message", nil, plain},
		{"a result replaced: all else of its block stays", []policy.Edit{{Kind: policy.KindClear, Target: policy.Target{Item: 2}, New: text(jsonl.KindToolResult, "[\"gone\"]")}},
			change(2, `{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"[\"gone\"]"},{"tool_use_id":"t2","type":"tool_result","is_error":true}]}`)},
		{"a result without content replaced", []policy.Edit{{Kind: policy.KindClear, Target: policy.Target{Item: 3}, New: text(jsonl.KindToolResult, "gone")}},
			change(2, `{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"one"},{"tool_use_id":"t2","type":"tool_result","is_error":true,"content":"gone"}]}`)},
		{"a result named and left", []policy.Edit{{Kind: policy.KindClear, Target: policy.Target{Item: 2}, New: &policy.Content{Kind: jsonl.KindToolResult, Ref: &policy.Target{Item: 2}}}}, plain},
		{"an input cleared", []policy.Edit{{Kind: policy.KindClear, Target: policy.Target{Item: 1, Block: 1}, New: text(jsonl.KindToolUse, "{}")}},
			change(1, strings.Replace(plain[1], `{"b": 1,"a":2}`, `{}`, 1))},
		{"an image replaced is a text", []policy.Edit{{Kind: policy.KindClear, Target: policy.Target{Item: 5}, New: text(jsonl.KindText, "[image]")}},
			change(4, `{"role":"user","content":[{"type":"text","text":"[image]"},{"type":"text","text":"And this?"}]}`)},
		{"a tag ends the last text", []policy.Edit{{Kind: policy.KindTag, Target: policy.Target{Item: 5, Block: -1}, New: text(jsonl.KindText, "\n[id:abc]")}},
			change(4, `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},{"type":"text","text":"And this?\n[id:abc]"}]}`)},
		{"a summary before what is kept", []policy.Edit{{
			Kind: policy.KindSummarize, Keep: []policy.ItemID{4, 5},
			Insert: []policy.Synthetic{{Role: "user", Label: "summary", Summary: true, Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 5000}}}},
			Tail:   []policy.Synthetic{{Role: "user", Label: "continue", Contents: []policy.Content{*text(jsonl.KindText, "Go on.")}}},
		}}, []string{
			`{"role":"user","content":[{"type":"text","text":"[summary: a placeholder of 5000 tokens]"}]}`,
			plain[3],
			strings.Replace(plain[4], `"And this?"}`, `"And this?\n"},{"type":"text","text":"Go on."}`, 1),
		}},
		{"a summary that is a recorded text", []policy.Edit{{
			Kind:   policy.KindSummarize,
			Insert: []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{{Kind: jsonl.KindText, Ref: &policy.Target{Item: 0}}}}},
		}}, []string{`{"role":"user","content":[{"type":"text","text":"Fix it"}]}`}},
		{"what only the server clears stays", []policy.Edit{{Kind: policy.KindServerClear, Target: policy.Target{Item: 2}, New: text(jsonl.KindToolResult, "x")}}, plain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := must.Get(wire.Model(viewOf(t, chainOf(t, loop...), tt.edits...)))(t)
			must.Equal(t, lines(t, b), tt.want)
		})
	}
}

func TestModelOddContent(t *testing.T) {
	conv := chainOf(t, `{"role":"user","content":["bare",7,{"type":"text","text":"x"}]}`, `{"role":"assistant","content":[]}`, `{"role":"user","content":""}`)
	b := must.Get(wire.Model(viewOf(t, conv)))(t)
	want := []string{`{"role":"user","content":[{"type":"text","text":"bare"},{"type":"text","text":"7"},{"type":"text","text":"x\n"},{"type":"text","text":""}]}`}
	must.Equal(t, lines(t, b), want)
}

func TestPayload(t *testing.T) {
	cached := &policy.Policy{Cache: policy.Caching{Breakpoints: policy.BreakpointsLastTwo}, Stages: []policy.StageConfig{{Definition: policy.Definition{Name: "microcompact_cached", CacheEdits: true}}}}
	with := func(breakpoints, ttl string) *policy.Policy {
		return &policy.Policy{Cache: policy.Caching{Breakpoints: breakpoints, TTL: ttl}}
	}
	mark := func(s string) string {
		return strings.TrimSuffix(s, "}]}") + `,"cache_control":{"type":"ephemeral"}}]}`
	}
	conv := chainOf(t, loop...)
	model := must.Get(wire.Model(viewOf(t, conv)))(t)
	plain := lines(t, model)
	change := func(with map[int]string) []string {
		out := append([]string(nil), plain...)
		for at, l := range with {
			out[at] = l
		}
		return out
	}
	named := `{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"one","cache_reference":"t1"},{"tool_use_id":"t2","type":"tool_result","is_error":true,"cache_reference":"t2"}]}`
	drop := policy.Edit{Kind: policy.KindCacheEdit, Target: policy.Target{Item: 2}, Carrier: 5}
	for _, tt := range []struct {
		name  string
		pol   *policy.Policy
		edits []policy.Edit
		want  []string
	}{
		{"the last two messages are marked", with(policy.BreakpointsLastTwo, "auto"), nil, change(map[int]string{3: mark(plain[3]), 4: mark(plain[4])})},
		{"the last message is marked", with(policy.BreakpointsLast, "auto"), nil, change(map[int]string{4: mark(plain[4])})},
		{"as the client that recorded it", with(policy.BreakpointsAuto, "auto"), nil, change(map[int]string{4: mark(plain[4])})},
		{"OpenCode marks the last two", with(policy.BreakpointsLastTwoIfAnthropic, "auto"), nil, change(map[int]string{3: mark(plain[3]), 4: mark(plain[4])})},
		{"a lifetime of its own", with(policy.BreakpointsLastTwoIfAnthropic, "1h"), nil, change(map[int]string{
			3: strings.Replace(mark(plain[3]), `"ephemeral"`, `"ephemeral","ttl":"1h"`, 1), 4: strings.Replace(mark(plain[4]), `"ephemeral"`, `"ephemeral","ttl":"1h"`, 1),
		})},
		{"no marks", with(policy.BreakpointsNone, "auto"), nil, plain},
		{"the server marks", with(policy.BreakpointsAutomatic, "1h"), nil, plain},
		{"results can be named from the start", cached, nil, change(map[int]string{2: named, 3: mark(plain[3]), 4: mark(plain[4])})},
		{"an edit stands first in its carrier", cached, []policy.Edit{drop}, change(map[int]string{2: named, 3: mark(plain[3]),
			4: mark(strings.Replace(plain[4], `[{"type":"image"`, `[{"type":"cache_edits","edits":[{"type":"delete","cache_reference":"t1"}]},{"type":"image"`, 1))})},
		{"an edit goes with its target", cached, []policy.Edit{drop, {Kind: policy.KindSummarize, Keep: []policy.ItemID{5}}}, []string{mark(plain[4])}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := must.Get(wire.RequestBody(viewOf(t, conv, tt.edits...), tt.pol))(t)
			must.Equal(t, lines(t, b), tt.want)
			js, err := b.Append(nil)
			if automatic := strings.Contains(string(js), "\n\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"},\n"); err != nil || automatic != (tt.pol.Cache.Breakpoints == policy.BreakpointsAutomatic) {
				t.Errorf("%v: %s", err, js)
			}
		})
	}
}

// TestMarkPassesThinking holds that thinking never carries a breakpoint.
func TestMarkPassesThinking(t *testing.T) {
	conv := chainOf(t, loop[0], `{"role":"assistant","content":[{"type":"text","text":"So."},{"type":"thinking","thinking":"hm","signature":"c2ln"}]}`)
	b := must.Get(wire.RequestBody(viewOf(t, conv), &policy.Policy{}))(t)
	want := `{"role":"assistant","content":[{"type":"text","text":"So.","cache_control":{"type":"ephemeral"}},{"type":"thinking","thinking":"hm","signature":"c2ln"}]}`
	must.Equal(t, lines(t, b)[1], want)
}

func TestContextManagement(t *testing.T) {
	reg := must.Get(stage.Registry())(t)
	for name, want := range map[string]string{
		"none":                      "",
		"anthropic-context-editing": `"context_management":{"edits":[{"type":"clear_thinking_20251015"},{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":100000},"keep":{"type":"tool_uses","value":3}}]},`,
	} {
		pol := must.Get(preset.Load(name, reg))(t)
		b := must.Get(wire.RequestBody(viewOf(t, chainOf(t, loop...)), pol))(t)
		js := must.Get(b.Append(nil))(t)
		got := ""
		for _, l := range strings.Split(string(js), "\n") {
			if strings.HasPrefix(l, `"context_management"`) {
				got = l
			}
		}
		must.Equal(t, got, want, name)
	}
}

// TestSessions holds of every sample session and policy: the body is JSON, roles alternate, and without a policy it is
// the raw history. It takes the end and two requests, other ones under each policy; CTXKIT_LONG=1 eight.
func TestSessions(t *testing.T) {
	files, err := filepath.Glob(shipped + "/*.jsonl")
	more, _ := filepath.Glob(shipped + "/*/*.jsonl")
	files = append(files, more...)
	if err != nil || len(files) < 10 {
		t.Fatalf("%d sessions: %v", len(files), err)
	}
	reg := must.Get(stage.Registry())(t)
	var policies []*policy.Policy
	for _, name := range preset.Names(reg) {
		pol := must.Get(preset.Load(name, reg))(t)
		policies = append(policies, pol)
	}
	some := 2
	if os.Getenv("CTXKIT_LONG") == "1" {
		some = 8
	}
	for _, file := range files {
		f := must.Get(session.Load(file, session.LoadOptions{}))(t)
		defer f.Close()
		rec := must.Get(replay.NewRecord(f.Main))(t)
		step := 1 + len(f.Main.Requests)/some
		for i, pol := range policies {
			if (i+step)%4 > 0 && !must.CI() {
				continue
			}
			name := pol.Name
			must.Do(t, rec.EachView(pol, replay.Options{}, func(n int, v *view.View) bool {
				if (n+i)%step != 0 && n <= len(f.Main.Requests) {
					return true
				}
				body := must.Get(wire.RequestBody(v, pol))(t)
				js, err := body.Append(nil)
				if err != nil || !json.Valid(js) {
					t.Fatalf("%s %s request %d: %v: %.200s", file, name, n, err, js)
				}
				for i := 1; i < len(body.Messages); i++ {
					if m := &body.Messages[i]; m.Role == body.Messages[i-1].Role && m.Role != session.User { // a file begins two, an edit of the cache may begin one
						t.Errorf("%s %s request %d: message %d has the role of the one before", file, name, n, i)
					}
				}
				if name != "none" {
					return true
				}
				raw := must.Get(rec.ViewAt(nil, replay.Options{}, n))(t)
				if got, want := modelJSON(t, v), modelJSON(t, raw); !bytes.Equal(got, want) {
					t.Errorf("%s request %d: nothing is edited, but the view is not raw:\n%s", file, n, cmp.Diff(string(want), string(got)))
				}
				return true
			}))
		}
	}
}

func modelJSON(t *testing.T, v *view.View) []byte {
	t.Helper()
	b := must.Get(wire.Model(v))(t)
	js := must.Get(b.Append(nil))(t)
	return js
}

// TestStandIns holds what stands for what no line holds.
func TestStandIns(t *testing.T) {
	for file, wants := range map[string][]string{
		"lost.jsonl":        {`"content":"[lost: the result of this call is in no line of the session]`},
		"big-2.1.139.jsonl": {`<system-reminder>\n[placeholder for task_reminder: 421 characters of the client's own, on no line of the session]\n</system-reminder>`},
	} {
		f := must.Get(session.Load(filepath.Join(shipped, file), session.LoadOptions{}))(t)
		defer f.Close()
		rec := must.Get(replay.NewRecord(f.Main))(t)
		raw := must.Get(rec.ViewAt(nil, replay.Options{}, len(f.Main.Requests)+1))(t)
		js := string(modelJSON(t, raw))
		for _, want := range wants {
			if !strings.Contains(js, want) {
				t.Errorf("%s: no %s", file, want)
			}
		}
	}
}

func TestEarlierHistory(t *testing.T) {
	f := must.Get(session.LoadReader("test", strings.NewReader(
		`{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"s","message":{"role":"user","content":"And now?"}}`+"\n"), session.LoadOptions{}))(t)
	defer f.Close()
	want := []string{`{"role":"user","content":[{"type":"text","text":"[earlier: what was said before the session's first line is in no line of it]"},{"type":"text","text":"And now?"}]}`}
	b := must.Get(wire.Model(viewOf(t, f.Main)))(t)
	must.Equal(t, lines(t, b), want)
}

// A text of white space alone, as clients record between thinking and what follows, is left out where its message
// says something else; alone it stays, for a finding to name it.
func TestBlankTexts(t *testing.T) {
	conv := chainOf(t,
		`{"role":"user","content":"go"}`,
		`{"role":"assistant","content":[{"type":"text","text":"\n\n"},{"type":"tool_use","id":"t1","name":"Read","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"},{"type":"text","text":" "}]}`,
		`{"role":"assistant","content":[{"type":"text","text":" \n"}]}`,
	)
	var types []string
	b := must.Get(wire.Model(viewOf(t, conv)))(t)
	for _, m := range b.Messages {
		for _, bl := range m.Blocks {
			types = append(types, bl.Type)
		}
	}
	must.Equal(t, strings.Join(types, " "), "text tool_use tool_result text")
}
