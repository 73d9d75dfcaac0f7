package codex

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestUsage: the input of a count includes what the cache read and wrote.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		name string
		is   usage
		want foreign.Usage
	}{
		{"read", usage{Input: 100, Cached: 60, Output: 5}, foreign.Usage{Input: 40, CacheRead: 60, Output: 5}},
		{"read and written", usage{Input: 100, Cached: 60, Written: 30, Output: 5}, foreign.Usage{Input: 10, CacheRead: 60, CacheWrite: 30, Output: 5}},
		{"more written than there is", usage{Input: 100, Cached: 60, Written: 90}, foreign.Usage{CacheRead: 60, CacheWrite: 40}},
		{"negative", usage{Input: 100, Written: -1}, foreign.Usage{Input: 100}},
	} {
		got := c.is.usage("")
		got.Details = nil
		must.Equal(t, got, &c.want, c.name)
	}
}
