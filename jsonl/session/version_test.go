package session

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestCompareVersions(t *testing.T) {
	must.Rows(t, `
# a | b | want
2.1.19  | 2.1.19 | 0
2.1.9   | 2.1.19 | -1  # by number, not by digit
2.1.19  | 2.1.9  | 1
2.0.76  | 2.1.1  | -1
10.0    | 9.9.9  | 1
2.1     | 2.1.0  | 0
2.1     | 2.1.1  | -1
2.1.1.5 | 2.1.1  | 1
""      | ""     | 0
""      | 0.0    | 0
""      | 1.0.17 | -1
2.1.x   | 2.1.0  | 0  # a part that is no number counts as 0
2.1.x   | 2.1.1  | -1
2..3    | 2.0.3  | 0
`, func(a, b string, want int) {
		sign := func(n int) int { return max(-1, min(1, n)) }
		same(t, want, sign(CompareVersions(a, b)), a, b)
		same(t, -want, sign(CompareVersions(b, a)), b, a)
	})
}
