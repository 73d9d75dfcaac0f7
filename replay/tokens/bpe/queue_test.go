package bpe

import (
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// merged is the number of tokens of a text by the rule as it stands: merge the leftmost pair of the lowest rank until
// no pair is a token.
func merged(ranks map[string]int, text string) int {
	var parts []string
	for i := range len(text) {
		parts = append(parts, text[i:i+1])
	}
	for {
		at, low := -1, 0
		for i := range len(parts) - 1 {
			if rank, ok := ranks[parts[i]+parts[i+1]]; ok && (at < 0 || rank < low) {
				at, low = i, rank
			}
		}
		if at < 0 {
			return len(parts)
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
}

// invented is a vocabulary of words in any order: a long one may have a lower rank than what it is made of, and it may
// be made in several ways, or in none.
func invented(t *testing.T, g *rand.Rand) (*vocabulary, map[string]int) {
	t.Helper()
	ranks := map[string]int{}
	letters := "abc"[:1+g.IntN(3)]
	var words []string
	for range 1 + g.IntN(40) {
		var b strings.Builder
		for range 2 + g.IntN(11) {
			b.WriteByte(letters[g.IntN(len(letters))])
			if g.IntN(4) == 0 && b.Len() > 1 {
				break
			}
		}
		word := b.String()
		if _, ok := ranks[word]; ok || len(word) < 2 {
			continue
		}
		ranks[word] = len(ranks)
		words = append(words, word)
	}
	v := &vocabulary{}
	data, err := pack(words)
	must.Do(t, errors.Join(err, v.fill(string(data))))
	return v, ranks
}

// TestMergeInvented holds both ways of merging against the rule, with vocabularies that are not made by merging: pairs
// of a lower rank than the one that is merged appear, and pairs of one rank in any order.
func TestMergeInvented(t *testing.T) {
	g := rand.New(rand.NewPCG(2, 9))
	var m merger
	for range 150 {
		v, ranks := invented(t, g)
		for range 20 {
			var b strings.Builder
			for b.Len() < 2 {
				for range g.IntN(120) {
					b.WriteByte("abc"[g.IntN(3)])
				}
				b.WriteString(strings.Repeat("abc"[:1+g.IntN(3)], g.IntN(60)))
			}
			text := b.String()
			want := merged(ranks, text)
			m.padded([]byte(text))
			if got := m.queued(v, len(text)); got != want {
				t.Fatalf("%v: %q: %d tokens by the queue, %d by the rule", ranks, text, got, want)
			}
			if len(text) > maxScan {
				continue
			}
			if got := m.scan(v, len(text)); got != want {
				t.Fatalf("%v: %q: %d tokens by scanning, %d by the rule", ranks, text, got, want)
			}
		}
	}
}

// TestMergeLong holds the queue against the rule on pieces too long to scan.
func TestMergeLong(t *testing.T) {
	g := rand.New(rand.NewPCG(6, 1))
	for _, name := range Names() {
		e := encoding(t, name)
		ranks := maps.Collect(tokens(e))
		c := e.NewCounter()
		for _, kind := range hostile(g) {
			text := kind.text(700 + g.IntN(300))
			c.merge.padded([]byte(text))
			parts := c.merge.queued(&e.vocabulary, len(text))
			if want := merged(ranks, text); parts != want {
				t.Errorf("%s: %s: %d tokens by the queue, %d by the rule", name, kind.name, parts, want)
			}
		}
	}
}

// TestQueueOrder adds and removes pairs of few ranks in any order: they come out by rank, then from left to right.
func TestQueueOrder(t *testing.T) {
	g := rand.New(rand.NewPCG(4, 4))
	var q queue
	for range 300 {
		n := 1 + g.IntN(200)
		ranks := []uint32{7, 8, 9, 7 + openRuns, 8 + 5*openRuns, uint32(g.IntN(1 << 20))}
		q.reset(n)
		have := map[int]uint32{}
		for range 4 * n {
			at := g.IntN(n)
			switch _, ok := have[at]; {
			case ok:
				q.remove(at)
				delete(have, at)
			case g.IntN(3) > 0:
				have[at] = ranks[g.IntN(len(ranks))]
				q.add(have[at], at)
			default:
				q.remove(at) // none is there
				want, low := -1, uint64(none)<<32
				for at, rank := range have {
					if k := key(rank, uint32(at)); k < low {
						want, low = at, k
					}
				}
				if got := q.first(); got != want {
					t.Fatalf("%v: the first is %d, want %d", have, got, want)
				}
			}
		}
		if q.live > len(q.runs) || len(q.runs) != len(q.heap) {
			t.Fatalf("%d runs of %d in a heap of %d", q.live, len(q.runs), len(q.heap))
		}
	}
}
