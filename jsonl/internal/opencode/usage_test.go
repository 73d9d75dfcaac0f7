package opencode

import (
	"encoding/json"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestUsage(t *testing.T) {
	must.Rows(t, `
# version | tokens | output
1.2.5         | {"input":10,"output":30,"reasoning":20} | 30
1.3.17        | {"input":10,"output":30,"reasoning":20} | 30
1.4.1         | {"input":10,"output":30,"reasoning":20} | 50
1.14.30-ocv.2 | {"input":10,"output":30,"reasoning":20} | 50
2.0           | {"input":10,"output":30,"reasoning":20} | 50
""            | {"input":10,"output":30,"reasoning":20} | 30
1.2.5         | {"total":65,"input":10,"output":30,"reasoning":20,"cache":{"read":5}} | 50  # the total decides
1.14.30       | {"total":45,"input":10,"output":30,"reasoning":20,"cache":{"write":5}} | 30
1.14.30       | {"total":7,"input":10,"output":30,"reasoning":20} | 50  # unless it tells nothing
1.14.30       | {"input":10,"output":-3,"reasoning":1e300} | 1000000000000
`, func(version, theTokens string, output int) {
		var tokens tokens
		must.Do(t, json.Unmarshal([]byte(theTokens), &tokens))
		if u := tokens.usage(version, 0.5); u.Output != output || u.Cost != 0.5 || u.Details.Thinking != count(tokens.Reasoning) {
			t.Errorf("%s: %s: %+v, want output %d", version, theTokens, u, output)
		}
	})
	if u := (&tokens{Total: 3}).usage("1.4.1", 1); u != nil {
		t.Errorf("nothing recorded: %+v", u)
	}
}
