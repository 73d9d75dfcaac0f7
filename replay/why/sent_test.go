package why_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/stats"
	"github.com/ctxkit/ctxkit/replay/why"
)

// recording writes a session with its requests on record, one message more at a time.
type recording struct {
	t        *testing.T
	lines    []string
	n        int
	clock    time.Time
	messages []string // of the request to come
	tools    []string
	effort   string
	bodies   []string
}

func (r *recording) write(kind, message string) {
	parent := "null"
	if r.n > 0 {
		parent = fmt.Sprintf(`"u%d"`, r.n)
	}
	r.n++
	r.clock = r.clock.Add(5 * time.Second)
	r.lines = append(r.lines, fmt.Sprintf(`{"type":%q,"uuid":"u%d","parentUuid":%s,"sessionId":"s","version":"2.1.332","cwd":"/p","timestamp":%q,"message":%s}`, kind, r.n, parent, r.clock.Format(time.RFC3339), message))
}

func (r *recording) user(content string) {
	m := `{"role":"user","content":` + content + `}`
	r.messages = append(r.messages, m)
	r.write("user", m)
}

// request writes the request, and its answer with its usage: n blocks that call a tool, or a text.
func (r *recording) request(read, wrote, calls int) {
	shape := fmt.Sprintf(`{"system":[{"type":"text","text":"Be terse."}],"tools":[%s]}`, strings.Join(r.tools, ","))
	shapeSum, _ := requests.SumOf([]byte(shape))
	r.lines = append(r.lines, fmt.Sprintf(`{"type":"api-request-shape","shapeHash":"%v","shape":%s}`, shapeSum, shape))
	var tail []string
	for _, m := range r.messages {
		sum, ok := requests.SumOfMessage([]byte(m))
		if !ok {
			r.t.Fatal(m)
		}
		tail = append(tail, fmt.Sprintf(`"%v"`, sum))
		r.lines = append(r.lines, fmt.Sprintf(`{"type":"api-request-blob","hash":"%v","message":%s}`, sum, m))
	}
	k := len(r.bodies) + 1
	params := fmt.Sprintf(`{"model":"claude-opus-4-8","output_config":{"effort":%q}}`, r.effort)
	r.bodies = append(r.bodies, fmt.Sprintf(`{"params":%s,"shape":%s,"messages":[%s]}`, params, shape, strings.Join(r.messages, ",")))
	r.lines = append(r.lines, fmt.Sprintf(`{"type":"api-request","id":"r%d","shapeHash":"%v","keep":0,"tail":[%s],"params":%s}`, k, shapeSum, strings.Join(tail, ","), params))
	content, results := []string{`{"type":"text","text":"done"}`}, []string{}
	if calls > 0 {
		content = nil
	}
	for i := range calls {
		content = append(content, fmt.Sprintf(`{"type":"tool_use","id":"t%d_%d","name":"Read","input":{"file_path":"/p/%d"}}`, k, i, i))
		results = append(results, fmt.Sprintf(`{"type":"tool_result","tool_use_id":"t%d_%d","content":"some lines of file %d"}`, k, i, i))
	}
	body := `"role":"assistant","content":[` + strings.Join(content, ",") + `]`
	r.messages = append(r.messages, "{"+body+"}")
	r.write("assistant", fmt.Sprintf(`{"id":"m%d","model":"claude-opus-4-8",%s,"usage":{"input_tokens":3,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":%d}}`, k, body, read, wrote, 30+20*calls))
	if calls > 0 {
		r.user("[" + strings.Join(results, ",") + "]")
	}
}

// TestSentCauses: each cause of a session in which a tool was added, the effort changed, 25 results came at once and an
// hour passed has its name, and its tokens; what differs is what a comparison of the bodies finds.
func TestSentCauses(t *testing.T) {
	r := &recording{t: t, clock: time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC), effort: "high", tools: []string{`{"name":"Read","description":"` + strings.Repeat("Reads a file. ", 60) + `"}`}}
	r.user(`"go"`)
	r.request(0, 20000, 1)
	r.request(20000, 300, 1)
	r.tools = append(r.tools, `{"name":"mcp__shop__order","description":"`+strings.Repeat("Orders tea. ", 60)+`"}`)
	r.request(0, 21000, 1)
	r.effort = "low"
	r.request(6000, 15300, 25)
	r.request(6000, 17300, 0) // the results are more blocks than are looked back over
	r.clock = r.clock.Add(time.Hour)
	r.user(`"and on"`)
	r.request(0, 23500, 0)
	r.user(`"the end"`)
	r.request(23500, 100, 0)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	must.Do(t, os.WriteFile(path, []byte(strings.Join(r.lines, "\n")+"\n"), 0o600))
	rec := recordOf(t, path)
	log, err := requests.Read(rec.Conv.Source)
	if err != nil || log.Whole() != 7 {
		t.Fatalf("%+v, %v", log, err)
	}
	s, tl, err := why.Replay(rec, replay.RecordedTrack(), replay.Options{}, log)
	if err != nil {
		t.Fatal(err)
	}
	causes := map[int]why.CacheBreak{}
	for _, b := range s.Breaks {
		if b.InFile != nil {
			causes[b.Request] = b
		}
	}
	for n, want := range map[int]struct {
		cause cache.BreakCause
		lost  int
	}{3: {cache.ToolsChanged, 20300}, 4: {cache.EffortSet, 15000}, 5: {cache.LookBackOver, 15300}, 6: {cache.Expired, 23300}} {
		b := causes[n]
		if b.Cause != want.cause || b.InFile == nil || b.InFile.Left-b.InFile.Read != want.lost {
			t.Errorf("request %d: %s, %+v, want %+v", n, b.Cause, b.InFile, want)
		}
	}
	must.Equal(t, len(causes), 4)

	changed := map[int]why.RequestChange{}
	for _, c := range s.Changes {
		changed[c.Request] = c
	}
	type body struct {
		Params struct {
			Output json.RawMessage `json:"output_config"`
		}
		Shape    struct{ System, Tools []json.RawMessage }
		Messages []json.RawMessage
	}
	var before body
	for k, text := range r.bodies {
		var now body
		must.Do(t, json.Unmarshal([]byte(text), &now))
		c, differs := changed[k+1]
		tool, setting := len(now.Shape.Tools) > len(before.Shape.Tools), string(now.Params.Output) != string(before.Params.Output)
		switch {
		case k == 0:
		case tool:
			all := 0
			for _, part := range append(now.Shape.System, now.Shape.Tools...) {
				all += len(part)
			}
			own := len(now.Shape.Tools[len(now.Shape.Tools)-1])
			tokens := (2*own*stats.SystemTokens(rec.Conv, tl, k+1) + all) / (2 * all)
			if c.Change == nil || c.Change.Part != requests.PartTool || c.Change.Name != "mcp__shop__order" || c.Change.Bytes != own || c.Tokens != tokens || tokens < 1000 {
				t.Errorf("request %d: %+v, %+v, want %d tokens", k+1, c, c.Change, tokens)
			}
		case setting:
			if c.Change == nil || c.Change.Name != "output_config" || c.Change.Is != string(now.Params.Output) || c.Tokens != 0 || !c.USD.Known {
				t.Errorf("request %d: %+v, %+v", k+1, c, c.Change)
			}
		case differs:
			t.Errorf("request %d: %+v, though the bodies differ in nothing", k+1, c.Change)
		}
		before = now
	}
	must.Equal(t, len(changed), 2)
}

// TestSentTools: tools that went together have the tokens of all of them.
func TestSentTools(t *testing.T) {
	r := &recording{t: t, clock: time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC), effort: "high"}
	for _, name := range []string{"Bash", "a", "b", "c"} {
		r.tools = append(r.tools, fmt.Sprintf(`{"name":%q,"description":"%s"}`, name, strings.Repeat("Orders tea. ", 60)))
	}
	r.user(`"go"`)
	r.request(0, 20000, 1)
	r.tools = r.tools[:1]
	r.request(0, 5000, 0)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	must.Do(t, os.WriteFile(path, []byte(strings.Join(r.lines, "\n")+"\n"), 0o600))
	rec := recordOf(t, path)
	log := must.Get(requests.Read(rec.Conv.Source))(t)
	s, _, err := why.Replay(rec, replay.RecordedTrack(), replay.Options{}, log)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Changes) != 1 || len(s.Changes[0].Change.Tools) != 3 || s.Changes[0].Tokens < 14000 {
		t.Errorf("%+v", s.Changes)
	}
}

// TestReasons: the API's reason is the cause of a cache miss that no line explains. Where it found nothing of the request
// before and the cache's life was over, no image is the cause.
func TestReasons(t *testing.T) {
	const image = `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]`
	for _, tt := range []struct {
		reason, content string
		pause           time.Duration
		writes          int // of tokens, by the second request
		want            cache.BreakCause
	}{
		{"", `"on"`, 0, 15500, backtest.Unexplained},
		{"unavailable", `"on"`, 0, 15500, backtest.Unexplained},
		{"of_a_later_client", `"on"`, 0, 15500, backtest.Unexplained},
		{"messages_changed", `"on"`, 0, 15500, cache.MessageEdit},
		{"messages_changed", image, 0, 15500, cache.ImageAdded},
		{"unavailable", `"on"`, 0, 2500, cache.ContextFell},
		{"messages_changed", `"on"`, 0, 2500, cache.MessageEdit},
		{"system_changed", `"on"`, 0, 15500, cache.ToolsChanged},
		{"tools_changed", `"on"`, 0, 15500, cache.ToolsChanged},
		{"model_changed", `"on"`, 0, 15500, cache.ModelSwitch},
		{"previous_message_not_found", `"on"`, 0, 15500, cache.EntryGone},
		{"previous_message_not_found", `"on"`, time.Hour, 15500, cache.Expired},
		{"previous_message_not_found", image, time.Hour, 15500, cache.Expired},
		{"messages_changed", `"on"`, time.Hour, 15500, cache.Expired},
	} {
		r := &recording{t: t, clock: time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)}
		r.user(`"go"`)
		r.request(0, 20000, 0)
		r.clock = r.clock.Add(tt.pause)
		r.user(tt.content)
		r.request(5000, tt.writes, 0)
		last := &r.lines[len(r.lines)-1]
		*last = strings.Replace(*last, `"usage":`, fmt.Sprintf(`"diagnostics":{"cache_miss_reason":{"type":%q}},"usage":`, tt.reason), 1)
		path := filepath.Join(t.TempDir(), "s.jsonl")
		must.Do(t, os.WriteFile(path, []byte(strings.Join(r.lines, "\n")+"\n"), 0o600))
		s, _, err := why.Replay(recordOf(t, path), replay.RecordedTrack(), replay.Options{}, nil)
		if err != nil || len(s.Breaks) != 1 || s.Breaks[0].InFile == nil {
			t.Fatalf("%+v: %+v, %v", tt, s, err)
		}
		must.Equal(t, s.Breaks[0].Cause, tt.want, tt)
		must.Equal(t, s.Breaks[0].InFile.Reason, tt.reason, tt)
	}
}
