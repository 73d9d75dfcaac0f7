package stage

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage/claude"
	"github.com/ctxkit/ctxkit/policy/stage/opencode"
	"github.com/ctxkit/ctxkit/policy/stage/threelayer"
)

// params are a built-in policy's of one stage.
func params[P any](t *testing.T, name string) *P {
	t.Helper()
	p := must.Get(preset.Load(name, allStages(t)))(t)
	for _, st := range p.Stages {
		if p, ok := st.Params.(*P); ok {
			return p
		}
	}
	t.Fatalf("%s has no such stage", name)
	return nil
}

func TestPresetPrompts(t *testing.T) {
	must.Rows(t, `
claude-code-2.1.19  | 1257
claude-code-2.1     | 1286
claude-code-2.1.84  | 1286
claude-code-2.1.86  | 1395
claude-code-2.1.163 | 1395
claude-code-2.1.193 | 1590
claude-code-2.1.304 | 1590
`, func(name string, want int) {
		p := params[claude.Autocompact](t, name)
		if p.PromptTokens != want || p.Retries != 3 || (p.Prefix == "own") != (want < 1300) || !p.Enabled {
			t.Errorf("%s: %+v, want a prompt of %d", name, p, want)
		}
	})
	must.Rows(t, `
# name | prompt | count
opencode-1.1.36  | 225 | 1.1.36
opencode-1.1.57  | 456 | 1.1.57
opencode-1.1.60  | 456 | 1.1.60
opencode-1.14.20 | 498 | 1.18.3
opencode-1.17.9  | 498 | 1.18.3
opencode-1.18    | 537 | 1.18
`, func(name string, prompt int, count string) {
		p := params[opencode.OpencodeCompaction](t, name)
		if p.Count != count || p.Prompt != prompt || p.TailTurns != -1 || p.PreserveRecent != -1 || p.Reserved != -1 || !p.Auto {
			t.Errorf("%s: %+v", name, p)
		}
	})
	if p := params[threelayer.ThreeLayerAuto](t, "three-layer"); p.Threshold != 50000 || p.SourceChars != 80000 || p.MaxOutput != 2000 {
		t.Errorf("three-layer: %+v", p)
	}
}
