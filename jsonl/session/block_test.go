package session_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestBlock: a block holds what it was made of, and after a change what it was changed to.
func TestBlock(t *testing.T) {
	whole := jsonl.ContentBlock{
		Type: "odd", ID: "a", Name: "Read", Kind: jsonl.KindServerToolUse, IsError: true, IsString: true, Persisted: true,
		Text: jsonl.Metrics{UTF16: 1, Bytes: 2, JSON: 3}, JSON: jsonl.Metrics{UTF16: 4, Bytes: 5},
		Parts: []jsonl.Part{{Kind: jsonl.KindText}}, Signature: 6, Span: jsonl.Span{Off: 1 << 33, Len: 70}, Value: jsonl.Span{Off: 1<<33 + 8, Len: 9},
	}
	text := jsonl.ContentBlock{Type: "text", Kind: jsonl.KindText}
	b := session.NewBlock(whole)
	b.ReadFrom(&session.Offload{Path: "a.txt"})
	for _, want := range []jsonl.ContentBlock{whole, text, whole} {
		b.Change(func(c *jsonl.ContentBlock) { *c = want })
		var got jsonl.ContentBlock
		b.Change(func(c *jsonl.ContentBlock) { got = *c })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if !b.ReadBack() || b.Offload().Path != "a.txt" {
			t.Error("the file it was offloaded to is lost")
		}
	}
	// Without a file nothing of the rare fields may stay.
	b = session.NewBlock(whole)
	b.Change(func(c *jsonl.ContentBlock) { *c = text })
	if b.Type() != "text" || b.Parts() != nil {
		t.Errorf("type %q with %d parts is left", b.Type(), len(b.Parts()))
	}
}
