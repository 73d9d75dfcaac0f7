package jsonl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestOddUsage: a count that is no number of tokens, or more than can be, makes the usage unknown.
func TestOddUsage(t *testing.T) {
	must.Rows(t, `
7                        | ""
0                        | ""
null                     | ""
10000000                 | ""
10000001                 | more than any model
"\"7\""                  | no number of tokens
-5                       | no number
1e400                    | no number
true                     | no number
1e20                     | no number
100000000000000000000000 | more than any model
1.5                      | no number
{}                       | no number
`, func(value, odd string) {
		must.Rows(t, `
input_tokens              | {"input_tokens":%s,"output_tokens":3}
output_tokens             | {"input_tokens":3,"output_tokens":%s}
ephemeral_5m_input_tokens | {"input_tokens":3,"cache_creation":{"ephemeral_5m_input_tokens":%s}}
thinking_tokens           | {"input_tokens":3,"output_tokens_details":{"thinking_tokens":%s}}
cache_read_input_tokens   | {"input_tokens":3,"iterations":[{"type":"message","cache_read_input_tokens":%s}]}
`, func(name, form string) {
			line := `{"type":"assistant","uuid":"a","message":{"role":"assistant","usage":` + fmt.Sprintf(form, value) + `}}`
			r := NewReader(strings.NewReader(line), "f", ReadOptions{})
			if !r.Scan() || r.Item().Entry == nil {
				t.Fatalf("%s: not read", line)
			}
			m := &r.Item().Entry.Message
			if odd == "" && (m.OddUsage != "" || !m.HasUsage) {
				t.Errorf("%s of %s: %q", name, value, m.OddUsage)
			}
			if odd != "" && (m.HasUsage || m.Usage != Usage{} || !strings.HasPrefix(m.OddUsage, name+" is "+value[:min(len(value), 9)]) || !strings.Contains(m.OddUsage, odd)) {
				t.Errorf("%s of %s: %q, %+v", name, value, m.OddUsage, m.Usage)
			}
		})
	})
}
