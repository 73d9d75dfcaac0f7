package engine

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestModelNames(t *testing.T) {
	names := strings.Split("abcdefghij", "")
	must.Rows(t, `
1  | "\"a\""
8  | "\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\""
9  | "\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\" and 1 more"
10 | "\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\" and 2 more"
`, func(n int, want string) {
		must.Equal(t, modelNames(names[:n]), want, n)
	})
	if got, want := modelNames([]string{"", "x"}), `a model that is not recorded, "x"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
