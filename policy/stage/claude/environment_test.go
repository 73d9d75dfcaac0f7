package claude

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestReadPositive(t *testing.T) {
	must.Rows(t, `
8000                 | 8000
" 8000"              | 8000
+8000                | 8000
8000abc              | 8000
8e3                  | 8
0x10                 | ""
0                    | ""
-5                   | ""
abc                  | ""
99999999999999999999 | ""
`, func(in, want string) {
		got, ok := readPositive(in)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s, %t", in, got, ok)
		}
	})
}
