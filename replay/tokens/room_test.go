package tokens

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestBufferOfLongCall: a long call leaves no buffer of its length.
func TestBufferOfLongCall(t *testing.T) {
	line := fmt.Sprintf(`{"type":"assistant","uuid":"a","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Write","input":{"content":%q}}]}}`,
		strings.Repeat("a b ", mostReused/2))
	file, err := session.LoadReader("s.jsonl", strings.NewReader(line+"\n"), session.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	e, err := NewEncoder(NameO200K)
	if err != nil {
		t.Fatal(err)
	}
	table := newTable(file.Main, func(jsonl.Kind, jsonl.Metrics) int { return 0 })
	w := &encoding{encodeWork: &encodeWork{WeightTable: table, e: e, how: EncodeOptions{Ratio: 1}}, texts: file.Main.NewBlockReader()}
	if n, err := w.block(0, 0); err != nil || n < mostReused {
		t.Fatalf("%d tokens, %v", n, err)
	}
	if cap(w.buf) > mostReused {
		t.Errorf("%d bytes are kept, more than %d", cap(w.buf), mostReused)
	}
}
