package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
		loop[1],
		`{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"one"},{"tool_use_id":"t2","type":"tool_result","is_error":true}]}`,
		loop[4],
		loop[5],
	}
	must.Rows(t, `
# name | edits, and a step a message that is another than as recorded, by its number, or = a message of all that are left
as recorded, one role one message | []
a result replaced: all else of its block stays | [{"kind": "clear", "target": {"item": 2}, "new": {"text": "[\"gone\"]"}}]
	2 {"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"[\"gone\"]"},{"tool_use_id":"t2","type":"tool_result","is_error":true}]}
a result without content replaced | [{"kind": "clear", "target": {"item": 3}, "new": {"text": "gone"}}]
	2 {"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"one"},{"tool_use_id":"t2","type":"tool_result","is_error":true,"content":"gone"}]}
a result named and left | [{"kind": "clear", "target": {"item": 2}, "new": {"ref": {"item": 2}}}]
an input cleared | [{"kind": "clear", "target": {"item": 1, "block": 1}, "new": {"text": "{}"}}]
	1 {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"tool_use","id":"t1","name":"Read","input":{},"caller":{"type":"direct"}},{"type":"tool_use","id":"t2","name":"Bash","input":{}}]}
an image replaced is a text | [{"kind": "clear", "target": {"item": 5}, "new": {"text": "[image]"}}]
	4 {"role":"user","content":[{"type":"text","text":"[image]"},{"type":"text","text":"And this?"}]}
a tag ends the last text | [{"kind": "tag", "target": {"item": 5, "block": -1}, "new": {"text": "\n[id:abc]"}}]
	4 {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},{"type":"text","text":"And this?\n[id:abc]"}]}
a summary before what is kept | [{"kind": "summarize", "keep": [4, 5], "insert": [{"role": "user", "label": "summary", "summary": true, "contents": [{"tokens": 5000}]}], "tail": [{"role": "user", "label": "continue", "contents": [{"text": "Go on."}]}]}]
	= {"role":"user","content":[{"type":"text","text":"[summary: a placeholder of 5000 tokens]"}]}
	= {"role":"assistant","content":[{"type":"new_kind","deep":[{"x":null}]},{"type":"text","text":"Done."}]}
	= {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},{"type":"text","text":"And this?\n"},{"type":"text","text":"Go on."}]}
a summary that is a recorded text | [{"kind": "summarize", "insert": [{"role": "user", "summary": true, "contents": [{"ref": {"item": 0}}]}]}]
	= {"role":"user","content":[{"type":"text","text":"Fix it"}]}
what only the server clears stays | [{"kind": "server_clear", "target": {"item": 2}, "new": {"text": "x"}}]
`, func(name, edits string, steps []string) {
		conv := chainOf(t, loop...)
		b := must.Get(wire.Model(viewOf(t, conv, editsOf(t, conv, edits)...)))(t)
		must.Equal(t, lines(t, b), changed(plain, steps), name)
	})
}

// changed is the messages with those of the steps in their places, or those that follow = alone.
func changed(plain, steps []string) (list []string) {
	list = slices.Clone(plain)
	for i, step := range steps {
		at, line, _ := strings.Cut(step, " ")
		if at != "=" {
			list[at[0]-'0'] = line
			continue
		}
		if i == 0 {
			list = nil
		}
		list = append(list, line)
	}
	return list
}

func TestModelOddContent(t *testing.T) {
	conv := chainOf(t, `{"role":"user","content":["bare",7,{"type":"text","text":"x"}]}`, `{"role":"assistant","content":[]}`, `{"role":"user","content":""}`)
	b := must.Get(wire.Model(viewOf(t, conv)))(t)
	want := []string{`{"role":"user","content":[{"type":"text","text":"bare"},{"type":"text","text":"7"},{"type":"text","text":"x\n"},{"type":"text","text":""}]}`}
	must.Equal(t, lines(t, b), want)
}

func TestPayload(t *testing.T) {
	conv := chainOf(t, loop...)
	model := must.Get(wire.Model(viewOf(t, conv)))(t)
	plain := lines(t, model)
	must.Rows(t, `
# name | breakpoints | their lifetime | the policy edits the cache | edits, and a step a message that is another than without a policy
the last two messages are marked | last_two | auto | false | []
	3 {"role":"assistant","content":[{"type":"new_kind","deep":[{"x":null}]},{"type":"text","text":"Done.","cache_control":{"type":"ephemeral"}}]}
	4 {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},{"type":"text","text":"And this?","cache_control":{"type":"ephemeral"}}]}
the last message is marked | last | auto | false | []
	4 {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},{"type":"text","text":"And this?","cache_control":{"type":"ephemeral"}}]}
as the client that recorded it | auto | auto | false | []
	4 {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},{"type":"text","text":"And this?","cache_control":{"type":"ephemeral"}}]}
OpenCode marks the last two | last_two_if_anthropic | auto | false | []
	3 {"role":"assistant","content":[{"type":"new_kind","deep":[{"x":null}]},{"type":"text","text":"Done.","cache_control":{"type":"ephemeral"}}]}
	4 {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},{"type":"text","text":"And this?","cache_control":{"type":"ephemeral"}}]}
a lifetime of its own | last_two_if_anthropic | 1h | false | []
	3 {"role":"assistant","content":[{"type":"new_kind","deep":[{"x":null}]},{"type":"text","text":"Done.","cache_control":{"type":"ephemeral","ttl":"1h"}}]}
	4 {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},{"type":"text","text":"And this?","cache_control":{"type":"ephemeral","ttl":"1h"}}]}
no marks | none | auto | false | []
the server marks | automatic | 1h | false | []
results can be named from the start | last_two | "" | true | []
	2 {"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"one","cache_reference":"t1"},{"tool_use_id":"t2","type":"tool_result","is_error":true,"cache_reference":"t2"}]}
	3 {"role":"assistant","content":[{"type":"new_kind","deep":[{"x":null}]},{"type":"text","text":"Done.","cache_control":{"type":"ephemeral"}}]}
	4 {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},{"type":"text","text":"And this?","cache_control":{"type":"ephemeral"}}]}
an edit stands first in its carrier | last_two | "" | true | [{"kind": "cache_edit", "target": {"item": 2}, "carrier": 5}]
	2 {"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"one","cache_reference":"t1"},{"tool_use_id":"t2","type":"tool_result","is_error":true,"cache_reference":"t2"}]}
	3 {"role":"assistant","content":[{"type":"new_kind","deep":[{"x":null}]},{"type":"text","text":"Done.","cache_control":{"type":"ephemeral"}}]}
	4 {"role":"user","content":[{"type":"cache_edits","edits":[{"type":"delete","cache_reference":"t1"}]},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},{"type":"text","text":"And this?","cache_control":{"type":"ephemeral"}}]}
an edit goes with its target | last_two | "" | true | [{"kind": "cache_edit", "target": {"item": 2}, "carrier": 5}, {"kind": "summarize", "keep": [5]}]
	= {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},{"type":"text","text":"And this?","cache_control":{"type":"ephemeral"}}]}
`, func(name, breakpoints, ttl string, edits bool, list string, steps []string) {
		pol := &policy.Policy{Cache: policy.Caching{Breakpoints: breakpoints, TTL: ttl}}
		if edits {
			pol.Stages = []policy.StageConfig{{Definition: policy.Definition{Name: "microcompact_cached", CacheEdits: true}}}
		}
		b := must.Get(wire.RequestBody(viewOf(t, conv, editsOf(t, conv, list)...), pol))(t)
		must.Equal(t, lines(t, b), changed(plain, steps), name)
		js := must.Get(b.Append(nil))(t)
		must.Equal(t, strings.Contains(string(js), "\n\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"},\n"), breakpoints == policy.BreakpointsAutomatic, name)
	})
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

// editsOf reads edits as JSON. A new content is of the kind of the block in whose place it stands, and a text in place of an image.
func editsOf(t *testing.T, conv *session.Conversation, text string) (edits []policy.Edit) {
	t.Helper()
	must.JSON(t, text, &edits)
	measured := func(kind jsonl.Kind, c *policy.Content) {
		if c.Kind = kind; c.Text != "" {
			*c = policy.NewContent(kind, c.Text)
		}
	}
	for i := range edits {
		e := &edits[i]
		if e.New != nil {
			kind := jsonl.KindText
			if e.Target.Block >= 0 {
				kind = conv.Messages[e.Target.Item].Blocks[e.Target.Block].Kind
			}
			if kind == jsonl.KindImage {
				kind = jsonl.KindText
			}
			measured(kind, e.New)
		}
		for _, made := range e.Made() {
			for k := range made.Contents {
				measured(jsonl.KindText, &made.Contents[k])
			}
		}
	}
	return edits
}
