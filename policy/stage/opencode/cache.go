package opencode

import "strings"

// CacheBreakpoints says where a request is marked for the provider's prompt
// cache: indexes, ascending, into its system messages and into its other
// messages. It is the first two of the former and the last two of the latter,
// so at most four in all. OpenCode 1.1.36 to 1.18.34: applyCaching.
func CacheBreakpoints(system, others int) (inSystem, inOthers []int) {
	for i := range min(system, 2) {
		inSystem = append(inSystem, i)
	}
	for i := max(others-2, 0); i < others; i++ {
		inOthers = append(inOthers, i)
	}
	return inSystem, inOthers
}

// Caches reports whether requests to a model are marked so: those of Anthropic
// and of Claude models wherever they are served, told by the provider's or the
// model's id, but never through the AI gateway (its package, or vercel, the
// provider that uses it), which marks requests itself.
func Caches(provider, model string) bool {
	switch provider {
	case "@ai-sdk/gateway", "gateway", "vercel":
		return false
	}
	for _, id := range []string{provider, model} {
		if strings.Contains(id, "anthropic") || strings.Contains(id, "claude") {
			return true
		}
	}
	return false
}
