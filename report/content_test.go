package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestReadContent(t *testing.T) {
	tool := func(id string) string { return map[string]string{"t1": "Read"}[id] }
	must.Rows(t, `
# js | title | text
{"type":"text","text":"a\nb"} | text                 | "a\nb"
"\"bare\"" | text                 | bare
7          | unknown              | 7
{"type":"thinking","thinking":"hm","signature":"x"} | thinking             | hm
{"type":"thinking","thinking":"","signature":"abcd"} | thinking             | (no text, a signature of 4 B)
{"type":"redacted_thinking","data":"abcd"} | redacted thinking    | (4 B)
{"type":"tool_use","id":"t1","name":"Edit","input":{"b":"two\nlines","a":[1, 2],"c":""}} | Edit t1              | "b: \n  two\n  lines\na: [1,2]\nc: "
{"type":"tool_use","id":"t1","name":"Edit","input":[1, 2]} | Edit t1              | [1,2]
{"type":"tool_result","tool_use_id":"t1","content":"x"} | result of Read t1    | x
{"type":"tool_result","tool_use_id":"t2","is_error":true} | result of t2 (error) | ""
{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"x"},{"type":"image","source":{"media_type":"image/png","data":"abcd"}}]} | result of Read t1    | "x\nimage (image/png 4 B)"
{"type":"image","source":{"media_type":"image/png","data":"abcd"}} | image                | (image/png 4 B)
{"type":"cache_edits","edits":[{"type":"delete","cache_reference":"t1"}]} | cache edits          | delete Read t1
{"type":"new", "x": {"y": null}} | new                  | {"type":"new","x":{"y":null}}
`, func(js, title, text string) {
		must.Equal(t, readContent([]byte(js), tool), content{title, text}, js)
	})
}

func TestFold(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("x\n", n) }
	for _, tt := range []struct {
		name, text  string
		most, shown int
		more        int
	}{
		{"nothing", "", 3, 0, 0},
		{"as many as are shown", lines(3), 3, 3, 0},
		{"a line more is shown", lines(5), 3, 5, 0},
		{"many more are not", lines(6), 3, 3, 3},
		{"all", lines(100), 0, 100, 0},
		{"a long line is broken, and counts once", strings.Repeat("y", 500), 3, 3, 1},
		{"lines behind it count", strings.Repeat("y", 500) + "\n" + lines(4), 3, 3, 5},
	} {
		shown, more := fold(tt.text, 20, tt.most)
		if len(shown) != tt.shown || more != tt.more {
			t.Errorf("%s: %d lines and %d more, want %d and %d", tt.name, len(shown), more, tt.shown, tt.more)
		}
	}
	got, _ := fold("a\tb\r\n\x1b[2Jc 全角全角全角全角全角\nword word word word word", 20, 0)
	want := []string{"a   b", `\x1b[2Jc 全角全角全`, "角全角全角", "word word word word ", "word"}
	must.Equal(t, got, want)
}

// FuzzContent holds of any block that what is shown of it is inert and fits.
func FuzzContent(f *testing.F) {
	for _, s := range []string{`{"type":"text","text":"a\u001b[31m\u202e\tb"}`, `{"type":"tool_use","name":"\u0007","input":{"a\n":{"b":[]}}}`, `{"type":"tool_result","content":[{"type":"text"},7,"x"]}`, `"` + strings.Repeat(`\u0301`, 300) + `"`} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, js string, most int) {
		if !json.Valid([]byte(js)) {
			return
		}
		c := readContent([]byte(js), func(string) string { return "" })
		shown, more := fold(c.text, 40, max(most%20, 0))
		if more < 0 || most%20 > 0 && len(shown) > most%20+slack {
			t.Errorf("%d lines and %d more", len(shown), more)
		}
		for _, l := range append(shown, Clean(c.title)) {
			must.Equal(t, Clean(l), l)
		}
		for _, l := range shown {
			if width(l) > 40 {
				t.Errorf("%q takes %d columns", l, width(l))
			}
		}
	})
}

// TestFoldIsLinear holds that a text of one long line costs what it is long.
func TestFoldIsLinear(t *testing.T) {
	long := strings.Repeat("{\"a\": [1, 2, 3]}", 1<<18) // 4 MB
	if shown, more := fold(long, 95, 12); len(shown) != 12 || more != 1 {
		t.Errorf("%d lines and %d more", len(shown), more)
	}
	if shown, _ := fold(long, 95, 0); len(shown) < 1<<22/95 {
		t.Errorf("%d lines", len(shown))
	}
}
