package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/jsonl/synth"
)

// BenchmarkLoad reads a session file and builds its conversations, which are not replayed.
func BenchmarkLoad(b *testing.B) {
	for _, size := range []int64{2 << 20, 16 << 20} {
		path := filepath.Join(b.TempDir(), "session.jsonl")
		f, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		o := synth.Default()
		o.Bytes = size
		made, err := synth.Generate(f, o)
		must.Do(b, f.Close())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%dMB", size>>20), func(b *testing.B) {
			b.SetBytes(made.Bytes)
			b.ReportAllocs()
			for b.Loop() {
				s := must.Get(session.Load(path, session.LoadOptions{Jobs: 1}))(b)
				if len(s.Main.Messages) == 0 {
					b.Fatal("no messages")
				}
				s.Close()
			}
		})
	}
}
