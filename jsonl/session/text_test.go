package session_test

import (
	"path/filepath"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestBlockReader: reading blocks into the same buffers, in any order, gives the texts and bytes that reading each anew does.
func TestBlockReader(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/sessions/*")
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, path := range paths {
		f, err := session.Load(path, session.LoadOptions{})
		if err != nil {
			continue // not a session
		}
		for _, conv := range f.Conversations() {
			texts := conv.NewBlockReader()
			check := func(m int) {
				for b := range conv.Messages[m].Blocks {
					blocks++
					want, errWant := conv.Text(m, b)
					if got, err := texts.Text(m, b); string(got) != want || (err == nil) != (errWant == nil) {
						t.Errorf("%s: message %d, block %d: %q (%v), want %q (%v)", path, m, b, got, err, want, errWant)
					}
					raw, errRaw := conv.Raw(m, b)
					if got, err := texts.Raw(m, b); string(got) != string(raw) || (err == nil) != (errRaw == nil) {
						t.Errorf("%s: message %d, block %d: %q (%v), want %q (%v)", path, m, b, got, err, raw, errRaw)
					}
				}
			}
			for m := range conv.Messages {
				check(m)
			}
			for m := len(conv.Messages) - 1; m >= 0; m -= 3 {
				check(m)
			}
		}
		f.Close()
	}
	if blocks < 1000 {
		t.Errorf("only %d blocks", blocks)
	}
}
