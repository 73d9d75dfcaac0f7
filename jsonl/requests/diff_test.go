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
	long := strings.Repeat("x", 100)
	for name, tt := range map[string]struct {
		from, to string
		want     BodyChange
	}{
		"a tool is added":      {`{"name":"Write"}`, `{"name":"Bash"},{"name":"Write"}`, BodyChange{Part: PartTool, Name: "Bash", Line: 7, Is: `{"name":"Bash"}`, Bytes: 15, Tools: []ToolPlace{{"Bash", 0, 2}}}},
		"at the end":           {`{"name":"Write"}`, `{"name":"Write"},{"name":"Z"}`, BodyChange{Part: PartTool, Name: "Z", Line: 7, Is: `{"name":"Z"}`, Bytes: 12, Tools: []ToolPlace{{"Z", 0, 3}}}},
		"a tool is gone":       {`{"name":"Read","x":1},`, ``, BodyChange{Part: PartTool, Name: "Read", Line: 7, Was: `{"name":"Read","x":1}`, Bytes: 21, Tools: []ToolPlace{{"Read", 1, 0}}}},
		"tools are added":      {`{"name":"Write"}`, `{"name":"Bash"},{"name":"Write"},{"name":"Z"}`, BodyChange{Part: PartTool, Name: "Bash", Line: 7, Is: `{"name":"Bash"}`, Bytes: 27, Tools: []ToolPlace{{"Bash", 0, 2}, {"Z", 0, 4}}}},
		"tools are gone":       {`{"name":"Read","x":1},{"name":"Write"}`, ``, BodyChange{Part: PartTool, Name: "Read", Line: 7, Was: `{"name":"Read","x":1}`, Bytes: 37, Tools: []ToolPlace{{"Read", 1, 0}, {"Write", 2, 0}}}},
		"one for another":      {`{"name":"Read","x":1},{"name":"Write"}`, `{"name":"Write"},{"name":"Z"}`, BodyChange{Part: PartTool, Name: "Z", Line: 7, Is: `{"name":"Z"}`, Bytes: 33, Tools: []ToolPlace{{"Z", 0, 2}, {"Read", 1, 0}}}},
		"a tool comes twice":   {`{"name":"Write"}`, `{"name":"Write"},{"name":"Write"}`, BodyChange{Part: PartTool, Name: "Write", Line: 7, Is: `{"name":"Write"}`, Bytes: 16, Tools: []ToolPlace{{"Write", 0, 3}}}},
		"one before its place": {`{"name":"Read","x":1},{"name":"Write"}`, `{"name":"Write"},{"name":"Z"},{"name":"Read","x":1}`, BodyChange{Part: PartTool, Name: "Z", Line: 7, Is: `{"name":"Z"}`, Bytes: 33, Tools: []ToolPlace{{"Z", 0, 2}, {"Read", 1, 3}}}},
		"a tool moved":         {`{"name":"Read","x":1},{"name":"Write"}`, `{"name":"Write"},{"name":"Read","x":1}`, BodyChange{Part: PartTool, Name: "Read", Line: 7, Was: `{"name":"Read","x":1}`, Is: `{"name":"Read","x":1}`, Bytes: 21, Tools: []ToolPlace{{"Read", 1, 2}}}},
		"a tool is another":    {`"x":1`, `"x":20,"y":[]`, BodyChange{Part: PartTool, Name: "Read", Line: 7, Was: `{"name":"Read","x":1}`, Is: `{"name":"Read","x":20,"y":[]}`, Bytes: 29, Members: []MemberChange{{"x", 1, 2}, {"y", 0, 2}}}},
		"the effort":           {`"high"`, `"low"`, BodyChange{Part: PartSetting, Name: "output_config", Was: `{"effort":"high"}`, Is: `{"effort":"low"}`, Bytes: 16}},
		"a setting is new":     {`"max_tokens"`, `"thinking":1,"max_tokens"`, BodyChange{Part: PartSetting, Name: "thinking", Is: "1", Bytes: 1}},
		"the model":            {`"model":"a"`, `"model":"b"`, BodyChange{Part: PartModel, Name: "model", Was: `"a"`, Is: `"b"`, Bytes: 3}},
		"the most tokens":      {`"max_tokens":5`, `"max_tokens":6`, BodyChange{Part: PartSetting, Name: "max_tokens", Was: "5", Is: "6", Bytes: 1}},
		"the system prompt":    {`"two"`, `"2"`, BodyChange{Part: PartSystem, Block: 2, Line: 7, Was: "two", Is: "2", Bytes: 26}},
		"a message":            {`"content":"go"`, `"content":"no"`, BodyChange{Part: PartMessage, Role: "user", Message: 1, Block: 1, Line: 10, Name: "text", Was: "go", Is: "no", Bytes: 27}},
		"a block is gone":      {`{"type":"text","text":"on"},`, ``, BodyChange{Part: PartMessage, Role: "assistant", Message: 2, Block: 1, Line: 11, Name: "tool_use", Was: "on", Is: `{"type":"tool_use","id":"t","name":"Read","input":{"a":1,"b":2}}`, Bytes: 64}},
		"a block is added":     {`"content":"go"`, `"content":[{"type":"text","text":"go"},{"type":"text","text":"` + long + `"}]`, BodyChange{Part: PartMessage, Role: "user", Message: 1, Block: 2, Line: 10, Name: "text", Is: long[:80] + "…", Bytes: 125}},
		"the messages end":     {`,{"role":"assistant","content":[{"type":"text","text":"on"},{"type":"tool_use","id":"t","name":"Read","input":{"a":1,"b":2}}]}`, ``, BodyChange{Part: PartMessage, Role: "assistant", Message: 2, Block: 1, Line: 11, Name: "text", Was: "on", Bytes: 27}},
		"keys at other places": {`"a":1,"b":2`, `"b":2, "a":1`, BodyChange{}},
		"a breakpoint":         {`"text":"on"`, `"text":"on","cache_control":{}`, BodyChange{}},
		"more at the end":      {`"b":2}}]}`, `"b":2}},{"type":"text","text":"more"}]},{"role":"user","content":"x"}`, BodyChange{}},
	} {
		if !strings.Contains(base, tt.from) {
			t.Fatalf("%s: no %s", name, tt.from)
		}
		got := Diff(bodyOf(t, base), bodyOf(t, strings.Replace(base, tt.from, tt.to, 1)))
		if got == nil {
			got = &BodyChange{}
		}
		whole := strings.TrimSuffix(cmp.Or(got.Is, got.Was), "…")
		if part := got.Text != "" && len(got.Text) < 9; got.Part == PartMessage && !strings.HasPrefix(got.Text, whole) && !(part && strings.Contains(whole, got.Text)) {
			t.Errorf("%s: the text %q does not begin with %q", name, got.Text, whole)
		}
		got.Text = ""
		must.Equal(t, *got, tt.want, name)
	}
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
