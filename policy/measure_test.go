package policy

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestRoundQuarter(t *testing.T) {
	must.Rows(t, `
-4    | 0
0     | 0
1     | 0
2     | 1
3     | 1
4     | 1
5     | 1
6     | 2
7     | 2
8     | 2
80002 | 20001
`, func(n, want int) {
		same(t, want, RoundQuarter(n), n)
	})
}
