package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// TestLabOthers holds the conversations of other clients than Claude Code against what they sent: each request's, and how
// often they were compacted.
func TestLabOthers(t *testing.T) {
	dir := folderOf(t, "CTXKIT_LAB")
	logs := must.Get(filepath.Glob(filepath.Join(dir, "*", "requests.ndjson.gz")))(t)
	seen := 0
	for _, log := range logs {
		name := filepath.Base(filepath.Dir(log))
		client, _, _ := strings.Cut(name, "-")
		if client == "claude" {
			continue
		}
		seen++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			othersOf(t, filepath.Dir(log))
		})
	}
	if seen == 0 {
		t.Fatal("no session")
	}
}

// otherRequest is a line of requests.ndjson of any API.
type otherRequest struct {
	API, Who string
	Messages []map[string]any
	Answer   struct {
		ID    string // older logs have none, and only what is on the file
		Error any
		Text  string
		Calls []string
		U     struct{ Total, Out int }
	}
}

func othersOf(t *testing.T, dir string) {
	var path string
	for _, pattern := range strings.Fields("export.json.gz rollout*.gz events.jsonl.gz session-*.gz *.jsonl.gz") {
		if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) > 0 {
			path = found[0]
			break
		}
	}
	raw := labLines(t, path)
	f := must.Get(session.Load(path, session.LoadOptions{}))(t)
	defer f.Close()
	rec := must.Get(replay.NewRecord(f.Main))(t)
	sent, summaries := otherRequests(t, dir, raw)
	if len(sent) != len(f.Main.Requests) || summaries != len(f.Main.Boundaries) {
		t.Fatalf("%d requests and %d compactions of %d and %d", len(f.Main.Requests), len(f.Main.Boundaries), len(sent), summaries)
	}
	for k, r := range sent {
		if u := f.Main.Messages[f.Main.Requests[k].Message].Usage; u.Context() > 0 && (u.Context() != r.Answer.U.Total || u.Output != r.Answer.U.Out) {
			t.Errorf("request %d: %d and %d tokens of %+v", k+1, u.Context(), u.Output, r.Answer.U)
		}
		v := must.Get(rec.ViewAt(replay.RecordedTrack(), replay.Options{}, k+1))(t)
		body := must.Get(wire.RequestBody(v, replay.RecordedTrack()))(t)
		text := must.Get(body.Append(nil))(t)
		var ours struct{ Messages []map[string]any }
		must.Do(t, json.Unmarshal(text, &ours))
		want, got := otherBlocks(r.API, r.Messages), otherBlocks("anthropic", ours.Messages)
		prompts := map[string]bool{}
		for i := range want {
			prompts[labCut(want[i].text)] = want[i].role == "user" && want[i].kind == "text" || prompts[labCut(want[i].text)]
		}
		if r.API == "gemini" { // its calls have other ids on the wire
			for i := range got {
				got[i].id = ""
			}
		}
		a, b := labCore(want, nil), labCore(got, prompts)
		for i := range max(len(a), len(b)) {
			if i >= len(a) || i >= len(b) || a[i] != b[i] {
				t.Errorf("request %d: block %d of %d: sent %.200q, shown %.200q", k+1, i+1, len(a), a[min(i, len(a)):min(i+1, len(a))], b[min(i, len(b)):min(i+1, len(b))])
				break
			}
		}
	}
}

// otherRequests are the requests of the main conversation whose answers are on the file, and the number of summaries.
func otherRequests(t *testing.T, dir, raw string) (sent []otherRequest, summaries int) {
	asked := "" // who asked last
	for dec := json.NewDecoder(strings.NewReader(labLines(t, filepath.Join(dir, "requests.ndjson.gz")))); ; {
		var r otherRequest
		if err := dec.Decode(&r); err == io.EOF {
			return sent, summaries
		} else if err != nil {
			t.Fatal(err)
		}
		onFile := r.Answer.ID == "" || r.Answer.Text != "" && strings.Contains(raw, jsonText(r.Answer.Text)) || slices.ContainsFunc(r.Answer.Calls, func(id string) bool { return strings.Contains(raw, id) })
		switch {
		case r.Answer.Error != nil:
			continue
		case r.Who == "main" && onFile:
			if strings.HasPrefix(filepath.Base(dir), "qwen") { // what it opens with is on no line: it is overhead
				r.Messages = r.Messages[3:]
			}
			sent = append(sent, r)
		case r.Who == "summary" && (r.API != "chat" || asked != "summary"): // Pi asks twice
			summaries++
		}
		asked = r.Who
	}
}

// otherBlocks are the blocks of a body.
func otherBlocks(api string, messages []map[string]any) (list []labBlock) {
	text := func(v any) string { s, _ := v.(string); return s }
	add := func(role, kind, id string, said any) {
		list = append(list, labBlock{role: role, kind: kind, id: id, text: otherText(said)})
	}
	call := func(id string, input any) {
		var v any
		if s, ok := input.(string); ok && json.Unmarshal([]byte(s), &v) == nil {
			input = v
		}
		add("assistant", "tool_use", id, jsonText(input))
	}
	for _, m := range messages {
		role := strings.ReplaceAll(text(m["role"]), "developer", "system")
		content, _ := m["content"].([]any)
		if s := text(m["content"]); s != "" {
			content = []any{s}
		}
		kind := text(m["type"])
		switch {
		case api == "chat" && role == "tool":
			add("user", "tool_result", text(m["tool_call_id"]), m["content"])
			continue
		case api == "chat" && len(content) > 0 && len(list) > 0 && list[len(list)-1].kind == "tool_result" && strings.HasPrefix(otherText(content[0]), "Attached "):
			list[len(list)-1].text += "\n" + otherText(content[1:]) // pictures of a result, where results are texts
			continue
		case strings.HasSuffix(kind, "_call_output"):
			add("user", "tool_result", text(m["call_id"]), m["output"])
		case kind == "custom_tool_call":
			call(text(m["call_id"]), map[string]any{"input": m["input"]})
		case kind == "function_call":
			call(text(m["call_id"]), m["arguments"])
		case kind == "reasoning":
			add("assistant", "thinking", "", m["summary"])
		case kind == "compaction":
			add("user", kind, "", m["encrypted_content"])
		}
		if s := text(m["reasoning_content"]); s != "" {
			add(role, "thinking", "", s)
		}
		for _, c := range content {
			b, _ := c.(map[string]any)
			switch kind := text(b["type"]); kind {
			case "tool_use":
				call(text(b["id"]), b["input"])
			case "tool_result":
				add(role, kind, text(b["tool_use_id"]), b["content"])
			case "thinking":
				add(role, kind, "", b["thinking"])
			case "compaction":
				add(role, kind, "", b["signature"])
			case "image", "input_image", "image_url":
				add(role, "image", "", b)
			default:
				add(role, "text", "", c)
			}
		}
		calls, _ := m["tool_calls"].([]any)
		for _, c := range calls {
			b, _ := c.(map[string]any)
			of, _ := b["function"].(map[string]any)
			call(text(b["id"]), of["arguments"])
		}
		parts, _ := m["parts"].([]any)
		for _, c := range parts {
			b, _ := c.(map[string]any)
			role := strings.ReplaceAll(role, "model", "assistant")
			if of, ok := b["functionCall"].(map[string]any); ok {
				call("", of["args"])
			} else if of, ok := b["functionResponse"].(map[string]any); ok {
				said, _ := of["response"].(map[string]any)
				if _, ok := said["output"]; !ok {
					said = map[string]any{"output": jsonText(said)}
				}
				add(role, "tool_result", "", said["output"])
			} else if of, ok := b["inlineData"].(map[string]any); ok {
				add(role, "image", "", map[string]any{"type": "image", "source": of})
			} else {
				add(role, "text", "", b)
			}
		}
	}
	return list
}

// otherText is the text of a content: a string, a block or a list; of a picture its data.
func otherText(v any) string {
	switch c := v.(type) {
	case string:
		return c
	case []any:
		texts := make([]string, len(c))
		for i := range c {
			texts[i] = otherText(c[i])
		}
		return strings.Join(texts, "\n")
	case map[string]any:
		data := c["image_url"]
		if of, ok := data.(map[string]any); ok {
			data = of["url"]
		}
		if of, ok := c["source"].(map[string]any); ok {
			data = of["data"]
		}
		if s, ok := data.(string); ok {
			return s[strings.IndexByte(s, ',')+1:]
		}
		if s, ok := c["text"].(string); ok {
			return s
		}
		return otherText(c["content"])
	}
	return ""
}

// labBlock is a block as it is compared.
type labBlock struct {
	role, kind, id, text string
}

// labCore is what persons, models and tools said, without the client's own words.
func labCore(blocks []labBlock, prompts map[string]bool) (list [][3]string) {
	for _, b := range blocks {
		text := b.text
		if b.kind != "tool_use" {
			text = labCut(text)
		}
		if b.role == "system" || text == "" || prompts != nil && b.role == "user" && b.kind == "text" && !prompts[text] {
			continue
		}
		list = append(list, [3]string{b.kind, b.id, text})
	}
	return list
}

var (
	labReminder = regexp.MustCompile(`\s*<system-reminder>|</system-reminder>\s*`)
	labOwn      = regexp.MustCompile(`\[placeholder for [^\]]*\]\n?`)
)

// labCut is a text without reminders, which may hold others, and other words of the client.
func labCut(text string) string {
	text = labOwn.ReplaceAllString(text, "")
	var out strings.Builder
	depth, from := 0, 0
	for _, at := range labReminder.FindAllStringIndex(text, -1) {
		opens := strings.HasSuffix(text[at[0]:at[1]], "<system-reminder>")
		if depth == 0 {
			out.WriteString(text[from:at[0]])
		}
		if from = at[1]; opens {
			depth++
		} else {
			depth = max(depth-1, 0)
		}
	}
	if depth == 0 {
		out.WriteString(text[from:])
	}
	return strings.TrimSpace(out.String())
}

// TestLabCompactions holds where the policies of other products compact and prune against where their clients did, in sessions
// of the lab with the settings and the window that those had.
func TestLabCompactions(t *testing.T) {
	dir := folderOf(t, "CTXKIT_LAB")
	for _, tt := range []struct {
		session, file string
		args          []string
		want          string // KIND REQUEST RESULTS
	}{
		{"codex-0.171.0", "rollout.jsonl", []string{"-p", "codex"}, ""},
		{"codex-0.171.0-patch", "rollout.jsonl", []string{"-p", "codex"}, ""},
		{"codex-0.171.0-remote", "rollout.jsonl", strings.Fields("-p codex@0.171.0 --set codex_compaction.token_limit=26000"), "summarize 8 0"},
		{"pi-0.74.2", "*.jsonl", strings.Fields("-p pi@0.74.2 --window 60000"), "summarize 13 0"},
		{"opencode-1.18.33", "export.json", strings.Fields("-p opencode --window 80000"), "summarize 12 0"},
		{"opencode-1.18.33-compact2", "export.json", strings.Fields("-p opencode --window 80000"), "summarize 11 0, summarize 20 0"},
		{"opencode-1.18.33-prune", "export.json", []string{"-p", "opencode"}, "clear 21 12"},
		{"opencode-1.18.33-errors", "export.json", strings.Fields("-p opencode --window 80000"), ""},
		{"opencode-1.18.33-fork", "export.json", strings.Fields("-p opencode --window 80000"), ""},
		{"opencode-1.18.33-revert", "export.json", strings.Fields("-p opencode --window 80000"), ""},
	} {
		t.Run(tt.session, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(filepath.Join(unpackLab(t, filepath.Join(dir, tt.session), tt.file+".gz"), "*"))
			if err != nil || len(files) != 1 {
				t.Fatalf("%v, %v", files, err)
			}
			events := func(args ...string) string {
				code, out, said := ctxkit(append([]string{"replay", files[0], "-f", "json"}, args...)...)
				if code != 0 {
					t.Fatalf("exit %d: %s", code, said)
				}
				var tl replay.Timeline
				must.Do(t, json.Unmarshal([]byte(out), &tl))
				var list []string
				for _, e := range tl.Events {
					at := tl.Totals.Requests + 1 // behind the last
					if e.Request != nil {
						at = *e.Request
					}
					list = append(list, fmt.Sprintf("%s %d %d", e.Kind, at, len(e.Targets)))
				}
				return strings.Join(list, ", ")
			}
			if recorded, got := events("-p", "recorded"), events(tt.args...); recorded != tt.want || got != tt.want {
				t.Errorf("recorded %q, under %v %q, want %q", recorded, tt.args, got, tt.want)
			}
		})
	}
}
