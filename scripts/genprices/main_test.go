//go:build ci

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/price"
)

const usd = 1_000_000_000

func packages(t *testing.T) (pi, llm, limits string) {
	t.Helper()
	dir := t.TempDir()
	for path, text := range map[string]string{
		"pi/package.json": `{"version": "2.0.0"}`,
		"pi/dist/providers/data/openai.json": `{"api": {
			"a": {"type": "chat", "id": "gpt-5.4", "cost": {"input": 2.5, "output": 15, "cacheRead": 0.25, "cacheWrite": 0, "tiers": [
				{"inputTokensAbove": 272000, "input": 5, "output": 22.5, "cacheRead": 0.5, "cacheWrite": 0}]}, "contextWindow": 272000, "maxTokens": 128000},
			"b": {"type": "chat", "id": "gpt-5.6-sol", "cost": {"input": 4, "output": 20, "cacheRead": 0.4, "cacheWrite": 5}, "contextWindow": 272000, "maxTokens": 128000},
			"c": {"type": "chat", "id": "gpt-5-pro", "cost": {"input": 15, "output": 120}, "contextWindow": 400000, "maxTokens": 128000},
			"d": {"type": "classifier", "id": "gpt-6-luna", "cost": {"input": 1, "output": 1}, "contextWindow": 1000},
			"e": {"type": "chat", "id": "gpt-5-chat-latest", "cost": {"input": 1, "output": 1}, "contextWindow": 1000}}}`,
		"pi/dist/providers/data/zai.json":      `{"api": {"a": {"type": "chat", "id": "glm-plan", "cost": {}, "contextWindow": 1000}}}`,
		"pi/dist/providers/data/opencode.json": `{"api": {"a": {"type": "chat", "id": "gpt-5-codex", "cost": {"input": 1.07, "output": 8.5}, "contextWindow": 400000, "maxTokens": 128000}, "b": {"type": "chat", "id": "some-free", "cost": {}, "contextWindow": 200000, "maxTokens": 200000}}}`,
		"limits.json":                          `{"models": {"openai": {"gpt-5.4": [[0, 400000, 272000, 128000], [1, 1050000, 922000, 128000]]}, "azure": {"gpt-5-codex": [[0, 400000, 1, 1]]}}}`,
		"llm/package.json":                     `{"version": "3.0.0"}`,
		"llm/data/prices.json": `{"updated": "2026-08-23", "models": {
			"gpt-5-codex": {"provider": "openai", "input": 1.25, "output": 10, "cacheRead": 0.125, "cacheWrite": null, "context": 272000, "maxOutput": 128000, "deprecated": "2026-07-23"},
			"gpt-5.4": {"provider": "openai", "input": 9, "output": 9, "cacheRead": 9, "context": 1050000, "maxOutput": 9},
			"gpt-5.4-2026-03-05": {"provider": "openai", "input": 9, "output": 9, "context": 9, "maxOutput": 9},
			"gpt-5.6-sol": {"provider": "openai", "input": 9, "output": 9, "context": 922000, "maxOutput": 9},
			"gemini-2.5-pro": {"provider": "gemini", "input": 1.25, "output": 10, "cacheRead": 0.125, "context": 1048576, "maxOutput": 65535, "deprecated": "2026-10-20",
				"longContext": {"threshold": 200000, "input": 2.5, "output": 15, "cacheRead": 0.25, "cacheWrite": 0.25}},
			"qwen3-32b": {"provider": "groq", "input": 1, "output": 1, "context": 9, "maxOutput": 9}}}`,
	} {
		path = filepath.Join(dir, filepath.FromSlash(path))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
	for _, provider := range strings.Fields("google deepseek xai moonshotai minimax xiaomi meta") {
		must.Do(t, os.WriteFile(filepath.Join(dir, "pi/dist/providers/data", provider+".json"), []byte("{}"), 0o644))
	}
	return filepath.Join(dir, "pi"), filepath.Join(dir, "llm"), filepath.Join(dir, "limits.json")
}

// TestWrite: a maker's own price comes before a reseller's, the newer table before the older one.
func TestWrite(t *testing.T) {
	pi, llm, limits := packages(t)
	path := filepath.Join(t.TempDir(), "providers.json")
	before := `{"models": [{"id": "gpt-5-4", "input": 7, "output": 7}, {"id": "gone-free", "input": 0, "output": 0, "context": 9000}]}`
	must.Do(t, os.WriteFile(path, []byte(before), 0o644))
	must.Do(t, write(path, pi, "2026-11-10", llm, limits))
	data := must.Get(os.ReadFile(path))(t)
	table := must.Get(price.ReadFile(path, data))(t)
	got := map[string]price.Model{}
	for _, m := range table.Models {
		got[m.ID] = m
	}
	must.Equal(t, len(got), 7)
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"the newer price", got["gpt-5-4"].Input, price.Price(2.5 * usd)},
		{"without a price of its own, what is written costs what any input does", got["gpt-5-4"].CacheWrite5m, price.Price(2.5 * usd)},
		{"the larger window", got["gpt-5-4"].Context, 1050000},
		{"the tier", *got["gpt-5-4"].Tier, price.Tier{Above: 272000, Whole: true, Rates: price.Rates{Input: 5 * usd, CacheWrite5m: 5 * usd, CacheWrite1h: 5 * usd, CacheRead: usd / 2, Output: 22.5 * usd}}},
		{"a price of writing", got["gpt-5-6-sol"].CacheWrite1h, price.Price(5 * usd)},
		{"a window that a later row has", got["gpt-5-6-sol"].Context, 922000},
		{"no limit of the input", got["gpt-5-6-sol"].MaxInput, 0},
		{"no price for cached input", got["gpt-5-pro"].CacheRead, price.Price(15 * usd)},
		{"the maker's price, and not the reseller's", got["gpt-5-codex"].Input, price.Price(1.25 * usd)},
		{"the largest input", got["gpt-5-codex"].MaxInput, 272000},
		{"the newest that the maker states", got["gpt-5-4"].MaxInput, 922000},
		{"retired before the table", got["gpt-5-codex"].Retired, true},
		{"retired after it", got["gemini-2-5-pro"].Retired, false},
		{"the price of Gemini's storage is none of writing", got["gemini-2-5-pro"].Tier.CacheWrite5m, price.Price(2.5 * usd)},
		{"a model that no table has any more", got["gone-free"].Context, 9000},
		{"free", got["some-free"].Output, price.Price(0)},
		{"an output that is no limit", got["some-free"].MaxOutput, 0},
		{"where it is from", got["some-free"].Source, "npm @earendil-works/pi-ai 2.0.0 (2026-11-10, from models.dev): opencode"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	pi, llm, limits := packages(t)
	out := filepath.Join(t.TempDir(), "providers.json")
	if err := write(out, filepath.Join(pi, "nowhere"), "2026-11-10", llm, limits); err == nil {
		t.Error("a package that is not there")
	}
	two := `{"api": {"a": {"type": "chat", "id": "gpt-5", "cost": {"input": 1, "output": 1, "tiers": [{}, {}]}}}}`
	must.Do(t, os.WriteFile(filepath.Join(pi, "dist/providers/data/openai.json"), []byte(two), 0o644))
	must.Refuse(t, write(out, pi, "2026-11-10", llm, limits), "2 tiers")
}
