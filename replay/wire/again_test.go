package wire_test

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// TestAgain: a client that was resumed sends the results before that twice, those of a response and then all of them again.
func TestAgain(t *testing.T) {
	call := func(id string) string {
		return `{"id":"` + id + `","name":"glob","args":{},"status":"success","result":[{"functionResponse":{"id":"` + id + `","response":{"output":"out ` + id + `"}}}]}`
	}
	answer := func(id, calls string) string {
		return `{"id":"` + id + `","type":"gemini","content":"","tokens":{"input":900,"output":5},"toolCalls":[` + calls + `]}`
	}
	said := func(id, text string) string {
		return `{"id":"` + id + `","type":"user","content":[{"text":"` + text + `"}]}`
	}
	again := `{"id":"b_response","type":"user","content":[{"functionResponse":{"id":"c1","response":{"output":"out c1"}}}]}`
	text := strings.Join([]string{
		`{"sessionId":"s","projectHash":"p"}`, said("a", "go"), answer("b", call("c1")+","+call("c2")), answer("d", call("c3")),
		`{"$set":{"messages":[` + strings.Join([]string{said("a", "go"), answer("b", ""), again, answer("d", "")}, ",") + `]}}`,
		said("e", "on"), answer("f", call("c4")), answer("g", ""),
	}, "\n")
	f := must.Get(session.LoadReader("chat", strings.NewReader(text), session.LoadOptions{}))(t)
	defer f.Close()
	rec := must.Get(replay.NewRecord(f.Main))(t)
	for n, want := range map[int]string{2: "c1 c2", 3: "c1 c2 c1 c2 c3 c3", 4: "c1 c2 c1 c2 c3 c3 c4"} {
		v := must.Get(rec.ViewAt(replay.RecordedTrack(), replay.Options{}, n))(t)
		body := must.Get(wire.RequestBody(v, replay.RecordedTrack()))(t)
		var got []string
		for _, m := range body.Messages {
			for _, b := range m.Blocks {
				if b.Type == "tool_result" {
					got = append(got, b.ToolUse)
				}
			}
		}
		must.Equal(t, strings.Join(got, " "), want, n)
	}
}
