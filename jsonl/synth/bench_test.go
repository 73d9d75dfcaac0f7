package synth_test

import (
	"io"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/synth"
)

func BenchmarkGenerate(b *testing.B) {
	for b.Loop() {
		o := synth.Default()
		o.Bytes = 20 << 20
		st, err := synth.Generate(io.Discard, o)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(st.Bytes)
	}
}
