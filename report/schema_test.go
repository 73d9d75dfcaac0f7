package report

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
)

// schemaPath is the published schema of what replay prints as JSON.
var schemaPath = filepath.Join("..", "docs", "schemas", "replay.v1.json")

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	return compileSchemaAt(t, schemaPath)
}

func compileSchemaAt(t *testing.T, path string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s := must.Get(c.Compile(path))(t)
	return s
}

func validate(s *jsonschema.Schema, doc []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func TestJSONMatchesSchema(t *testing.T) {
	s := compileSchema(t)
	for name, tls := range map[string][]*replay.Timeline{
		"sample": {sample(30)}, "empty": {sample(0)}, "hostile": {hostile()}, "zero": {{}}, "several": {sample(3), sample(0)}, "none": {},
	} {
		several := len(tls) != 1
		if err := validate(s, render(t, Layout{Format: FormatJSON, Several: several}, tls...)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaIsStrict holds that the schema refuses what replay never prints.
func TestSchemaIsStrict(t *testing.T) {
	s := compileSchema(t)
	doc := string(render(t, Layout{Format: FormatJSON}, sample(3)))
	for _, change := range [][2]string{
		{`"policy": `, `"polisy": `},
		{`"raw_tokens": 19919`, `"raw_tokens": "19919"`},
		{`"kind": "main"`, `"kind": "Side"`},
		{`"schema": "ctxkit.replay/v1"`, `"schema": "ctxkit.replay/v2"`},
		{`"kind": "summarize"`, `"kind": "shrink"`},
		{`"read": `, `"extra": 1, "read": `},
		{`"iterations": 2`, `"iterations": -2`},
	} {
		changed := strings.Replace(doc, change[0], change[1], 1)
		if changed == doc {
			t.Fatalf("the document has no %s", change[0])
		}
		if validate(s, []byte(changed)) == nil {
			t.Errorf("with %s in place of %s it still validates", change[1], change[0])
		}
	}
}
