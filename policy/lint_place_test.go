package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLintPlaces holds that a finding stands where the user can mend it: at the
// key that causes it, else where what causes it is extended.
func TestLintPlaces(t *testing.T) {
	files := map[string]string{
		"product":      "stages:\n  - microcompact_size\n  - autocompact\n",
		"odd-product":  "stages:\n  - autocompact\n  - snip\n",
		"base.yaml":    "extends: product\nwindow:\n  warning_offset: 20000\n",
		"buffer.yaml":  "extends: product\nwindow: {context: 200000, buffer: 175000}\n",
		"tagless.yaml": "# Mine.\nextends: odd-product\n",
	}
	resolve := func(name string) ([]byte, string, error) {
		name = strings.TrimPrefix(name, "./")
		if text, ok := files[name]; ok {
			return []byte(text), name, nil
		}
		return nil, "", fmt.Errorf("no %s", name)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"one key", "extends: product\nset:\n  window.auto_compact: false\n", "p.yaml:3:24: autocompact.enabled never"},
		{"in the window", "extends: product\nwindow:\n  context: 200000\n  buffer: 175000\n", "p.yaml:4:11: microcompact_size.target never; p.yaml:4:11: autocompact always"},
		{"two keys that do it together", "extends: product\nset: {microcompact_size.min_savings: 100000, microcompact_size.target: 80000}\n", "p.yaml:2:72: microcompact_size.target never"},
		{"one that does it behind another", "extends: product\nset: {window.auto_compact: true, window.warning_offset: 0}\n", "p.yaml:2:57: microcompact_size never"},
		{"in the extended policy itself", "# Mine.\nextends: odd-product\nwindow: {context: 1000000}\n", "p.yaml:2:10: snip order"},
		{"in a file that is extended", "extends: ./buffer.yaml\nset: {window.warning_offset: 30000}\n", "buffer.yaml:2:35: microcompact_size.target never; buffer.yaml:2:35: autocompact always"},
		{"in what an extended file extends", "extends: ./tagless.yaml\nwindow: {context: 1000000}\n", "tagless.yaml:2:10: snip order"},
		{"above a file that is extended", "extends: ./base.yaml\nset: {window.warning_offset: 0}\n", "p.yaml:2:30: microcompact_size never"},
		{"other stages", "extends: product\nstages:\n  - autocompact\n  - snip\n", "p.yaml:4:5: snip order"},
		{"two keys, either of them enough", "extends: product\nset: {window.auto_compact: false, autocompact.summary: recorded}\n", "p.yaml:2:28: autocompact.enabled never; p.yaml:2:56: autocompact.summary summary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range Lint(mustDecode(t, "p.yaml", tt.text, resolve)) {
				got = append(got, fmt.Sprintf("%s:%d:%d: %s %s", f.File, f.Line, f.Column, f.Key, f.Rule))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Error(diff)
			}
		})
	}
	set := mustDecode(t, "p.yaml", "extends: product\n", resolve)
	if err := set.Set("window.auto_compact", "false"); err != nil {
		t.Fatal(err)
	}
	if f := Lint(set); len(f) != 1 || f[0].File != "window.auto_compact" || f[0].Line != 0 {
		t.Errorf("%v: what was given by Set has no line", f)
	}
	built := mustDecode(t, "odd-product", files["odd-product"], resolve)
	if f := Lint(built); len(f) != 1 || f[0].File != "odd-product" {
		t.Errorf("%v: a built-in policy's own findings are its own", f)
	}
}
