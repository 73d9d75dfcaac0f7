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
read                       | {"cached_input_tokens":60,"input_tokens":100,"output_tokens":5} | {"cache_read_input_tokens":60,"input_tokens":40,"output_tokens":5}
read and written           | {"cached_input_tokens":60,"input_tokens":100,"output_tokens":5,"cache_write_input_tokens":30} | {"cache_read_input_tokens":60,"cache_creation_input_tokens":30,"input_tokens":10,"output_tokens":5}
more written than there is | {"cached_input_tokens":60,"input_tokens":100,"cache_write_input_tokens":90} | {"cache_read_input_tokens":60,"cache_creation_input_tokens":40}
more read than there is    | {"cached_input_tokens":160,"input_tokens":100} | {"cache_read_input_tokens":100}
negative                   | {"input_tokens":100,"cache_write_input_tokens":-1}           | {"input_tokens":100}
`, func(name string, is usage, want foreign.Usage) {
		got := is.usage("")
		got.Details = nil
		must.Equal(t, got, &want, name)
	})
}
