package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/scripts/lab/mock"
)

// TestMain lets the test stand for the lab with other clients (LAB_FAKES), and for ctxkit: with LAB_ANSWERS it prints
// replay.json of that folder, or the body of a request.
func TestMain(m *testing.M) {
	if os.Getenv("LAB_FAKES") != "" && slices.Contains([]string{"run", "play"}, os.Args[1]) {
		playFakes()
		main()
	}
	folder := os.Getenv("LAB_ANSWERS")
	if folder == "" {
		os.Exit(m.Run())
	}
	name := "replay"
	if i := slices.Index(os.Args, "--at"); i > 0 {
		name = os.Args[i+1]
	}
	if i := slices.Index(os.Args, "--leaf"); i > 0 {
		name = os.Args[i+1]
	}
	text, err := os.ReadFile(filepath.Join(folder, name+".json"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "ctxkit: there is no request", name)
		os.Exit(2)
	}
	_, _ = os.Stdout.Write(text)
	os.Exit(0)
}

// recorded is a recording of two parallel calls in the forms of Claude Code, with the answers of ctxkit to it.
type recorded struct{ folder, answers string }

const (
	prompt  = `{"role":"user","content":[{"type":"text","text":"<system-reminder>rules</system-reminder>"},{"type":"text","text":"go"}]}`
	bare    = `{"role":"user","content":[{"type":"text","text":"go"}]}`
	calls   = `{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"sh","input":{"a":1,"b":2}},{"type":"tool_use","id":"c2","name":"sh","input":{}}]}`
	results = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"two"}],"cache_control":{"type":"ephemeral"}}]}`
	swapped = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"two"},{"type":"tool_result","tool_use_id":"c1","content":"one","cache_control":{"type":"ephemeral"}}]}`
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func record(t *testing.T, compactions int, first, second string) recorded {
	t.Helper()
	r := recorded{filepath.Join(t.TempDir(), "claude-1.2.3-parallel"), t.TempDir()}
	log := ""
	for i, l := range []struct{ who, messages, answer string }{
		{"aside", bare, `{"id":"m0"}`},
		{"main", prompt, `{"id":"m1","calls":["c1","c2"]}`},
		{"main", prompt + "," + calls + "," + results, `{"error":"529"}`},
		{"main", prompt + "," + calls + "," + results, `{"id":"m2","text":"done"}`},
		{"main", bare, `{"id":"m3","text":"left"}`},
		{"summary", bare, `{"id":"m4","summary":true}`},
	} {
		log += fmt.Sprintf(`{"n":%d,"api":"anthropic","who":%q,"params":{"model":"m","max_tokens":10},"messages":[%s],"answer":%s}`+"\n", i+1, l.who, l.messages, l.answer)
	}
	write(t, filepath.Join(r.folder, "requests.ndjson"), log)
	session := ""
	for i, id := range strings.Fields("m1 m1 m3 m2") {
		session += fmt.Sprintf(`{"type":"assistant","uuid":"u%d","timestamp":"2026-01-01T00:00:0%dZ","message":{"id":%q}}`+"\n", i, i, id)
	}
	write(t, filepath.Join(r.folder, "11111111-2222-4333-8444-555555555555.jsonl"), session+`{"type":"user","text":"The mock summary of request 6."}`+"\n")
	write(t, filepath.Join(r.answers, "replay.json"), fmt.Sprintf(`{"totals":{"requests":2,"compactions":%d},"events":[{"request":4,"kind":"summarize"},{"request":1,"kind":"attach"}],"requests":[{"n":1,"uuid":"u1"},{"n":2,"uuid":"u3"}]}`, compactions))
	body := func(messages string) string {
		return `{"model":"m","max_tokens":10,"messages":[` + messages + `]}`
	}
	write(t, filepath.Join(r.answers, "1.json"), body(first))
	write(t, filepath.Join(r.answers, "2.json"), body(second))
	write(t, filepath.Join(r.answers, "u2.json"), body(bare))
	return r
}

func (r recorded) compare(t *testing.T) result {
	t.Helper()
	t.Setenv("LAB_ANSWERS", r.answers)
	found, err := compareFolder(os.Args[0], r.folder, filepath.Base(r.folder), "recorded")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Fatalf("%d results", len(found))
	}
	return found[0]
}

// Reminders are the client's own; errors and other requests are left out; a branch that was left is asked for by its leaf.
func TestEqual(t *testing.T) {
	got := record(t, 1, bare, prompt+","+calls+","+results).compare(t)
	if !got.good() || got.requests != 3 || got.left != 1 || got.whole != 2 || got.bounds != 2 || got.marks != 3 || got.places != 3 || got.params != 3 || fmt.Sprint(got.askedAt, got.countedAt, got.policyAt) != "[4] [4] [4]" || got.first != "" {
		t.Errorf("%+v", got)
	}
}

// Results of parallel calls in another order make a conversation differ, and the request and the block are named.
func TestSwapped(t *testing.T) {
	got := record(t, 1, bare, bare+","+calls+","+swapped).compare(t)
	if got.good() || got.talk != 2 || got.where != "request 3: message 3 block 1: another tool_result" && got.where != "request 2: message 3 block 1: another tool_result" || !strings.Contains(got.first, "c2") {
		t.Errorf("%+v", got)
	}
	if got.marks != 2 || got.places != 3 {
		t.Errorf("the mark is at the same place on another block: %+v", got)
	}
	if worse, _ := complaint(rowOf(got), got.unread, []row{{client: "claude", version: "1.2.3", scenario: "parallel", requests: 3, talk: 3, counted: 1, asked: 1}}); !strings.Contains(worse, "message 3 block 1") {
		t.Errorf("judged as %q", worse)
	}
}

func TestMissing(t *testing.T) {
	got := record(t, 1, bare, bare+","+calls).compare(t)
	if got.talk != 2 || !strings.HasSuffix(got.where, "message 3 block 1: tool_result is missing") {
		t.Errorf("%+v", got)
	}
}

func TestMiscounted(t *testing.T) {
	got := record(t, 2, bare, prompt+","+calls+","+results).compare(t)
	if got.good() || got.counted != 2 || got.asked != 1 {
		t.Errorf("%+v", got)
	}
}

// A session that ctxkit cannot read, and a folder without a log, are named.
func TestUnread(t *testing.T) {
	r := record(t, 1, bare, bare)
	if err := os.Remove(filepath.Join(r.answers, "replay.json")); err != nil {
		t.Fatal(err)
	}
	if got := r.compare(t); !got.unread || got.good() {
		t.Errorf("%+v", got)
	}
	if _, err := compareFolder(os.Args[0], t.TempDir(), "x", ""); err == nil {
		t.Error("no log, and no error")
	}
}

func TestReminders(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                                "plain",
		"<system-reminder>a</system-reminder>": "",
		"one\n<system-reminder>a <system-reminder>b</system-reminder> c</system-reminder>\ntwo": "onetwo",
		"one <system-reminder>never closed":                                                     "one",
		"Tool loaded.":                                                                          "",
		"The user sent a new message while you were working:\nshort\n\nIMPORTANT: more":         "short",
	} {
		if got := withoutReminders(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

// The four APIs say the same in their own forms.
func TestForms(t *testing.T) {
	want := []block{{kind: "text", text: "go"}, {kind: "tool_use", call: "c", text: `{"a":1}`}, {kind: "tool_result", call: "c", text: "out"}}
	for api, body := range map[string]string{
		"anthropic": `[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"c","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"out"}]}]`,
		"chat":      `[{"role":"system","content":"x"},{"role":"user","content":"go"},{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c","content":"out"}]`,
		"responses": `[{"role":"user","content":[{"type":"input_text","text":"go"}]},{"type":"function_call","call_id":"c","arguments":"{\"a\": 1}"},{"type":"function_call_output","call_id":"c","output":"out"}]`,
		"gemini":    `[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{"args":{"a":1}}}]},{"role":"user","parts":[{"functionResponse":{"response":{"output":"out"}}}]}]`,
	} {
		got, err := blocksOf(api, json.RawMessage(body))
		if err != nil || !slices.EqualFunc(got, want, func(x, y block) bool { return x.same(y, api != "gemini") }) {
			t.Errorf("%s: %+v, %v", api, got, err)
		}
	}
}

// Thinking of chat completions is a field of its own, and a picture beside a result of Gemini a part.
func TestFields(t *testing.T) {
	for api, body := range map[string]string{
		"chat":   `[{"role":"assistant","content":"hello","reasoning_content":"hm"}]`,
		"gemini": `[{"role":"user","parts":[{"functionResponse":{"response":{"output":"out"}}},{"inlineData":{"mimeType":"image/png","data":"aa"}}]}]`,
	} {
		got, err := blocksOf(api, json.RawMessage(body))
		if err != nil || len(got) != 2 || got[0].kind != map[string]string{"chat": "thinking", "gemini": "tool_result"}[api] || got[1].text == "" {
			t.Errorf("%s: %+v, %v", api, got, err)
		}
	}
}

// A release without a row is held against the newest one with a row; a scenario without any has to be right.
func TestComplaints(t *testing.T) {
	table := []row{
		{client: "pi", version: "0.9.0", scenario: "turns", requests: 9, talk: 9, counted: 1, asked: 1},
		{client: "pi", version: "0.10.0", scenario: "turns", requests: 9, talk: 7, counted: 1, asked: 1},
	}
	for _, c := range []struct {
		row   row
		worse bool
	}{
		{row{client: "pi", version: "0.10.0", scenario: "turns", requests: 9, talk: 7, counted: 1, asked: 1}, false},
		{row{client: "pi", version: "0.10.0", scenario: "turns", requests: 9, talk: 6, counted: 1, asked: 1}, true},
		{row{client: "pi", version: "0.10.0", scenario: "turns", requests: 8, talk: 8, counted: 1, asked: 1}, true},
		{row{client: "pi", version: "0.11.0", scenario: "turns", requests: 9, talk: 7, counted: 1, asked: 1}, false},
		{row{client: "pi", version: "0.11.0", scenario: "turns", requests: 9, talk: 8, counted: 2, asked: 1}, true},
		{row{client: "pi", version: "0.11.0", scenario: "loop", requests: 9, talk: 8}, true},
		{row{client: "pi", version: "0.11.0", scenario: "loop", requests: 9, talk: 9}, false},
	} {
		if worse, _ := complaint(c.row, false, table); (worse != "") != c.worse {
			t.Errorf("%+v: %q", c.row, worse)
		}
	}
}

// The table reads back as it is written, and the page has it.
func TestTable(t *testing.T) {
	table, err := readTable("expected.tsv")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("expected.tsv")
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(table, compareRows)
	if tableText(table) != string(text) {
		t.Error("expected.tsv is not as lab run -update writes it")
	}
	page, err := os.ReadFile("../../docs/internals/lab.md")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := pageWith(string(page), pageBegin, pageTable(table)); err != nil || again != string(page) {
		t.Errorf("docs/internals/lab.md has another table than expected.tsv: %v", err)
	}
}

// Every scenario can be played by its clients, and its scripts are steps.
func TestScenarios(t *testing.T) {
	for _, s := range scenarios {
		for _, name := range s.clients {
			c := clientNamed(name)
			if c == nil {
				t.Errorf("%s: there is no client %s", s.name, name)
				continue
			}
			if len(s.typed) > 0 && c.ready == "" {
				t.Errorf("%s: %s has no terminal", s.name, name)
			}
			for id, steps := range s.scripts {
				text := c.translate(steps)
				for _, operation := range operations {
					if strings.HasPrefix(text, operation+" ") && c.tools[operation] != "" && !strings.HasPrefix(c.tools[operation], operation) {
						t.Errorf("%s %s for %s: %s is not translated", s.name, id, name, text)
					}
				}
			}
		}
		if strings.Contains(s.name, "-") {
			t.Errorf("%s: a name with a hyphen cannot be told from a release", s.name)
		}
	}
	c := clientNamed("pi")
	if got := c.translate(`think a && read a.txt || agent sub1 || sh echo "x"`); got != `think a && read {"path":"$WORK/a.txt"} || bash {"command":"echo \"x\""}` {
		t.Errorf("translated: %s", got)
	}
}

// A program that hangs is killed with its children, and named; one that dies is named with its last words.
func TestHangsAndDies(t *testing.T) {
	folder := t.TempDir()
	r := &recording{ctx: t.Context(), limit: 500 * time.Millisecond, client: &client{}, scenario: &scenario{}, folder: folder, home: folder, work: folder, path: os.Getenv("PATH"), server: &mock.Server{}}
	begin := time.Now()
	_, err := r.command("sh", "-c", "sleep 60 & echo $! >child; echo waiting; wait")
	if err == nil || !strings.Contains(err.Error(), "hangs") || !strings.Contains(err.Error(), "waiting") || time.Since(begin) > 20*time.Second {
		t.Errorf("after %s: %v", time.Since(begin), err)
	}
	child, err := os.ReadFile(filepath.Join(folder, "child"))
	if err != nil {
		t.Fatal(err)
	}
	if exec.Command("sh", "-c", "kill -0 "+string(child)+" && ! grep -q ') Z' /proc/"+strings.TrimSpace(string(child))+"/stat").Run() == nil {
		t.Error("its child lives")
	}
	r.limit = time.Minute
	if _, err := r.command("sh", "-c", "echo last words; exit 3"); err == nil || !strings.Contains(err.Error(), "dies") || !strings.Contains(err.Error(), "last words") {
		t.Error(err)
	}
	if err := r.collect(); err == nil || !strings.Contains(err.Error(), "writes no session") {
		t.Error(err)
	}
}

// What a client has done shows in its requests: summaries, results that are replaced, and results that come cut.
func TestDecisions(t *testing.T) {
	result := func(call, text string) block { return block{role: "user", kind: "tool_result", call: call, text: text} }
	k := kept{main: []mock.LoggedRequest{{N: 2}, {N: 3}, {N: 5}}, summaries: []mock.LoggedRequest{{N: 4}}}
	got := k.decisions([][]block{
		{result("a", "one"), result("b", "<persisted-output> two")},
		{result("a", "one<system-reminder>now</system-reminder>"), result("b", "<persisted-output> two")},
		{result("a", "gone"), result("c", "three")},
	}, clientNamed("claude").asIf.cut)
	if fmt.Sprint(got) != "{[3] [3] [1]}" {
		t.Errorf("%+v", got)
	}
}

// Both sides are counted alike: what a client says of its own is left out.
func TestSaid(t *testing.T) {
	body := `[{"role":"user","content":"<environment_context>here</environment_context>"},{"role":"user","content":"<system-reminder>rules</system-reminder>"},
 {"role":"user","content":"go on"},{"role":"assistant","content":[{"type":"tool_use","id":"c","input":{"a":1}}]}]`
	blocks, err := blocksOf("anthropic", json.RawMessage(body))
	if err != nil || said(blocks) != (len("go on")+len(`{"a":1}`))/4 {
		t.Errorf("%d, %v", said(blocks), err)
	}
}

// Both scripts and window are those of the scenario, and every client of a pair plays its scenarios.
func TestPairs(t *testing.T) {
	for _, p := range pairs {
		for _, name := range replayedScenarios {
			s := scenarioNamed(name)
			if s == nil || !s.plays(p.from) || !s.plays(p.to) {
				t.Fatalf("%+v do not play %s", p, name)
			}
			for _, flag := range clientNamed(p.to).asIfFlags(s, nil) {
				if strings.Contains(flag, "$") {
					t.Errorf("%s: %s", p.to, flag)
				}
			}
		}
	}
}

// A replay is worse than its row of the page if a decision moves, or if fewer requests are within 5 %.
func TestWorseThanThePage(t *testing.T) {
	c := counterfactual{pair: pairs[0], scenario: "long", did: decisions{compacted: []int{3, 5}}, says: decisions{compacted: []int{3, 5}}, requests: []payloads{{100, 100}, {100, 104}, {100, 110}}}
	page := "text\n| " + strings.Join(c.row(), " | ") + " |\n"
	if worse := c.worse(page); worse != "" {
		t.Error(worse)
	}
	c.requests[1].replayed = 106
	if worse := c.worse(page); !strings.Contains(worse, "1 requests are within 5 %, on the page 2") {
		t.Errorf("%q", worse)
	}
	c.says.compacted = []int{3, 6}
	if worse := c.worse(page); !strings.Contains(worse, "decisions before 3 5; 3 6") {
		t.Errorf("%q", worse)
	}
	if worse := c.worse("no table"); worse == "" {
		t.Error("other decisions, and no row, and nothing is worse")
	}
}
