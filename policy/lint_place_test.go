package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestLintPlaces holds that a finding stands where the user can mend it: at the key that causes it, else where what
// causes it is extended.
func TestLintPlaces(t *testing.T) {
	files := map[string]string{
		"product":      "stages:\n  - sweep\n  - compress\n",
		"odd-product":  "stages:\n  - compress\n  - sweep\n",
		"base.yaml":    "extends: product\nwindow:\n  buffer: 60000\n",
		"buffer.yaml":  "extends: product\nwindow: {context: 200000, buffer: 195000}\n",
		"tagless.yaml": "# Mine.\nextends: odd-product\n",
	}
	resolve := func(name string) ([]byte, string, error) {
		name = strings.TrimPrefix(name, "./")
		if text, ok := files[name]; ok {
			return []byte(text), name, nil
		}
		return nil, "", fmt.Errorf("no %s", name)
	}
	must.Rows(t, `
# name | text | want
one key                      | "extends: product\nset:\n  window.active: false\n" | p.yaml:3:18: compress.enabled never
in the window                | "extends: product\nwindow:\n  context: 200000\n  buffer: 195000\n" | p.yaml:4:11: sweep always; p.yaml:4:11: compress always
two keys that do it together | "extends: product\nset: {window.buffer: 100000, sweep.offset: 90000}\n" | p.yaml:2:22: sweep always
one that does it behind another | "extends: product\nset: {window.active: true, sweep.offset: 0}\n" | p.yaml:2:42: sweep never
in the extended policy itself | "\u0023 Mine.\nextends: odd-product\nwindow: {context: 1000000}\n" | p.yaml:2:10: sweep order
in a file that is extended   | "extends: ./buffer.yaml\nset: {sweep.keep: 1}\n" | buffer.yaml:2:35: sweep always; buffer.yaml:2:35: compress always
in what an extended file extends | "extends: ./tagless.yaml\nwindow: {context: 1000000}\n" | tagless.yaml:2:10: sweep order
above a file that is extended | "extends: ./base.yaml\nset: {sweep.offset: 0}\n" | p.yaml:2:21: sweep never
other stages                 | "extends: product\nstages:\n  - compress\n  - sweep\n" | p.yaml:4:5: sweep order
two keys, either of them enough | "extends: product\nset: {window.active: false, compress.summary: recorded}\n" | p.yaml:2:22: compress.enabled never; p.yaml:2:47: compress.summary summary
a key that no other stage reads | "extends: ./base.yaml\nstages: [bare]\nwindow: {percent: 7}\n" | p.yaml:3:19: window.percent unused
`, func(name, text, want string) {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range Lint(mustDecode(t, "p.yaml", text, resolve)) {
				got = append(got, fmt.Sprintf("%s:%d:%d: %s %s", f.File, f.Line, f.Column, f.Key, f.Rule))
			}
			must.Equal(t, strings.Join(got, "; "), want)
		})
	})
	set := mustDecode(t, "p.yaml", "extends: product\n", resolve)
	must.Do(t, set.Set("window.active", "false"))
	if f := Lint(set); len(f) != 1 || f[0].File != "window.active" || f[0].Line != 0 {
		t.Errorf("%v: what was given by Set has no line", f)
	}
	built := mustDecode(t, "odd-product", files["odd-product"], resolve)
	if f := Lint(built); len(f) != 1 || f[0].File != "odd-product" {
		t.Errorf("%v: a built-in policy's own findings are its own", f)
	}
}
