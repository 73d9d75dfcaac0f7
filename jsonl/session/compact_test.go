package session

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzCompact: JSON that is found to be compact is what compacting makes of it.
func FuzzCompact(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1}`, `{"a": 1}`, `{"a":"b c"}`, `{"a":"\" b"}`, `{"a":"\\"}`, `{"a":"\\" }`, "[1,\n2]", `["<&>","` + "\u2028" + `"]`, `"\u001F"`, `["\/"]`, `{"a`, `"a\`, "\"\t\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !isCompact(raw) || hasEscapes(raw) {
			return
		}
		var out bytes.Buffer
		if json.Compact(&out, raw) == nil && !bytes.Equal(plainEscapes(out.Bytes()), raw) {
			t.Errorf("%q becomes %q", raw, out.Bytes())
		}
	})
}
