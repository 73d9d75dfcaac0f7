package policy

import (
	"encoding/json"
	"reflect"
	"strconv"
)

// Schema is the JSON Schema (draft 2020-12) of a policy file, made from the
// registry. It admits what Decode admits, but for what a schema cannot say:
// names that must exist, keys that contradict one another.
func Schema(reg Registry) []byte {
	defs := map[string]any{}
	set := map[string]any{}
	stages := map[string]any{}
	var stageNames []any
	add := func(owner, about string, fields []field) {
		properties := map[string]any{}
		for _, f := range fields {
			properties[f.Name] = f.schema()
			set[owner+"."+f.Name] = ref(owner, "properties", f.Name)
		}
		defs[owner] = map[string]any{
			"type": "object", "description": about,
			"properties": properties, "additionalProperties": false,
		}
	}
	for _, s := range defaults().sections() {
		fields, _ := fieldsOf(s.params)
		add(s.key, s.about, fields)
	}
	for _, d := range reg.Definitions() {
		fields, _ := fieldsOf(d.Params)
		add(d.Name, d.Summary, fields)
		stages[d.Name] = anyOf(ref(d.Name), map[string]any{"type": "null"})
		stageNames = append(stageNames, d.Name)
	}
	if stageNames == nil {
		stageNames = []any{""}
	}
	var truth []any
	for _, t := range truths() {
		truth = append(truth, string(t))
	}
	line := func(about string) map[string]any {
		return map[string]any{"type": []any{"string", "number"}, "description": about}
	}
	root := map[string]any{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "ctxkit policy",
		"description": "A context-management policy: limits and an ordered list of stages with parameters.",
		"type":        "object",
		"$defs":       defs,
		"properties": map[string]any{
			"name":     line("the policy's name; without it the file's"),
			"about":    line("one sentence"),
			"source":   line("product and version, and where it is written down"),
			"date":     map[string]any{"type": "string", "format": "date", "description": "of the source, YYYY-MM-DD"},
			"truth":    map[string]any{"enum": truth, "description": "what stands behind the policy"},
			"extends":  line("a built-in policy or a file, relative to this one, whose values hold where this one gives none"),
			"recorded": map[string]any{"type": "boolean", "description": "what the client really did, instead of stages"},
			windowKey:  anyOf(ref(windowKey), map[string]any{"type": "null"}),
			cacheKey:   anyOf(ref(cacheKey), map[string]any{"type": "null"}),
			"stages": map[string]any{
				"type":        "array",
				"description": "the stages in the order they run; with extends they replace the other policy's",
				"items": anyOf(
					map[string]any{"enum": stageNames},
					map[string]any{
						"type": "object", "minProperties": 1, "maxProperties": 1,
						"properties": stages, "additionalProperties": false,
					},
				),
			},
			"set": map[string]any{
				"type":        "object",
				"description": "single parameters, as stage.param: value; applied last",
				"properties":  set, "additionalProperties": false,
			},
		},
		"additionalProperties": false,
		"anyOf": []any{
			map[string]any{"required": []any{"stages"}},
			map[string]any{"required": []any{"extends"}},
			map[string]any{"required": []any{"recorded"}},
		},
	}
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil { // plain maps can always be written
		return nil
	}
	return append(data, '\n')
}

func ref(path ...string) map[string]any {
	s := "#/$defs"
	for _, p := range path {
		s += "/" + p
	}
	return map[string]any{"$ref": s}
}

func anyOf(schemas ...any) map[string]any { return map[string]any{"anyOf": schemas} }

// schema is the JSON Schema of one parameter.
func (f field) schema() map[string]any {
	s := schemaOf(f.v.Type(), &f.Param)
	s["description"] = f.Doc
	if f.Unit != "" {
		s["description"] = f.Doc + " (" + f.Unit + ")"
	}
	if x, err := plain(encode(f.v, &f.Param)); err == nil {
		s["default"] = x
	}
	return s
}

func schemaOf(t reflect.Type, p *Param) map[string]any {
	if isValue(t) {
		_, s := reflect.New(t).Interface().(Value).ParamForm()
		return s
	}
	if t == durationType {
		return map[string]any{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(h|m|s|ms|us|ns))+$|^0$`}
	}
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Float64:
		s := map[string]any{"type": "number", "maximum": limitN, "minimum": -limitN}
		if t.Kind() == reflect.Int {
			s["type"] = "integer"
		}
		if f, err := strconv.ParseFloat(p.Min, 64); err == nil {
			s["minimum"] = f
		}
		if f, err := strconv.ParseFloat(p.Max, 64); err == nil {
			s["maximum"] = f
		}
		if p.Zero != "" {
			return anyOf(s, map[string]any{"const": p.Zero})
		}
		return s
	case reflect.Pointer:
		return anyOf(schemaOf(t.Elem(), p), map[string]any{"enum": []any{p.None, nil}})
	case reflect.Slice:
		e := schemaOf(t.Elem(), p)
		return anyOf(map[string]any{"type": "array", "items": e, "uniqueItems": true}, e)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": anyOf(
			map[string]any{"type": "integer", "minimum": 0, "maximum": limitN},
			map[string]any{"enum": []any{none, nil}},
		)}
	}
	if len(p.Enum) > 0 {
		var words []any
		for _, w := range p.Enum {
			words = append(words, w)
		}
		return map[string]any{"enum": words}
	}
	return map[string]any{"type": []any{"string", "number"}}
}
