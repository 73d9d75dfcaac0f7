package diff_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/diff"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// rebuilder makes a view of the raw history and a list of edits as it was written down, and of nothing else.
type rebuilder struct {
	conv  *session.Conversation
	items map[string]policy.ItemID
}

func newRebuilder(conv *session.Conversation) *rebuilder {
	r := &rebuilder{conv, map[string]policy.ItemID{}}
	for m := range conv.Messages {
		r.items[conv.Messages[m].UUID] = policy.ItemID(m)
	}
	return r
}

func (r *rebuilder) item(name string) policy.ItemID {
	if n, ok := strings.CutPrefix(name, "synthetic-"); ok {
		k, _ := strconv.Atoi(n)
		return policy.ItemID(-k)
	}
	return r.items[name]
}

func (r *rebuilder) list(names []string) (ids []policy.ItemID) {
	for _, n := range names {
		ids = append(ids, r.item(n))
	}
	return ids
}

func (r *rebuilder) content(t *diff.EditText) policy.Content {
	kind := map[string]jsonl.Kind{"tool_result": jsonl.KindToolResult, "tool_use": jsonl.KindToolUse, "attachment": jsonl.KindAttachment, "image": jsonl.KindImage, "document": jsonl.KindDocument}[t.Type]
	if kind == 0 {
		kind = jsonl.KindText
	}
	c := policy.NewContent(kind, t.Text)
	c.Tokens, c.Stub, c.Partial, c.Gone = t.Tokens, t.Recorded, t.Partial, t.Gone
	if t.Message != "" {
		c.Ref = &policy.Target{Item: r.item(t.Message), Block: t.Block}
	}
	return c
}

func (r *rebuilder) made(list []diff.Made) (out []policy.Synthetic) {
	for _, m := range list {
		s := policy.Synthetic{Role: m.Role, Label: m.Label, Attached: m.Attached}
		for i := range m.Contents {
			s.Contents = append(s.Contents, r.content(&m.Contents[i]))
		}
		out = append(out, s)
	}
	return out
}

// view rebuilds the view of which the messages before upTo had joined.
func (r *rebuilder) view(t *testing.T, edits []diff.EditOutput, upTo int, recorded bool) *view.View {
	t.Helper()
	v := view.New(r.conv, nil, nil)
	join := func(to int) {
		for m := v.Joined(); m < to; m++ {
			if r.conv.Messages[m].RecordOnly && !recorded {
				v.Skip(m)
			} else {
				v.Join(m)
			}
		}
	}
	for i := range edits {
		e := &edits[i]
		join(e.Joined)
		ed := policy.Edit{
			Request: e.Request, Stage: e.Stage, Kind: e.Kind, Target: policy.Target{Item: r.item(e.Message), Block: e.Block}, Items: r.list(e.Items),
			Lead: r.list(e.Lead), Keep: r.list(e.Keep), Insert: r.made(e.Insert), Tail: r.made(e.Tail), Delta: e.Delta,
		}
		if e.Carrier != "" {
			ed.Carrier = r.item(e.Carrier)
		}
		if e.New != nil {
			c := r.content(e.New)
			ed.New = &c
		}
		if _, err := v.Apply(ed); err != nil {
			t.Fatalf("edit %d: %v", i, err)
		}
	}
	join(upTo)
	return v
}

func body(t *testing.T, v *view.View, pol *policy.Policy) []byte {
	t.Helper()
	b := must.Get(wire.RequestBody(v, pol))(t)
	js := must.Get(b.Append(nil))(t)
	return js
}

// apiMessage is what is looked at of a message.
type apiMessage struct {
	Role    string
	Content []struct {
		Type      string
		ID        string
		ToolUseID string `json:"tool_use_id"`
		Text      *string
	}
}

// sound holds of a body what the API asks of it, and returns what does not.
func sound(t *testing.T, js []byte) (wrong []string) {
	t.Helper()
	var b struct{ Messages []apiMessage }
	if err := json.Unmarshal(js, &b); err != nil {
		t.Fatalf("not JSON: %v", err)
	}
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	open := map[string]bool{}
	messages := whole(slices.DeleteFunc(b.Messages, func(m apiMessage) bool { return m.Role == "system" }))
	for i, m := range messages {
		if m.Role != "user" && (m.Role != "assistant" || i == 0 || messages[i-1].Role != "user") { // the user may send two in a row
			say("message %d is the %s's", i, m.Role)
		}
		if len(m.Content) == 0 {
			say("message %d is empty", i)
		}
		calls := map[string]bool{}
		for _, c := range m.Content {
			switch {
			case c.Type == "tool_use" && m.Role == "assistant":
				calls[c.ID] = true
			case c.Type == "tool_result":
				if !open[c.ToolUseID] || m.Role != "user" {
					say("message %d: no call for the result %s", i, c.ToolUseID)
				}
				delete(open, c.ToolUseID)
			case c.Type == "text" && (c.Text == nil || *c.Text == ""):
				say("message %d: an empty text", i)
			}
		}
		for id := range open {
			say("message %d: no result for the call %s", i, id)
		}
		open = calls
	}
	return wrong
}

// whole puts the messages together that were divided so that one of them could begin with cache edits: the API takes
// them as one.
func whole(list []apiMessage) (out []apiMessage) {
	for _, m := range list {
		if n := len(out) - 1; n >= 0 && out[n].Role == m.Role && len(m.Content) > 0 && m.Content[0].Type == "cache_edits" {
			out[n].Content = append(out[n].Content, m.Content...)
			continue
		}
		out = append(out, m)
	}
	return out
}

// checkViews holds of the views of one conversation under one policy, at the last request, the peak and some chosen
// by lot: they keep the API's rules, or the transcript breaks them itself and a finding says so; and the edit list
// alone makes them again, byte for byte.
func checkViews(t *testing.T, rec *replay.Record, pol *policy.Policy, some int) {
	t.Helper()
	conv := rec.Conv
	tl := must.Get(rec.Replay(pol, replay.Options{}))(t)
	for _, f := range tl.Findings {
		must.Equal(t, f.Kind, replay.FindingTranscript, conv.Path, pol.Name, f)
	}
	if len(conv.Requests) == 0 {
		return
	}
	at := map[int]bool{}
	for _, name := range []string{"last", "peak"} {
		n := must.Get(tl.RequestAt(name))(t)
		at[n] = true
	}
	lots := rand.New(rand.NewPCG(uint64(len(conv.Messages)), uint64(len(tl.Events))))
	for range some {
		at[1+lots.IntN(len(conv.Requests))] = true
	}
	again := newRebuilder(conv)
	must.Do(t, rec.EachView(pol, replay.Options{}, func(n int, v *view.View) bool {
		if !at[n] {
			return n <= len(conv.Requests)
		}
		want := body(t, v, pol)
		if wrong := sound(t, want); len(wrong) > 0 && !ownUntil(tl, n) {
			t.Errorf("%s %s request %d: %s", conv.Path, pol.Name, n, strings.Join(wrong, "; "))
		}
		js, err := json.Marshal(diff.Edits(v, 0))
		var edits []diff.EditOutput
		if err == nil {
			err = json.Unmarshal(js, &edits)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := body(t, again.view(t, edits, conv.Requests[n-1].Message, pol.Recorded), pol); !bytes.Equal(got, want) {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Errorf("%s %s request %d: of its edits the view comes out otherwise at byte %d:\n%.200s\nwant\n%.200s", conv.Path, pol.Name, n, i, got[max(i-40, 0):], want[max(i-40, 0):])
		}
		return true
	}))
}

// ownUntil reports whether the transcript itself breaks a rule at or before request n, and a finding says so.
func ownUntil(tl *replay.Timeline, n int) bool {
	return slices.ContainsFunc(tl.Findings, func(f replay.RequestFinding) bool { return f.Kind == replay.FindingTranscript && f.Request <= n })
}

// loadAll loads sessions, one after another, and hands over each conversation.
func loadAll(t *testing.T, files []string, use func(rec *replay.Record)) {
	t.Helper()
	for _, file := range files {
		f := must.Get(session.Load(file, session.LoadOptions{}))(t)
		for _, conv := range f.Conversations() {
			rec := must.Get(replay.NewRecord(conv))(t)
			use(rec)
		}
		f.Close()
	}
}

func globs(t *testing.T, dir string, patterns ...string) (files []string) {
	t.Helper()
	for _, p := range patterns {
		found := must.Get(filepath.Glob(filepath.Join(dir, p)))(t)
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatalf("no sessions in %s", dir)
	}
	return files
}

// presets are the built-in policies of the given names, of none all.
func presets(t *testing.T, names ...string) (list []*policy.Policy) {
	t.Helper()
	reg := must.Get(stage.Registry())(t)
	if len(names) == 0 {
		names = preset.Names(reg)
	}
	for _, name := range names {
		pol := must.Get(preset.Load(name, reg))(t)
		list = append(list, pol)
	}
	return list
}

const shipped = "../../testdata/sessions"

// TestRebuild holds that raw and edits make the view, on the sample sessions and every built-in policy.
func TestRebuild(t *testing.T) {
	policies, some, turn := presets(t), 1, 0
	if os.Getenv("CTXKIT_LONG") == "1" {
		some = 4
	}
	loadAll(t, globs(t, shipped, "*.jsonl", "*/*.jsonl", "*/*/subagents/*.jsonl"), func(rec *replay.Record) {
		turn++
		for i, pol := range policies {
			if (i+turn)%4 > 0 && !must.CI() {
				continue
			}
			checkViews(t, rec, pol, some)
		}
	})
}

// TestRebuildCorpus holds the same of real sessions. CTXKIT_LONG=1 takes twenty requests of each session, and every
// built-in policy; otherwise it is a tenth of the sessions and three requests.
func TestRebuildCorpus(t *testing.T) {
	corpus := os.Getenv("CTXKIT_CORPUS")
	if corpus == "" {
		t.Skip("CTXKIT_CORPUS is not set")
	}
	files := globs(t, corpus, "*.jsonl.gz", "project/*.jsonl", "project/*/subagents/*.jsonl")
	names, some := []string{"none", "recorded", "opencode", "claude-code-2.1.19", "anthropic-context-editing", "claude-code-pipeline"}, 3
	if os.Getenv("CTXKIT_LONG") == "1" {
		names, some = nil, 20
	} else {
		var few []string
		for i := 0; i < len(files); i += 10 {
			few = append(few, files[i])
		}
		files = few
	}
	policies := presets(t, names...)
	loadAll(t, files, func(rec *replay.Record) {
		for _, pol := range policies {
			checkViews(t, rec, pol, some)
		}
	})
}
