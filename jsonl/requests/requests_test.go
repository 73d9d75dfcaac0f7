package requests

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
)

type object = map[string]any

// sum is the hash of a value, by the library's own encoder: its keys are sorted.
func sum(v any) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	s := sha256.Sum256(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
	return hex.EncodeToString(s[:])
}

func text(s string) object { return object{"type": "text", "text": s} }

func said(role string, blocks ...any) object { return object{"role": role, "content": blocks} }

func blob(m object) object { return object{"type": TypeMessage, "hash": sum(m), "message": m} }

func user(content any) object {
	return object{"type": "user", "message": object{"role": "user", "content": content}}
}

func answer(id, ref string, blocks ...any) object {
	return object{"type": "assistant", "requestRef": ref, "message": object{"role": "assistant", "id": id, "content": blocks}}
}

func request(id, base string, keep int, tail ...string) object {
	o := object{"type": TypeRequest, "id": id, "keep": keep, "tail": tail, "params": object{"model": "m", "max_tokens": 5}, "shapeHash": sum(shapeOf)}
	if base != "" {
		o["base"] = base
	}
	return o
}

var (
	shapeOf = object{"system": []any{text("be terse")}, "tools": []any{object{"name": "Read", "input_schema": object{}}}}
	call    = object{"type": "tool_use", "id": "t1", "name": "Read", "input": object{"b": 1, "a": "<x>"}}
	think   = object{"type": "thinking", "thinking": "so", "signature": "s"}
	result  = object{"type": "tool_result", "tool_use_id": "t1", "content": "A"}
	other   = object{"type": "tool_result", "tool_use_id": "t2", "content": []any{text("é")}}

	first  = said("user", text("<system-reminder>\nhi\n</system-reminder>"), text("go"))
	second = said("assistant", think, call)
	third  = said("user", result, other)
	fourth = said("system", text("left"))
)

// session is a session of three requests: lines 1 to 13.
func session() []object {
	return []object{
		{"type": TypeShape, "shapeHash": sum(shapeOf), "shape": shapeOf},
		blob(first),
		request("r1", "", 0, sum(first)),
		answer("m1", "r1", think), // 4
		answer("m1", "r1", call),
		user([]any{result}),
		user([]any{other}),
		blob(fourth),
		request("r2", "r1", 1, sum(second), sum(third), sum(fourth)), // 9
		answer("m2", "r2", text("done")),
		user("more"),
		request("r3", "r2", 3, sum(said("assistant", text("done"))), sum(said("user", text("more")))),
		answer("m3", "r3", text("ok")),
	}
}

func read(t *testing.T, lines []object) *Log {
	t.Helper()
	var b strings.Builder
	for _, l := range lines {
		raw := must.Get(json.Marshal(l))(t)
		b.Write(append(raw, '\n'))
	}
	return readText(t, b.String())
}

func readText(t *testing.T, text string) *Log {
	t.Helper()
	src := must.Get(jsonl.OpenReader("test", strings.NewReader(text)))(t)
	t.Cleanup(func() { src.Close() })
	l := must.Get(Read(src))(t)
	return l
}

// asSent is the messages of a body.
func asSent(t *testing.T, l *Log, q *LogRequest) (list []object) {
	t.Helper()
	b := must.Get(l.Body(q))(t)
	var body struct{ Messages []object }
	must.Do(t, json.Unmarshal(b.Append(nil), &body))
	return body.Messages
}

func TestRead(t *testing.T) {
	l := read(t, session())
	if len(l.Requests) != 3 || len(l.Findings) > 0 || l.Whole() != 3 {
		t.Fatalf("%+v", l)
	}
	want := [][]object{{first}, {first, second, third, fourth}, {first, second, third, said("assistant", text("done")), said("user", text("more"))}}
	for i, id := range []string{"m1", "m2", "m3"} {
		q := l.Of(id)
		if q == nil || q.Answer != id || q.Count != len(want[i]) {
			t.Fatalf("%s is the answer of %+v", id, q)
		}
		must.Equal(t, sum(asSent(t, l, q)), sum(want[i]), id)
	}
	if c, added, err := l.Diff(l.Of("m1"), l.Of("m2")); c != nil || added != 5 || err != nil {
		t.Errorf("%+v, %d blocks, %v", c, added, err)
	}
	if c, _, err := l.Diff(l.Of("m2"), l.Of("m3")); err != nil || c == nil || c.Part != PartMessage || c.Message != 4 || c.Was != "left" || c.Is != "done" {
		t.Errorf("%+v, %v", c, err)
	}
	if l.Of("") != nil || l.Of("m9") != nil {
		t.Error("a request that is not there")
	}
}

// A content that is a string counts as one block, whatever it is.
func TestTextMessage(t *testing.T) {
	for _, text := range []string{"user", "role", "", "content"} {
		got, ok := SumOfMessage(fmt.Appendf(nil, `{"role":"user","content":%q}`, text))
		if want := sum(said("user", object{"type": "text", "text": text})); !ok || got.String() != want {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
	}
	for _, raw := range []string{"", "5", "{", `{"content":"x`} {
		if _, ok := SumOfMessage([]byte(raw)); ok {
			t.Errorf("%s is a message", raw)
		}
	}
}

// Breakpoints stand at their paths, and the digest of the whole body is the client's.
func TestBody(t *testing.T) {
	lines := session()
	mark := object{"type": "ephemeral"}
	lines[8]["cacheControl"] = []any{
		object{"path": []any{"system", 0}, "value": mark}, object{"path": []any{"messages", 3, "content", 0}, "value": mark},
		object{"path": []any{"messages", 2, "content", 1, "content", 0}, "value": mark},
	}
	whole := object{
		"model": "m", "max_tokens": 5, "tools": shapeOf["tools"],
		"system": []any{object{"type": "text", "text": "be terse", "cache_control": mark}},
		"messages": []any{
			first, second,
			said("user", result, object{"type": "tool_result", "tool_use_id": "t2", "content": []any{object{"type": "text", "text": "é", "cache_control": mark}}}),
			said("system", object{"type": "text", "text": "left", "cache_control": mark}),
		},
	}
	lines[8]["requestDigest"] = sum(whole)
	l := read(t, lines)
	b, err := l.Body(l.Of("m2"))
	if err != nil {
		t.Fatal(err)
	}
	var got object
	must.Do(t, json.Unmarshal(b.Append(nil), &got))
	must.Equal(t, sum(got), sum(whole))
	must.Both(b.Exact())(t, true, true, "the body is not exact")
	if string(b.Param("model")) != `"m"` || b.Param("none") != nil || b.Line != 1 {
		t.Errorf("%+v", b)
	}
	if b, err = l.Body(l.Of("m1")); err != nil {
		t.Fatal(err)
	} else if exact, known := b.Exact(); exact || known {
		t.Error("a body without a digest is exact")
	}
}

// What is wrong with lines costs the requests that need them alone.
func TestDamaged(t *testing.T) {
	without := func(list []object, i int) []object { return slices.Delete(list, i, i+1) }
	for name, tt := range map[string]struct {
		change   func(l []object) []object
		whole    string // ids
		findings string // line:code
	}{
		"repeated":         {func(l []object) []object { return append(l, l[8], l[1], l[0]) }, "r1 r2 r3", "14:repeated-request"},
		"reordered":        {func(l []object) []object { slices.Reverse(l[:3]); return append(l[8:], l[:8]...) }, "r1 r2 r3", ""},
		"no base":          {func(l []object) []object { return without(l, 2) }, "", "2:unused-message 8:broken-request"},
		"no message":       {func(l []object) []object { return without(l, 1) }, "", "2:broken-request"},
		"no last one":      {func(l []object) []object { return without(l, 7) }, "r1 r3", "8:broken-request"},
		"no lines":         {func(l []object) []object { return without(l, 4) }, "r1", "8:broken-request"},
		"circle":           {func(l []object) []object { l[2]["base"], l[2]["keep"] = "r3", 1; return l }, "", "9:broken-request"},
		"itself":           {func(l []object) []object { l[11]["base"] = "r3"; return l }, "r1 r2", "12:broken-request"},
		"keeps too many":   {func(l []object) []object { l[11]["keep"] = 5; return l }, "r1 r2", "12:broken-request"},
		"keeps of none":    {func(l []object) []object { delete(l[8], "base"); return l }, "r1", "9:broken-request"},
		"keeps below 0":    {func(l []object) []object { l[8]["keep"] = -1; return l }, "r1", "9:unreadable-request 12:broken-request 8:unused-message"},
		"no hash":          {func(l []object) []object { l[8]["tail"] = []string{"x"}; return l }, "r1", "9:broken-request 12:broken-request 8:unused-message"},
		"wrong hash":       {func(l []object) []object { l[7]["message"] = first; return l }, "r1 r3", "8:wrong-hash 9:broken-request"},
		"wrong shape":      {func(l []object) []object { l[0]["shape"] = object{}; return l }, "r1 r2 r3", "1:wrong-hash"},
		"no shape":         {func(l []object) []object { return without(l, 0) }, "", "2:broken-request"},
		"of another shape": {func(l []object) []object { l[8]["shapeHash"] = sum(first); return l }, "r1 r3", "9:broken-request"},
		"no such type":     {func(l []object) []object { l[2]["tail"] = 5; return l }, "", "3:unreadable-request 9:broken-request 2:unused-message"},
		"unused":           {func(l []object) []object { return append(l, blob(said("user", text("?")))) }, "r1 r2 r3", "14:unused-message"},
		"no message at all": {func(l []object) []object {
			return append(l, object{"type": TypeMessage, "hash": sum(first)}, object{"type": TypeShape})
		}, "r1 r2 r3",
			"14:unreadable-request 15:unreadable-request"},
		"two sessions": {func(l []object) []object {
			var both []object
			for i, o := range l {
				o["sessionId"] = "a"
				copied := object{}
				for k, v := range o {
					copied[k] = v
				}
				copied["sessionId"] = "b"
				if o["type"] == TypeRequest {
					copied["id"] = o["id"].(string) + "b"
					if base, ok := o["base"].(string); ok {
						copied["base"] = base + "b"
					}
				}
				both = append(both, l[i], copied)
			}
			return both
		}, "r1 r1b r2 r2b r3 r3b", ""},
	} {
		l := read(t, tt.change(session()))
		var whole, findings []string
		for i := range l.Requests {
			q := &l.Requests[i]
			if q.Fault == "" {
				whole = append(whole, q.ID)
				asSent(t, l, q)
			} else if _, err := l.Body(q); err == nil {
				t.Errorf("%s: %s is put together", name, q.ID)
			}
		}
		for _, f := range l.Findings {
			findings = append(findings, fmt.Sprintf("%d:%s", f.Line, f.Code))
		}
		slices.Sort(whole)
		want := strings.Fields(tt.findings)
		slices.Sort(want)
		slices.Sort(findings)
		if strings.Join(whole, " ") != tt.whole || !slices.Equal(findings, want) {
			t.Errorf("%s: whole %v, want %s; findings %v, want %v", name, whole, tt.whole, l.Findings, want)
		}
	}
}

// A line that ends early is a finding of the reader; no change of a byte is fatal.
func TestCut(t *testing.T) {
	var b strings.Builder
	for _, l := range session() {
		raw, _ := json.Marshal(l)
		b.Write(append(raw, '\n'))
	}
	all := b.String()
	for i := 0; i < len(all); i += 7 {
		for _, text := range []string{all[:i], all[:i] + all[min(i+40, len(all)):], all[:i] + "[" + all[i+1:]} {
			l := readText(t, text)
			for k := range l.Requests {
				if q := &l.Requests[k]; q.Fault == "" {
					asSent(t, l, q)
				}
			}
		}
	}
}

// A breakpoint that has no place is left out, and said.
func TestNoPlace(t *testing.T) {
	for _, path := range []string{`[]`, `["messages"]`, `["messages",0]`, `["messages",9,"content",0]`, `["messages",0,"content",-1]`, `["messages",0,"content",0,"x"]`, `["messages","a","content","b"]`, `["system",7]`, `["tools","x"]`, `["other",0]`, `[1,2]`} {
		lines := session()
		lines[2]["cacheControl"] = []any{object{"path": json.RawMessage(path), "value": 1}}
		l := read(t, lines)
		b, err := l.Body(l.Of("m1"))
		if err != nil || len(b.Wrong) != 1 || sum(asSent(t, l, l.Of("m1"))) != sum([]any{first}) {
			t.Errorf("%s: %+v, %v", path, b, err)
		}
	}
	lines := session()
	lines[2]["cacheControl"] = 5
	if l := read(t, lines); len(l.Requests) != 2 || l.Findings[0].Code != CodeBroken && l.Findings[0].Code != CodeUnused {
		t.Errorf("%+v", l.Findings)
	}
}

// A response without the id of its request answers the one before it.
func TestAnswerByPlace(t *testing.T) {
	lines := session()
	for _, i := range []int{3, 4, 9, 12} {
		delete(lines[i], "requestRef")
	}
	l := read(t, lines)
	for i, id := range []string{"m1", "m2", "m3"} {
		if q := l.Of(id); q == nil || q.ID != fmt.Sprint("r", i+1) {
			t.Errorf("%s answers %+v", id, q)
		}
	}
}

// Requests that keep little of long chains are found in few steps.
func TestLongChain(t *testing.T) {
	const n = 20_000
	m := said("user", text("x"))
	lines := []object{{"type": TypeShape, "shapeHash": sum(shapeOf), "shape": shapeOf}, blob(m)}
	for i := range n {
		base := ""
		if i > 0 {
			base = fmt.Sprint("r", i-1)
		}
		lines = append(lines, request(fmt.Sprint("r", i), base, i, sum(m)))
	}
	for i := range n {
		lines = append(lines, request(fmt.Sprint("s", i), fmt.Sprint("r", n-1), i%3, sum(m)))
	}
	l := read(t, lines)
	if l.Whole() != 2*n {
		t.Fatalf("%d of %d: %v", l.Whole(), 2*n, l.Findings[0])
	}
	must.Rows(t, `
19999 | 20000
20000 | 1
20001 | 2
20002 | 3
`, func(i, want int) {
		must.Equal(t, len(asSent(t, l, &l.Requests[i])), want, i)
	})
}
