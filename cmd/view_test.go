package cmd

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func schemaOf(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	s := must.Get(jsonschema.NewCompiler().Compile(filepath.Join("..", "docs", "schemas", name)))(t)
	return s
}

func validates(t *testing.T, s *jsonschema.Schema, args []string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(mustRun(t, args...)))
	if err == nil {
		err = s.Validate(doc)
	}
	if err != nil {
		t.Errorf("%s: %v", strings.Join(args, " "), err)
	}
}

// TestViewsMatchSchemas holds what view and diff print as JSON against the published schemas.
func TestViewsMatchSchemas(t *testing.T) {
	files := must.Glob(t, 1, "../testdata/sessions/*.jsonl")
	diffs, transcripts := schemaOf(t, "diff.v1.json"), schemaOf(t, "transcript.v1.json")
	for _, file := range files {
		validates(t, transcripts, []string{"view", "-q", file, "--as", "transcript", "-f", "json"})
		if strings.HasPrefix(filepath.Base(file), "big") {
			continue
		}
		validates(t, diffs, []string{"diff", "-q", file, "-p", "three-layer", "-f", "json"})
		validates(t, diffs, []string{"diff", "-q", file, "-p", "recorded", "--against", "opencode", "-f", "json", "--at", "all"})
		validates(t, diffs, []string{"diff", "-q", file, "-p", "recorded", "--from", "1", "-f", "json"})
	}
	big := "../testdata/sessions/big.jsonl"
	for _, args := range [][]string{{"-p", "opencode", "--against", "recorded"}, {"-p", "recorded", "--from", "100"}, {"-p", "anthropic-context-editing", "--stat", "--at", "peak"}} {
		validates(t, diffs, append([]string{"diff", "-q", big, "-f", "json"}, args...))
	}
}

// TestViewIsABody holds that each view's JSON has the form of a request body.
func TestViewIsABody(t *testing.T) {
	for _, as := range strings.Fields("raw model payload scrollback") {
		out := mustRun(t, "view", "-q", "../testdata/sessions/big.jsonl", "--as", as, "-p", "anthropic-context-editing", "--at", "last", "-f", "json")
		dec := json.NewDecoder(bytes.NewReader(out))
		dec.DisallowUnknownFields()
		var body struct {
			Model             string
			MaxTokens         int                   `json:"max_tokens"`
			ContextManagement struct{ Edits []any } `json:"context_management"`
			Messages          []struct {
				Role    string
				Content []map[string]any
			}
			Marks []map[string]any
		}
		if err := dec.Decode(&body); err != nil || !json.Valid(out) {
			t.Fatalf("%s: %v, valid to its end: %t", as, err, json.Valid(out))
		}
		marked := bytes.Count(out, []byte(`"cache_control":{"type":"ephemeral"}`))
		if as == "payload" != (marked == 2) || as == "payload" != (len(body.ContextManagement.Edits) == 2) || body.Model == "" || body.MaxTokens == 0 || len(body.Messages) < 100 {
			t.Errorf("%s: %d breakpoints, %d edits, model %q, %d tokens, %d messages", as, marked, len(body.ContextManagement.Edits), body.Model, body.MaxTokens, len(body.Messages))
		}
	}
}
