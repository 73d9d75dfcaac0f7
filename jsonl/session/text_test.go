package session_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestBlockReader: reading blocks into the same buffers, in any order, gives the texts and bytes that reading each anew does.
func TestBlockReader(t *testing.T) {
	var paths []string
	must.Do(t, filepath.WalkDir("../../testdata/sessions", func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".jsonl") {
			paths = append(paths, path)
		}
		return err
	}))
	paths = append(paths, compressed(t, "../../testdata/sessions/big.jsonl"), large(t))
	blocks, offloaded := 0, 0
	for _, path := range paths {
		f := must.Get(session.Load(path, session.LoadOptions{}))(t)
		for _, conv := range f.Conversations() {
			texts := conv.NewBlockReader()
			check := func(m int) {
				for b := range conv.Messages[m].Blocks {
					blocks++
					if conv.Messages[m].Blocks[b].Offload != nil {
						offloaded++
					}
					want, errWant := conv.Text(m, b)
					if got, err := texts.Text(m, b); string(got) != want || (err == nil) != (errWant == nil) {
						t.Errorf("%s: message %d, block %d: %.80q (%v), want %.80q (%v)", path, m, b, got, err, want, errWant)
					}
					want, errWant = conv.WholeText(m, b)
					if got, err := texts.WholeText(m, b); string(got) != want || (err == nil) != (errWant == nil) {
						t.Errorf("%s: message %d, block %d: all of it: %.80q (%v), want %.80q (%v)", path, m, b, got, err, want, errWant)
					}
					raw, errRaw := conv.Raw(m, b)
					if got, err := texts.Raw(m, b); !bytes.Equal(got, raw) || (err == nil) != (errRaw == nil) {
						t.Errorf("%s: message %d, block %d: %.80q (%v), want %.80q (%v)", path, m, b, got, err, raw, errRaw)
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
	if blocks < 1000 || offloaded == 0 {
		t.Errorf("only %d blocks, %d of them offloaded", blocks, offloaded)
	}
}

// compressed is a copy of a file, compressed by gzip.
func compressed(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	must.Get(z.Write(text))(t)
	must.Do(t, z.Close())
	to := filepath.Join(t.TempDir(), "s.jsonl.gz")
	must.Do(t, os.WriteFile(to, b.Bytes(), 0o600))
	return to
}

// large is a session with texts around the sizes at which buffers are not used again: one of 2 MiB with an escape among them.
func large(t *testing.T) string {
	t.Helper()
	parent, lines := "", []any{}
	for i, n := range []int{10, 64<<10 - 2, 64 << 10, 1 << 20, 2 << 20, 10} {
		id := string(rune('a' + i))
		lines = append(lines, user(id, parent, strings.Repeat("x", n)+"\n"), said(id+"1", id, "m"+id))
		parent = id + "1"
	}
	to := filepath.Join(t.TempDir(), "s.jsonl")
	must.Do(t, os.WriteFile(to, []byte(file(lines...)), 0o600))
	return to
}
