package policy

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/policy/condition"
	"github.com/ctxkit/ctxkit/policy/strict"
)

const (
	numbersKey = "numbers"
	whenKey    = "when"
)

// When is the key "when" of a stage in a policy file: the condition under which the stage may act.
type When struct {
	Expression Expression `yaml:"when" doc:"condition under which the stage may act, such as cold || used > 0.8; without it, it always may (docs/writing-a-policy.md, \"Conditions\")"`

	Condition *condition.Condition `yaml:"-"` // the parsed expression; nil: none
	start     Position             `yaml:"-"` // of the expression's first character, zero where that is unknown
}

// Expression is the text of a condition; "": there is no condition.
type Expression string

// DecodeParam reads an expression from YAML. The values true and false and plain numbers are expressions, too.
func (e *Expression) DecodeParam(plain any) error {
	switch x := plain.(type) {
	case nil:
		*e = ""
	case string:
		*e = Expression(x)
	case bool:
		*e = Expression(strconv.FormatBool(x))
	case int, float64:
		*e = Expression(fmt.Sprint(x))
	default:
		return &Error{Msg: "not a condition", Hint: "write an expression, such as cold || used > 0.8"}
	}
	return nil
}

// EncodeParam returns the YAML value that Marshal writes.
func (e *Expression) EncodeParam() any {
	switch *e {
	case "true", "false":
		return *e == "true"
	}
	return string(*e)
}

// ParamForm returns how to write a value, in words and as a JSON Schema.
func (e *Expression) ParamForm() (string, map[string]any) {
	return "an expression, such as cold || used > 0.8", strict.AnyOf(map[string]any{"type": "string"}, map[string]any{"type": "boolean"}, map[string]any{"type": "null"})
}

// fields are those of a stage next to its parameters.
func (w *When) fields() []strict.Field {
	fields, _ := strict.Fields(w)
	return fields
}

// place notes where the expression begins in a file, which is after an opening quote.
func (w *When) place(file string, n *strict.Node) {
	w.start = strict.At(file, n)
	switch n.Style &^ yaml.TaggedStyle {
	case yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle:
		w.start.Column++
	case yaml.LiteralStyle, yaml.FoldedStyle:
		w.start = Position{}
	}
}

// Number is a named number in a policy, for use in conditions.
type Number struct {
	Name  string
	Value float64
}

// numberFields are the numbers as parameters of a block.
func numberFields(list []Number) (fields []strict.Field) {
	for i := range list {
		p := strict.Param{Name: list[i].Name, Type: "a number", Doc: "a number of the policy's conditions"}
		fields = append(fields, strict.Field{Param: p, Ref: reflect.ValueOf(&list[i].Value).Elem()})
	}
	return fields
}

// number adds a named number where there is none of that name.
func (p *Policy) number(name string) {
	if !slices.ContainsFunc(p.Numbers, func(n Number) bool { return n.Name == name }) {
		p.Numbers = append(p.Numbers, Number{Name: name})
	}
}

// numbers reads the block of that name. Its numbers are added to those of the extended policy.
func (d *decoder) numbers(n *strict.Node, p *Policy) {
	variables := condition.Variables()
	for _, kv := range d.Map(n, numbersKey, "write {NAME: NUMBER}") {
		key := numbersKey + "." + kv.Key
		switch {
		case !strict.IsName(kv.Key) || slices.Contains(strings.Fields("and or not in let if else true false nil matches contains"), kv.Key):
			d.Report(kv.At, "numbers: "+strict.Quote(kv.Key)+" is no name for a number", "use snake_case")
			continue
		case slices.ContainsFunc(variables, func(v condition.Variable) bool { return v.Name == kv.Key }):
			d.Report(kv.At, "numbers: "+strict.Quote(kv.Key)+" is a variable of conditions", "take another name")
			continue
		}
		p.number(kv.Key)
		fields := numberFields(p.Numbers)
		f, _ := strict.Find(fields, kv.Key)
		d.Found(key, strict.At(d.File, kv.Value))
		d.Value(kv.Value, f, key)
	}
}

// conditions reads the expressions of all stages with the policy's numbers.
func (p *Policy) conditions() (errs Errors) {
	numbers := map[string]float64{}
	for _, n := range p.Numbers {
		numbers[n.Name] = n.Value
	}
	for i := range p.Stages {
		w := &p.Stages[i].When
		key := p.Stages[i].Definition.Name + "." + whenKey
		if w.Condition = nil; w.Expression == "" {
			continue
		}
		c, err := condition.Compile(string(w.Expression), numbers)
		if err == nil && c.NeedsEdits() && p.Stages[i].Definition.Program != "" {
			err = &Error{Msg: "tokens_freed and payback follow from what the stage proposes, and a program cannot take back an answer", Hint: "use other variables"}
		}
		if err == nil {
			w.Condition = c
			continue
		}
		at := p.Position(key)
		own := &Error{}
		if errors.As(err, &own) {
			msg := key + ": " + own.Msg
			switch {
			case own.Line == 0:
			case w.start.Line > 0 && own.Line == 1:
				at = w.start
				at.Column += own.Column - 1
			case own.Line > 1:
				msg += fmt.Sprintf(" (line %d, column %d of the condition)", own.Line, own.Column)
			case own.Column > 1 && w.start.Line == 0:
				msg += fmt.Sprintf(" (column %d of the condition)", own.Column)
			}
			errs = append(errs, &Error{Position: at, Msg: msg, Hint: own.Hint})
			continue
		}
		errs.Add(at, key, err)
	}
	return errs
}

// condition looks at the condition of a stage.
func (l *linter) condition(s *StageConfig) {
	c := s.When.Condition
	key := s.Definition.Name + "." + whenKey
	if c == nil {
		return
	}
	if value, ok := c.Decided(); ok && value {
		l.add(RuleCondition, key, "leave it out", "it always holds")
	} else if ok {
		l.add(RuleCondition, key, "leave out the stage, or mind the units of the variables: used is a share, 0.8 and not 80", "it never holds")
	}
	if _, server := s.Params.(ServerEdit); server {
		l.add(RuleCondition, key, "leave it out, or use a stage of the client", "the server carries the stage out, at each request that asks for it: it knows no such condition")
	}
	if s.Definition.Moments&(Prepare|Project) != 0 {
		return
	}
	for _, name := range []string{"cold", "idle", "turn_start"} {
		if c.Uses(name) {
			l.add(RuleCondition, key, "use a stage that runs before requests, or leave "+name+" out",
				"the stage runs at: %s, right after a response; %s says nothing there", s.Definition.Moments.String(), name)
		}
	}
}
