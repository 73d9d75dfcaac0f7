package jsonl

import (
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// hazardLines are objects whose fields are not what the format says, or are said in an unusual way.
func hazardLines() []string {
	block := func(b string) string {
		return `{"type":"user","message":{"role":"user","content":[` + b + `]}}`
	}
	return []string{
		`{}`, `{"type":1,"uuid":2,"parentUuid":3,"timestamp":4,"message":5,"isMeta":"true","cwd":null,"sessionId":[],"version":{}}`,
		`{"\u0074ype":"\u0075ser","mess\u0061ge":{"role":"user","content":"x"}}`,
		`{"message":{"role":"user","content":"type comes last"},"type":"user"}`,
		`{"message":{"role":"user","content":"not its own"},"type":"progress"}`,
		`{"type":"progress","message":{"role":"user","content":"x"}}`,
		`{"type":"progress","message":{"role":"user","content":"type twice"},"type":"user"}`,
		`{"type":"user","message":{"role":"user","content":"type twice"},"type":"progress"}`,
		`{"type":"user","message":{"content":"first"},"message":{"role":"user"}}`,
		`{"type":"user","message":{"content":"first"},"message":null}`,
		`{"type":"user","uuid":"a","uuid":7}`, `{"type":"user","uuid":"a","uuid":"b"}`, `{"Type":"user","UUID":"a"}`,
		`{"uuid":"a","parentUuid":null}`, `{"uuid":"a","parentUuid":"a"}`, `{"timestamp":"2026-02-28T23:59:59.123456789Z","uuid":"\ud83d\ude00\ud83d"}`,
		`{"timestamp":"2026-02-31T00:00:00Z"}`, `{"timestamp":"2026-02-03T04:05:06+02:00"}`, `{"timestamp":"2026-02-03T04:05:06.5-07:00"}`, `{"timestamp":"yesterday"}`, `{"timestamp":"2024-02-29T00:00:00Z"}`, `{"timestamp":"2026-02-03T24:00:00Z"}`, `{"timestamp":"2026-02-03T04:05:06.Z"}`,
		`{"type":"user","message":"text"}`, `{"type":"user","message":{"content":{"a":1}}}`, `{"type":"user","message":{"content":null,"role":1,"id":{},"usage":"x"}}`,
		`{"type":"user","message":{"content":["bare",1,null,[],{}]}}`,
		`{"type":"user","message":{"content":"one","content":[]}}`, `{"type":"user","message":{"content":[{"type":"text","text":"a"}],"content":"two"}}`,
		`{"type":"user","message":{"content":[{"type":"text","text":"a"}],"content":7}}`,
		block(`{"text":"type last","type":"text"}`), block(`{"type":"text","text":5}`), block(`{"type":"text"}`), block(`{"type":"text","text":"a","text":"bc"}`),
		block(`{"type":"text","text":"a","text":null}`), block(`{"type":"text","text":5},{"type":"text","text":"head"},{"type":"text","text":"not it"}`),
		block(`{"type":"hologram","id":"h","name":"n","is_error":true,"text":"t", "x" : [ 1 , 2 ] }`), block(`{"type":7,"tool_use_id":"t"}`),
		block(`{"type":"tool_result","tool_use_id":"t","content":null}`), block(`{"type":"tool_result","tool_use_id":"t"}`), block(`{"type":"tool_result","content":{"a": 1},"is_error":"yes"}`),
		block(`{"content":[ {"text":"a\nb","type":"text"} , "x", 5, {"type":"image"}, {"type":"text","text":7}, [] ],"type":"tool_result"}`),
		block(`{"type":"tool_result","content":[]}`), block(`{"type":"tool_result","content":[{"type":"text","text":"<persisted-output>"}],"content":"none"}`),
		block(`{"type":"tool_result","content":"none","content":[{"type":"text","text":"<persisted-output>"}]}`),
		block(`{"type":"tool_result","content":"\u003cpersisted-output\u003e"}`), block(`{"type":"tool_result","content":"<persisted-\u006futput>"}`), block(`{"type":"tool_result","content":"persisted-output"}`),
		block(`{"type":"tool_result","content":[{"type":"image","text":"<persisted-output>"}]}`), block(`{"type":"tool_result","content":[{"text":"<persisted-output>","x":1,"type":"text"}]}`),
		block(`{"type":"tool_result","content":[{"type":"text","text":"a","\u0074ext":"<persisted-output>"}]}`),
		block(`{"type":"tool_use","id":"a","name":"Read","input":"text"}`), block(`{"type":"tool_use","input":{ "b" : "\u00e9\/" },"name":"Read","id":5}`), block(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`),
		block(`{"type":"thinking","thinking":"","signature":"Er\u0051BCg"}`), block(`{"type":"redacted_thinking","data":"xyz"}`), block(`{"type":"image","source":{"type":"base64","data":"AAAA"}}`), block(`{"type":"tool_reference","tool_name":"x"}`),
		`{"type":"assistant","message":{"usage":{"input_tokens":1.5,"output_tokens":-3,"cache_read_input_tokens":99999999999999999999999,"cache_creation_input_tokens":1e3,"cache_creation":{"ephemeral_5m_input_tokens":7},"cache_creation":[],"output_tokens_details":{"thinking_tokens":12}}}}`,
		`{"type":"assistant","message":{"usage":{"input_tokens":"12","output_tokens":null,"cache_creation":{"ephemeral_1h_input_tokens":4,"ephemeral_5m_input_tokens":3}},"usage":{}}}`,
		`{"type":"assistant","message":{"usage":{"input_tokens":-0,"output_tokens":0},"usage":null}}`,
		`{"type":"assistant","message":{"usage":{"input_tokens":23000,"output_tokens":1000,"iterations":[{"type":"compaction","input_tokens":180000,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":3500,"cache_creation":{"ephemeral_5m_input_tokens":0}},{"type":"message","input_tokens":23000,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1000,"cache_creation":{"ephemeral_5m_input_tokens":0}}]}}}`,
		`{"type":"assistant","message":{"usage":{"output_tokens":1,"iterations":[{"type":"message","input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":4,"cache_creation":{"ephemeral_5m_input_tokens":2}},{"type":"compaction","input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":30,"output_tokens":40,"cache_creation":{"ephemeral_5m_input_tokens":20}},{"type":"advisor_message","input_tokens":7,"cache_creation_input_tokens":7,"cache_read_input_tokens":7,"output_tokens":7,"cache_creation":{"ephemeral_5m_input_tokens":7}},{"type":"message","input_tokens":100,"cache_creation_input_tokens":200,"cache_read_input_tokens":300,"output_tokens":400,"cache_creation":{"ephemeral_5m_input_tokens":200}}]}}}`,
		`{"type":"assistant","message":{"usage":{"iterations":[{"type":"compaction","input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":30,"output_tokens":40,"cache_creation":{"ephemeral_5m_input_tokens":20}},{"type":"compaction","input_tokens":11,"cache_creation_input_tokens":21,"cache_read_input_tokens":31,"output_tokens":41,"cache_creation":{"ephemeral_5m_input_tokens":21}}]}}}`,
		`{"type":"assistant","message":{"usage":{"input_tokens":23000,"output_tokens":1000,"iterations":[{"type":"compaction","input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":30,"output_tokens":40,"cache_creation":{"ephemeral_5m_input_tokens":20}}]}}}`,
		`{"type":"assistant","message":{"usage":{"iterations":[{"type":"message","input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":30,"output_tokens":40,"cache_creation":{"ephemeral_5m_input_tokens":20}}]}}}`,
		`{"type":"assistant","message":{"usage":{"input_tokens":23000,"output_tokens":1000,"iterations":[{},5,null,"x",[{"type":"message","input_tokens":9}],{"type":7,"input_tokens":8},{"type":"message","type":"x","input_tokens":8},{"input_tokens":-4,"type":"m\u0065ssage","output_tokens":{}},{"type":"message"}]}}}`,
		`{"type":"assistant","message":{"usage":{"input_tokens":23000,"output_tokens":1000,"iterations":{"type":"message","input_tokens":9}}}}`,
		`{"type":"assistant","message":{"usage":{"input_tokens":23000,"output_tokens":1000,"iterations":[]}}}`,
		`{"type":"assistant","message":{"usage":{"input_tokens":23000,"output_tokens":1000,"iterations":null}}}`,
		`{"type":"user","message":{"role":"user","content":"` + strings.Repeat("é", 200) + `"}}`,
		`{"type":"user","message":{"role":"user","content":"` + strings.Repeat(`a\ud83d\ude00`, 80) + `"}}`,
		"{\"type\":\"us\xffer\",\"cwd\":\"/\xff\xfe\",\"uuid\":\"\xc3\",\"\xff\":1}",
		`{"type":"system","subtype":"compact_boundary","content":"c","compactMetadata":{"preTokens":1},"microcompactMetadata":[],"attachment":1,"toolUseResult":"x","content":["d"]}`,
	}
}

func TestEntry(t *testing.T) {
	for _, line := range append(sessionLines(), hazardLines()...) {
		checkReader(t, []byte(line), 0)
	}
	checkReader(t, []byte(strings.Join(append(sessionLines(), hazardLines()...), "\n")), 0)
	checkReader(t, []byte(strings.Join(hazardLines(), "")), 0)
}

// TestEntryCorpus reads real files, one after the other and in parallel.
func TestEntryCorpus(t *testing.T) {
	for _, path := range corpusFiles(t) {
		text := content(t, path)
		r := NewReader(strings.NewReader(string(text)), path, ReadOptions{})
		var want []string
		for r.Scan() {
			want = append(want, keep(r.Item()).String())
			if e := r.Item().Entry; e != nil {
				checkEntry(t, e, text)
			}
		}
		if r.Err() != nil {
			t.Error(r.Err())
		}
		for jobs := 1; jobs <= 3; jobs++ {
			s := must.Get(Open(path))(t)
			i := 0
			if err := s.Each(jobs, ReadOptions{}, func(rec *Item) error {
				if got := keep(rec).String(); i >= len(want) || got != want[i] {
					t.Fatalf("%s: record %d at %d jobs is %s", path, i, jobs, got)
				}
				if rec.Entry != nil && i%7 == 0 {
					checkEntry(t, rec.Entry, text)
				}
				i++
				return nil
			}); err != nil || i != len(want) {
				t.Errorf("%s: %d jobs: %d records of %d, %v", path, jobs, i, len(want), err)
			}
			s.Close()
		}
	}
}

func TestEntryFields(t *testing.T) {
	e := read(sessionLines()[8], ReadOptions{})[0].E
	must.Say(t, "user 0000aaaa-0000-4000-8000-000000000008 0000aaaa-0000-4000-8000-000000000007 true true 2.1.17 1", e.Type, e.UUID, e.ParentUUID, e.HasParent, e.Time.Equal(time.Date(2026, 1, 15, 9, 0, 8, 8e6, time.UTC)), e.Version, len(e.Message.Content))
	b := e.Message.Content[0]
	if b.Kind != KindToolResult || !b.Persisted || !b.IsString || b.ID != "toolu_03" || b.Text.Bytes <= b.Text.UTF16 || b.JSON.UTF16 != b.Text.JSON {
		t.Errorf("got %+v", b)
	}
}

func TestUnquote(t *testing.T) {
	must.Rows(t, `
# raw | want | ok
"\"a\\n\\u00e9\\ud83d\\ude00\\ud83d\"" | "a\né😀�" | true
"\"\""                   | ""       | true
"\""                     | ""       | false
""                       | ""       | false
"\"a"                    | ""       | false
"\"a\"b"                 | ""       | false
"\"a\" "                 | ""       | false
"\"\\x\""                | ""       | false
{}                       | ""       | false
"\"a\"b\""               | ""       | false
"\"a\\\""                | ""       | false
"\"\\u12\""              | ""       | false
"\"\\u12g4 and more\""   | ""       | false
"\"\\n a line\nbroken\"" | ""       | false
`, func(raw, want string, theOk bool) {
		if got, ok := Unquote([]byte(raw)); got != want || ok != theOk {
			t.Errorf("Unquote(%s) = %q, %v", raw, got, ok)
		}
	})
	must.Both(Unquote([]byte("\"\xff\"")))(t, "\ufffd", true)
}
