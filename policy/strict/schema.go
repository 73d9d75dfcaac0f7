package strict

import "strconv"

// AnyOf is a JSON Schema that admits what one of several schemas admits.
func AnyOf(schemas ...any) map[string]any { return map[string]any{"anyOf": schemas} }

// Object is the JSON Schema of a map of the fields.
func Object(about string, fields []Field) map[string]any {
	properties := map[string]any{}
	for _, f := range fields {
		properties[f.Name] = f.Schema()
	}
	return map[string]any{"type": "object", "description": about, "properties": properties, "additionalProperties": false}
}

// Schema is the JSON Schema of a field; its value is the default.
func (f Field) Schema() map[string]any {
	c, _ := codecOf(f.Ref.Type())
	s := c.schema(&f.Param)
	s["description"] = f.Doc
	if f.Unit != "" {
		s["description"] = f.Doc + " (" + f.Unit + ")"
	}
	s["default"] = plainOf(f.Ref, &f.Param)
	return s
}

func mapSchema(*Param) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": AnyOf(
		map[string]any{"type": "integer", "minimum": 0, "maximum": MaxNumber},
		map[string]any{"enum": []any{None, nil}},
	)}
}

func durationSchema(*Param) map[string]any {
	return map[string]any{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(h|m|s|ms|us|ns))+$|^0$`}
}

func numberSchema(kind string, p *Param) map[string]any {
	s := map[string]any{"type": kind, "maximum": MaxNumber, "minimum": -MaxNumber}
	if f, err := strconv.ParseFloat(p.Min, 64); err == nil {
		s["minimum"] = f
	}
	if f, err := strconv.ParseFloat(p.Max, 64); err == nil {
		s["maximum"] = f
	}
	if p.Zero != "" {
		return AnyOf(s, map[string]any{"const": p.Zero})
	}
	return s
}

func textSchema(p *Param) map[string]any {
	switch {
	case len(p.Enum) > 0:
		return map[string]any{"enum": p.Enum}
	case p.Form == "date":
		return map[string]any{"type": "string", "format": "date"}
	}
	return map[string]any{"type": []any{"string", "number"}}
}
