package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"a\nb\r\nc\td", "a b  c d"},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"\u009b2J", `\x9b2J`},
		{"\x7f\x00", `\x7f\x00`},
		{"user\u202etxt.exe", `user\u202etxt.exe`},
		{"\u2066\u2069\u200e\ufeff", `\u2066\u2069\u200e\ufeff`},
		{"tag\U000e0041", `tag\U000e0041`},
		{"bad\xff\xc3", `bad\xff\xc3`},
		{"line\u2028end\u2029", "line end "},
		{"中文 é 👩‍💻", "中文 é 👩‍💻"},
	} {
		must.Equal(t, Clean(c.in), c.want, c.in)
	}
}

func TestThousands(t *testing.T) {
	must.Rows(t, `
0       | 0
7       | 7
999     | 999
1000    | 1,000
-1234   | -1,234
123456  | 123,456
1234567 | 1,234,567
-999    | -999
`, func(n int, want string) {
		must.Equal(t, thousands(n), want, n)
	})
}

func TestShort(t *testing.T) {
	must.Rows(t, `
0        | 0
950      | 950
1500     | 1.5K
2000     | 2K
9999     | 10K
12345    | 12K
999499   | 999K
999600   | 1M
1250000  | 1.2M
12000000 | 12M
`, func(n int, want string) {
		must.Equal(t, short(n), want, n)
	})
}

func TestWrap(t *testing.T) {
	must.Rows(t, `
# in | w | want
""                    | 10 | ""
one two three         | 8  | "one two|three"
exactly ten           | 11 | exactly ten
abcdefghijklmnop      | 8  | "abcdefgh|ijklmnop"
ab abcdefghijklmnop   | 8  | "ab|abcdefgh|ijklmnop"
a name opencode_compaction here | 20 | "a name|opencode_compaction|here"
in testdata/sessions/big.jsonl:12 | 20 | "in testdata/|sessions/|big.jsonl:12"
p,a.b=1000,c.d=2000   | 10 | "p,|a.b=1000,|c.d=2000"
中文中文中文                | 5  | "中文|中文|中文"
"  spaces   between " | 20 | spaces between
`, func(in string, w int, want string) {
		must.Equal(t, strings.Join(wrap(in, w), "|"), want, in, w)
	})
}

func FuzzWrap(f *testing.F) {
	f.Add("some words and averyveryverylongword 中文字 \x1b[0m", 9)
	f.Fuzz(func(t *testing.T, s string, w int) {
		w = 4 + (w%97+97)%97
		s = Clean(s)
		kept := ""
		for _, l := range wrap(s, w) {
			if width(l) > w && len([]rune(l)) > 1 {
				t.Errorf("%q is wider than %d", l, w)
			}
			kept += l
		}
		must.Equal(t, squeeze(kept), squeeze(s), kept, s)
	})
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

func TestEscapeMarkdown(t *testing.T) {
	must.Rows(t, `
"a|b"                     | "a\\|b"
snake_case                | snake_case
_it_                      | \_it\_
<script>&                 | &lt;script&gt;&amp;
[x](y)                    | \[x\](y)
![x](y)                   | \!\[x\](y)
"\u0060rm\u0060\n\u0023 head" | "\\\u0060rm\\\u0060 \u0023 head"
"\u0023 head"             | "\\\u0023 head"
- item                    | \- item
back\slash                | back\\slash
npm @team/tool            | "npm @&#8203;team/tool"
"a@b.org, #12, https://c" | "a@&#8203;b.org, #&#8203;12, https:&#8203;//c"
`, func(in, want string) {
		must.Equal(t, escapeMarkdown(in), want, in)
	})
}

// TestTitle holds that a title that is too long goes on below, with its names whole, and takes a few lines at most.
func TestTitle(t *testing.T) {
	const id = "f36f632e-70c1-44d6-8f85-27b6b47227d3"
	for _, c := range []struct{ text, want string }{
		{"── 1  user  prompt", " ── 1  user  prompt\n"},
		{"── line 12  assistant  01-15 09:00:00  " + id, " ── line 12  assistant  01-15 09:00:00\n   " + id + "\n"},
		{"── 2  result of mcp__server__tool  cleared by a_stage at request 13: too old", " ── 2  result of mcp__server__tool\n   cleared by a_stage at request 13: too\n   old\n"},
		{strings.Repeat(id+"  ", 9), " " + strings.Repeat(id+"\n   ", 3) + id + "  …\n"},
	} {
		var b bytes.Buffer
		p := newPage(&b, Layout{Width: 42})
		p.title(none, " ", c.text)
		if err := p.end(); err != nil || b.String() != c.want {
			t.Errorf("%q: %v\n%s\nwant\n%s", c.text, err, b.String(), c.want)
		}
	}
}
