package policy

import (
	"os"
	"strings"
	"testing"
)

// TestHostile reads texts that try to make a reader hang or fill memory: each ends in an error within seconds. With
// CTXKIT_LONG=1 they are as long as a policy may be, otherwise a quarter of that.
func TestHostile(t *testing.T) {
	const maxBytes = 256 << 10
	size := maxBytes / 4
	if os.Getenv("CTXKIT_LONG") == "1" {
		size = maxBytes
	}
	fill := func(head, unit string) string { return head + strings.Repeat(unit, (size-len(head)-20)/len(unit)) }
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		bomb += strings.NewReplacer("N", string(rune('1'+i)), "M", string(rune('0'+i))).Replace("aN: &aN [*aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM]\n")
	}
	tests := []struct{ name, text, want string }{
		{"alias bomb", bomb + "stages: *a9\n", "aliases are not allowed"},
		{"alias of itself", "stages: &a [*a]\n", "aliases are not allowed"},
		{"merge keys", "a: &a {b: 1}\nwindow: {<<: *a}\nstages: []\n", "aliases are not allowed"},
		{"deep flow", fill("stages: ", "["), "not YAML"},
		{"deep map", fill("stages: ", "{a: "), "not YAML"},
		{"deep block", fill("", "- "), "not YAML"},
		{"deep keys", fill("", "? "), "not YAML"},
		{"many keys", fill("stages: []\n", "a: 1\n"), `key "a" is here twice`},
		{"many stages", fill("stages: [", "bare, ") + "]", "stage bare is listed twice"},
		{"many unknown stages", fill("stages: [", "bar, ") + "]", `unknown stage "bar"`},
		{"long name", fill("stages: [", "a") + "]", "unknown stage"},
		{"long number", fill("stages: [kinds: {count: ", "9") + "}]", "is not a whole number"},
		{"long key", fill("", "a") + ": 1\nstages: []\n", "unknown key"},
		{"long text", "stages: []\nabout: \"" + strings.Repeat("\\", 1000), "not YAML"},
		{"many quotes", fill("stages: []\nabout: ", "'") + "a", "not YAML"},
		{"many comments", fill("", "# a\n"), "the file is empty"},
		{"many blank lines", fill("stages: []\nabout: |\n", "\n"), ""},
		{"many documents", fill("stages: []\n", "---\na\n"), "a second document begins here"},
		{"many directives", fill("", "%TAG ! !\n"), "not YAML"},
		{"many anchors", fill("stages: [", "&a x, ") + "]", "anchors are not allowed"},
		{"many tags", fill("stages: [", "!a x, ") + "]", "type tag"},
		{"many map entries", fill("stages: [kinds: {per_tool: {", "a: 1, ") + "}}]", `key "a" is here twice`},
		{"many list entries", fill("stages: [kinds: {tools: [", "a, ") + "]}]", "a is listed twice"},
		{"many braces", fill("stages: []\nname: ", "}"), "not YAML"},
		{"many colons", fill("", ":"), "a map of other keys is not a policy"},
		{"many indents", fill("stages:\n", " "), "is not a list"},
		{"too long", strings.Repeat("#", maxBytes+1), "too long for a policy"},
		{"control characters", "stages: []\nabout: \x1b[31m\n", "not text: byte 0x1b"},
		{"escaped control characters", "\"\\e[31m\": 1\nstages: [\"\\a\"]\n", `unknown key "\x1b[31m"`},
		{"a name for terminals", "name: \"\\e[31mred\"\nstages: []\n", `name: "\x1b[31mred" has characters in it that cannot be printed`},
		{"a text for terminals", "stages: []\nabout: \"\\e[31mred\"\n", `about: "\x1b[31mred" has characters in it that cannot be printed`},
		{"UTF-16", "\xff\xfes\x00t\x00", "not text: byte 0xff"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode("p.yaml", []byte(tt.text), testRegistry(t), nil)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %.300v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %.300v, want %s", err, tt.want)
			case err != nil:
				checkErrors(t, []byte(tt.text), err)
			}
		})
	}
}

// A chain of policies that extend one another ends.
func TestExtendsWithoutEnd(t *testing.T) {
	n := 0
	resolve := func(string) ([]byte, string, error) {
		n++
		return []byte("extends: more\n"), strings.Repeat("x", n), nil
	}
	_, err := Decode("p", []byte("extends: more\n"), testRegistry(t), resolve)
	if err == nil || !strings.Contains(err.Error(), "extends: more than 16 policies that extend one another: write one of them out in full") {
		t.Errorf("got %v", err)
	}
}
