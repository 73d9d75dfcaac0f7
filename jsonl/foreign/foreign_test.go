package foreign

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestBeginning(t *testing.T) {
	must.Rows(t, `
# name | text | want
lines             | "{\"type\":\"a\",\"n\":1,\"payload\":{\"id\":\"x\",\"deep\":{\"y\":1}}}\nrubbish\n{\"type\":\"b\"}" | ["n=1 payload.deep={ payload.id=x payload={ type=a", "type=b"]
cut               | {"info":{"id":"ses_1","version":"1.2.5"},"messages":[{"info":{"ro | ["info.id=ses_1 info.version=1.2.5 info={ messages=["]
a list            | [{"role":"user","content":[]},{"other":1}] | ["[].content=[ [].role=user []={"]
glued             | {"a":true}{"b":null} | ["a=true", "b=<nil>"]
text              | "hello\nworld"       | null
a byte order mark | "\ufeff{\"a\":1}"    | ["a=1"]
`, func(name, text string, want []string) {
		var got []string
		for _, v := range NewBeginning([]byte(text), true).Values {
			var fields []string
			for k, s := range v.Fields {
				fields = append(fields, k+"="+s)
			}
			slices.Sort(fields)
			got = append(got, strings.Join(fields, " "))
		}
		must.Equal(t, got, want, name)
	})
}

func TestBeginningSize(t *testing.T) {
	h := NewBeginning([]byte(strings.Repeat(`{"a":1}`, 100)+strings.Repeat("[", 10000)), true)
	must.Equal(t, len(h.Values), maxValues)
}

// sessionOf converts nothing to three lines of two units.
func sessionOf(_ io.Reader, w *Writer) error {
	w.Begin(Session{Version: "1.0", ID: "s", Window: 1000})
	first, second := w.Unit(3), w.Unit(3)
	third := w.Unit(9)
	w.Aside(third, "a copy")
	w.Put(first, Line{Type: "user", Message: &Message{Content: []Block{Text("<hello>")}}})
	w.Put(second, Line{Type: "assistant", UUID: "own", Message: &Message{ID: "m", Content: []Block{Call("c", "run", []byte("not json"))}}})
	w.Put(third, Line{Type: "user", Agent: "a", Sidechain: true, Message: &Message{Content: []Block{Text("task")}}})
	w.Put(second, Line{Type: "user", Message: &Message{Content: []Block{Result("c", "done", false)}}})
	u := Usage{Input: 10, Output: 2, Cost: 0.25}
	u.Thinks(1)
	w.PutTotals(second, RunTotals{Model: "m", Requests: 3, Usage: u})
	w.Warn(9, "malformed-line", "line %d", 9)
	return nil
}

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter()
	must.Do(t, w.Run(&Form{Name: "agent", Convert: sessionOf}, nil, &out))
	want := `{"type":"recorded-by","product":"agent","version":"1.0","sessionId":"s","window":1000}
{"type":"user","uuid":"agent-000001","sessionId":"s","version":"1.0","message":{"role":"user","content":[{"type":"text","text":"<hello>"}]},"parentUuid":null}
{"type":"assistant","uuid":"own","sessionId":"s","version":"1.0","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"c","name":"run","input":{"input":"not json"}}]},"parentUuid":"agent-000001"}
{"type":"user","uuid":"agent-000003","sessionId":"s","version":"1.0","agentId":"a","isSidechain":true,"message":{"role":"user","content":[{"type":"text","text":"task"}]},"parentUuid":null}
{"type":"user","uuid":"agent-000004","sessionId":"s","version":"1.0","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"done"}]},"parentUuid":"own"}
{"type":"recorded-totals","sessionId":"s","model":"m","requests":3,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2,"output_tokens_details":{"thinking_tokens":1},"cost_usd":0.25}}
`
	must.Equal(t, out.String(), want)
	if got := []int{w.Origin(0), w.Origin(1), w.Origin(2), w.Origin(4), w.Origin(6), w.Origin(7)}; !cmp.Equal(got, []int{0, 0, 3, 9, 3, 0}) {
		t.Errorf("origins %v", got)
	}
	w.Lost(3, "a branch")
	w.Lost(3, "a branch") // one of three lines
	read, used, aside := w.Account()
	must.Say(t, "3 1 true", read, used, cmp.Equal(aside, map[string]int{"a copy": 1, "a branch": 1}))
}

// TestWriterLost: a unit of which more is put after a line of it was lost is used, and the next one on its line is not
// lost in its place.
func TestWriterLost(t *testing.T) {
	w := NewWriter()
	must.Do(t, w.Run(&Form{Name: "agent", Convert: func(_ io.Reader, w *Writer) error {
		w.Begin(Session{ID: "s"})
		first, second := w.Unit(2), w.Unit(2)
		for _, u := range []Unit{first, first, second} {
			w.Put(u, Line{Type: "user", Message: &Message{Content: []Block{Text("x")}}})
			w.Lost(2, "a copy")
		}
		return nil
	}}, nil, io.Discard))
	if _, used, aside := w.Account(); used != 0 || !cmp.Equal(aside, map[string]int{"a copy": 2}) {
		t.Errorf("%d used, set aside %v", used, aside)
	}
	w = NewWriter()
	must.Do(t, w.Run(&Form{Name: "agent", Convert: func(_ io.Reader, w *Writer) error {
		w.Begin(Session{ID: "s"})
		u := w.Unit(2)
		w.Put(u, Line{Type: "user", Message: &Message{Content: []Block{Text("x")}}})
		w.Lost(2, "a copy")
		w.Put(u, Line{Type: "user", Message: &Message{Content: []Block{Text("y")}}})
		return nil
	}}, nil, io.Discard))
	if _, used, aside := w.Account(); used != 1 || len(aside) > 0 {
		t.Errorf("%d used, set aside %v", used, aside)
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriterClosed(t *testing.T) {
	w := NewWriter()
	err := w.Run(&Form{Name: "agent", Convert: sessionOf}, nil, closed{})
	must.Say(t, "<nil> true", err, errors.Is(w.Err(), io.ErrClosedPipe))
}

// TestRepository: the addresses of one repository are alike, and no password is kept.
func TestRepository(t *testing.T) {
	for _, address := range []string{
		"https://github.com/jdx/mise.git", "git@github.com:jdx/mise.git", "github.com:jdx/mise", "https://user:secret@github.com/JDX/mise",
		"ssh://git@github.com/jdx/mise.git", "https://secret@github.com/jdx/mise/",
	} {
		must.Equal(t, Repository(address), "github.com/jdx/mise", address)
	}
	must.Equal(t, Repository(""), "")
}
