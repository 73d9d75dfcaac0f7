package strict

import (
	"strconv"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestParseCount(t *testing.T) {
	must.Rows(t, `
0             | 0
200000        | 200000
200_000       | 200000
40k           | 40000
40K           | 40000
1.5k          | 1500
0.25M         | 250000
1m            | 1000000
2G            | 2000000000
-1            | -1
-2k           | -2000
+7            | 7
1.0k          | 1000
1099511627776 | 1099511627776
`, func(s string, want int) {
		must.Both(ParseCount(s))(t, want, true, s)
	})
	for _, s := range []string{
		"", "k", "010", "0x10", "1e3", "1.5", "1.0", "1.5555k", "40 k", "40kk", "40kb", "_1", "1_", "1__0", ".5k", "1.k", "2000G", "1099511627777",
		"auto", "²k", "9999999999999999999999",
	} {
		if got, ok := ParseCount(s); ok {
			t.Errorf("%s: %d, want it refused", s, got)
		}
	}
}

func FuzzParseCount(f *testing.F) {
	f.Add("1.5k")
	f.Add("-40_000")
	f.Fuzz(func(t *testing.T, s string) {
		n, ok := ParseCount(s)
		if back, fine := ParseCount(strconv.Itoa(n)); ok && (!fine || back != n) {
			t.Fatalf("%q is %d, which reads as %d, %t", s, n, back, fine)
		}
	})
}
