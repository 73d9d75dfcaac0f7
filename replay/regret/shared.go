package regret

import (
	"slices"
	"sync"
)

// cache keeps computed values up to a size. A nil cache keeps nothing. Several goroutines may use one.
type cache[K comparable, V any] struct {
	mu     sync.RWMutex
	values map[K]V
	free   int // bytes that may still be kept
}

func newCache[K comparable, V any](free int) *cache[K, V] {
	return &cache[K, V]{values: map[K]V{}, free: free}
}

// get returns the value of a key, computed at most once if it is kept. compute returns the value and its size in
// bytes.
func (c *cache[K, V]) get(key K, compute func() (V, int)) V {
	if c == nil {
		v, _ := compute()
		return v
	}
	c.mu.RLock()
	v, ok := c.values[key]
	c.mu.RUnlock()
	if ok {
		return v
	}
	v, size := compute()
	c.mu.Lock()
	defer c.mu.Unlock()
	if size <= c.free {
		c.free -= size
		c.values[key] = v
	}
	return v
}

// shared is what the judgements of several policies have in common. A nil shared keeps nothing.
type shared struct {
	words   *cache[string, []uint64] // distinctive words by text
	windows *cache[[2]int, *window]  // of demands with these needs
	first   sync.Once
	needed  []need
}

// Share lets the index keep about so many bytes of words and windows for policies that are judged later. Call it
// before the first Judge.
func (x *Index) Share(bytes int) {
	x.shared = &shared{words: newCache[string, []uint64](bytes / 2), windows: newCache[[2]int, *window](bytes / 2)}
}

// windowsOf returns the windows of the first demand if needed is the same, or nil: another counter gives other
// tokens.
func (s *shared) windowsOf(needed []need) *cache[[2]int, *window] {
	if s == nil {
		return nil
	}
	s.first.Do(func() { s.needed = needed })
	if !slices.Equal(needed, s.needed) {
		return nil
	}
	return s.windows
}

// wordsOf returns the hashes of the distinctive words of a text. The caller must not change them.
func (s *shared) wordsOf(text string) []uint64 {
	compute := func() ([]uint64, int) {
		found := hashes(text)
		return found, len(text) + 8*len(found)
	}
	if s == nil || text == "" {
		found, _ := compute()
		return found
	}
	return s.words.get(text, compute)
}
