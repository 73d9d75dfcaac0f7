package policy_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// TestFrame: a text in a frame is the same content as the whole text, and measures the same.
func TestFrame(t *testing.T) {
	f := &policy.Frame{Before: "saved to \"x/", After: ".txt\n\n𝄞"}
	for _, text := range []string{"", "toolu_01", "é\t\x01𝄞\\", "a\xffb"} {
		framed, plain := f.Content(jsonl.KindToolResult, text, f.Length()), policy.NewContent(jsonl.KindToolResult, f.Before+text+f.After)
		if framed.Whole() != plain.Whole() || framed.Length != plain.Length {
			t.Errorf("%q of %+v, want %q of %+v", framed.Whole(), framed.Length, plain.Text, plain.Length)
		}
		longer := f.Content(jsonl.KindToolResult, text+"x", f.Length())
		other := f.Content(jsonl.KindToolResult, "y"+text, f.Length())
		again := (&policy.Frame{Before: f.Before, After: f.After}).Content(jsonl.KindToolResult, text, f.Length())
		if !framed.Same(&plain) || !plain.Same(&framed) || !framed.Same(&again) || framed.Same(&longer) || longer.Same(&plain) || longer.Same(&other) {
			t.Errorf("%q is not the same in a frame and without, or the same as another", text)
		}
	}
}
