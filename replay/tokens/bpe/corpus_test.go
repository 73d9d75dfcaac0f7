//go:build ci

package bpe

import (
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// The stock encoder counts as well what a sample takes of the distinct texts: one in so many, chosen by their hash, and
// four times as many of those that hold a piece of so many bytes, on which encoders differ in more than speed.
// CTXKIT_LONG=1 takes all of them.
const (
	share     = 32
	longPiece = 64
)

// TestCorpus holds counts of the blocks of real sessions against the stock encoder's, each distinct text once: a
// sample, or all.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("CTXKIT_CORPUS")
	if dir == "" {
		t.Skip("CTXKIT_CORPUS names no folder of real sessions")
	}
	every := uint64(share)
	if os.Getenv("CTXKIT_LONG") == "1" {
		every = 1
	}
	pieces := encoding(t, Names()[0])
	texts, of := corpusTexts(t, dir, func(text string, hash uint64) bool {
		return hash%every == 0 || hash%max(every/4, 1) == 0 && longestPiece(pieces, text) >= longPiece
	})
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := encoding(t, name)
			counter, enc := e.NewCounter(), stock(t, name)
			var own, other []float64 // seconds, by batches of a quarter of a megabyte
			bytes, longest := 0, 0
			for from := 0; from < len(texts); {
				to, size := from, 0
				for ; to < len(texts) && size < 1<<18; to++ {
					size += len(texts[to])
				}
				batch := texts[from:to]
				got, want := make([]int, len(batch)), make([]int, len(batch))
				begin := time.Now()
				for i, text := range batch {
					got[i] = counter.Count(text)
				}
				own = append(own, time.Since(begin).Seconds())
				begin = time.Now()
				for i, text := range batch {
					want[i] = len(enc.EncodeOrdinary(text))
				}
				other = append(other, time.Since(begin).Seconds())
				for i, text := range batch {
					longest = max(longest, longestPiece(e, text))
					must.Equal(t, got[i], want[i], text)
				}
				bytes, from = bytes+size, to
			}
			t.Logf("%d of %d texts, %.1f MB, longest piece %d bytes: the same counts; %.1f times as fast as the stock encoder", len(texts), of, float64(bytes)/1e6, longest, median(other)/median(own))
		})
	}
}

func longestPiece(e *Encoding, text string) int {
	longest := 0
	text = strings.ToValidUTF8(text, "\ufffd")
	for at := 0; at < len(text); {
		end, _ := e.split(&e.classes, []byte(text), at)
		longest, at = max(longest, end-at), end
	}
	return longest
}

// corpusTexts are those of the distinct texts of all blocks under a folder of sessions that are wanted, and how many
// there are.
func corpusTexts(t *testing.T, dir string, wanted func(text string, hash uint64) bool) (list []string, of int) {
	t.Helper()
	seen := map[uint64]bool{}
	take := func(text string, err error) {
		if err != nil {
			t.Error(err)
		}
		hash := fnv.New64a()
		io.WriteString(hash, text)
		h := hash.Sum64()
		if text == "" || seen[h] {
			return
		}
		seen[h] = true
		if wanted(text, h) {
			list = append(list, text)
		}
	}
	for _, pattern := range []string{"*.jsonl*", "*/*.jsonl*", "*/*/subagents/*.jsonl*"} {
		paths := must.Get(filepath.Glob(filepath.Join(dir, pattern)))(t)
		for _, path := range paths {
			file := must.Get(session.Load(path, session.LoadOptions{Jobs: 2}))(t)
			for _, conv := range file.Conversations() {
				for m := range conv.Messages {
					for b := range conv.Messages[m].Blocks {
						take(conv.Text(m, b))
						if conv.Messages[m].Blocks[b].Offload != nil {
							take(conv.WholeText(m, b))
						}
					}
				}
			}
			file.Close()
		}
	}
	if len(list) == 0 {
		t.Fatalf("no sessions under %s", dir)
	}
	return list, len(seen)
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
