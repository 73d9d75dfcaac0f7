package copilot_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/internal/outline"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

func TestEvents(t *testing.T) {
	f := outline.Load(t, "testdata/events.jsonl")
	conv := f.Main
	want := []string{
		`0 prompt text "<current_datetime>2026-07-24</current_datetime>\n\nfind the bug"`,
		`1 meta text "<system_reminder>tools</system_reminder>"`,
		`2 response thinking "where to look" text "I look." tool_use "view {\"path\":\"a.go\"}" tool_use "task {\"prompt\":\"review\"}" (120)`,
		`3 tool_result tool_result "package a"`,
		`4 tool_result tool_result "Denied by a hook"`,
		`5 response tool_use "rg {\"pattern\":\"bug\"}" (50)`,
		`6 tool_result tool_result "a.go:1"`,
		`compacted auto at 13000, summary 7, keeps [5 6]`,
		`7 summary text "<overview>A bug is looked for.</overview>"`,
		`8 response text "Found it." (20)`,
		`9 prompt text "thanks"`,
		`10 response text "Any time." [500+12000+500 -> 7]`,
	}
	outline.Same(t, want, outline.Of(t, conv))
	if len(f.Sidechains) != 1 || f.Sidechains[0].Agent != "t2" {
		t.Fatalf("%d sidechains", len(f.Sidechains))
	}
	outline.Same(t, []string{`0 prompt text "review, please"`, `1 response text "All is well." (30)`}, outline.Of(t, f.Sidechains[0]), "subagent")
	b := &conv.Boundaries[0]
	if diff := cmp.Diff(&jsonl.Usage{Input: 2, CacheRead: 12000, CacheWrite: 1198, Output: 400}, b.Usage); diff != "" || b.Trigger != "auto" {
		t.Errorf("%s by itself: %s", b.Trigger, diff)
	}
	at := time.Date(2026, 7, 24, 10, 1, 0, 0, time.UTC)
	totals := []session.RunTotals{
		{Line: 24, Model: "claude-fable-5", Time: at, Requests: 4, Usage: jsonl.Usage{Input: 5000, CacheRead: 30000, CacheWrite: 15000, Output: 590, Thinking: 60}},
		{Line: 24, Model: "claude-opus-4.8", Time: at, Requests: 1, Usage: jsonl.Usage{Input: 1000, CacheWrite: 8000, Output: 30}},
		{Line: 28, Model: "claude-fable-5", Time: at.Add(time.Hour), Requests: 1, Usage: jsonl.Usage{Input: 500, CacheRead: 12000, CacheWrite: 500, Output: 7}},
	}
	outline.Same(t, totals, conv.Totals, "totals")
	must.Say(t, "12000 1.0.74 /home/u/shop 0", conv.Overhead, conv.Version, conv.CWD, f.Sidechains[0].Overhead)
	aside := map[session.Reason]int{
		"metadata: session.model_change": 1, "the system prompt: part of the overhead": 1, "metadata: assistant.turn_start": 2, "metadata: assistant.turn_end": 1,
		"the message before, again": 1, "the start of a tool: its call and its result are used": 2, "metadata: subagent.started": 1, "system: client_resume": 1,
	}
	outline.Same(t, aside, conv.Lines.SetAside, "set aside")
	must.Say(t, "0 find the bug", len(conv.Warnings), conv.Title)
}

// TestOrder: results are sent in the order of the calls, by older versions as they came; a process that resumes has read back no thinking but encrypted
// one; the usage of a call of the API is that of its record.
func TestOrder(t *testing.T) {
	event := func(kind, id, data string) string {
		return fmt.Sprintf(`{"type":%q,"id":%q,"timestamp":"2026-11-20T10:00:00Z","data":%s}`, kind, id, data) + "\n"
	}
	text := event("session.start", "n", `{"sessionId":"s","copilotVersion":"1.0.102"}`) + event("user.message", "u", `{"content":"look"}`) + event("assistant.turn_start", "s", `{}`) +
		event("session.usage_record", "r", `{"usage":{"apiCallId":"k","inputTokens":90,"cacheReadTokens":60,"outputTokens":5}}`) +
		event("assistant.message", "a", `{"apiCallId":"k","content":"","reasoningText":"hm","outputTokens":5,"toolRequests":[{"toolCallId":"c1","name":"bash","arguments":{}},{"toolCallId":"c2","name":"bash","arguments":{}}]}`) +
		event("tool.execution_complete", "y", `{"toolCallId":"c2","success":true,"result":{"content":"two"}}`) +
		event("tool.execution_complete", "x", `{"toolCallId":"c1","success":true,"result":{"content":"one"}}`) + event("assistant.turn_end", "e", `{}`) +
		event("assistant.message", "b", `{"apiCallId":"l","content":"done","reasoningText":"so","reasoningOpaque":"QUJD","outputTokens":5}`) +
		event("session.resume", "z", `{}`) + event("user.message", "v", `{"content":"more"}`) + event("assistant.message", "c", `{"apiCallId":"m","content":"yes","outputTokens":1}`)
	must.Rows(t, `
# version | results
1.0.102 | ["one", "two"]
1.0.89  | ["two", "one"]
`, func(version string, results [2]string) {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		must.Do(t, os.WriteFile(path, []byte(strings.Replace(text, "1.0.102", version, 1)), 0o600))
		conv := outline.Load(t, path).Main
		want := []string{
			`0 prompt text "look"`, `1 response thinking "hm" tool_use "bash {}" tool_use "bash {}" [30+60+0 -> 5]`,
			fmt.Sprintf("2 tool_result tool_result %q", results[0]), fmt.Sprintf("3 tool_result tool_result %q", results[1]),
			`4 response thinking "so" text "done" (5)`, `5 prompt text "more"`, `6 response text "yes" (1)`,
		}
		outline.Same(t, want, outline.Of(t, conv), version)
		if len(conv.Restarts) != 1 || conv.Restarts[0].Before != 5 {
			t.Fatalf("%s: restarts %+v", version, conv.Restarts)
		}
		outline.Same(t, []session.BlockPlace{{Message: 1, Block: 0}}, conv.Restarts[0].Left, version)
	})
}

// TestOdd reads files that are damaged, or unusual.
func TestOdd(t *testing.T) {
	const prompt = `{"type":"user.message","data":{"content":"one"},"id":"u","timestamp":"2026-07-24T10:00:00Z"}` + "\n"
	for _, tt := range []struct {
		name, in string
		want     []string
		warning  string
	}{
		{"the first line is lost", prompt, []string{`0 prompt text "one"`}, ""},
		{"a compaction whose start is lost", prompt + `{"type":"session.compaction_complete","data":{"success":true,"preCompactionTokens":9,"summaryContent":"s"},"id":"c"}` + "\n" + strings.ReplaceAll(prompt, `"u"`, `"v"`), []string{`0 prompt text "one"`, "compacted unknown at 9, summary 1, keeps []", `1 summary text "s"`, `2 prompt text "one"`}, "the start of the compaction is not in the file: what it kept is not known"},
		{"a compaction that failed", prompt + `{"type":"session.compaction_start","data":{},"id":"c"}` + "\n" + `{"type":"session.compaction_complete","data":{"success":false},"id":"d"}`, []string{`0 prompt text "one"`}, ""},
		{"a truncation", prompt + `{"type":"session.truncation","data":{"messagesRemovedDuringTruncation":3},"id":"c"}`, []string{`0 prompt text "one"`}, "the client removed old messages; which is not recorded, and they stay"},
		{"a rewind", prompt + strings.NewReplacer(`"u"`, `"v"`, "one", "two").Replace(prompt) + `{"type":"session.snapshot_rewind","data":{"upToEventId":"v","eventsRemoved":1},"id":"w"}` + "\n" + strings.NewReplacer(`"u"`, `"x"`, "one", "three").Replace(prompt), []string{`0 prompt text "one"`, `1 prompt text "three"`}, ""},
		{"a rewind to the beginning", prompt + `{"type":"assistant.message","data":{"messageId":"m","content":"answer","outputTokens":2},"id":"a","timestamp":"2026-07-24T10:00:00Z"}` + "\n" + `{"type":"session.snapshot_rewind","data":{"upToEventId":"u"},"id":"w"}` + "\n" + strings.NewReplacer(`"u"`, `"x"`, "one", "three").Replace(prompt), []string{`0 prompt text "three"`}, ""},
		{"a rewind of events that are gone", prompt + `{"type":"session.snapshot_rewind","data":{"upToEventId":"z"},"id":"w"}`, []string{`0 prompt text "one"`}, ""},
		{"totals that differ", prompt + `{"type":"session.shutdown","data":{"modelMetrics":{"m":{"requests":{"count":1},"usage":{"inputTokens":10,"outputTokens":5}}}},"id":"c"}`, []string{`0 prompt text "one"`}, "the client says that its requests wrote 5 tokens, those in the file wrote 0"},
		{"a field of another type", `{"type":"assistant.message","data":{"content":5,"outputTokens":"x"},"id":"c","timestamp":"2026-07-24T10:00:00Z"}`, []string{`0 response text "5"`}, "a field is not of its type: the readable part of the line is used"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "events.jsonl")
			must.Do(t, os.WriteFile(path, []byte(tt.in), 0o600))
			f := outline.Load(t, path)
			outline.Same(t, tt.want, outline.Of(t, f.Main))
			said := ""
			for _, w := range f.Main.Warnings {
				said += w.Message + "\n"
			}
			if !strings.Contains(said, tt.warning) || tt.warning == "" && said != "" {
				t.Errorf("warnings %q, want %q", said, tt.warning)
			}
		})
	}
}

// TestCorpus compares the output of each request, the totals of sessions and the compactions with the files.
func TestCorpus(t *testing.T) {
	folder := os.Getenv("CTXKIT_AGENTS")
	if folder == "" {
		t.Skip("CTXKIT_AGENTS is not set")
	}
	paths, err := filepath.Glob(filepath.Join(folder, "copilot", "*.jsonl*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	type tokens struct{ Input, CacheRead, CacheWrite, Output int }
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f := outline.Load(t, path)
			outputs, compacted := map[string][]int{}, []int(nil)
			var totals tokens
			src := must.Get(jsonl.Open(path))(t)
			defer src.Close()
			text, _ := src.Head(64 << 20)
			lines := bufio.NewScanner(strings.NewReader(string(text)))
			lines.Buffer(nil, 64<<20)
			for lines.Scan() {
				var l struct {
					Type    string
					AgentID string
					Data    struct {
						OutputTokens, PreCompactionTokens int
						ModelMetrics                      map[string]struct {
							Usage struct{ InputTokens, OutputTokens, CacheReadTokens, CacheWriteTokens int }
						}
					}
				}
				_ = json.Unmarshal(lines.Bytes(), &l) // a content may be no string
				switch l.Type {
				case "assistant.message":
					outputs[l.AgentID] = append(outputs[l.AgentID], l.Data.OutputTokens)
				case "session.compaction_complete":
					compacted = append(compacted, l.Data.PreCompactionTokens)
				case "session.shutdown": // the corpus has at most one
					for _, m := range l.Data.ModelMetrics {
						u := m.Usage
						totals = tokens{totals.Input + u.InputTokens, totals.CacheRead + u.CacheReadTokens, totals.CacheWrite + u.CacheWriteTokens, totals.Output + u.OutputTokens}
					}
				}
			}
			for _, conv := range f.Conversations() {
				var got []int
				for _, q := range conv.Requests {
					got = append(got, conv.Messages[q.Message].Usage.Output)
				}
				outline.Same(t, outputs[conv.Agent], got, conv.Agent)
			}
			var got tokens
			for i := range f.Main.Totals {
				u := &f.Main.Totals[i].Usage
				got = tokens{got.Input + u.Context(), got.CacheRead + u.CacheRead, got.CacheWrite + u.CacheWrite, got.Output + u.Output}
			}
			outline.Same(t, totals, got, "totals")
			var pre []int
			for i := range f.Main.Boundaries {
				b := &f.Main.Boundaries[i]
				if pre = append(pre, b.PreTokens); b.Summary < 0 || len(b.Preserved) == 0 || b.Usage == nil {
					t.Errorf("line %d: %+v", b.Line, b)
				}
			}
			outline.Same(t, compacted, pre, "compactions: -file +read")
			if len(f.Main.Warnings) > 0 {
				t.Errorf("warnings %+v", f.Main.Warnings)
			}
		})
	}
}

// TestCharges: what a run used beside the calls of which all is known is billed as one, and the calls that have a record of
// their own are billed by it.
func TestCharges(t *testing.T) {
	event := func(kind, id, data string) string {
		return fmt.Sprintf(`{"type":%q,"id":%q,"timestamp":"2026-11-20T10:00:00Z","data":%s}`, kind, id, data) + "\n"
	}
	said := func(id, model string, out int) string {
		return event("user.message", "u"+id, `{"content":"go"}`) + event("assistant.message", id, fmt.Sprintf(`{"apiCallId":%q,"model":%q,"content":"ok","outputTokens":%d}`, id, model, out))
	}
	metrics := func(model string, count, in, read, out int) string {
		return fmt.Sprintf(`%q:{"requests":{"count":%d},"usage":{"inputTokens":%d,"outputTokens":%d,"cacheReadTokens":%d}}`, model, count, in, out, read)
	}
	ended := func(id string, models ...string) string {
		return event("session.shutdown", id, `{"modelMetrics":{`+strings.Join(models, ",")+`}}`)
	}
	compacted := event("session.compaction_start", "k1", `{}`) + event("session.compaction_complete", "k2", `{"success":true,"summaryContent":"s","compactionTokensUsed":{"inputTokens":40,"outputTokens":6}}`)
	record := event("session.usage_record", "r1", `{"usage":{"apiCallId":"a","model":"m","inputTokens":90,"outputTokens":5}}`)
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"one request", said("a", "m", 5) + ended("e", metrics("m", 1, 100, 60, 5)), []string{"request a 100 in 5 out"}},
		{"three, and more than they", said("a", "m", 5) + said("b", "m", 6) + said("c", "m", 7) + ended("e", metrics("m", 4, 300, 60, 20)), []string{"request a 0 in 5 out, in a run", "request b 0 in 6 out, in a run", "request c 0 in 7 out, in a run", "run e/m 300 in 20 out, of 4"}},
		{"two models", said("a", "m", 5) + said("b", "n", 6) + said("c", "m", 7) + ended("e", metrics("m", 2, 300, 60, 12), metrics("n", 1, 30, 0, 6)), []string{"request a 0 in 5 out, in a run", "request b 0 in 6 out, in a run", "request c 0 in 7 out, in a run", "run e/m 300 in 12 out, of 2", "run e/n 30 in 6 out, of 1"}},
		{"with a compaction", said("a", "m", 5) + compacted + said("b", "m", 6) + ended("e", metrics("m", 3, 300, 60, 17)), []string{"request a 0 in 5 out, in a run", "compaction k2 40 in 6 out", "request b 0 in 6 out, in a run", "run e/m 260 in 11 out, of 2"}},
		{"two runs", said("a", "m", 5) + said("b", "m", 5) + ended("e", metrics("m", 2, 300, 60, 10)) + event("session.resume", "z", `{}`) + said("c", "m", 7) + ended("f", metrics("m", 1, 30, 10, 7)), []string{"request a 0 in 5 out, in a run", "request b 0 in 5 out, in a run", "run e/m 300 in 10 out, of 2", "request c 30 in 7 out"}},
		{"recorded one by one", record + said("a", "m", 5) + ended("e", metrics("m", 1, 90, 0, 5)), []string{"request a 90 in 5 out"}},
		{"a record of no response", strings.Replace(record, `"a"`, `"z"`, 1) + said("a", "m", 5), []string{"other z 90 in 5 out", "request a 0 in 5 out"}},
		{"not shut down", said("a", "m", 5), []string{"request a 0 in 5 out"}},
	} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		must.Do(t, os.WriteFile(path, []byte(event("session.start", "n", `{"sessionId":"s","copilotVersion":"1.0.102"}`)+c.in), 0o600))
		var got []string
		for _, q := range outline.Load(t, path).Main.Charges {
			s := fmt.Sprintf("%s %s %d in %d out", q.Kind, q.ID, q.Usage.Context(), q.Usage.Output)
			if q.InRun {
				s += ", in a run"
			}
			if q.Kind == session.ChargeRun {
				s += fmt.Sprintf(", of %d", q.Calls)
			}
			got = append(got, s)
		}
		outline.Same(t, c.want, got, c.name)
	}
}
