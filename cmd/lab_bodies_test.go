package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/stats"
	"github.com/ctxkit/ctxkit/replay/why"
)

// trueBody is a line of requests.ndjson with the whole body.
type trueBody struct {
	Params   map[string]any
	System   []json.RawMessage
	Tools    []json.RawMessage
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
	Answer struct{ ID string }
}

// TestRecordedBodies holds what session files of newer clients hold of requests against the bodies that were sent: each
// is equal as a whole, why names what differs between two of them, and the parts of the overhead are the system prompt
// and the tools. CTXKIT_RECORDINGS lists folders of recordings with whole bodies, as scripts/lab makes them.
func TestRecordedBodies(t *testing.T) {
	list := filepath.SplitList(os.Getenv("CTXKIT_RECORDINGS"))
	if len(list) == 0 {
		t.Skip("CTXKIT_RECORDINGS names no folder")
	}
	var sum struct{ sessions, requests, pairs, changes, parts int }
	for _, dir := range list {
		names := must.Get(filepath.Glob(filepath.Join(dir, "*", "requests.ndjson")))(t)
		for _, name := range names {
			bodies := trueBodies(t, name)
			if len(bodies) == 0 {
				continue
			}
			top := filepath.Dir(name)
			var files []string
			for _, pattern := range []string{"*.jsonl", "*/subagents/*.jsonl"} {
				more := must.Get(filepath.Glob(filepath.Join(top, pattern)))(t)
				files = append(files, more...)
			}
			for _, path := range files {
				f, rec := labLoad(t, path)
				log := must.Get(requestsOf(f.Main))(t)
				if log == nil {
					f.Close()
					continue
				}
				sum.sessions++
				s, _, err := why.Replay(rec, replay.RecordedTrack(), replay.Options{}, log)
				if err != nil {
					t.Fatal(err)
				}
				found := map[int]*why.RequestChange{}
				for i := range s.Changes {
					found[s.Changes[i].Request] = &s.Changes[i]
				}
				var before *trueBody
				for n := 1; n <= len(f.Main.Requests); n++ {
					q := requestAt(log, f.Main, n)
					var now *trueBody
					if q != nil {
						now = bodies[q.Answer]
					}
					if now != nil {
						sum.requests++
						got, err := log.Body(q)
						if err != nil {
							t.Fatalf("%s: request %d: %v", path, n, err)
						}
						if what := now.differs(t, got); what != "" {
							t.Errorf("%s: request %d: %s differs", path, n, what)
						}
						one, _, err := stats.Replay(rec, replay.RecordedTrack(), replay.Options{}, func(*replay.Timeline) (stats.Extent, error) { return stats.Extent{Request: n, Until: n}, nil }, nil)
						if err == nil {
							err = one.AddOverhead(rec, log)
						}
						if err != nil {
							t.Fatal(err)
						}
						sum.parts++
						if what := now.overhead(one); what != "" {
							t.Errorf("%s: request %d: %s", path, n, what)
						}
					}
					if now != nil && before != nil {
						sum.pairs++
						part, name, size := changeOf(before, now)
						c := found[n]
						switch {
						case c == nil && part == "":
						case c == nil || part == "":
							t.Errorf("%s: request %d: %q %q, found %+v", path, n, part, name, c)
						case string(c.Change.Part) != part || c.Change.Part != requests.PartMessage && name != "" && c.Change.Name != name || size > 0 && size != c.Change.Bytes:
							t.Errorf("%s: request %d: %+v, want %s %s of %d bytes", path, n, *c.Change, part, name, size)
						default:
							if part == "message" && name != "" && name != c.Change.Text {
								t.Errorf("%s: request %d: %q differs, want %q", path, n, c.Change.Text, name)
							}
							if sum.changes++; (c.Tokens == 0) != (part == "model" || part == "setting") {
								t.Errorf("%s: request %d: %+v has %d tokens", path, n, *c.Change, c.Tokens)
							}
							t.Logf("%s: request %d: %s %s: %d tokens, %d lost", filepath.Base(top), n, part, c.Change.Name, c.Tokens, c.Lost)
						}
					}
					before = now
				}
				for _, b := range s.Breaks {
					lost := 0
					if b.Sim != nil {
						lost = b.Sim.Lost
					}
					t.Logf("%s: request %d: %s after %v s: %d lost, simulated %d", filepath.Base(top), b.Request, b.Cause, b.Idle, b.Lost(), lost)
				}
				f.Close()
			}
		}
	}
	if t.Logf("%+v", sum); sum.requests == 0 {
		t.Error("no request is on record")
	}
}

// trueBodies are the bodies of a log by their answers, without those that are not whole. What the client says of its bill
// is no part of the prompt, and is not recorded.
func trueBodies(t *testing.T, path string) map[string]*trueBody {
	text := must.Get(os.ReadFile(path))(t)
	list := map[string]*trueBody{}
	for line := range strings.Lines(string(text)) {
		b := &trueBody{}
		var whole struct{ System any }
		if json.Unmarshal([]byte(line), &whole) != nil {
			t.Fatalf("%s: %.80s", path, line)
		}
		if _, ok := whole.System.([]any); !ok {
			continue
		}
		must.Do(t, json.Unmarshal([]byte(line), b))
		b.System = slices.DeleteFunc(b.System, func(raw json.RawMessage) bool {
			return bytes.Contains(raw, []byte(`"text":"x-anthropic-billing-header`))
		})
		if b.Answer.ID != "" {
			list[b.Answer.ID] = b
		}
	}
	return list
}

// differs names the first part of a request on record that is not as it was sent.
func (b *trueBody) differs(t *testing.T, got *requests.SentBody) string {
	params := map[string]any{}
	for _, p := range got.Params {
		params[p.Name] = valueOf(p.Value)
	}
	for name, v := range b.Params {
		if name != "stream" && name != "metadata" && !reflect.DeepEqual(v, params[name]) {
			return "parameter " + name
		}
		delete(params, name)
	}
	delete(params, "betas") // they are sent as a header
	for name := range params {
		return "parameter " + name
	}
	if !reflect.DeepEqual(valueOf(jsonOf(t, b.System)), valueOf(got.System)) {
		return "the system prompt"
	}
	if !reflect.DeepEqual(valueOf(jsonOf(t, b.Tools)), valueOf(got.Tools)) {
		return "tools"
	}
	var sent, held []any
	for _, m := range b.Messages {
		content := valueOf(m.Content)
		if text, ok := content.(string); ok {
			content = []any{map[string]any{"type": "text", "text": text}}
		}
		sent = append(sent, m.Role, content)
	}
	for i := range got.Messages {
		var m struct {
			Role    string
			Content any
		}
		must.Do(t, json.Unmarshal(got.Messages[i].Append(nil), &m))
		held = append(held, m.Role, m.Content)
	}
	if !reflect.DeepEqual(sent, held) {
		return "messages"
	}
	return ""
}

// overhead says where the parts of the overhead are not those of the body.
func (b *trueBody) overhead(s *stats.SessionStats) string {
	if s.Overhead == nil {
		return "no overhead"
	}
	size, tools := 0, 0
	for _, raw := range slices.Concat(b.System, b.Tools) {
		size += len(unmarked(raw))
	}
	parts, tokens := 0, 0
	for _, p := range s.Overhead.Parts {
		parts, tokens = parts+p.Bytes, tokens+p.Tokens
		if p.Part == "tool" {
			tools++
		}
	}
	switch {
	case parts != size || s.Overhead.Bytes != size:
		return jsonText(map[string]int{"bytes": size, "parts": parts, "sum": s.Overhead.Bytes})
	case tools != len(b.Tools):
		return jsonText(map[string]int{"tools": len(b.Tools), "parts": tools})
	case tokens != s.Overhead.Tokens:
		return jsonText(map[string]int{"tokens": s.Overhead.Tokens, "parts": tokens})
	}
	for _, c := range s.Categories {
		if c.Category == "system" && c.Tokens != tokens {
			return jsonText(map[string]int{"category": c.Tokens, "parts": tokens})
		}
	}
	return ""
}

// between is what a text is, or else was, between what it begins and ends with as it did before.
func between(was, is string) string {
	a, b := []rune(was), []rune(is)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(b) == 0 {
		b = a
	}
	return string(b)
}

// changeOf is the first that differs between two bodies: model, tool, system prompt, setting, message, and how long a
// tool's definition is.
func changeOf(before, after *trueBody) (part, name string, size int) {
	if before.Params["model"] != after.Params["model"] {
		return "model", "model", 0
	}
	toolName := func(raw []byte) string { s, _ := valueOf(raw).(map[string]any)["name"].(string); return s }
	has := func(list []json.RawMessage, name string) bool {
		return slices.ContainsFunc(list, func(raw json.RawMessage) bool { return toolName(raw) == name })
	}
	for i := range max(len(before.Tools), len(after.Tools)) {
		switch {
		case i >= len(before.Tools) || i < len(after.Tools) && !has(before.Tools, toolName(after.Tools[i])):
			return "tool", toolName(after.Tools[i]), len(unmarked(after.Tools[i]))
		case i >= len(after.Tools) || !has(after.Tools, toolName(before.Tools[i])):
			return "tool", toolName(before.Tools[i]), len(unmarked(before.Tools[i]))
		case !bytes.Equal(unmarked(before.Tools[i]), unmarked(after.Tools[i])):
			return "tool", toolName(after.Tools[i]), len(unmarked(after.Tools[i]))
		}
	}
	if !slices.EqualFunc(before.System, after.System, func(a, b json.RawMessage) bool { return bytes.Equal(unmarked(a), unmarked(b)) }) {
		return "system", "", 0
	}
	late := func(name string) bool { return name == "max_tokens" || name == "context_management" }
	setting := func(last bool) (string, bool) {
		for _, params := range []map[string]any{before.Params, after.Params} {
			for name := range params {
				if late(name) == last && !reflect.DeepEqual(before.Params[name], after.Params[name]) {
					return name, true
				}
			}
		}
		return "", false
	}
	if name, ok := setting(false); ok {
		return "setting", name, 0
	}
	type block struct{ place, json, text string }
	flat := func(b *trueBody) (list []block) {
		for i, m := range b.Messages {
			blocks, ok := valueOf(m.Content).([]any)
			if !ok {
				blocks = []any{map[string]any{"type": "text", "text": valueOf(m.Content)}}
			}
			for k, v := range blocks {
				value := v.(map[string]any)
				delete(value, "cache_control")
				text, _ := value["text"].(string)
				list = append(list, block{jsonText([]any{i, k, m.Role, value["type"]}), jsonText(value), text})
			}
		}
		return list
	}
	a, b := flat(before), flat(after)
	for i := range a {
		switch {
		case i < len(b) && a[i] == b[i]:
		case i < len(b) && a[i].place == b[i].place && a[i].text != "" && b[i].text != "":
			return "message", between(a[i].text, b[i].text), 0
		default:
			return "message", "", 0
		}
	}
	name, ok := setting(true)
	if ok {
		return "setting", name, 0
	}
	return "", "", 0
}

// unmarked is a value's JSON as JavaScript writes it, without its cache breakpoint.
func unmarked(raw []byte) []byte {
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		panic(err)
	}
	text := out.Bytes()
	if at := bytes.Index(text, []byte(`,"cache_control":{`)); at >= 0 {
		end := at + bytes.IndexByte(text[at:], '}') + 1
		text = slices.Concat(text[:at], text[end:])
	}
	return text
}

func valueOf(raw []byte) (v any) {
	_ = json.Unmarshal(raw, &v)
	return v
}

func jsonOf(t *testing.T, v any) []byte {
	raw := must.Get(json.Marshal(v))(t)
	return raw
}
