package replay_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// TestConvertedTokens holds that each request of the record has the tokens that the API reported, converted from its
// own model's tokenizer.
func TestConvertedTokens(t *testing.T) {
	data := must.Get(os.ReadFile(filepath.Join(shipped, "big.jsonl")))(t)
	const old, other = "claude-opus-4-5-20251101", "claude-opus-4-7"
	mixed := data[:0:0]
	for i, line := range bytes.SplitAfter(data, []byte("\n")) {
		if i > 400 {
			line = bytes.ReplaceAll(line, []byte(old), []byte(other))
		}
		mixed = append(mixed, line...)
	}
	for _, tt := range []struct {
		what, model string
		data        []byte
		models      int            // that are converted or not
		factor      map[string]int // hundredths over hundredths, by recorded model: to*1000+from; 0: as it is
	}{
		{"newer tokenizer", "claude-opus-5-5", data, 1, map[string]int{old: 170124}},
		{"same tokenizer", "claude-opus-4-6", data, 0, map[string]int{}},
		{"no known tokenizer", "grok-4", data, 0, map[string]int{}},
		{"two models to the newer", "claude-opus-5-5", mixed, 2, map[string]int{old: 170124}},
		{"two models to the older", "claude-opus-4-6", mixed, 2, map[string]int{other: 124170}},
		{"as recorded", "", mixed, 0, map[string]int{}},
	} {
		file := must.Get(session.LoadReader("big.jsonl", bytes.NewReader(tt.data), session.LoadOptions{}))(t)
		defer file.Close()
		rec := recordOf(t, file.Main)
		for _, name := range []string{"recorded", "claude-code-2.1.19", "opencode-1.18", "gemini-cli-0.22"} {
			pol := named(t, name)
			tl := must.Get(rec.Replay(pol, replay.Options{Model: tt.model}))(t)
			must.Do(t, tl.CheckValid())
			models := 0
			if tl.Converted != nil {
				models = len(tl.Converted.Models)
			}
			must.Equal(t, models, tt.models, tt.what, tl.Converted)
			if !pol.Recorded {
				continue
			}
			for _, r := range tl.Requests {
				if r.Recorded == nil || r.Kind != "main" {
					continue
				}
				want := r.Recorded.Input + r.Recorded.CacheRead + r.Recorded.CacheWrite
				if f := tt.factor[r.Model]; f != 0 {
					want = int(float64(want)*float64(f/1000)/float64(f%1000) + 0.5)
				}
				if d := r.Payload - want; d < -2 || d > 2 { // three amounts are rounded
					t.Errorf("%s: request %d of %s: %d tokens, want %d", tt.what, r.N, r.Model, r.Payload, want)
				}
			}
		}
	}
}

func TestFactor(t *testing.T) {
	up, down := tokens.NewFactor("old", "new"), tokens.NewFactor("new", "old")
	for _, tt := range []struct {
		f       tokens.Factor
		n, want int
	}{
		{up, 0, 0}, {up, 124, 170}, {up, 1, 1}, {up, 2, 3}, {up, 100, 137}, {up, 62, 85}, {up, -124, -170}, {up, -2, -3},
		{down, 170, 124}, {down, 85, 62}, {down, 1, 1}, {down, 100, 73},
		{tokens.NewFactor("old", "old"), 7, 7}, {tokens.NewFactor("", "new"), 7, 7}, {tokens.NewFactor("new", ""), 7, 7},
	} {
		must.Equal(t, tt.f.Of(tt.n), tt.want, tt.f, tt.n)
	}
	must.Equal(t, up.Ratio().String(), "1.371")
}
