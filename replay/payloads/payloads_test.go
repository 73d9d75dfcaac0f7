package payloads

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
)

func messages(t *testing.T, text string) []Message {
	t.Helper()
	list, _, err := ReadTrue("test", strings.NewReader(`{"messages":[`+text+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	return list[0].Messages
}

func TestCompare(t *testing.T) {
	words := strings.NewReplacer("ASK", `{"role":"user","content":"go"}`, "REPLY", `{"role":"assistant","content":[{"type":"thinking","thinking":"so"},{"type":"tool_use","id":"t","name":"Read","input":{"b":1,"a":2}}]}`,
		"OTHER", `{"role":"assistant","content":[{"type":"thinking","thinking":"so"},{"type":"tool_use","id":"t","name":"Read","input":{"a":2,"b":1}}]}`,
		"RESULT", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"A"}]}]}`)
	must.Rows(t, `
# name | sent | rebuilt | the comparison; OTHER is REPLY with its input in another order
equal       | ASK,REPLY | ASK,OTHER | {"conversation": true, "whole": true, "marks": true, "equal": 3}
reminder    | {"role":"user","content":[{"type":"text","text":"<system-reminder>\nmine\n</system-reminder>"},{"type":"text","text":"go"}]} | ASK | {"conversation": true, "marks": true, "equal": 1, "unheld": 1}
on a line   | {"role":"user","content":[{"type":"text","text":"<system-reminder>\nheld\n</system-reminder>"},{"type":"text","text":"go"}]} | ASK | {"conversation": true, "marks": true, "equal": 1, "missing": 1}
placeholder | ASK | {"role":"user","content":[{"type":"text","text":"[placeholder for words]"},{"type":"text","text":"go"}]} | {"conversation": true, "marks": true, "equal": 1, "placeholders": 1}
extra       | ASK | ASK,REPLY | {"marks": true, "equal": 1, "extra": 2}
moved       | ASK,REPLY,RESULT | REPLY,RESULT,ASK | {"marks": true, "equal": 3, "moved": 1}
mark        | {"role":"user","content":[{"type":"text","text":"go","cache_control":{"type":"ephemeral"}}]} | ASK | {"conversation": true, "whole": true, "equal": 1}
nothing     | "" | "" | {"conversation": true, "whole": true, "marks": true}
`, func(name, sent, rebuilt string, want BodyComparison) {
		blocks, lines := &reader{}, &fileLines{found: map[string]bool{}}
		got := compare(blocks.messages(messages(t, words.Replace(sent))), blocks.messages(messages(t, words.Replace(rebuilt))), lines)
		lines.line([]byte(`{"text":"one\n\theld \r\ntwo"}`))
		got.settle(lines)
		must.Equal(t, got.Missing+got.Unheld+got.Extra+got.Placeholders+got.Moved, len(got.Differences))
		got.Differences = nil
		must.Equal(t, fmt.Sprint(*got), fmt.Sprint(want), name)
	})
}

func TestReadTrue(t *testing.T) {
	const m = `[{"role":"user","content":"go"}]`
	list, _, err := ReadTrue("f", strings.NewReader(`{"messages":`+m+`}`+"\n\n"+`{"body":{"messages":`+m+`}}`+"\n"+`{"request":{"messages":`+m+`}}`+"\n"+`{"who":"main","messages":`+m+`,"answer":{"id":"a","error":1}}`))
	if err != nil || len(list) != 4 || list[1].Line != 3 || list[3].Who != "main" || list[3].Answer != "a" || !list[3].Failed {
		t.Fatalf("%+v, %v", list, err)
	}
	quoted, _ := json.Marshal(`{"messages":` + m + `}`)
	for _, text := range []string{
		`{"request":{"url":"/v1/messages","body":{"messages":` + m + `}}}`, `{"request":{"body":` + string(quoted) + `}}`, `{"body":` + string(quoted) + `}`, string(quoted),
		"[\n{\"messages\":" + m + "}\n]",
	} {
		if list, skipped, err := ReadTrue("f", strings.NewReader(text)); err != nil || len(list) != 1 || len(list[0].Messages) != 1 || skipped.Lines > 0 {
			t.Errorf("%s: %+v, %+v, %v", text, list, skipped, err)
		}
	}
	for _, text := range []string{"{", "[]", "{}", `{"messages":5}`, `{"messages":[5]}`, "5", `{"body":"{"}`} {
		if _, _, err := ReadTrue("f", strings.NewReader("\n"+text)); err == nil || !strings.HasPrefix(err.Error(), "f:2: ") || strings.Contains(err.Error(), "Go") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Lines without a request cost themselves alone.
func TestSkippedLines(t *testing.T) {
	const m = `{"messages":[{"role":"user","content":"go"}]}`
	list, skipped, err := ReadTrue("f", strings.NewReader(m+"\n{}\n"+m+"\n{\n"))
	if err != nil || len(list) != 2 || list[1].Line != 3 || skipped.Lines != 2 || skipped.First != 2 || skipped.Why == nil {
		t.Errorf("%+v, %+v, %v", list, skipped, err)
	}
}

// Blocks that are equal are not equal as a whole in other messages.
func TestCompareRoles(t *testing.T) {
	const ask = `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`
	for got, want := range map[string]bool{
		ask: true,
		`{"role":"user","content":"a"},{"role":"user","content":"b"}`: false,
		strings.Replace(ask, "user", "system", 1):                     false,
	} {
		sent, held := Blocks(messages(t, ask)), Blocks(messages(t, got))
		c := compare(sent, held, &fileLines{found: map[string]bool{}})
		c.compareRoles(sent, held)
		if c.Whole != want || len(c.Differences) == 0 != want {
			t.Errorf("%s: %+v", got, c)
		}
	}
}

// A request on record is equal as a whole with the system prompt, the tools and the parameters that were sent alone.
func TestCompareFrames(t *testing.T) {
	const body = `{"messages":[{"role":"user","content":"go"}],"system":[{"type":"text","text":"be terse","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"Read","input_schema":{"b":1,"a":2}}],"model":"m","max_tokens":5,"output_config":{"effort":"high"}}`
	got := &requests.SentBody{
		System: []byte(`[{"text":"be terse","type":"text","cache_control":{"type":"ephemeral"}}]`), Tools: []byte(`[{"name":"Read","input_schema":{"a":2,"b":1}}]`),
		Params: []requests.Param{{Name: "betas", Value: []byte(`["x"]`)}, {Name: "model", Value: []byte(`"m"`)}, {Name: "max_tokens", Value: []byte(`5`)}, {Name: "output_config", Value: []byte(`{"effort":"high"}`)}},
	}
	must.Rows(t, `
# name | what of the body was sent otherwise, or all where nothing is named | how | what differs
equal            | go | go | ""
in a log         | ""  | {"body":BODY} | ""
not of the body  | {"messages" | {"stream":true,"metadata":{"user_id":"u"},"messages" | ""
the bill         | system":[ | system":[{"type":"text","text":"x-anthropic-billing-header: a"}, | ""
messages alone   | "" | {"messages":[{"role":"user","content":"go"}]} | ""
sizes            | "" | {"messages":[{"role":"user","content":"go"}],"system":{"chars":8},"tools":{"chars":9},"params":{"model":"m","max_tokens":5,"output_config":{"effort":"high"}}} | ""
a text           | system":[{"type":"text","text":"be terse","cache_control":{"type":"ephemeral"}}] | system":"x" | "system "
no tools         | [{"name":"Read","input_schema":{"b":1,"a":2}}] | [] | "tools "
left out         | ,"tools":[{"name":"Read","input_schema":{"b":1,"a":2}}] | "" | "tools "
a breakpoint     | ,"cache_control":{"type":"ephemeral"} | "" | "system "
the effort       | high | low | parameter output_config
in the log       | "" | {"messages":[{"role":"user","content":"go"}],"params":{"model":"n","max_tokens":5,"output_config":{"effort":"high"}}} | parameter model
not sent         | ,"max_tokens":5 | "" | parameter max_tokens
not on record    | ,"model" | ,"thinking":{"type":"adaptive"},"model" | parameter thinking
betas of the log | ,"model" | ,"betas":["y"],"model" | parameter betas
`, func(name, from, to, differ string) {
		sent := strings.Replace(body, from, to, 1)
		if from == "" {
			sent = strings.Replace(to, "BODY", body, 1)
		}
		must.Equal(t, sent != body, name != "equal", name)
		list, _, err := ReadTrue("f", strings.NewReader(sent))
		must.Do(t, err)
		c := &BodyComparison{Whole: true}
		c.compareFrames(list[0].Frame, got)
		var found []string
		for _, d := range c.Differences {
			found = append(found, d.Kind+" "+d.ID)
		}
		must.Both(strings.Join(found, ", "), c.Whole)(t, differ, differ == "", name)
	})
}

// Bodies that name no answer are matched by what they ask for; others are of none.
func TestScore(t *testing.T) {
	var lines strings.Builder
	parent := "null"
	add := func(uuid, kind, message string) {
		fmt.Fprintf(&lines, `{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"s","version":"2.1.100","timestamp":"2026-01-02T03:04:05Z","message":%s}`+"\n", kind, uuid, parent, message)
		parent = fmt.Sprintf("%q", uuid)
	}
	add("a", "user", `{"role":"user","content":"go"}`)
	add("b", "assistant", `{"role":"assistant","id":"m1","model":"claude-opus-4-5","content":[{"type":"tool_use","id":"t","name":"Read","input":{}}],"usage":{"input_tokens":9,"output_tokens":1}}`)
	add("c", "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"A"}]}`)
	add("d", "assistant", `{"role":"assistant","id":"m2","model":"claude-opus-4-5","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":9,"output_tokens":1}}`)
	f := must.Get(session.LoadReader("test", strings.NewReader(lines.String()), session.LoadOptions{}))(t)
	defer f.Close()
	rec := must.Get(replay.NewRecord(f.Main))(t)
	must.Rows(t, `
# name | requests that are compared | those of which none is known, and a step a body; ONE and TWO are the messages of the two requests
bodies        | 2 | 0
	{"messages":[{"role":"user","content":"a title"}]}
	{"messages":[ONE]}
	{"messages":[ONE,TWO]}
second alone  | 1 | 1
	{"messages":[ONE,TWO]}
by answer     | 2 | 0
	{"answer":{"id":"m2"},"messages":[ONE,TWO]}
	{"answer":{"id":"m1"},"messages":[ONE]}
of others     | 0 | 2
	{"answer":{"id":"x"},"messages":[ONE]}
of a subagent | 0 | 2
	{"who":"subagent","messages":[ONE]}
`, func(name string, matched, off int, bodies []string) {
		list, _, err := ReadTrue("f", strings.NewReader(strings.NewReplacer("ONE", `{"role":"user","content":"go"}`, "TWO", `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"A"}]}`).Replace(strings.Join(bodies, "\n"))))
		if err != nil {
			t.Fatal(err)
		}
		s := must.Get(Score(rec, nil, list))(t)
		if len(s.Results) != matched || s.Unmatched != off {
			t.Errorf("%s: %+v", name, s)
		}
		for _, c := range s.Results {
			if !c.Conversation {
				t.Errorf("%s: request %d: %+v", name, c.Request, c.BodyComparison)
			}
		}
		r := Sum([]*ConversationScore{s}, list)
		if unused := len(list) - matched; r.Unused != unused {
			t.Errorf("%s: %d requests not compared, want %d", name, r.Unused, unused)
		}
		if m := r.Measures()[1]; m.Of != matched || m.Percent() != 100 {
			t.Errorf("%s: %+v", name, m)
		}
	})
	if s, err := Score(rec, nil, nil); err != nil || len(s.Results) != 0 || s.Unmatched != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestSynthetic puts the requests together that a synthetic client recorded. Those that are rebuilt say the same.
func TestSynthetic(t *testing.T) {
	f := must.Get(session.Load(filepath.Join("testdata", "recorded-3.jsonl.zst"), session.LoadOptions{}))(t)
	defer f.Close()
	rec := must.Get(replay.NewRecord(f.Main))(t)
	log := must.Get(requests.Read(f.Main.Source))(t)
	s := must.Get(Score(rec, log, nil))(t)
	if len(log.Findings) > 0 || s.Record.Requests < 60 || s.Record.Whole != s.Record.Requests || s.Record.Found != s.Record.Messages {
		t.Errorf("%+v, %v", s.Record, log.Findings)
	}
	for _, c := range s.Results {
		if !c.Conversation {
			t.Errorf("request %d: %+v", c.Request, c.BodyComparison)
		}
	}
}
