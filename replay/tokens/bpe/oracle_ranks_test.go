//go:build ci

package bpe

import (
	"maps"
	"testing"

	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestRanks holds the embedded vocabularies against the loader's: each token has its rank, and nothing else is a
// token.
func TestRanks(t *testing.T) {
	for _, name := range Names() {
		want := must.Get(loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken"))(t)
		e := encoding(t, name)
		have := maps.Collect(tokens(e))
		must.Equal(t, len(have)+256, len(want), name)
		var m merger
		for token, rank := range want {
			if len(token) == 1 {
				continue // never looked up: every byte is a token
			}
			if got, ok := have[token]; !ok || got != rank {
				t.Fatalf("%s: %q has rank %d (%v), the loader has %d", name, token, got, ok, rank)
			}
			if got := e.lookup(m.padded([]byte(token)), 0, len(token)); int(got) != rank+1 {
				t.Fatalf("%s: %q has rank %d, the loader has %d", name, token, int(got)-1, rank)
			}
			for _, near := range []string{token + "\x00", token + "a", token[:len(token)-1] + string([]byte{token[len(token)-1] ^ 1}), token[1:] + token[:1]} {
				r, ok := want[near]
				if got := e.lookup(m.padded([]byte(near)), 0, len(near)); ok != (got != 0) || ok && int(got) != r+1 {
					t.Fatalf("%s: %q has rank %d, the loader has %d, %v", name, near, int(got)-1, r, ok)
				}
			}
		}
	}
}
