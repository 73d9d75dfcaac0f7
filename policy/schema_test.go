package policy

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// The schema takes what Decode takes and refuses what Decode refuses, as far as a schema can tell.
func TestSchema(t *testing.T) {
	doc := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(Schema(testRegistry(t)))))(t)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	must.Do(t, c.AddResource("policy.json", doc))
	schema := must.Get(c.Compile("policy.json"))(t)
	must.Rows(t, `
stages: []                   | true
recorded: true               | true
"extends: base\nset: {kinds.count: 3, window.buffer: 4}" | true
"window: {buffer: 1, percent: 80, room: 2}\nstages: []" | true
"window: {buffer: -1}\nstages: [sweep]" | false
"window: {active: 1}\nstages: [compress]" | false
stages: [bare, kinds, picky: {low: 1}] | true
stages: [kinds: ]            | true
stages: [kinds: {auto: auto, limit: none, turns: all, least: none, per_tool: {Read: none, Bash: 3}, gap: 1h30m}] | true
stages: [kinds: {summary: outline, tools: Read, trigger: {type: tool_uses, value: 3}}] | true
stages: [kinds: {summary: [recorded, fixed: 3], limit: ~, share: 1, note: 3}] | true
"window: {tail: after_first}\nstages: []" | true
"numbers: {limit: 0.8}\nstages: [bare: {when: cold || used > limit}, kinds: {when: true, count: 3}, picky]\nset: {picky.when: cold, numbers.limit: 2}" | true
"numbers: {Limit: 1}\nstages: []" | false
"numbers: {limit: a}\nstages: []" | false
stages: [bare: {when: [cold]}] | false
name: a                      | false
"stage: []\nstages: []"      | false
stages: [nothing]            | false
stages: [kinds: {cuont: 3}]  | false
stages: [kinds: {count: 0}]  | false
stages: [kinds: {count: 10}] | false
stages: [kinds: {count: 1.5}] | false
stages: [kinds: {count: lots}] | false
stages: [kinds: {free: 2000000000}] | false
stages: [kinds: {auto: none}] | false
stages: [kinds: {turns: none}] | false
stages: [kinds: {gap: '60'}] | false
stages: [kinds: {style: short}] | false
stages: [kinds: {switch: 1}] | false
stages: [kinds: {summary: model}] | false
stages: [kinds: {summary: [recorded, recorded]}] | false
stages: [kinds: {trigger: {bytes: 3}}] | false
stages: [kinds: {per_tool: {Read: -1}}] | false
"stages: [kinds: {count: 1}, bare: ]\nset: {a: 3}" | false
stages: [{kinds: , bare: }]  | false
"window: {bufer: 1}\nstages: []" | false
"truth: sure\nstages: []"    | false
`, func(text string, ok bool) {
		var v any
		must.Do(t, yaml.Load([]byte(text), &v))
		must.Equal(t, schema.Validate(v) == nil, ok, text)
		_, err := Decode("p.yaml", []byte(text), testRegistry(t), library(map[string]string{"base": "stages: [kinds, compress]"}))
		must.Equal(t, err == nil, ok, text)
	})
	if p := mustDecode(t, "p.yaml", "stages: [kinds, picky, bare, sweep, spare]", nil); true {
		var v any
		must.Do(t, yaml.Load(Marshal(p), &v))
		delete(v.(map[string]any), "date")
		if err := schema.Validate(v); err != nil {
			t.Errorf("what Marshal writes: %v", err)
		}
	}
	if _, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema(Registry{}))); err != nil {
		t.Errorf("schema of no stages: %v", err)
	}
}
