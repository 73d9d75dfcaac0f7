package scan

import "testing"

func TestString(t *testing.T) {
	for _, s := range []string{`"a\"b"`, `"a\\"`, `"aaaaaaaaaaaaaaaa\\\"bbbbbbbbbbbbbbb\n"`, `"\ud83d\ude00"`} {
		end, _, code := String([]byte(s), 0)
		var l Lengths
		end2, code2 := MeasureString([]byte(s), 0, &l)
		t.Log(s, len(s), end, code, end2, code2, l)
	}
}
