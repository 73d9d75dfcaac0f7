package session_test

import (
	"math"
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
	const most = math.MaxUint16 // of what a block's own numbers hold
	wide := jsonl.ContentBlock{
		Type: "thinking", Kind: jsonl.KindThinking, Text: jsonl.Metrics{UTF16: most, Bytes: most, JSON: most}, JSON: jsonl.Metrics{UTF16: most, Bytes: most},
		Signature: most, Span: jsonl.Span{Off: 1, Len: most}, Value: jsonl.Span{Off: 1 + most, Len: most - 1},
	}
	blocks := []jsonl.ContentBlock{whole, text, whole, wide}
	for _, longer := range []func(c *jsonl.ContentBlock){
		func(c *jsonl.ContentBlock) { c.Text.UTF16++ }, func(c *jsonl.ContentBlock) { c.Text.Bytes++ }, func(c *jsonl.ContentBlock) { c.Text.JSON++ },
		func(c *jsonl.ContentBlock) { c.JSON.UTF16++ }, func(c *jsonl.ContentBlock) { c.JSON.Bytes++ }, func(c *jsonl.ContentBlock) { c.Signature++ },
		func(c *jsonl.ContentBlock) { c.Span.Len++ }, func(c *jsonl.ContentBlock) { c.Value.Off++ }, func(c *jsonl.ContentBlock) { c.Value.Len++ },
		func(c *jsonl.ContentBlock) { c.Value.Len = math.MaxInt32 - 1 },
	} {
		long := wide
		longer(&long)
		blocks = append(blocks, long, text, long)
	}
	b := session.NewBlock(whole)
	b.ReadFrom(&session.Offload{Path: "a.txt"})
	for _, want := range blocks {
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
	// A length beyond the numbers is the largest of them.
	huge := session.NewBlock(jsonl.ContentBlock{
		Text: jsonl.Metrics{UTF16: math.MaxInt32 + 1, Bytes: 1 << 40, JSON: math.MaxInt32}, JSON: jsonl.Metrics{UTF16: 1 << 40, Bytes: math.MaxInt32},
		Signature: 1 << 40, Span: jsonl.Span{Len: 1 << 40}, Value: jsonl.Span{Off: 1 << 40, Len: 1 << 40},
	})
	for _, got := range []int{
		huge.Text().UTF16, huge.Text().Bytes, huge.Text().JSON, huge.JSON().UTF16, huge.JSON().Bytes, huge.Signature(), huge.Span().Len,
		int(huge.Value().Off), huge.Value().Len + 1,
	} {
		if got != math.MaxInt32 {
			t.Errorf("a length is %d, want %d", got, math.MaxInt32)
		}
	}
	// A file does not change the rest.
	for _, want := range blocks {
		b := session.NewBlock(want)
		b.ReadFrom(&session.Offload{Path: "a.txt"})
		var got jsonl.ContentBlock
		b.Change(func(c *jsonl.ContentBlock) { got = *c })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with a file, -want +got\n%s", diff)
		}
	}
	// Without a file nothing of the rare fields may stay.
	b = session.NewBlock(whole)
	b.Change(func(c *jsonl.ContentBlock) { *c = text })
	if b.Type() != "text" || b.Parts() != nil {
		t.Errorf("type %q with %d parts is left", b.Type(), len(b.Parts()))
	}
}
