package report

import (
	"io"
	"testing"

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
	for name, tls := range map[string][]*replay.Timeline{"regret": {regretSample(2)}, "": {regretSample(mostMisses + 3), regretSample(0)}} {
		out := inFormats(t, "regret", name, ListFormats, func(w io.Writer, f Format) error { return Regret(w, tls, policy.Use{}, Layout{Format: f}) })
		if name != "" {
			golden.Check(t, "testdata/regret.json", []byte(out[FormatJSON]))
		}
	}
}
