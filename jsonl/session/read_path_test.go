package session_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// checkReadPath holds that what ReadPath takes is what json.Unmarshal makes of it. ok is what ReadPath says.
func checkReadPath(t *testing.T, input string) (ok bool) {
	t.Helper()
	path, ok := session.ReadPath([]byte(input))
	if !ok {
		return false
	}
	var in session.FileInput
	err := json.Unmarshal([]byte(input), &in)
	if want := (session.FileInput{FilePath: string(path)}); err != nil || !reflect.DeepEqual(in, want) {
		t.Errorf("%q is of %q, and decodes to %+v, %v", input, path, in, err)
	}
	return true
}

func TestReadPath(t *testing.T) {
	for input, want := range map[string]bool{
		`{"file_path":"/a/b.go"}`:                           true,
		`{"file_path":"/a/b.go","offset":10,"limit":20}`:    true,
		` {"file_path":"/a"}`:                               false,
		`{ "limit" : 2 , "file_path" : "/a" }`:              true,
		`{"file_path":"/a","file_path":"/b"}`:               true,
		`{"file_path":"\u00e9\n","offset":"no number"}`:     true,
		"{\"file_path\":\"\xff\"}":                          true,
		`{"file_path":"\ud800"}`:                            true,
		`{}`:                                                true,
		`{"file_path":"/a"} `:                               false,
		`{"file_path":"/a"}{`:                               false,
		`{"file_path":"/a",}`:                               false,
		`{"file_path":null}`:                                false,
		`{"file_path":1}`:                                   false,
		`{"File_Path":"/a"}`:                                false,
		`{"file\u005fpath":"/a"}`:                           false,
		`{"file_path":"/a","old_string":"x"}`:               false,
		`{"file_path":"/a","offset":[1,}`:                   false,
		`{"file_path":"/a"`:                                 false,
		`"/a"`:                                              false,
		``:                                                  false,
		`{"file_path":"/a","offset":{"file_path":"/b"}}`:    true,
		`{"file_path":"/a","limit":[1,[2],{"a":"\u0000"}]}`: true,
	} {
		if got := checkReadPath(t, input); got != want {
			t.Errorf("%q is taken: %v, want %v", input, got, want)
		}
	}
}

func FuzzReadPath(f *testing.F) {
	f.Add(`{"file_path":"/a/b.go","offset":10,"limit":20}`)
	f.Add(`{"file_path":"\u00e9\ud800","file_path":""}`)
	f.Fuzz(func(t *testing.T, input string) { checkReadPath(t, input) })
}
