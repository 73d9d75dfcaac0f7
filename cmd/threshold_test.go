package cmd

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

// TestThreshold holds that a policy whose threshold is set compacts at as many tokens in two windows, and that one
// that knows only shares of the window says so.
func TestThreshold(t *testing.T) {
	reg := must.Get(stage.Registry())(t)
	presets := preset.New(reg)
	for name, want := range map[string]string{
		"claude-code-2.1": "window.auto_compact_window", "claude-code-2.1.128": "window.auto_compact_window", "opencode-1.18": "opencode_compaction.input_limit",
		"anthropic-compaction": "compact_api.trigger", "openai-compaction": "compact_api.trigger", "opencode-2.0.21": "opencode_checkpoint.input_limit", "codex-0.140": "codex_compaction.token_limit", "mask": "", "gemini-cli-0.43": "",
	} {
		p, err := presets.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, low := range []string{"97k", "70k"} { // below what a client raises a window to
			if err := p.Clone().Set(policy.ThresholdKey, low); (err == nil) != (want != "") {
				t.Errorf("%s at %s: %v", name, low, err)
			}
		}
		err = p.Set(policy.ThresholdKey, "127k")
		set := ""
		for _, key := range p.Keys() {
			if p.Position(key).File == key {
				set += key
			}
		}
		if set != want || (err == nil) != (want != "") {
			t.Errorf("%s: set %q, want %q: %v", name, set, want, err)
		}
		if err == nil {
			for _, window := range []int{200_000, 1_000_000} {
				if at := p.CompactsAt(policy.Circumstances{Window: window, MaxOutput: 32_000}); at != 127_000 {
					t.Errorf("%s compacts at %d in a window of %d", name, at, window)
				}
			}
		}
	}
}

// TestThresholdOfName holds that a threshold is a setting behind a policy's name, as a parameter is.
func TestThresholdOfName(t *testing.T) {
	for name, want := range map[string]policyOptions{
		"claude-code@2.1.145,threshold=97k":                {Policy: "claude-code@2.1.145", Set: []string{"threshold=97k"}},
		"opencode,threshold=127k,opencode_prune.auto=true": {Policy: "opencode", Set: []string{"threshold=127k", "opencode_prune.auto=true"}},
		"a,thresholds=1": {Policy: "a,thresholds=1"},
	} {
		if got := (policyOptions{Policy: name}).unfolded(); got.Policy != want.Policy || !slices.Equal(got.Set, want.Set) {
			t.Errorf("%s: %q and %q", name, got.Policy, got.Set)
		}
	}
}
