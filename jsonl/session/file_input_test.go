package session_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// FuzzFileInput holds the input of a tool on files against what encoding/json makes of it.
func FuzzFileInput(f *testing.F) {
	for _, raw := range []string{
		`{"file_path":"/a/b.go","offset":1,"limit":2}`, ` {"file_path":"a\u00e9\ud800","old_string":"x\ny","new_string":[1,{}],"replace_all":true} `,
		`{"file_path":"a","old_string":"x","new_string":"y","replace_all":true}`, `{"replace_all":false}`, `{"replace_all":1}`, `{"replace_all":trve}`,
		`{"file_path":"a","FILE_PATH":"b"}`, `{"file_path":"a","file_path":"b"}`, `{"file_path":"a","file_path":null}`, `{"file_path":1,"notebook_path":"b"}`,
		`{"old_string":"a","edits":[{"old_string":"b"}]}`, `{"file_path":"a"`, `{"file_path":"a"}x`, `{"\u0066ile_path":"a"}`,
		`{"old_\u017ftring":"a","old_ſtring":"b"}`, `{"file_path":"a","x":[1,}`, `{ "file_path" : "a" , "x" : {"file_path":"b"} }`, "{\"file_path\":\"\xff\"}",
		`[]`, `"a"`, ``, `{}`, `{"file_path":"a",}`,
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var want session.FileInput
		bad := json.Unmarshal([]byte(raw), &want)
		got, err := session.DecodeFileInput([]byte(raw))
		if !reflect.DeepEqual(got, want) || (err == nil) != (bad == nil) {
			t.Errorf("%q: %+v, %v, want %+v, %v", raw, got, err, want, bad)
		}
	})
}
