package jsonl_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestShortID: the six characters of a prompt's tag.
func TestShortID(t *testing.T) {
	must.Rows(t, `
00000000-0000-4000-8000-000000000000 | 000000
00000000-0100-4000-8000-000000000000 | 000001
ffffffff-ff00-4000-8000-000000000000 | e13wu1  # 36^8 > 2^40
FFFFFFFF-FF | e13wu1
053a4ff8-d100-4000-8000-000000000000 | abc123
06caac2a-2d00-4000-8000-000000000000 | def456
03d1e42d-f000-4000-8000-000000000000 | 7jbvtg
`, func(uuid, want string) {
		must.Equal(t, jsonl.ShortID(uuid), want, uuid)
	})
	for _, uuid := range []string{"", "u1", "u2", "line-3.0", "zzzzzzzzzzzz", "123456789"} {
		if id := jsonl.ShortID(uuid); len(id) != 6 || id != jsonl.ShortID(uuid) {
			t.Errorf("ShortID(%q) = %q", uuid, id)
		}
	}
}
