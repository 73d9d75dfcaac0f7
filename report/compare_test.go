package report

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/report/golden"
)

func comparedSample(sessions int) []compare.Comparison {
	var list []compare.Session
	for i := range sessions {
		s := compare.Session{Session: fmt.Sprintf("s-%d", i), File: fmt.Sprintf("dir with spaces/s-%d.jsonl", i), Model: "claude-opus-4-6", Version: "2.1.19", Project: "\x1b[31mp\u202e", Malformed: 2 * i}
		for p := range 3 {
			v := make(compare.Values, len(compare.Names()))
			for f := range v {
				v[f] = float64((i+1)*(f+7)*(p+3)) * 1234.5
			}
			if p == 2 {
				for f, name := range compare.Names() {
					if name == "cost_usd" || name == "misses" {
						v[f] = math.NaN()
					}
				}
			}
			s.Values = append(s.Values, v)
		}
		list = append(list, s)
	}
	return compare.Compare([]string{"recorded", "opencode,opencode_prune.protect=20000", "it's mine.yaml"}, list, compare.ByNothing)
}

func TestComparisons(t *testing.T) {
	schema := compileSchemaAt(t, filepath.Join("..", "docs", "schemas", "compare.v1.json"))
	for _, n := range []int{0, 1, 3} {
		for _, f := range ListFormats {
			var b bytes.Buffer
			if err := Comparisons(&b, comparedSample(n), compare.Inputs{Given: n + 1, Failed: n / 2}, Options{Format: f}); err != nil {
				t.Fatal(err)
			}
			s := b.String()
			if strings.ContainsAny(s, "\x1b\u202e") {
				t.Errorf("%d as %s lets control characters through", n, f)
			}
			if f == FormatTable {
				for line := range strings.Lines(s) {
					if w := width(strings.TrimSuffix(line, "\n")); w > lineWidth && !strings.HasPrefix(line, "  ctxkit ") {
						t.Errorf("%d columns: %s", w, line)
					}
				}
			}
			if f == FormatJSON {
				if err := validate(schema, b.Bytes()); err != nil {
					t.Errorf("%d: %v", n, err)
				}
			}
			if n == 3 {
				golden.Check(t, filepath.Join("testdata", "compare."+string(f)), b.Bytes())
			}
		}
	}
}
