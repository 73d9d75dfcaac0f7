package policy

import (
	"fmt"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// TriggerType is what a server-side edit counts before it runs.
type TriggerType string

const (
	TriggerInputTokens TriggerType = "input_tokens" // tokens of the prompt
	TriggerToolUses    TriggerType = "tool_uses"    // tool_use blocks
)

// Trigger is the number of input tokens or tool uses above which an edit by the server runs.
type Trigger struct {
	Type  TriggerType
	Value int
}

// String returns the trigger in the form that it has in a policy file.
func (t Trigger) String() string { return fmt.Sprintf("%s: %d", t.Type, t.Value) }

// DecodeParam reads {type: T, value: N} or T: N, where T is a TriggerType.
func (t *Trigger) DecodeParam(plain any) error {
	const hint = "write {input_tokens: 100000} or {tool_uses: 50}"
	m, ok := plain.(map[string]any)
	if !ok {
		return &Error{Msg: "not a trigger", Hint: hint}
	}
	var kind, value any
	if len(m) == 1 {
		for k, v := range m {
			kind = k
			value = v
		}
	} else if kind, value = m["type"], m["value"]; len(m) != 2 || kind == nil || value == nil {
		return &Error{Msg: "a trigger has a type and a value", Hint: hint}
	}
	k, ok := kind.(string)
	if !ok || TriggerType(k) != TriggerInputTokens && TriggerType(k) != TriggerToolUses {
		return &Error{Msg: "unknown trigger type " + strict.Quote(fmt.Sprint(kind)), Hint: hint}
	}
	n, ok := countOf(value, TriggerType(k))
	if !ok || n < 1 {
		return &Error{Msg: strict.Quote(fmt.Sprint(value)) + " is not a trigger value", Hint: "give a whole number of 1 or more"}
	}
	*t = Trigger{TriggerType(k), n}
	return nil
}

// EncodeParam returns the YAML value that Marshal writes.
func (t *Trigger) EncodeParam() any { return map[string]any{string(t.Type): t.Value} }

// ParamForm returns how to write a value, in words and as a JSON Schema.
func (t *Trigger) ParamForm() (string, map[string]any) {
	var forms []any
	for _, kind := range []TriggerType{TriggerInputTokens, TriggerToolUses} {
		forms = append(forms, object(map[string]any{string(kind): countForm(kind, 1)}, string(kind)),
			object(map[string]any{"type": map[string]any{"const": string(kind)}, "value": countForm(kind, 1)}, "type", "value"))
	}
	return "input_tokens: N or tool_uses: N", map[string]any{"oneOf": forms}
}

// object is the JSON Schema of a map with the required properties and no others.
func object(properties map[string]any, required ...any) map[string]any {
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// InputTokens is a number of input tokens; 0: none. In YAML it is a plain number or has the form that the API uses.
type InputTokens int

// ToolUses is a number of tool uses. In YAML it is a plain number or has the form that the API uses.
type ToolUses int

// DecodeParam reads N, none, {input_tokens: N} or {type: input_tokens, value: N}.
func (n *InputTokens) DecodeParam(plain any) error {
	if plain == strict.None {
		*n = 0
		return nil
	}
	return decodeAmount((*int)(n), plain, TriggerInputTokens)
}

// EncodeParam returns the YAML value that Marshal writes.
func (n *InputTokens) EncodeParam() any {
	if *n == 0 {
		return strict.None
	}
	return int(*n)
}

// ParamForm returns how to write a value, in words and as a JSON Schema.
func (n *InputTokens) ParamForm() (string, map[string]any) {
	return amountWords(TriggerInputTokens), n.SchemaFrom(0)
}

// SchemaFrom returns the JSON Schema of the values from the given number on. If that is 0, the word none is also a
// value.
func (n *InputTokens) SchemaFrom(least int) map[string]any {
	if least > 0 {
		return amountSchema(TriggerInputTokens, least)
	}
	return amountSchema(TriggerInputTokens, least, map[string]any{"const": strict.None})
}

// DecodeParam reads N, {tool_uses: N} or {type: tool_uses, value: N}.
func (n *ToolUses) DecodeParam(plain any) error {
	return decodeAmount((*int)(n), plain, TriggerToolUses)
}

// EncodeParam returns the YAML value that Marshal writes.
func (n *ToolUses) EncodeParam() any { return int(*n) }

// ParamForm returns how to write a value, in words and as a JSON Schema.
func (n *ToolUses) ParamForm() (string, map[string]any) {
	return amountWords(TriggerToolUses), n.SchemaFrom(0)
}

// SchemaFrom returns the JSON Schema of the values from the given number on.
func (n *ToolUses) SchemaFrom(least int) map[string]any { return amountSchema(TriggerToolUses, least) }

// decodeAmount reads a plain number, or one that names what it counts.
func decodeAmount(to *int, plain any, kind TriggerType) error {
	hint := fmt.Sprintf("write a whole number, or {type: %s, value: N}", kind)
	value := plain
	if m, ok := plain.(map[string]any); ok {
		short, isShort := m[string(kind)]
		long, isLong := m["value"]
		switch {
		case isShort && len(m) == 1:
			value = short
		case isLong && len(m) == 2 && m["type"] == string(kind):
			value = long
		default:
			return &Error{Msg: "not a number of " + string(kind), Hint: hint}
		}
	}
	n, ok := countOf(value, kind)
	if !ok {
		return &Error{Msg: strict.Quote(fmt.Sprint(value)) + " is not a whole number", Hint: hint}
	}
	if n < 0 {
		return &Error{Msg: fmt.Sprintf("%d is out of range", n), Hint: "give 0 or more"}
	}
	*to = n
	return nil
}

// countOf is a plain value that counts what kind says. Tokens may be written as 40k.
func countOf(plain any, kind TriggerType) (int, bool) {
	if n, ok := plain.(int); ok || kind != TriggerInputTokens {
		return n, ok
	}
	return strict.PlainCount(plain)
}

// countForm is the JSON Schema of such a count.
func countForm(kind TriggerType, least int) map[string]any {
	s := map[string]any{"type": "integer", "minimum": least, "maximum": strict.MaxNumber}
	if kind == TriggerInputTokens {
		return strict.CountSchema(s)
	}
	return s
}

func amountWords(kind TriggerType) string {
	return fmt.Sprintf("a whole number, or {type: %s, value: N}", kind)
}

// amountSchema admits an amount in its forms, and more.
func amountSchema(kind TriggerType, least int, more ...any) map[string]any {
	count := countForm(kind, least)
	forms := []any{
		count,
		object(map[string]any{string(kind): count}, string(kind)),
		object(map[string]any{"type": map[string]any{"const": string(kind)}, "value": count}, "type", "value"),
	}
	return map[string]any{"oneOf": append(forms, more...)}
}

// ServerEdit is implemented by the parameters of stages that the server carries out.
type ServerEdit interface {
	// ServerEdit returns a value whose JSON is an element of the request's context_management.edits. first is true if
	// the API accepts this edit only as the first element.
	ServerEdit() (edit any, first bool)
}
