package requests

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// bodyOf is a body from its JSON.
func bodyOf(t *testing.T, text string) *SentBody {
	t.Helper()
	b := &SentBody{Line: 7}
	eachMember([]byte(text), func(key string, v []byte) {
		switch key {
		case "system":
			b.System = v
		case "tools":
			b.Tools = v
		case "messages":
			eachElement(v, func(m []byte) {
				var msg struct{ Role string }
				must.Do(t, json.Unmarshal(m, &msg))
				b.Messages = append(b.Messages, Message{Role: msg.Role, Line: len(b.Messages) + 10, Blocks: blocks(nil, Member(m, "content"))})
			})
		default:
			b.Params = append(b.Params, Param{key, v})
		}
	})
	return b
}

func TestDiff(t *testing.T) {
	const base = `{"model":"a","max_tokens":5,"output_config":{"effort":"high"},"system":[{"type":"text","text":"one"},{"type":"text","text":"two"}],` +
		`"tools":[{"name":"Read","x":1},{"name":"Write"}],"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"text","text":"on"},{"type":"tool_use","id":"t","name":"Read","input":{"a":1,"b":2}}]}]}`
	must.Rows(t, `
# name | from | to | want
a tool is added      | {"name":"Write"}             | {"name":"Bash"},{"name":"Write"}  | {"Bytes":15,"Is":"{\"name\":\"Bash\"}", "Line":7,"Name":"Bash", "Part":"tool", "Tools":[{"name":"Bash","was_place":0,"place":2}]}
at the end           | {"name":"Write"}             | {"name":"Write"},{"name":"Z"}     | {"Bytes":12,"Is":"{\"name\":\"Z\"}", "Line":7,"Name":"Z", "Part":"tool", "Tools":[{"name":"Z","was_place":0,"place":3}]}
a tool is gone       | {"name":"Read","x":1},       | ""                                | {"Bytes":21,"Line":7,"Name":"Read", "Part":"tool", "Tools":[{"name":"Read","was_place":1,"place":0}],"Was":"{\"name\":\"Read\",\"x\":1}"}
tools are added      | {"name":"Write"}             | {"name":"Bash"},{"name":"Write"},{"name":"Z"} | {"Bytes":27,"Is":"{\"name\":\"Bash\"}", "Line":7,"Name":"Bash", "Part":"tool", "Tools":[{"name":"Bash","was_place":0,"place":2}, {"name":"Z","was_place":0,"place":4}]}
tools are gone       | {"name":"Read","x":1},{"name":"Write"} | ""                                | {"Bytes":37,"Line":7,"Name":"Read", "Part":"tool", "Tools":[{"name":"Read","was_place":1,"place":0}, {"name":"Write","was_place":2,"place":0}],"Was":"{\"name\":\"Read\",\"x\":1}"}
one for another      | {"name":"Read","x":1},{"name":"Write"} | {"name":"Write"},{"name":"Z"}     | {"Bytes":33,"Is":"{\"name\":\"Z\"}", "Line":7,"Name":"Z", "Part":"tool", "Tools":[{"name":"Z","was_place":0,"place":2}, {"name":"Read","was_place":1,"place":0}]}
a tool comes twice   | {"name":"Write"}             | {"name":"Write"},{"name":"Write"} | {"Bytes":16,"Is":"{\"name\":\"Write\"}", "Line":7,"Name":"Write", "Part":"tool", "Tools":[{"name":"Write","was_place":0,"place":3}]}
one before its place | {"name":"Read","x":1},{"name":"Write"} | {"name":"Write"},{"name":"Z"},{"name":"Read","x":1} | {"Bytes":33,"Is":"{\"name\":\"Z\"}", "Line":7,"Name":"Z", "Part":"tool", "Tools":[{"name":"Z","was_place":0,"place":2}, {"name":"Read","was_place":1,"place":3}]}
a tool moved         | {"name":"Read","x":1},{"name":"Write"} | {"name":"Write"},{"name":"Read","x":1} | {"Bytes":21,"Is":"{\"name\":\"Read\",\"x\":1}", "Line":7,"Name":"Read", "Part":"tool", "Tools":[{"name":"Read","was_place":1,"place":2}],"Was":"{\"name\":\"Read\",\"x\":1}"}
a tool is another    | "\"x\":1"                    | "\"x\":20,\"y\":[]"               | {"Bytes":29,"Is":"{\"name\":\"Read\",\"x\":20,\"y\":[]}", "Line":7,"Members":[{"name":"x","was_bytes":1,"bytes":2}, {"name":"y","was_bytes":0,"bytes":2}],"Name":"Read", "Part":"tool", "Was":"{\"name\":\"Read\",\"x\":1}"}
the effort           | "\"high\""                   | "\"low\""                         | {"Bytes":16,"Is":"{\"effort\":\"low\"}", "Name":"output_config", "Part":"setting", "Was":"{\"effort\":\"high\"}"}
a setting is new     | "\"max_tokens\""             | "\"thinking\":1,\"max_tokens\""   | {"Bytes":1,"Is":"1", "Name":"thinking", "Part":"setting"}
the model            | "\"model\":\"a\""            | "\"model\":\"b\""                 | {"Bytes":3,"Is":"\"b\"", "Name":"model", "Part":"model", "Was":"\"a\""}
the most tokens      | "\"max_tokens\":5"           | "\"max_tokens\":6"                | {"Bytes":1,"Is":"6", "Name":"max_tokens", "Part":"setting", "Was":"5"}
the system prompt    | "\"two\""                    | "\"2\""                           | {"Block":2,"Bytes":26,"Is":"2", "Line":7,"Part":"system", "Was":"two"}
a message            | "\"content\":\"go\""         | "\"content\":\"no\""              | {"Block":1,"Bytes":27,"Is":"no", "Line":10,"Message":1,"Name":"text", "Part":"message", "Role":"user", "Was":"go"}
a block is gone      | {"type":"text","text":"on"}, | ""                                | {"Block":1,"Bytes":64,"Is":"{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Read\",\"input\":{\"a\":1,\"b\":2}}", "Line":11,"Message":2,"Name":"tool_use", "Part":"message", "Role":"assistant", "Was":"on"}
a block is added     | "\"content\":\"go\""         | "\"content\":[{\"type\":\"text\",\"text\":\"go\"},{\"type\":\"text\",\"text\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}]" | {"Block":2,"Bytes":125,"Is":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…", "Line":10,"Message":1,"Name":"text", "Part":"message", "Role":"user"}
the messages end     | ,{"role":"assistant","content":[{"type":"text","text":"on"},{"type":"tool_use","id":"t","name":"Read","input":{"a":1,"b":2}}]} | ""                                | {"Block":1,"Bytes":27,"Line":11,"Message":2,"Name":"text", "Part":"message", "Role":"assistant", "Was":"on"}
keys at other places | "\"a\":1,\"b\":2"            | "\"b\":2, \"a\":1"                | {}
a breakpoint         | "\"text\":\"on\""            | "\"text\":\"on\",\"cache_control\":{}" | {}
more at the end      | "\"b\":2}}]}"                | "\"b\":2}},{\"type\":\"text\",\"text\":\"more\"}]},{\"role\":\"user\",\"content\":\"x\"}" | {}
`, func(name, from, to string, want BodyChange) {
		if !strings.Contains(base, from) {
			t.Fatalf("%s: no %s", name, from)
		}
		got := Diff(bodyOf(t, base), bodyOf(t, strings.Replace(base, from, to, 1)))
		if got == nil {
			got = &BodyChange{}
		}
		whole := strings.TrimSuffix(cmp.Or(got.Is, got.Was), "…")
		if part := got.Text != "" && len(got.Text) < 9; got.Part == PartMessage && !strings.HasPrefix(got.Text, whole) && !(part && strings.Contains(whole, got.Text)) {
			t.Errorf("%s: the text %q does not begin with %q", name, got.Text, whole)
		}
		got.Text = ""
		must.Equal(t, *got, want, name)
	})
}

// What differs is what stands between the beginning and the end that two texts have in common.
func TestDiffering(t *testing.T) {
	for _, tt := range [][3]string{
		{"one two three", "one 2 three", "2"}, {"one three", "one two three", "wo t"}, {"one two three", "one three", "wo t"},
		{"a", "b", "b"}, {"", "b", "b"}, {"a", "", "a"}, {"same", "same", ""}, {"é", "è", "è"}, {"aa", "aaa", "a"},
	} {
		must.Equal(t, differing(tt[0], tt[1]), tt[2])
	}
}

// A message without blocks that is gone is no difference.
func TestDiffEmpty(t *testing.T) {
	one := Message{Role: "user", Blocks: []Block{{JSON: []byte(`{"type":"text","text":"go"}`)}}}
	before := &SentBody{Messages: []Message{one, {}, {}}}
	if c := Diff(before, &SentBody{Messages: []Message{one}}); c != nil {
		t.Errorf("%+v", c)
	}
	before.Messages[1].Blocks = one.Blocks
	if c := Diff(before, &SentBody{Messages: []Message{one}}); c == nil || c.Message != 2 || c.Is != "" {
		t.Errorf("%+v", c)
	}
}

// What differs of two texts is shown, though they begin alike for long.
func TestApart(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, tt := range [][4]string{
		{"a", "ab", "a", "ab"},
		{long + "a", long + "b", "…a", "…b"},
		{long, long + "<new>", "…", "…<new>"},
		{long + "<old>", long, "…<old>", "…"},
		{long + "end", long + "<new>end", "…", "…<new>"},
		{long + "<old>end", long + "<new>end", "…old>end", "…new>end"},
	} {
		must.Both(apart(tt[0], tt[1]))(t, tt[2], tt[3])
	}
}
