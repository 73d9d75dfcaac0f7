package scan

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestMeasureString(t *testing.T) {
	for _, c := range []struct {
		text string
		want Lengths
	}{
		{`""`, Lengths{0, 0, 2, 2, false}},
		{`"abc"`, Lengths{3, 3, 5, 5, false}},
		{`"a\nb"`, Lengths{3, 3, 6, 6, false}},
		{`"\/"`, Lengths{1, 1, 3, 3, false}},
		{`"\u0022\u005c\u0008\u000a"`, Lengths{4, 4, 10, 10, false}},
		{`"\u0000"`, Lengths{1, 1, 8, 8, false}},
		{`"\u0041"`, Lengths{1, 1, 3, 3, false}},
		{"\"\x7f\"", Lengths{1, 1, 3, 3, false}},
		{`"é"`, Lengths{1, 2, 3, 4, false}},
		{`"\u00e9"`, Lengths{1, 2, 3, 4, false}},
		{"\"\u2028\"", Lengths{1, 3, 3, 5, false}},
		{`"→"`, Lengths{1, 3, 3, 5, false}},
		{`"😀"`, Lengths{2, 4, 4, 6, false}},
		{`"\ud83d\ude00"`, Lengths{2, 4, 4, 6, false}},
		{`"\ud83d"`, Lengths{1, 3, 8, 8, false}},
		{`"\ude00\ud83d"`, Lengths{2, 6, 14, 14, false}},
		{`"\ud83dA"`, Lengths{2, 4, 9, 9, false}},
		{"\"\xff\"", Lengths{1, 3, 3, 5, false}},
		{"\"\xe2\x82\"", Lengths{2, 6, 4, 8, false}},
		{"\"\xed\xa0\x80\"", Lengths{3, 9, 5, 11, false}},
	} {
		var l Lengths
		end, code := MeasureString([]byte(c.text), 0, &l)
		c.want.Coded = coded(c.text)
		if code != OK || end != len(c.text) || l != c.want {
			t.Errorf("MeasureString(%s) = %d, %v, %+v; want %+v", c.text, end, code, l, c.want)
		}
	}
}

// coded reports whether a JSON string has an escape of four digits.
func coded(text string) bool {
	return strings.Contains(strings.ReplaceAll(text, `\\`, ""), `\u`)
}

func TestMeasureValue(t *testing.T) {
	must.Rows(t, `
# text | utf16 | size
{}                    | 2  | 2
" [ ] "               | 2  | 2
[ 1 , 2.50 , -3e7 ]   | 13 | 13
{ "a" : true , "b" : [ null , { } ] } | 24 | 24
{"a":1,"a":2}         | 13 | 13
{"\u0061":"\u00e9\/"} | 10 | 11
"\"\\ud800\""         | 8  | 8
`, func(text string, utf16, size int) {
		var l Lengths
		i := Space([]byte(text), 0)
		if _, code := MeasureValue([]byte(text), i, 0, &l); code != OK || l != (Lengths{UTF16: utf16, Bytes: size}) {
			t.Errorf("MeasureValue(%s) = %v, %+v; want %d units, %d bytes", text, code, l, utf16, size)
		}
	})
}

func FuzzMetrics(f *testing.F) {
	for _, s := range texts() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		checkMetrics(t, b)
		quoted := append(append([]byte{'"'}, b...), '"') // most input is no JSON by itself
		checkMetrics(t, quoted)
		checkUnquote(t, b)
		checkUnquote(t, quoted)
	})
}

// checkUnquote holds Unquote of any bytes against encoding/json.
func checkUnquote(t *testing.T, b []byte) {
	t.Helper()
	var want string
	is := len(b) > 1 && b[0] == '"' && b[len(b)-1] == '"' && json.Unmarshal(b, &want) == nil
	before := bytes.Clone(b)
	got, ok := Unquote(b)
	if ok != is || is && string(got) != want {
		t.Fatalf("Unquote(%q) = %q, %v; want %q, %v", b, got, ok, want, is)
	}
	if !bytes.Equal(b, before) {
		t.Fatalf("Unquote(%q) changed it", before)
	}
}

// checkMetrics holds the lengths of b, if it is JSON, against what comes from decoding and encoding it.
func checkMetrics(t *testing.T, b []byte) {
	t.Helper()
	b = bytes.Trim(b, " \t\r\n")
	if !json.Valid(b) {
		return
	}
	if b[0] == '"' {
		var l Lengths
		if end, code := MeasureString(b, 0, &l); code != OK || end != len(b) {
			t.Fatalf("MeasureString(%q) = %d, %v", b, end, code)
		}
		var s string
		must.Do(t, json.Unmarshal(b, &s))
		units := decodeUnits(b)
		canon := stringify(units)
		want := Lengths{len(units), len(s), len(utf16.Encode([]rune(canon))), len(canon), coded(string(b))}
		must.Equal(t, l, want, b)
		must.Equal(t, string(AppendUnquoted(nil, b[1:len(b)-1], -1)), s, b)
		for _, limit := range []int{0, 1, 5, len(s) - 1} {
			got := string(AppendUnquoted(nil, b[1:len(b)-1], limit))
			if limit = max(limit, 0); len(got) > limit || s[:len(got)] != got || len(got) < min(limit-3, len(s)) {
				t.Errorf("AppendUnquoted(%q, %d) = %q of %q", b, limit, got, s)
			} else if rest := s[len(got):]; rest != "" {
				if _, n := utf8.DecodeRuneInString(rest); len(got)+n <= limit && limit < len(s) {
					t.Errorf("AppendUnquoted(%q, %d) = %q stops early", b, limit, got)
				}
			}
		}
	}
	var l Lengths
	if end, code := MeasureValue(b, 0, 0, &l); code != OK || end != len(b) {
		t.Fatalf("MeasureValue(%q) = %d, %v", b, end, code)
	}
	canon := compact(b)
	if want := (Lengths{UTF16: len(utf16.Encode([]rune(canon))), Bytes: len(canon)}); l != want {
		t.Errorf("compact lengths of %q: %+v, want %+v (%q)", b, l, want, canon)
	}
}

// compact writes a value without white space, its strings canonically.
func compact(b []byte) string {
	var out bytes.Buffer
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		case ' ', '\t', '\r', '\n':
			i++
		case '"':
			end := i + 1
			for b[end] != '"' {
				if b[end] == '\\' {
					end++
				}
				end++
			}
			out.WriteString(stringify(decodeUnits(b[i : end+1])))
			i = end + 1
		default:
			out.WriteByte(c)
			i++
		}
	}
	return out.String()
}

// decodeUnits is a string literal's value as JavaScript has it, one unit at a time.
func decodeUnits(b []byte) []uint16 {
	var units []uint16
	for s := string(b[1 : len(b)-1]); s != ""; {
		if s[0] != '\\' {
			r, n := utf8.DecodeRuneInString(s)
			units = utf16.AppendRune(units, r)
			s = s[n:]
			continue
		}
		if s[1] == 'u' {
			n, err := strconv.ParseUint(s[2:6], 16, 16)
			if err != nil {
				panic(err)
			}
			units = append(units, uint16(n))
			s = s[6:]
			continue
		}
		const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
		units = append(units, uint16(to[bytes.IndexByte([]byte(from), s[1])]))
		s = s[2:]
	}
	return units
}

// stringify is JavaScript's JSON.stringify of a string.
func stringify(units []uint16) string {
	const hex = "0123456789abcdef"
	out := []byte{'"'}
	for i := 0; i < len(units); i++ {
		u := rune(units[i])
		switch {
		case u == '"' || u == '\\':
			out = append(out, '\\', byte(u))
		case u < 0x20 && bytes.IndexByte([]byte("\b\f\n\r\t"), byte(u)) >= 0:
			out = append(out, '\\', "bfnrt"[bytes.IndexByte([]byte("\b\f\n\r\t"), byte(u))])
		case u < 0x20:
			out = append(out, '\\', 'u', '0', '0', hex[u>>4], hex[u&15])
		case utf16.IsSurrogate(u):
			if i+1 < len(units) {
				if r := utf16.DecodeRune(u, rune(units[i+1])); r != utf8.RuneError {
					out = utf8.AppendRune(out, r)
					i++
					continue
				}
			}
			out = append(out, '\\', 'u', hex[u>>12], hex[u>>8&15], hex[u>>4&15], hex[u&15])
		default:
			out = utf8.AppendRune(out, u)
		}
	}
	return string(append(out, '"'))
}
