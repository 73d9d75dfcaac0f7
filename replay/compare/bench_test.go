package compare_test

import (
	"bytes"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/jsonl/synth"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// BenchmarkRun compares policies over a session of about 4 MB: one, five, and five with the regret. Reading is part of it.
func BenchmarkRun(b *testing.B) {
	var file bytes.Buffer
	opt := synth.Default()
	opt.Bytes = 4 << 20
	must.Get(synth.Generate(&file, opt))(b)
	registry := must.Get(stage.Registry())(b)
	presets := preset.New(registry)
	var policies []*policy.Policy
	for _, name := range []string{"claude-code-2.1.19", "opencode-1.1.36", "openhands-1.4", "gemini-cli-0.22", "none"} {
		pol := must.Get(presets.Load(name))(b)
		policies = append(policies, pol)
	}
	for _, c := range []struct {
		name     string
		policies int
		regret   bool
	}{{"one", 1, false}, {"five", 5, false}, {"regret", 5, true}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(file.Len()))
			b.ReportAllocs()
			for b.Loop() {
				f := must.Get(session.LoadReader("synth", bytes.NewReader(file.Bytes()), session.LoadOptions{Jobs: 1}))(b)
				rec := must.Get(replay.NewRecord(f.Main))(b)
				must.Get(compare.Run(&compare.Subject{Record: rec}, policies[:c.policies], replay.Options{Regret: c.regret}))(b)
				f.Close()
			}
		})
	}
}
