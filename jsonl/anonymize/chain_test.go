package anonymize

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/requests"
)

// What requests name stays named, by the hashes of what was written.
func TestRequestsStay(t *testing.T) {
	sum := func(v string) string {
		s, ok := requests.SumOfMessage([]byte(v))
		if !ok {
			t.Fatal(v)
		}
		return s.String()
	}
	const (
		shape  = `{"system":[{"type":"text","text":"Obey the gardener carefully"}],"tools":[{"name":"Read","description":"Fetches documents","input_schema":{"type":"object"}}]}`
		first  = `{"role":"user","content":[{"type":"text","text":"<system-reminder>\nthe gardener is away\n</system-reminder>"},{"type":"text","text":"water the tomatoes \u00e9"}]}`
		second = `{"role":"assistant","content":[{"type":"thinking","thinking":"tomatoes","signature":"c2ln"},{"type":"tool_use","id":"toolu_01","name":"Read","input":{"file_path":"/garden/tomatoes"}}]}`
		third  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01","content":"withered leaves"}]}`
	)
	shapeSum, _ := requests.SumOf([]byte(shape))
	block := func(m string, i int) string {
		var v struct{ Content []json.RawMessage }
		must.Do(t, json.Unmarshal([]byte(m), &v))
		return string(v.Content[i])
	}
	line := func(role, uuid, content string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":%q,"sessionId":"s","requestRef":"r1","message":{"role":%q,"id":"m1","content":%s}}`, role, uuid, role, content)
	}
	text := strings.Join([]string{
		fmt.Sprintf(`{"type":"api-request-shape","sessionId":"s","shapeHash":%q,"shape":%s}`, shapeSum, shape),
		fmt.Sprintf(`{"type":"api-request-blob","sessionId":"s","hash":%q,"message":%s}`, sum(first), first),
		fmt.Sprintf(`{"type":"api-request","sessionId":"s","id":"r1","shapeHash":%q,"params":{"model":"claude-opus-4-8","max_tokens":64000},"keep":0,"tail":[%q],"requestDigest":"00ff","cacheControl":[{"path":["messages",0,"content",1],"value":{"type":"ephemeral"}}]}`, shapeSum, sum(first)),
		line("assistant", "u1", "["+block(second, 0)+"]"),
		line("assistant", "u2", "["+block(second, 1)+"]"),
		line("user", "u3", "["+block(third, 0)+"]"),
		fmt.Sprintf(`{"type":"api-request","sessionId":"s","id":"r2","base":"r1","keep":1,"shapeHash":%q,"params":{"model":"claude-opus-4-8","max_tokens":64000},"tail":[%q,%q],"cacheControl":[{"path":["messages",2,"content",0],"value":{"type":"ephemeral"}}]}`, shapeSum, sum(second), sum(third)),
	}, "\n") + "\n"
	out := anonymized(t, "seed", text)
	src, err := jsonl.OpenReader("out", strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	log, err := requests.Read(src)
	if err != nil {
		t.Fatal(err)
	}
	if len(log.Requests) != 2 || log.Whole() != 2 || len(log.Findings) > 0 || log.Requests[0].Answer == "" {
		t.Fatalf("%+v\n%s", log.Findings, out)
	}
	b, err := log.Body(&log.Requests[1])
	if err != nil || len(b.Messages) != 3 || len(b.Messages[1].Blocks) != 2 || b.Messages[2].Blocks[0].Mark == nil || b.System == nil || string(b.Param("max_tokens")) != "64000" {
		t.Errorf("%+v, %v", b, err)
	}
	for _, word := range []string{"gardener", "tomatoes", "withered", "documents", sum(first), "Digest"} {
		if strings.Contains(out, word) {
			t.Errorf("%s is left: %s", word, out)
		}
	}
}

// The number of an empty last line stays, with and without the tab that the client cuts off before it adds a reminder.
func TestLastNumberStays(t *testing.T) {
	const file = `9\twater\n10\ttomatoes\n`
	line := func(uuid, content string) string {
		return fmt.Sprintf(`{"type":"user","uuid":%q,"sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01","content":"%s"}]}}`, uuid, content)
	}
	out := anonymized(t, "seed", line("u1", file+`11\t`)+"\n"+line("u2", file+`11\n\n<system-reminder>\n12\n</system-reminder>`)+"\n")
	must.Say(t, "1 1 false", strings.Count(out, `\n11\t"`), strings.Count(out, `\n11\n`), strings.Contains(out, `\n12\n`))
}

func TestWithout(t *testing.T) {
	must.Rows(t, `
{"a":1,"x":"00", "b":2} | {"a":1, "b":2}
{"x" : "00" , "b":2}    | {"b":2}
{"a":[1],"x":{"x":1}}   | {"a":[1]}
{"x":1}                 | {}
{"x":1,"x":2}           | {}
{"a":{"x":1}}           | {"a":{"x":1}}
`, func(from, want string) {
		same(t, want, strings.ReplaceAll(string(without([]byte(from), "x")), "{ ", "{"), from)
	})
}

// The words that an attachment was sent as still have its text: a line at the end of a text has the stand-in that it has
// where others follow.
func TestSentWordsHaveTheText(t *testing.T) {
	out := anonymized(t, "seed", `{"type":"attachment","attachment":{"type":"model","text":"The gardener waters tomatoes. Every morning (at 7)."},"rendered":[{"content":"<system-reminder>\nThe gardener waters tomatoes. Every morning (at 7).\n</system-reminder>"}]}`+"\n")
	var line struct {
		Attachment struct{ Text string }
		Rendered   []struct{ Content string }
	}
	if err := json.Unmarshal([]byte(out), &line); err != nil || len(line.Rendered) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	text := line.Attachment.Text
	must.Say(t, "false true", strings.Contains(text, "gardener"), strings.Contains(line.Rendered[0].Content, "\n"+text+"\n"))
}
