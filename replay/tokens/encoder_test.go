package tokens

import (
	"crypto/sha256"
	"strings"
	"testing"
)

// TestEncoderKeeps: the count of a long text is found by its content, not made again; and what is kept does not grow
// without end.
func TestEncoderKeeps(t *testing.T) {
	e, err := NewEncoder(NameO200K)
	if err != nil {
		t.Fatal(err)
	}
	long, short := strings.Repeat("word ", 40), "word"
	first := e.Count(long)
	e.Count(short)
	if len(e.counts) != 1 {
		t.Fatalf("%d counts are kept, want that of the long text", len(e.counts))
	}
	sum := sha256.Sum256([]byte(long))
	key := contentHash(sum[:len(contentHash{})])
	if got := int(e.counts[key]); got != first {
		t.Fatalf("%d is kept, counted was %d", got, first)
	}
	e.counts[key] = 7
	if got := e.Count(strings.Clone(long)); got != 7 {
		t.Errorf("the second time it is counted again: %d", got)
	}
	for i := len(e.counts); i < maxKept; i++ {
		e.counts[contentHash{1, byte(i), byte(i >> 8), byte(i >> 16)}] = 1
	}
	e.Count(long + "!")
	if len(e.counts) > maxKept {
		t.Errorf("%d counts are kept, more than %d", len(e.counts), maxKept)
	}
	if got := e.Count(long); got != first {
		t.Errorf("after forgetting: %d, want %d", got, first)
	}
}
