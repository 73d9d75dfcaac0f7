package scan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// texts are hazards, valid or not; the tests judge them by encoding/json.
func texts() []string {
	t := []string{
		``, ` `, `{}`, `[]`, `{`, `}`, `[`, `]`, `{]`, `[}`, `""`, `"`, `null`, `nul`, `nulll`, `true`, `tru`, `false`, `fals`, `truefalse`,
		`0`, `-0`, `-`, `00`, `01`, `1.`, `.1`, `1.5`, `1e`, `1e+`, `1e+5`, `1E-05`, `1.5e3`, `-1.5e300`, `+1`, `0x1`, `1e5.5`, `--1`, `NaN`, `Infinity`,
		`1 2`, `{} {}`, `{}x`, `{"a":1}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a" 1}`, `{a:1}`, `{"a":1 "b":2}`, `{1:2}`, `{"a":1;"b":2}`,
		`[1,2]`, `[1,]`, `[,1]`, `[1 2]`, `[1,,2]`, ` [ 1 , 2 ] `, "\t{\r\n\"a\" : [ ] , \"b\":{ } }\n", "\v1", "\u00a01", "\ufeff{}",
		`{"\u0074ype":"user"}`, `{"type":"us`, `{"type":"user"`, `{"type":"user"}garbage`, `{"a":{"b":[1,{"c":null}]}}`,
		`"\ud800"`, `"\udc00\ud800"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`, `"\ud83d\n"`, `"\ud83d\u0041"`, `"\ud83d`, `"\ud83d\`, `"\ud83d\u`, `"\ud83d\ude0"`,
		`"\u12"`, `"\u12g4"`, `"\u"`, `"\x41"`, `"\'"`, `"\`, `"\"`, `"\\"`, `"\\\"`, `"\/\b\f\n\r\t"`, `"\u0000\u001f\u007f\u0080\u07ff\u0800\uffff"`,
		"\"\x00\"", "\"\x1f\"", "\"\n\"", "\"\t\"", "\"\x7f\"", "\"a\x00", "\"1234567\x01\"", "\"12345678\x01\"", "{\"a\nb\":1}",
		"\"\xff\"", "\"\xc3\"", "\"\xc3\x28\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xf0\x9f\x98\"", "\"\xc0\x80\"", "\"\xe0\x80\x80\"", "\"\xe2\x82\"", "\xff", "{\"\xff\":1}",
		`"héllo wörld — 日本語 😀 ` + "\u2028\u2029" + `"`, `"<persisted-output>"`, `"\u003cpersisted-output\u003e"`,
		"\x00\x00\x00", "{\"a\":1}\x00", "{\"a\":1}\x00\x00\x00\x00\x00\x00\x00\x00", "// comment", `{"a":1}{"b":2}`,
	}
	for _, n := range []int{6, 7, 8, 9, 15, 16, 17, 31, 33} {
		a := strings.Repeat("a", n)
		t = append(t, `"`+a+`"`, `"`+a+`\n`+a+`"`, `"`+a, `"`+a+`\`, `"`+a+"\x01"+`"`, `"`+a+`é"`, `{"`+a+`":"`+a+`"}`, `"`+a+`\\"`, `"`+a+`\\\""`)
	}
	return t
}

// deep are texts of many brackets, too large to be fuzzed.
func deep() []string {
	var t []string
	for _, n := range []int{9999, 10000, 10001, 20000} {
		t = append(t,
			strings.Repeat("[", n), strings.Repeat("[", n)+strings.Repeat("]", n),
			strings.Repeat(`{"a":`, n)+"1"+strings.Repeat("}", n), strings.Repeat(`{"a":`, n),
			strings.Repeat(`[{"a":`, n/2)+"1"+strings.Repeat("}]", n/2), strings.Repeat(`[{"a":`, n/2)+"[]"+strings.Repeat("}]", n/2))
	}
	return t
}

func TestValid(t *testing.T) {
	for _, s := range append(texts(), deep()...) {
		checkValid(t, []byte(s))
	}
}

func FuzzValid(f *testing.F) {
	for _, s := range texts() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkValid(t, b) })
}

// checkValid holds every way of reading b against encoding/json.
func checkValid(t *testing.T, b []byte) {
	t.Helper()
	want := json.Valid(b)
	must.Equal(t, Valid(b), want)
	i := Space(b, 0)
	end, code := Value(b, i, 0)
	if end < i || end > len(b) {
		t.Errorf("Value(%q) ends at %d of %d", short(b), end, len(b))
	}
	var l Lengths
	end2, code2 := MeasureValue(b, i, 0, &l)
	end3, code3 := walked(b, i, 0)
	if end != end2 || code != code2 || end != end3 || code != code3 {
		t.Errorf("%q: Value gives %d %v, MeasureValue %d %v, a walk %d %v", short(b), end, code, end2, code2, end3, code3)
	}
	if want && (code != OK || Space(b, end) != len(b)) {
		t.Errorf("Value(%q) = %d %v, it is valid", short(b), end, code)
	}
	if code == OK && !json.Valid(b[i:end]) {
		t.Errorf("Value(%q) accepts %q", short(b), short(b[i:end]))
	}
}

// walked reads a value through Members and Elements.
func walked(b []byte, i, depth int) (int, Fault) {
	switch {
	case i < len(b) && b[i] == '{':
		m := Object(b, i, depth)
		for m.Next() {
			m.At, m.Code = walked(b, m.At, m.Depth())
		}
		return m.At, m.Code
	case i < len(b) && b[i] == '[':
		m := Array(b, i, depth)
		for m.Next() {
			m.At, m.Code = walked(b, m.At, depth+1)
		}
		return m.At, m.Code
	case i < len(b) && b[i] == '"':
		end, plain, code := String(b, i)
		if code == OK && plain && strings.Contains(string(b[i:end]), `\`) {
			return -1, Escape
		}
		return end, code
	}
	return Value(b, i, depth)
}

func short(b []byte) string {
	if len(b) > 300 {
		return string(b[:300]) + "…"
	}
	return string(b)
}

func TestCode(t *testing.T) {
	for _, c := range []struct {
		text string
		end  int
		code Fault
	}{
		{`{"a":`, 5, End},
		{`{"a":"b`, 7, End},
		{`{"a":"b\`, 8, End},
		{`{"a":"b\u00`, 11, End},
		{`{"a":tru`, 8, End},
		{`{"a":-`, 6, End},
		{`{"a":1.`, 7, End},
		{`{"a":1e`, 7, End},
		{`{"a":}`, 5, NoValue},
		{`{"a":trux}`, 8, Literal},
		{`{"a":1.x}`, 7, Number},
		{`{"a":-x}`, 6, Number},
		{"{\"a\":\"12345678\x01\"}", 14, Control},
		{`{"a":"\q"}`, 7, Escape},
		{`{"a":"\u00g0"}`, 10, Escape},
		{`{"a":1,}`, 7, Key},
		{`{"a" 1}`, 5, Colon},
		{`{"a":01}`, 6, Comma},
		{`[1 2]`, 3, Comma},
		{strings.Repeat("[", 10001), 10000, Deep},
	} {
		if end, code := Value([]byte(c.text), 0, 0); end != c.end || code != c.code {
			t.Errorf("Value(%q) = %d, %v; want %d, %v", short([]byte(c.text)), end, code, c.end, c.code)
		}
	}
}

// TestValidMutations breaks lines as files do get broken: bytes changed, lost, doubled or put in, the rest cut off.
func TestValidMutations(t *testing.T) {
	lines := []string{
		`{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_01","type":"tool_result","content":"  1→package main\n  2→\t\"x\"\n","is_error":false}]},"uuid":"00000000-0000-4000-8000-000000000001","timestamp":"2026-01-15T09:00:00.000Z","toolUseResult":{"file":{"numLines":-2,"ratio":1.5e-3},"lines":[" a","+b\u001b[0m"]}}`,
		` { "a" : [ 1 , -0.5E+7 , true , false , null , "\ud83d\ude00 é \\ \/ \b" , { } , [ ] ] , "\u0074ype" : { "b" : { "c" : "" } } } `,
	}
	const put = "\"\\{}[]:,0123456789.eE+-truefalsnb/ \t\n\r\x00\x1f\x7f\x80\xc3\xe2\xf0\xff"
	random := uint64(1)
	next := func(n int) int {
		random ^= random << 13
		random ^= random >> 7
		random ^= random << 17
		return int(random % uint64(n))
	}
	for round := range 60_000 {
		b := []byte(lines[round%len(lines)])
		for range 1 + next(3) {
			i := next(len(b))
			switch next(5) {
			case 0:
				b[i] = put[next(len(put))]
			case 1:
				b = append(b[:i], b[i+1:]...)
			case 2:
				b = append(b[:i+1], b[i:]...)
			case 3:
				b = append(b[:i], append([]byte{put[next(len(put))]}, b[i:]...)...)
			case 4:
				if next(4) == 0 {
					b = b[:i+1]
				}
			}
			if len(b) == 0 {
				b = []byte{' '}
			}
		}
		checkValid(t, b)
		checkMetrics(t, b)
		if t.Failed() {
			return
		}
	}
}

// Valid reports whether b is one JSON value, white space around it allowed.
func Valid(b []byte) bool {
	i, code := Value(b, Space(b, 0), 0)
	return code == OK && Space(b, i) == len(b)
}
