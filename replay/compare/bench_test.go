package compare_test

import (
	"bytes"
	"testing"

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
	if _, err := synth.Generate(&file, opt); err != nil {
		b.Fatal(err)
	}
	registry, err := stage.Registry()
	if err != nil {
		b.Fatal(err)
	}
	presets := preset.New(registry)
	var policies []*policy.Policy
	for _, name := range []string{"claude-code-2.1.19", "opencode-1.1.36", "openhands-1.4", "gemini-cli-0.22", "none"} {
		pol, err := presets.Load(name)
		if err != nil {
			b.Fatal(err)
		}
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
				f, err := session.LoadReader("synth", bytes.NewReader(file.Bytes()), session.LoadOptions{Jobs: 1})
				if err != nil {
					b.Fatal(err)
				}
				rec, err := replay.NewRecord(f.Main)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := compare.Run(&compare.Subject{Record: rec}, policies[:c.policies], replay.Options{Regret: c.regret}); err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}
