package jsonl

import (
	"strings"
	"testing"
)

// TestIterations is the documented example of a compaction within a request, and what the clients record of a request
// that compacts nothing.
func TestIterations(t *testing.T) {
	for _, c := range []struct {
		name, usage              string
		context, total, calls    int
		billedInput, billedTotal int
	}{
		{"none", `"input_tokens":1,"cache_creation_input_tokens":466,"cache_read_input_tokens":37257,"output_tokens":31`, 37724, 37755, 1, 37724, 37755},
		{
			"one, which the client wrote down with less than it adds up", `"input_tokens":1,"cache_creation_input_tokens":2451,"cache_read_input_tokens":89130,"output_tokens":14863,` +
				`"iterations":[{"input_tokens":1,"output_tokens":14863,"cache_read_input_tokens":89130,"cache_creation_input_tokens":0,"type":"message"}]`, 91582, 106445, 1, 91582, 106445,
		},
		{
			"a compaction and the message", `"input_tokens":23000,"output_tokens":1000,"iterations":[{"type":"compaction","input_tokens":180000,"output_tokens":3500},{"type":"message","input_tokens":23000,"output_tokens":1000}]`,
			23000, 24000, 2, 203000, 207500,
		},
		{
			"a tool of the server's", `"input_tokens":100,"cache_read_input_tokens":9000,"output_tokens":70,"iterations":[{"type":"message","input_tokens":100,"cache_read_input_tokens":9000,"output_tokens":50},` +
				`{"type":"message","input_tokens":4000,"cache_read_input_tokens":9100,"output_tokens":20}]`, 13100, 13120, 2, 22200, 22270,
		},
		{
			"nothing but a compaction", `"input_tokens":0,"output_tokens":0,"iterations":[{"type":"compaction","input_tokens":1000,"cache_read_input_tokens":150000,"output_tokens":3000}]`,
			151000, 154000, 1, 151000, 154000,
		},
		{
			"an advisor, which is another model", `"input_tokens":10,"output_tokens":5,"iterations":[{"type":"message","input_tokens":10,"output_tokens":5},{"type":"advisor_message","input_tokens":70000,"output_tokens":900}]`,
			10, 15, 1, 10, 15,
		},
	} {
		r := NewReader(strings.NewReader(`{"type":"assistant","message":{"usage":{`+c.usage+`}}}`), "f", ReadOptions{})
		if !r.Scan() || r.Item().Entry == nil {
			t.Fatalf("%s: %v", c.name, r.Err())
		}
		u := r.Item().Entry.Message.Usage
		billed := u.Billed()
		if u.Context() != c.context || u.Total() != c.total || billed.Calls != c.calls || billed.Context() != c.billedInput || billed.Context()+billed.Output != c.billedTotal || u.Iterated() != (c.calls > 1) {
			t.Errorf("%s: context %d, total %d, billed %+v of %+v, want %d, %d, %d calls, %d and %d", c.name, u.Context(), u.Total(), billed, u, c.context, c.total, c.calls, c.billedInput, c.billedTotal)
		}
	}
}
