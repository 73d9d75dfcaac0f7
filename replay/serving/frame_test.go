package serving

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// TestContentFrame: a text in a frame is in the same block as without, in any place.
func TestContentFrame(t *testing.T) {
	f := &policy.Frame{Before: "saved to ", After: ".txt"}
	for _, text := range []string{"", "toolu_01"} {
		framed, plain := f.Content(jsonl.KindToolResult, text, f.Length()), policy.NewContent(jsonl.KindToolResult, f.Before+text+f.After)
		l := New(16)
		if a, b := l.content(&framed, policy.Target{Item: 1}), l.content(&plain, policy.Target{Item: 2}); a != b {
			t.Errorf("%q is block %d, and %d without a frame", plain.Text, a, b)
		}
	}
}
