package report

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/regret"
	"github.com/ctxkit/ctxkit/report/golden"
)

func regretSample(n int) *replay.Timeline {
	r := &regret.Regret{Misses: []regret.Miss{}, Removed: 50, MedianDistance: 12.5}
	for i := range n {
		r.Misses = append(r.Misses, regret.Miss{
			Message: "u-1", ToolUse: "toolu_1", Tool: "Read", Line: 10 + i, Tokens: 1234, Removed: 100, Stage: "opencode_prune", Kind: policy.KindClear,
			Needed: 112 + i, Evidence: regret.Quoted, Quote: "=cmd|'/c'\x1b[31m\u202e quoted", UsedBy: "u-2", UsedLine: 300, Offset: 7, USD: price.USD{Nano: 31_250_000, Known: true},
		})
		r.Tokens += 1234
	}
	r.USD = r.Cost()
	return &replay.Timeline{Session: "s-1", File: "s-1.jsonl", Policy: "opencode", Counter: "usage", Regret: r}
}

func TestRegret(t *testing.T) {
	schema := compileSchemaAt(t, filepath.Join("..", "docs", "schemas", "regret.v1.json"))
	for name, tls := range map[string][]*replay.Timeline{"one": {regretSample(2)}, "many": {regretSample(mostMisses + 3), regretSample(0)}} {
		for _, f := range ListFormats {
			var b bytes.Buffer
			must.Do(t, Regret(&b, tls, policy.Use{}, Layout{Format: f}))
			if s := b.String(); strings.ContainsAny(s, "\x1b\u202e") {
				t.Errorf("%s as %s lets control characters through", name, f)
			}
			if f == FormatJSON {
				if err := validate(schema, b.Bytes()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if name == "one" {
				golden.Check(t, filepath.Join("testdata", "regret."+string(f)), b.Bytes())
			}
		}
	}
}
