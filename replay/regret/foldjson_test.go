package regret

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
)

// FuzzFoldJSON holds the form of a JSON string, and where its lines end, against the form of the text that it decodes to.
func FuzzFoldJSON(f *testing.F) {
	for _, text := range []string{
		"     1→func Foo() {\n    12→\treturn nil\n", "1\tone_two\r\n2\tThree", "a 12 b\n\n12 monkeys", `"x\"y"`, "仓库 Ledger\xff\n7→\x1b[31m8\t9", "", "\n", "12",
	} {
		raw, _ := json.Marshal(text)
		f.Add(string(raw))
	}
	for _, raw := range []string{
		`"1\u21922"`, `"1\u0009x"`, `"a\u000a1\tb"`, `"\u0031\tb"`, `"1\u001b\tb\n\u001b[1m2\tx"`, `"\ud83d\ude00\/\b\f"`, `"a"b"`, `"a\"`, "\"\xe2\x86\n\"", `"\u00`, `"1\n`, `"`, ``, "\"a\tb\"", `"\x"`,
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		said, valid := jsonl.Unquote([]byte(raw))
		text := []byte(said)
		var ends []int
		body, ok := quoted([]byte(raw))
		if !ok {
			return
		}
		got, ok := foldJSON([]byte("before"), body, &ends)
		if !ok {
			return
		}
		if !valid {
			t.Fatalf("%q is no string, and yet its form is %q", raw, got)
		}
		want, wantEnds := []byte("before"), []int(nil)
		for line := range bytes.Lines(text) {
			want = fold(want, line)
			wantEnds = append(wantEnds, len(want))
		}
		if !bytes.Equal(got, want) || !slices.Equal(ends, wantEnds) {
			t.Errorf("%q: %q with lines to %d, want %q to %d", raw, got, ends, want, wantEnds)
		}
		if whole := fold([]byte("before"), text); !bytes.Equal(got, whole) {
			t.Errorf("%q: %q, want %q", raw, got, whole)
		}
	})
}

// TestFoldJSONReads: what most recordings write is read without decoding it.
func TestFoldJSONReads(t *testing.T) {
	for raw, want := range map[string]bool{
		`"     1→func Foo() {\n    12→\treturn \"仓库\"\n\u001b[31m"`: true,
		`"1\u21922"`: false, `"\ud83d\ude00"`: false, "\"\xff\"": false,
	} {
		if _, ok := foldJSON(nil, []byte(raw[1:len(raw)-1]), nil); ok != want {
			t.Errorf("%s: %v", raw, ok)
		}
	}
}
