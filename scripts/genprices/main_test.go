//go:build ci

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/report/golden"
)

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
	must.Equal(t, len(must.Get(price.ReadFile(path, data))(t).Models), 7)
	golden.Check(t, "testdata/providers.json", data)
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
