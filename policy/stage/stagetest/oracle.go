package stagetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// OracleText is a text of the cases of scripts/oracle: the number of a pattern that is repeated, and the length of
// the whole in UTF-16 units.
type OracleText [2]int

// OracleContent is a content of a conversation of the cases, in the short form that scripts/oracle/lib/contents.mjs describes.
type OracleContent []any

// Oracle is a file of cases. T is what a product's cases hold.
type Oracle[T any] struct {
	Patterns []string `json:"patterns"`
	Cases    []T      `json:"cases"`
}

// LoadCases reads a file of cases of any form.
func LoadCases[T any](t testing.TB, path string) *T {
	t.Helper()
	cases := new(T)
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile(path))(t), cases))
	return cases
}

// Text is a text written out.
func (o *Oracle[T]) Text(x OracleText) string {
	pattern := o.Patterns[x[0]]
	n := jsonl.Measure(pattern).UTF16
	return measure.FirstUnits(strings.Repeat(pattern, x[1]/n+1), x[1])
}

// Print is the short print of a text that cases hold.
func Print(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:12] }

// Add appends contents to a conversation, one message each.
func (o *Oracle[T]) Add(t testing.TB, c *Convo, contents []OracleContent) {
	t.Helper()
	said := func(v []any) string { return o.Text(OracleText{int(v[0].(float64)), int(v[1].(float64))}) }
	for _, content := range contents {
		var parts []BlockText
		switch content[0] {
		case "u":
			c.Prompt(said(content[1:]))
		case "m":
			if text := said(content[1:]); text != "" {
				parts = append(parts, Say(text))
			}
			for _, call := range content[3].([]any) {
				call := call.([]any)
				parts = append(parts, Use(call[0].(string), call[1].(string)))
			}
			c.Assistant(parts...)
		case "r":
			for _, r := range content[1].([]any) {
				r := r.([]any)
				part := Result(r[0].(string), said(r[3:]))
				part.IsError = r[2] == "error"
				parts = append(parts, part)
			}
			c.Answers(parts...)
		default:
			t.Fatalf("no content has the kind %q", content[0])
		}
	}
}

// Load is preset.Load, which the bench may not know.
type Load func(name string, reg policy.Registry) (*policy.Policy, error)

// Preset loads a built-in policy of a family. name may be that of a product's release, PRODUCT@VERSION.
func Preset(t testing.TB, f policy.Family, load Load, name string) *policy.Policy {
	t.Helper()
	f.Presets = os.DirFS(".") // a test runs in the folder of its package, which has the family's policies
	return must.Get(load(name, must.Get(policy.NewRegistry(f))(t)))(t)
}
