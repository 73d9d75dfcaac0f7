package regret

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// FuzzInputTexts holds the strings of an input against those that encoding/json finds.
func FuzzInputTexts(f *testing.F) {
	for _, raw := range []string{
		`{"command":"ls\n-l","n":1.5e3,"list":["a",{"b":"\ud83d\ude00\ud800"},null,true],"":{}}`,
		`"text"`, `{"a":"b"`, `{"a" "b"}`, `[1,]`, ``, ` [ "x" , [ ] ] tail`, "\"\xff\"", strings.Repeat("[", 10001),
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		d := json.NewDecoder(strings.NewReader(raw))
		var first json.RawMessage
		want := ""
		if d.Decode(&first) == nil {
			want = decoded(t, json.NewDecoder(strings.NewReader(string(first))))
		}
		must.Equal(t, string(inputTexts([]byte(raw))), want, raw)
	})
}

// decoded is every string of a valid value, one a line, without keys.
func decoded(t *testing.T, d *json.Decoder) string {
	var b strings.Builder
	var open []json.Delim
	key := false // the next token is one
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return b.String()
		} else if err != nil {
			t.Fatal(err)
		}
		object := len(open) > 0 && open[len(open)-1] == '{'
		switch tok := tok.(type) {
		case json.Delim:
			if tok == '{' || tok == '[' {
				open = append(open, tok)
				key = tok == '{'
				continue
			}
			open = open[:len(open)-1]
			object = len(open) > 0 && open[len(open)-1] == '{'
		case string:
			if object && key {
				key = false
				continue
			}
			b.WriteString(tok + "\n")
		}
		key = object
	}
}
