package tokens

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// TestContentFrame: a text in a frame weighs what it weighs without, also an empty one.
func TestContentFrame(t *testing.T) {
	table := &WeightTable{
		count: func(text string) int { return len(text) },
		scale: func(jsonl.Kind, jsonl.Metrics) int { return -1 },
	}
	f := &policy.Frame{Before: "saved to ", After: ".txt"}
	for _, text := range []string{"", "toolu_01"} {
		framed := f.Content(jsonl.KindToolResult, text, f.Length())
		if got, want := table.Content(&framed), len(framed.Whole()); got != want {
			t.Errorf("%q weighs %d, want %d", framed.Whole(), got, want)
		}
	}
}
