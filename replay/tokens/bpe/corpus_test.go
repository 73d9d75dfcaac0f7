package bpe

import (
	"hash/maphash"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestCorpus holds counts of every block of real sessions against the stock
// encoder's, each distinct text once.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("CTXKIT_CORPUS")
	if dir == "" {
		t.Skip("CTXKIT_CORPUS names no folder of real sessions")
	}
	texts := corpusTexts(t, dir)
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
					if got[i] != want[i] {
						t.Errorf("%.80q…, %d bytes: %d tokens, the stock encoder has %d", text, len(text), got[i], want[i])
					}
				}
				bytes, from = bytes+size, to
			}
			t.Logf("%d texts, %.1f MB, longest piece %d bytes: the same counts; %.1f times as fast as the stock encoder", len(texts), float64(bytes)/1e6, longest, median(other)/median(own))
		})
	}
}

func longestPiece(e *Encoding, text string) int {
	longest := 0
	text = strings.ToValidUTF8(text, "\ufffd")
	for at := 0; at < len(text); {
		end, _ := e.split(&e.classes, text, at)
		longest, at = max(longest, end-at), end
	}
	return longest
}

// corpusTexts are the texts of all blocks under a folder of sessions.
func corpusTexts(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	seen, seed := map[uint64]bool{}, maphash.MakeSeed()
	take := func(text string, err error) {
		if err != nil {
			t.Error(err)
		}
		if h := maphash.String(seed, text); text != "" && !seen[h] {
			seen[h] = true
			list = append(list, text)
		}
	}
	for _, pattern := range []string{"*.jsonl*", "*/*.jsonl*", "*/*/subagents/*.jsonl*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			file, err := session.Load(path, session.LoadOptions{Jobs: 2})
			if err != nil {
				t.Fatal(err)
			}
			for _, conv := range file.Conversations() {
				for m := range conv.Messages {
					for b := range conv.Messages[m].Blocks {
						take(conv.Text(m, b))
						if conv.Messages[m].Blocks[b].ReadBack() {
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
	return list
}
