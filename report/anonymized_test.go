package report

import (
	"bytes"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/anonymize"
	"github.com/ctxkit/ctxkit/jsonl/must"
)

// What survived is printed by nothing that works as it should.
func TestAnonymizedMatchesSchema(t *testing.T) {
	schema := compileSchema(t, "anonymize")
	r := anonymize.New(nil, "").Disclosure()
	for _, survived := range [][]anonymize.Survivor{{}, {{Word: "somebody", Location: anonymize.Location{Line: 3}}, {Word: "private", Location: anonymize.Location{File: "subagents/a.jsonl"}}}} {
		r.Survived = survived
		var b bytes.Buffer
		must.Do(t, Anonymized(&b, r, Layout{Format: FormatJSON}))
		if err := validate(schema, b.Bytes()); err != nil {
			t.Errorf("%d survivors: %v", len(survived), err)
		}
	}
}
