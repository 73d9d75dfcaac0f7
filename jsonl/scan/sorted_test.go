package scan

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestAppendSorted(t *testing.T) {
	must.Rows(t, `
{ "b" : 1 , "a" : [ 1 , {"d":2,"c":3} ] } | {"a":[1,{"c":3,"d":2}],"b":1}
{"cache_control":{"type":"ephemeral"},"a":{"cache_control":null,"b":[{"cache_control":1}]}} | {"a":{"b":[{}]}}
{"a":1,"a":2}            | {"a":2}
{"b":0,"Z":0,"":0}       | {"":0,"Z":0,"b":0}
"{\"\ue000\":1,\"😀\":2}" | "{\"😀\":2,\"\ue000\":1}"
{"\u0062":1,"a":2}       | {"a":2,"b":1}
"\"é\\/\\\" \\\\ \\b\\f\\n\\r\\t\\u000b\\u0022\\u005C\\ud83d\\ude00\\uD83D!\"" | "\"é/\\\" \\\\ \\b\\f\\n\\r\\t\\u000b\\\"\\\\😀\\ud83d!\""
"\"\\u0008\\u0009\\u000a\\u000c\\u000D\"" | "\"\\b\\t\\n\\f\\r\""
"\"<\u2028>&\u007f\""    | "\"<\u2028>&\u007f\""
[1.0,-0,-1,10e2,1e21,1e-7,0.000001,123456789012345678,1e999,true,false,null] | [1,0,-1,1000,1e+21,1e-7,0.000001,123456789012345680,null,true,false,null]
[]                       | []
{}                       | {}
`, func(in, want string) {
		got, end, code := AppendSorted(nil, []byte(in), 0, 0, "cache_control")
		if string(got) != want || end != len(in) || code != OK {
			t.Errorf("%s\n got %s\nwant %s (%d of %d, %v)", in, got, want, end, len(in), code)
		}
	})
	for _, in := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":1`, `[1,`, `["a`, `tru`, `-`, `{"a":[}`} {
		if _, _, code := AppendSorted(nil, []byte(in), 0, 0, ""); code == OK {
			t.Errorf("%s is read without a fault", in)
		}
	}
}
