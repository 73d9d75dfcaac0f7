package regret

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// TestBuffersOfLongTexts: a long text leaves no buffer of its length.
func TestBuffersOfLongTexts(t *testing.T) {
	long := strings.Repeat("harbor_warehouse ", 2*mostReused/17)
	call := func(n int, input string) string {
		return fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"Write","input":{"content":%q}}`, n, input)
	}
	line := `{"type":"assistant","uuid":"a","message":{"id":"m","role":"assistant","content":[` + call(1, long) + "," + call(2, "short") + `]}}`
	file, err := session.LoadReader("s.jsonl", strings.NewReader(line+"\n"), session.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	x := &Index{conv: file.Main, of: []int32{0, 0}, base: []int32{0}}
	r := x.reader()
	s := newSight(x, false)
	for b := range int32(2) {
		if _, _, err := r.text(b); err != nil {
			t.Fatal(err)
		}
		for _, c := range []policy.Content{{Text: []string{long, "short"}[b]}, {Ref: &policy.Target{Block: int(b)}}} {
			if _, err := s.textOf(&c); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, length := range map[string]int{"reader": cap(r.buf), "raw": cap(s.raw), "folded": cap(s.folded)} {
		if length > mostReused {
			t.Errorf("%s keeps %d bytes, more than %d", name, length, mostReused)
		}
	}
}
