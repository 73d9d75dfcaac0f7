package lint

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/anonymize"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/requests"
)

// An anonymised file has lines of the same types: all that lint knows keep their names.
func TestTypesStay(t *testing.T) {
	types := append(slices.Sorted(maps.Keys(metadata)), requests.TypeRequest, requests.TypeMessage, requests.TypeShape, requests.TypeResumed)
	var text strings.Builder
	for _, name := range types {
		fmt.Fprintf(&text, `{"type":%q,"sessionId":"s"}`+"\n", name)
	}
	src := must.Get(jsonl.OpenReader("types", strings.NewReader(text.String())))(t)
	defer src.Close()
	a := anonymize.New(nil, "")
	must.Do(t, a.Note(src, 1))
	var out bytes.Buffer
	must.Do(t, a.Write(src, "types", 1, &out))
	for i, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
		if want := fmt.Sprintf(`"type":%q`, types[i]); !strings.Contains(line, want) {
			t.Errorf("%s: %s", types[i], line)
		}
	}
}
