package opencode_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy/stage/opencode"
)

func pointer[T any](v T) *T { return &v }

func TestUsable(t *testing.T) {
	for _, test := range []struct {
		limit         opencode.Limit
		reserved      *int
		max           int // 0: the default
		pinned, newer int
	}{
		{limit: opencode.Limit{Context: 200000, Output: 64000}, pinned: 168000, newer: 168000},
		{limit: opencode.Limit{Context: 200000, Output: 32000}, pinned: 168000, newer: 168000},
		{limit: opencode.Limit{Context: 200000, Output: 8192}, pinned: 191808, newer: 191808},
		{limit: opencode.Limit{Context: 1000000, Output: 128000}, pinned: 968000, newer: 968000},
		{limit: opencode.Limit{Context: 200000}, pinned: 168000, newer: 168000},
		{limit: opencode.Limit{Context: 200000, Output: 128000}, max: 64000, pinned: 136000, newer: 136000},
		{limit: opencode.Limit{Context: 400000, Input: 272000, Output: 128000}, pinned: 272000, newer: 252000},
		{limit: opencode.Limit{Context: 200000, Input: 120000, Output: 10000}, pinned: 120000, newer: 110000},
		{limit: opencode.Limit{Context: 400000, Input: 272000, Output: 128000}, reserved: pointer(0), pinned: 272000, newer: 272000},
		{limit: opencode.Limit{Context: 400000, Input: 272000, Output: 128000}, reserved: pointer(272001), pinned: 272000, newer: 0},
		{limit: opencode.Limit{Context: 200000, Output: 64000}, reserved: pointer(50000), pinned: 168000, newer: 168000},
		{limit: opencode.Limit{Context: 32001, Output: 64000}, pinned: 1, newer: 1},
		{limit: opencode.Limit{Context: 32000, Output: 64000}, pinned: 0, newer: 0},
		{limit: opencode.Limit{Context: 31999, Output: 64000}, pinned: -1, newer: 0},
	} {
		cfg := opencode.Config{Compaction: opencode.CompactionConfig{Reserved: test.reserved}}
		max := test.max
		if max == 0 {
			max = opencode.DefaultOutputTokenMax
		}
		for _, v := range opencode.Versions() {
			want := test.newer
			if v.Name == "pinned" {
				want = test.pinned
			}
			must.Equal(t, v.Usable(test.limit, cfg, max), want, v.Name, test.limit)
		}
	}
}

func TestOutputTokenMax(t *testing.T) {
	must.Rows(t, `
# value | want
""            | 32000
64000         | 64000
" 64000\n"    | 64000
"\ufeff64000" | 64000
+64000        | 64000
064000        | 64000
6.4e4         | 64000
64000.        | 64000
64000.0       | 64000
.5e1          | 5
1             | 1
0x10          | 16
0b11          | 3
0o17          | 15
0XfF          | 255
0             | 32000
-1            | 32000
1.5           | 32000
abc           | 32000
64k           | 32000
64_000        | 32000
Infinity      | 32000
1e999         | 32000
NaN           | 32000
inf           | 32000
+0x10         | 32000
0x            | 32000
0x1p4         | 32000
1e            | 32000
.             | 32000
"\u008564000" | 32000
1e300         | 9007199254740992
`, func(value string, want int) {
		env := opencode.Env{opencode.EnvOutputTokenMax: value}
		must.Equal(t, env.OutputTokenMax(), want, value)
	})
}

func TestSwitches(t *testing.T) {
	must.Rows(t, `
true  | true
TRUE  | true
True  | true
1     | true
""    | false
0     | false
yes   | false
false | false
on    | false
" 1"  | false
2     | false
`, func(value string, want bool) {
		env := opencode.Env{opencode.EnvDisablePrune: value, opencode.EnvDisableAutocompact: value}
		on := opencode.Config{Compaction: opencode.CompactionConfig{Auto: pointer(true), Prune: pointer(true)}}
		if got := opencode.AutoEnabled(on, env); got == want {
			t.Errorf("%s=%q: compaction is on: %t", opencode.EnvDisableAutocompact, value, got)
		}
		for _, v := range opencode.Versions() {
			if got := v.PruneEnabled(on, env); got == want {
				t.Errorf("%s: %s=%q: prune is on: %t", v.Name, opencode.EnvDisablePrune, value, got)
			}
		}
	})
}
