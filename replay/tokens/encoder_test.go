package tokens

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestEncoderKeeps: the count of a long text is found by its content, not made again; and what is kept does not grow
// without end.
func TestEncoderKeeps(t *testing.T) {
	e := must.Get(NewEncoder(NameO200K))(t)
	long, short := strings.Repeat("word ", 40), "word"
	first := e.Count(long)
	e.Count(short)
	if len(e.counts) != 1 {
		t.Fatalf("%d counts are kept, want that of the long text", len(e.counts))
	}
	key := e.hash(asText, "", []byte(long))
	if got := int(e.counts[key]); got != first {
		t.Fatalf("%d is kept, counted was %d", got, first)
	}
	e.counts[key] = 7
	must.Equal(t, e.Count(strings.Clone(long)), 7)
	for i := len(e.counts); i < maxKept; i++ {
		e.counts[contentHash{1, uint64(i)}] = 1
	}
	e.Count(long + "!")
	if len(e.counts) > maxKept {
		t.Errorf("%d counts are kept, more than %d", len(e.counts), maxKept)
	}
	must.Equal(t, e.Count(long), first)
}

// TestEncoderForms: the same bytes as a text, as a JSON string and as the inputs of two tools are different contents.
func TestEncoderForms(t *testing.T) {
	e := must.Get(NewEncoder(NameO200K))(t)
	content := []byte(strings.Repeat("word ", 40))
	seen := map[contentHash]bool{}
	for _, as := range []form{asText, asString, asToolUse} {
		for _, name := range []string{"", "Read", "Edit"} {
			seen[e.hash(as, name, content)] = true
			made := 0
			for range 2 {
				n, err := e.countAs(as, name, content, func() ([]byte, error) {
					made++
					return []byte(strings.Repeat("x ", len(seen))), nil
				})
				if want := e.Count(strings.Repeat("x ", len(seen))); n != want || err != nil {
					t.Errorf("%d, %q: %d tokens (%v), want %d", as, name, n, err, want)
				}
			}
			must.Equal(t, made, 1, as, name)
		}
	}
	must.Equal(t, len(seen), 9)
}

// A tool_use is counted as its JSON, whatever its tool's name is.
func TestAppendToolUse(t *testing.T) {
	for _, name := range []string{"", "Read", "mcp__a-b__c.d/e f~", `a"b`, `a\b`, "a\tb", "a<b&c>", "é", "\u2028", "\x7f", "\xff", "{}"} {
		for _, input := range []string{"", `{"a":1}`} {
			var form struct {
				Name  string          `json:"name"`
				Input json.RawMessage `json:"input,omitempty"`
			}
			form.Name, form.Input = name, json.RawMessage(input)
			var want bytes.Buffer
			e := json.NewEncoder(&want)
			e.SetEscapeHTML(false)
			must.Do(t, e.Encode(form))
			got := appendToolUse([]byte("before"), name, []byte(input))
			must.Equal(t, string(got), "before"+string(bytes.TrimSpace(want.Bytes())), name, input)
		}
	}
}
