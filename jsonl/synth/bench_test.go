package synth_test

import (
	"io"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/synth"
)

func BenchmarkGenerate(b *testing.B) {
	for b.Loop() {
		o := synth.Default()
		o.Bytes = 20 << 20
		st := must.Get(synth.Generate(io.Discard, o))(b)
		b.SetBytes(st.Bytes)
	}
}
