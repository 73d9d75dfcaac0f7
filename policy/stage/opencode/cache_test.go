package opencode

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCacheBreakpoints(t *testing.T) {
	for _, tt := range []struct {
		system, others     int
		inSystem, inOthers []int
	}{
		{0, 0, nil, nil},
		{1, 0, []int{0}, nil},
		{0, 1, nil, []int{0}},
		{1, 1, []int{0}, []int{0}},
		{1, 2, []int{0}, []int{0, 1}},
		{2, 2, []int{0, 1}, []int{0, 1}},
		{3, 3, []int{0, 1}, []int{1, 2}},
		{2, 100, []int{0, 1}, []int{98, 99}},
		{100, 2, []int{0, 1}, []int{0, 1}},
		{-1, -1, nil, nil},
	} {
		t.Run(fmt.Sprintf("%d and %d", tt.system, tt.others), func(t *testing.T) {
			inSystem, inOthers := CacheBreakpoints(tt.system, tt.others)
			if diff := cmp.Diff(tt.inSystem, inSystem); diff != "" {
				t.Errorf("system messages: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(tt.inOthers, inOthers); diff != "" {
				t.Errorf("other messages: -want +got\n%s", diff)
			}
			if n := len(inSystem) + len(inOthers); n > 4 {
				t.Errorf("%d breakpoints, a request may have 4", n)
			}
		})
	}
}

func TestCaches(t *testing.T) {
	for _, tt := range []struct {
		provider, model string
		want            bool
	}{
		{"anthropic", "claude-opus-4-5", true},
		{"anthropic", "custom", true},
		{"google-vertex-anthropic", "custom", true},
		{"amazon-bedrock", "us.anthropic.opus-v1:0", true},
		{"openrouter", "anthropic/opus-4.5", true},
		{"github-copilot", "claude-sonnet-4.5", true},
		{"my-claude-proxy", "custom", true},
		{"openai", "gpt-5.2", false},
		{"openrouter", "openai/gpt-5.2", false},
		{"", "", false},
		{"vercel", "anthropic/claude-opus-4.5", false},
		{"gateway", "anthropic/claude-opus-4.5", false},
		{"@ai-sdk/gateway", "claude-opus-4-5", false},
		{"@ai-sdk/anthropic", "custom", true},
	} {
		if got := Caches(tt.provider, tt.model); got != tt.want {
			t.Errorf("Caches(%q, %q) = %t, want %t", tt.provider, tt.model, got, tt.want)
		}
	}
}
