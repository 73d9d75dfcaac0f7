package policy

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/policy/condition"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// schemaFrame is what a schema says for any registry.
//
//go:embed schema.json
var schemaFrame []byte

// Schema returns the JSON Schema (draft 2020-12) of policy files that use the stages of reg. Files that Decode accepts
// are valid under it. So are some that Decode refuses: files with names that do not exist, or with keys that contradict
// each other.
func Schema(reg Registry) []byte {
	var root map[string]any
	if json.Unmarshal(schemaFrame, &root) != nil { // a test reads it
		return nil
	}
	properties := root["properties"].(map[string]any)
	defs := map[string]any{}
	set := map[string]any{}
	stages := map[string]any{}
	var stageNames []any
	add := func(owner, about string, params any) {
		fields, _ := strict.Fields(params)
		for _, f := range fields {
			set[owner+"."+f.Name] = ref(owner, "properties", f.Name)
		}
		defs[owner] = strict.Object(about, fields)
	}
	p := defaults(reg)
	for _, s := range p.allSections() {
		add(s.key, s.about, s.params)
	}
	for _, d := range reg.Definitions() {
		add(d.Name, d.Summary, d.Params)
		defs[d.Name].(map[string]any)["properties"].(map[string]any)[whenKey] = ref(whenKey)
		set[d.Name+"."+whenKey] = ref(whenKey)
		stages[d.Name] = orNull(ref(d.Name))
		stageNames = append(stageNames, d.Name)
	}
	defs[whenKey] = whenSchema()
	if stageNames == nil {
		stageNames = []any{""}
	}
	fields, _ := strict.Fields(p.head())
	for _, f := range fields {
		property := f.Schema()
		delete(property, "default")
		properties[f.Name] = property
	}
	properties[extendsKey] = strict.TextSchema("a built-in policy or a file, relative to this one, that gives the values of the keys missing here")
	for _, s := range p.sections() {
		properties[s.key] = orNull(ref(s.key))
	}
	properties["stages"].(map[string]any)["items"] = strict.AnyOf(
		map[string]any{"enum": stageNames},
		map[string]any{"type": "object", "minProperties": 1, "maxProperties": 1, "properties": stages, "additionalProperties": false},
	)
	properties["set"].(map[string]any)["properties"] = set
	root["$defs"] = defs
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil { // plain maps can always be written
		return nil
	}
	return append(data, '\n')
}

// whenSchema describes conditions with their variables.
func whenSchema() map[string]any {
	field := (&When{}).fields()[0]
	s := field.Schema()
	delete(s, "default")
	text := []string{field.Doc + ". The variables:"}
	for _, v := range condition.Variables() {
		unit := v.Unit
		if v.Truth {
			unit = "true or false"
		}
		text = append(text, fmt.Sprintf("%s (%s): %s.", v.Name, unit, v.Doc))
	}
	s["description"] = strings.Join(text, "\n")
	return s
}

func ref(path ...string) map[string]any {
	s := "#/$defs"
	for _, p := range path {
		s += "/" + p
	}
	return map[string]any{"$ref": s}
}

func orNull(schema any) map[string]any { return strict.AnyOf(schema, map[string]any{"type": "null"}) }
