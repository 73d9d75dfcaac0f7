package codex

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestUsage: the input of a count includes what the cache read and wrote.
func TestUsage(t *testing.T) {
	must.Rows(t, `
# name | is | want
read                       | {"Cached":60,"Input":100,"Output":5} | {"CacheRead":60,"Input":40,"Output":5}
read and written           | {"Cached":60,"Input":100,"Output":5,"Written":30} | {"CacheRead":60,"CacheWrite":30,"Input":10,"Output":5}
more written than there is | {"Cached":60,"Input":100,"Written":90} | {"CacheRead":60,"CacheWrite":40}
negative                   | {"Input":100,"Written":-1}           | {"Input":100}
`, func(name string, is usage, want foreign.Usage) {
		got := is.usage("")
		got.Details = nil
		must.Equal(t, got, &want, name)
	})
}
