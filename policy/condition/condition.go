// Package condition reads the conditions of policy files: expressions over documented variables that say whether a
// stage may act, such as "cold || used > 0.8".
//
// An expression has the variables of [Situation], the named numbers of its policy, numbers, true and false, + - * /,
// comparisons, and, or, not. It has no loops, calls, texts or lists: its evaluation takes a bounded time.
// Numbers are floating point. A division by zero is infinite, 0/0 is not a number, and every comparison with that but !=
// is false.
package condition

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// The longest expression, in bytes, and the most parts of one.
const (
	maxLength = 1000
	maxNodes  = 200
)

// Condition is a checked expression. It is immutable.
type Condition struct {
	program *vm.Program
	uses    map[string]bool // variables and numbers
	edits   bool
	decided bool
	value   bool
}

// Compile checks an expression. numbers are the policy's named numbers. The error is a [strict.Error] whose position is
// within the expression.
func Compile(text string, numbers map[string]float64) (*Condition, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, refuse(1, 1, "the condition is empty", "write an expression, such as cold || used > 0.8, or leave it out")
	case len(text) > maxLength:
		return nil, refuse(1, 1, fmt.Sprintf("the condition has %d bytes", len(text)), fmt.Sprintf("make it %d or less", maxLength))
	}
	r := &reader{text: text, numbers: numbers, variables: Variables(), uses: map[string]bool{}}
	program, err := expr.Compile(text, expr.Env(&Situation{}), expr.AsBool(), expr.DisableAllBuiltins(), expr.MaxNodes(maxNodes), expr.Patch(r))
	if r.err != nil {
		return nil, r.err
	}
	if err != nil {
		return nil, worded(text, err)
	}
	c := &Condition{program: program, uses: r.uses}
	for _, v := range r.variables {
		c.edits = c.edits || v.Edits && r.uses[v.Name]
	}
	c.value = r.whole.truth
	c.decided = r.whole.known
	return c, nil
}

func refuse(line, column int, msg, hint string) error {
	return &strict.Error{Position: strict.Position{Line: line, Column: column}, Msg: msg, Hint: hint}
}

// tokenName is a token in an error of the library.
var tokenName = pattern.New(`(?:Operator|Identifier|Bracket|Number|String|Bytes)\((".*")\)`)

// typeName is a type, or the end of the text, in an error of the library.
var typeName = pattern.New(`\b(?:float64|int|bool|(?:token )?EOF)\b`)

// worded is an error of the library on a text in the words of policy files.
func worded(text string, err error) error {
	var at *file.Error
	if !errors.As(err, &at) {
		msg := err.Error()
		if strings.HasPrefix(msg, "expected bool") {
			return refuse(1, 1, "the condition is a number", "compare it, such as tokens > 100000")
		}
		return refuse(1, 1, msg, "")
	}
	msg := typeName().ReplaceAllStringFunc(at.Message, func(name string) string {
		switch name {
		case "float64", "int":
			return "number"
		case "bool":
			return "boolean"
		}
		return "end"
	})
	hint := ""
	switch {
	case strings.Contains(at.Message, "exceeds maximum allowed nodes"):
		msg = fmt.Sprintf("the condition has more than %d parts", maxNodes)
		hint = "make it shorter"
	case strings.Contains(at.Message, "mismatched types"), strings.Contains(at.Message, "invalid operation"):
		hint = "compare numbers with numbers, and join conditions by and, or, not"
	case strings.Contains(at.Message, `Operator("=")`):
		hint = "write == for a comparison; cold and turn_start need none"
	case strings.Contains(at.Message, "number syntax"), strings.Contains(at.Message, `Operator(",")`):
		hint = "write a number like 100000 or 0.8, without a unit and commas"
	case strings.Contains(text, "%"):
		hint = "write a share like 0.8"
	case strings.Contains(at.Message, "EOF"):
		hint = "close what is open, and end with a variable or a number"
	case strings.Contains(at.Message, "unexpected token"):
		hint = "write it like cold || used > 0.8"
	}
	msg = tokenName().ReplaceAllString(msg, "$1")
	return refuse(max(at.Line, 1), at.Column+1, msg, hint)
}

// Uses reports whether the condition names a variable or a number.
func (c *Condition) Uses(name string) bool { return c.uses[name] }

// Names lists the variables and numbers that the condition names, sorted.
func (c *Condition) Names() []string { return slices.Sorted(maps.Keys(c.uses)) }

// NeedsEdits reports whether the condition's value follows from what the stage proposes to do.
func (c *Condition) NeedsEdits() bool { return c.edits }

// Decided reports whether the condition has one value whatever happens, as far as its constants and the usual ranges of
// its variables show.
func (c *Condition) Decided() (value, ok bool) { return c.value, c.decided }

// Test evaluates a condition again and again, with other values. It is used by one goroutine.
type Test struct {
	*Condition
	Situation
	machine vm.VM
}

// Test is ready to evaluate the condition.
func (c *Condition) Test() *Test { return &Test{Condition: c} }

// Holds evaluates the condition with the values of t.
func (t *Test) Holds() (bool, error) {
	value, err := t.machine.Run(t.program, &t.Situation)
	if err != nil {
		return false, err
	}
	holds, _ := value.(bool) // Compile asks for one
	return holds, nil
}

// reader checks the parts of an expression, innermost first, puts the values of named numbers in their place, and finds
// what is known of the result.
type reader struct {
	text      string
	numbers   map[string]float64
	variables []Variable
	uses      map[string]bool
	found     map[ast.Node]known
	whole     known // of the last part visited, which is the outermost
	err       error
	at        int
}

// operators are those that conditions have.
func operators() []string {
	return strings.Fields("+ - * / < <= > >= == != && || and or ! not")
}

// Visit checks one part.
func (r *reader) Visit(node *ast.Node) {
	if r.found == nil {
		r.found = map[ast.Node]known{}
	}
	var is known
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		is = r.identifier(node, n.Value)
	case *ast.IntegerNode:
		r.number(node, float64(n.Value))
		is = exactly(float64(n.Value))
	case *ast.FloatNode:
		is = exactly(n.Value)
	case *ast.BoolNode:
		is = known{known: true, truth: n.Value}
	case *ast.UnaryNode:
		r.operator(n, n.Operator)
		is = unary(n.Operator, r.found[n.Node])
	case *ast.BinaryNode:
		r.operator(n, n.Operator)
		is = binary(n.Operator, r.found[n.Left], r.found[n.Right])
	case *ast.StringNode, *ast.BytesNode:
		r.refuse(n, "a text has no place in a condition", "compare numbers, and use cold and turn_start as they are")
	case *ast.CallNode, *ast.BuiltinNode:
		r.refuse(n, "a function has no place in a condition", "use + - * / and comparisons, joined by and, or, not")
	default:
		r.refuse(n, "this has no place in a condition", "use variables, numbers, + - * /, comparisons, and, or, not")
	}
	r.found[*node] = is
	r.whole = is
}

func (r *reader) number(node *ast.Node, x float64) {
	at := (*node).Location()
	*node = &ast.FloatNode{Value: x}
	(*node).SetLocation(at)
}

func (r *reader) identifier(node *ast.Node, name string) known {
	r.uses[name] = true
	if x, ok := r.numbers[name]; ok {
		r.number(node, x)
		return exactly(x)
	}
	names := slices.Sorted(maps.Keys(r.numbers))
	for _, v := range r.variables {
		if v.Name == name {
			return v.range_()
		}
		names = append(names, v.Name)
	}
	r.refuse(*node, "unknown variable "+strict.Quote(name), strict.Suggest(name, names))
	return known{}
}

func (r *reader) operator(n ast.Node, op string) {
	if !slices.Contains(operators(), op) {
		r.refuse(n, op+" has no place in a condition", "use + - * /, comparisons, and, or, not")
	}
}

// refuse notes the first error in the text; of two at one place that of the outer part.
func (r *reader) refuse(n ast.Node, msg, hint string) {
	at := n.Location().From
	if r.err != nil && r.at < at {
		return
	}
	line := 1
	column := 1
	for i, c := range []rune(r.text) {
		if i == at {
			break
		}
		if column++; c == '\n' {
			line += 1
			column = 1
		}
	}
	r.err = refuse(line, column, msg, hint)
	r.at = at
}
