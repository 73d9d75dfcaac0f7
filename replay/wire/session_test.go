package wire_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/lint"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// write writes a session file, and the files beside it, and returns its path.
func write(t testing.TB, dir string, s *wire.SessionFile) string {
	t.Helper()
	path := filepath.Join(dir, s.ID+".jsonl")
	must.Do(t, os.WriteFile(path, append(bytes.Join(s.Lines, []byte("\n")), '\n'), 0o600))
	beside := filepath.Join(dir, s.ID, "tool-results")
	must.Do(t, os.MkdirAll(beside, 0o700))
	for _, f := range s.Files {
		must.Do(t, os.WriteFile(filepath.Join(beside, f.Name), []byte(f.Text), 0o600))
	}
	return path
}

// bodyLines is messages as JSON, one a line, without the marks of the prompt cache.
func bodyLines(list []wire.BodyMessage) []string {
	var out []string
	for _, m := range list {
		m.Blocks = slices.Clone(m.Blocks)
		for i := range m.Blocks {
			m.Blocks[i].CacheControl, m.Blocks[i].CacheReference = nil, false
		}
		out = append(out, string(m.Append(nil)))
	}
	return out
}

// goesOn writes the view before a request as a session and reads it back: the same messages are sent.
func goesOn(t testing.TB, dir string, v *view.View, o wire.SessionFileOptions) *wire.SessionFile {
	t.Helper()
	s := must.Get(wire.Session(v, o))(t)
	if got, all := readByClient(t, s.Lines); got != all {
		t.Errorf("a client reads %d of %d lines back", got, all)
	}
	f := must.Get(session.Load(write(t, dir, s), session.LoadOptions{}))(t)
	defer f.Close()
	rec := must.Get(replay.NewRecord(f.Main))(t)
	must.Equal(t, len(f.Main.Requests), 0)
	back := must.Get(rec.ViewAt(replay.RecordedTrack(), replay.Options{}, 1))(t)
	body := must.Get(wire.Model(back))(t)
	if v.Conversation().Product != session.Product { // the other client's view has no placeholder for Claude Code's context
		body.Drop([]policy.Target{{Block: wire.Whole}})
	}
	for _, broken := range view.CheckAPI(v) {
		if broken.Rule == view.UseHasResult {
			return s // a placeholder answers the call
		}
	}
	if diff := gocmp.Diff(turns(t, s.Messages), turns(t, body.Messages)); diff != "" {
		if len(diff) > 4000 {
			diff = diff[:4000]
		}
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	return s
}

// reminderTags are the tags around the client's own words.
var reminderTags = regexp.MustCompile(`</?system-reminder>`)

// turns is a body as its messages, one an element: an assistant's as it is, of the user's between two of them the lines
// of all blocks, sorted, and blocks of other kinds whole. Where the client puts its own words, with a tag or folded into a
// result, and how it ends lines, depends on what is on lines of their own, which those at the end are not.
func turns(t testing.TB, messages []wire.BodyMessage) (list []string) {
	t.Helper()
	var parts []string
	for _, line := range bodyLines(messages) {
		var m struct {
			Role    string
			Content []json.RawMessage
		}
		must.Do(t, json.Unmarshal([]byte(line), &m))
		if m.Role == "assistant" {
			if slices.ContainsFunc(m.Content, func(b json.RawMessage) bool { return !bytes.HasPrefix(b, []byte(`{"type":"thinking"`)) }) {
				list, parts = append(list, line), nil
			}
			continue // the client drops thinking alone
		}
		if parts != nil {
			list = list[:len(list)-1]
		}
		for _, block := range m.Content {
			var b struct {
				Text, Content string
				ToolUseID     string `json:"tool_use_id"`
			}
			if json.Unmarshal(block, &b) != nil || b.Text+b.Content == "" {
				parts = append(parts, string(block))
				continue
			}
			if b.ToolUseID != "" {
				parts = append(parts, b.ToolUseID)
			}
			for text := range strings.Lines(reminderTags.ReplaceAllString(b.Text+b.Content, "\n")) {
				if text = strings.TrimSpace(text); text != "" && !recounted.MatchString(text) {
					parts = append(parts, text)
				}
			}
		}
		slices.Sort(parts)
		list = append(list, strings.Join(parts, "\n"))
	}
	return list
}

// recounted are placeholders for reminders that no line has: a client that reads a session back decides anew when to send them.
var recounted = regexp.MustCompile(`^\[placeholder for (skills|todo_reminder|task_reminder): `)

// readByClient counts the lines that old and new clients read back, and all of them. Old clients (cli.js of 2.1.19)
// follow the parents of the newest line, of several as new the first; new ones (2.1.112) those of the last line without
// children, or of the message above it where it is none.
func readByClient(t testing.TB, lines [][]byte) (read, all int) {
	t.Helper()
	type line struct {
		UUID      string
		Parent    string `json:"parentUuid"`
		Type      string
		Timestamp time.Time
	}
	at := map[string]int{"": -1}
	var chain []line
	for _, js := range lines {
		var l line
		must.Do(t, json.Unmarshal(js, &l))
		if l.UUID != "" {
			at[l.UUID] = len(chain)
			chain = append(chain, l)
		}
	}
	newest := 0
	for i := range chain {
		if chain[i].Timestamp.After(chain[newest].Timestamp) {
			newest = i
		}
	}
	said := len(chain) - 1
	for said > 0 && chain[said].Type != "user" && chain[said].Type != "assistant" {
		said--
	}
	n := 0
	for i := min(newest, said); i >= 0; i = at[chain[i].Parent] {
		n++
	}
	return n, len(chain)
}

// library reads each built-in policy once.
var library = sync.OnceValues(func() (*preset.Library, error) {
	reg, err := stage.Registry()
	if err != nil {
		return nil, err
	}
	return preset.New(reg), nil
})

func policyFor(t testing.TB, name string, conv *session.Conversation) *policy.Policy {
	t.Helper()
	if name == "recorded" {
		return replay.RecordedTrack()
	}
	lib := must.Get(library())(t)
	if lib.BySession(name) {
		chosen := must.Get(lib.For(name, preset.ClientOf(conv)))(t)
		name = chosen.Policy
	}
	p := must.Get(lib.Load(name))(t)
	return p
}

// eachView calls yield with the views of a session under several policies: before two requests each, and at the end.
func eachView(t *testing.T, path string, policies []string, yield func(t *testing.T, conv *session.Conversation, v *view.View, o wire.SessionFileOptions)) {
	f := must.Get(session.Load(path, session.LoadOptions{}))(t)
	t.Cleanup(func() { f.Close() })
	rec := must.Get(replay.NewRecord(f.Main))(t)
	requests := len(f.Main.Requests)
	at := []int{1 + requests/3, 1 + requests*2/3, requests + 1}
	for _, name := range policies {
		must.Do(t, rec.EachView(policyFor(t, name, f.Main), replay.Options{}, func(n int, v *view.View) bool {
			if slices.Contains(at, n) {
				t.Run(fmt.Sprintf("%s/%s/%d", filepath.Base(path), name, n), func(t *testing.T) {
					yield(t, f.Main, v, wire.SessionFileOptions{Policy: name, Request: n, Overhead: 20000, Client: "2.1.139"})
				})
			}
			return true
		}))
	}
}

// found is the codes of the problems of a session file, each with how often it has it.
func found(t testing.TB, path string) map[string]int {
	t.Helper()
	rep := must.Get(lint.File(path, session.LoadOptions{}))(t)
	codes := map[string]int{}
	for _, p := range rep.Findings {
		codes[p.Code] = p.Count
	}
	return codes
}

// same holds what every session file has to be: it is read back as what it was made of, which is the payload but for what
// a policy has the server clear, and has no problem that the original has not.
func same(t *testing.T, had map[string]int, conv *session.Conversation, v *view.View, o wire.SessionFileOptions) {
	dir := t.TempDir()
	s := goesOn(t, dir, v, o)
	for code, n := range found(t, filepath.Join(dir, s.ID+".jsonl")) {
		if n > had[code] {
			t.Errorf("lint: %d of %s, the original has %d", n, code, had[code])
		}
	}
	if edited(v) || s.Unsigned+s.Renamed+s.Opaque > 0 {
		return
	}
	body := must.Get(wire.Model(v))(t)
	must.Equal(t, bodyLines(body.Messages), bodyLines(s.Messages), "the messages are not those of the payload")
}

// edited reports whether a policy has the server clear something of a view.
func edited(v *view.View) bool {
	for id := range v.Items {
		for b := range v.Blocks(id) {
			if _, on := v.PolicyReplacement(policy.Target{Item: id, Block: b}); on {
				return true
			}
		}
	}
	return false
}

// policies are those under which each session takes its turn.
var policies = []string{"recorded", "claude-code", "opencode", "anthropic-context-editing"}

// TestSessionGoesOn holds that a session file is sent as the payload it was made of.
func TestSessionGoesOn(t *testing.T) {
	files := must.Get(filepath.Glob(filepath.Join(shipped, "*.jsonl")))(t)
	for i, path := range files {
		had := found(t, path)
		eachView(t, path, []string{policies[i%len(policies)], policies[(i+1)%len(policies)]}, func(t *testing.T, conv *session.Conversation, v *view.View, o wire.SessionFileOptions) {
			same(t, had, conv, v, o)
		})
	}
}

// TestSessionGoesOnCorpus is TestSessionGoesOn on real sessions, also of other agents.
func TestSessionGoesOnCorpus(t *testing.T) {
	var files []string
	for _, name := range []string{"CTXKIT_CORPUS", "CTXKIT_CODEX", "CTXKIT_AGENTS"} {
		if dir := os.Getenv(name); dir != "" {
			files = append(files, sessionsIn(t, dir)...)
		}
	}
	if len(files) == 0 {
		t.Skip("CTXKIT_CORPUS, CTXKIT_CODEX and CTXKIT_AGENTS name no folder of real sessions")
	}
	for i, path := range files {
		some := policies
		if os.Getenv("CTXKIT_LONG") == "" {
			some = policies[i%len(policies) : i%len(policies)+1]
		}
		had := found(t, path)
		eachView(t, path, some, func(t *testing.T, conv *session.Conversation, v *view.View, o wire.SessionFileOptions) {
			same(t, had, conv, v, o)
		})
	}
}

// TestSession holds what stands in the lines.
func TestSession(t *testing.T) {
	conv := chainOf(t, append(slices.Clone(loop), `{"role":"assistant","content":[{"type":"text","text":"I see."}]}`, `{"role":"user","content":"Go <on>"}`)...)
	conv.CWD, conv.SessionID = "/work/a b", "s"
	v := viewOf(t, conv, editsOf(t, conv, `[{"stage": "x", "kind": "clear", "target": {"item": 2}, "new": {"text": "[cleared]"}},
		{"stage": "x", "kind": "server_clear", "target": {"item": 3}, "new": {"text": "[gone]"}}, {"stage": "server", "kind": "server_clear", "target": {"item": 1}}]`)...)
	o := wire.SessionFileOptions{Policy: "x", Request: 4, Overhead: 100, Title: "Fix it"}
	s := must.Get(wire.Session(v, o))(t)
	type line struct {
		Parent    *string `json:"parentUuid"`
		UUID      string  `json:"uuid"`
		SessionID string  `json:"sessionId"`
		CWD       string  `json:"cwd"`
		Version   string  `json:"version"`
		Time      string  `json:"timestamp"`
	}
	var rest, times []string
	last := ""
	for i, js := range s.Lines[:len(s.Lines)-1] {
		var l line
		if err := json.Unmarshal(js, &l); err != nil {
			t.Fatalf("line %d: %v: %s", i+1, err, js)
		}
		if parent := cmp.Or(l.Parent, new(string)); *parent != last || l.SessionID != s.ID || l.CWD != conv.CWD || l.Version != "2.1.300" {
			t.Errorf("line %d: %+v below %q", i+1, l, last)
		}
		times = append(times, l.Time)
		last = l.UUID
		_, body, _ := strings.Cut(string(js), `"message":`)
		rest = append(rest, strings.TrimSuffix(body, "}"))
	}
	if want := []string{"1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.001Z"}; !slices.Equal(times[:2], want) || !slices.IsSorted(times) {
		t.Errorf("times are %q, want %q and later ones", times, want)
	}
	none := `"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}`
	answer := func(n int, usage, content string) string {
		return fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","model":"claude-opus-4-5",%s,"content":[%s]}`, n, usage, content)
	}
	want := []string{
		`{"role":"user","content":"Fix \u0069t"}`,
		answer(1, none, `{"type":"thinking","thinking":"hm","signature":"c2ln"}`),
		answer(1, none, `{"type":"tool_use","id":"t1","name":"Read","input":{"b": 1,"a":2},"caller":{"type":"direct"}}`),
		answer(1, none, `{"type":"tool_use","id":"t2","name":"Bash","input":{}}`),
		`{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"[cleared]"}]}`,
		`{"role":"user","content":[{"tool_use_id":"t2","type":"tool_result","is_error":true,"content":"[gone]"}]}`,
		answer(4, none, `{"type":"new_kind","deep":[{"x":null}]}`),
		answer(4, none, `{"type":"text","text":"Done."}`),
		`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},{"type":"text","text":"And this?"}]}`,
		answer(6, strings.Replace(none, `"cache_read_input_tokens":0`, `"cache_read_input_tokens":100`, 1), `{"type":"text","text":"I see."}`),
		`{"role":"user","content":"Go <on>"}`,
	}
	must.Equal(t, gocmp.Diff(want, rest), "")
	if got, want := string(s.Lines[len(s.Lines)-1]), `{"type":"custom-title","customTitle":"Fix it","sessionId":"`+s.ID+`"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	again, err := wire.Session(v, o)
	must.Say(t, "<nil> true", err, slices.EqualFunc(s.Lines, again.Lines, bytes.Equal))
	o.Request++
	if again, err = wire.Session(v, o); err != nil || again.ID == s.ID {
		t.Errorf("the same id at another request: %v", err)
	}
}

// TestSessionSummary holds that a summary at the start follows a boundary, as the client writes it.
func TestSessionSummary(t *testing.T) {
	conv := chainOf(t, loop...)
	v := viewOf(t, conv, editsOf(t, conv, `[{"stage": "x", "kind": "summarize", "keep": [4, 5], "insert": [{"role": "user", "label": "summary", "summary": true, "contents": [{"tokens": 70}]},
		{"role": "user", "label": "continue", "contents": [{"text": "Continue."}]}]}]`)...)
	s := goesOn(t, t.TempDir(), v, wire.SessionFileOptions{Policy: "x"})
	var kinds []string
	for _, js := range s.Lines {
		var l struct {
			Type, Subtype string
			Summary       bool `json:"isCompactSummary"`
			Meta          bool `json:"isMeta"`
		}
		must.Do(t, json.Unmarshal(js, &l))
		kinds = append(kinds, fmt.Sprintln(l.Type, l.Subtype, l.Summary, l.Meta))
	}
	want := []string{"system compact_boundary false false\n", "user  true false\n", "user  false true\n", "assistant  false false\n", "assistant  false false\n", "user  false false\n"}
	must.Equal(t, gocmp.Diff(want, kinds), "")
	must.Equal(t, s.StandIns, 1)
}

// TestSessionOfAnother holds what the API would refuse of another agent's session.
func TestSessionOfAnother(t *testing.T) {
	conv := chainOf(t,
		`{"role":"user","content":"Go"}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"tool_use","id":"call|1","name":"shell","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call|1","content":"ok"},{"type":"compaction","encrypted":"YQ"}]}`)
	must.Rows(t, `
gpt-5           | 1
claude-opus-4-5 | 0
`, func(model string, unsigned int) {
		conv.Product = "another"
		conv.Messages[1].Model = model
		s := goesOn(t, t.TempDir(), viewOf(t, conv), wire.SessionFileOptions{Client: "2.1.139"})
		if s.Unsigned != unsigned || s.Renamed != 1 || s.Opaque != 1 || bytes.Contains(bytes.Join(s.Lines, nil), []byte("call|1")) {
			t.Errorf("%s: %d blocks left out, %d ids renamed, %d unreadable", model, s.Unsigned, s.Renamed, s.Opaque)
		}
	})
}

func sessionsIn(t testing.TB, dir string) (files []string) {
	must.Do(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && (strings.Contains(e.Name(), ".jsonl") || strings.HasSuffix(e.Name(), ".json.gz")) {
			files = append(files, path)
		}
		return err
	}))
	return files
}
