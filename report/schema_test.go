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

// compileSchema reads the published schema of a kind of JSON.
func compileSchema(t *testing.T, kind string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	return must.Get(c.Compile(filepath.Join("..", "docs", "schemas", kind+".v1.json")))(t)
}

// strict holds that a schema refuses a document with one thing changed. The changes are lines: OLD => NEW.
func strict(t *testing.T, s *jsonschema.Schema, doc, changes string) {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(changes)) {
		old, now, _ := strings.Cut(strings.TrimSpace(line), " => ")
		changed := strings.Replace(doc, old, now, 1)
		if changed == doc || validate(s, []byte(changed)) == nil {
			t.Errorf("with %s in place of %s it still validates", now, old)
		}
	}
}

func validate(s *jsonschema.Schema, doc []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func TestJSONMatchesSchema(t *testing.T) {
	s := compileSchema(t, "replay")
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
	strict(t, compileSchema(t, "replay"), string(render(t, Layout{Format: FormatJSON}, sample(3))), `
"policy":  => "polisy": 
"raw_tokens": 19919 => "raw_tokens": "19919"
"kind": "main" => "kind": "Side"
"schema": "ctxkit.replay/v1" => "schema": "ctxkit.replay/v2"
"kind": "summarize" => "kind": "shrink"
"read":  => "extra": 1, "read": 
"iterations": 2 => "iterations": -2
`)
}
