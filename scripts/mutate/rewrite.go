package main

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const stages = "policy/stage"

// mutant is one thing of a stage's source that is changed when it is switched
// on. Its number is its place in the list, from 1.
type mutant struct {
	file     string // in stages
	line     int
	rule     string
	from, to string
	site     int // number of the first mutant of its place
}

func (m mutant) name() string {
	one := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	return fmt.Sprintf("%s:%d: %s: `%s` -> `%s`", m.file, m.line, m.rule, one(m.from), one(m.to))
}

// exchanges are operators and what they are exchanged for.
var exchanges = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
}

// switches is added to the stages' package: which mutant is on, and which were
// come upon.
const switches = `package stage

import (
	"iter"
	"slices"
)

var (
	Mutant  int
	Reached = map[int]bool{}
)

func mutatedIs(first, n int) int {
	if Mutant == 0 {
		Reached[first] = true
	}
	if Mutant >= first && Mutant < first+n {
		return Mutant - first + 1
	}
	return 0
}

func mutatedNumber[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float64](first, n int, x T, others ...T) T {
	if k := mutatedIs(first, n); k > 0 {
		return others[k-1]
	}
	return x
}

func mutatedNot(first int, x bool) bool { return (mutatedIs(first, 1) > 0) == x }

func mutatedAll[S ~[]E, E any](first int, list S) iter.Seq2[int, E] {
	if mutatedIs(first, 1) > 0 {
		return slices.Backward(list)
	}
	return slices.All(list)
}
`

// rewriter puts every mutant of the package into its sources, each behind its
// switch: operators exchanged, whole numbers one more, one less and doubled,
// other numbers halved and doubled, negations taken away, loops over slices
// turned round. What has to be constant (declarations of constants, lengths of
// arrays) stays, and so do uses of numbers that the language takes for types of
// other kinds. A declared constant is changed wherever it is used as a number
// of its own.
type rewriter struct {
	fset  *token.FileSet
	info  *types.Info
	pkg   *types.Package
	text  []byte
	file  string
	list  []mutant
	names []string             // paths of the packages that the file imports
	heads map[ast.Node]bool    // statements in the head of another, where no block can stand
	named map[types.Object]int // number of the first mutant of a declared constant
}

// rewrite gives the sources with all mutants, by file name, and their list.
func rewrite(root string) (map[string]string, []mutant, error) {
	dir := filepath.Join(root, filepath.FromSlash(stages))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	r := &rewriter{fset: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}, named: map[types.Object]int{}}
	var files []*ast.File
	sources := map[string][]byte{}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, nil, err
		}
		f, err := parser.ParseFile(r.fset, filepath.Join(dir, name), text, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		files, sources[name] = append(files, f), text
	}
	conf := types.Config{Importer: importer.ForCompiler(r.fset, "source", nil)}
	if r.pkg, err = conf.Check("github.com/ctxkit/ctxkit/"+stages, r.fset, files, r.info); err != nil {
		return nil, nil, err
	}
	out := map[string]string{}
	for _, f := range files {
		name := filepath.Base(r.fset.Position(f.Pos()).Filename)
		if name == "registry_gen.go" {
			continue
		}
		r.file, r.text = name, sources[name]
		out[name] = r.source(f)
	}
	return out, r.list, nil
}

// source is one file with its mutants.
func (r *rewriter) source(f *ast.File) string {
	r.names, r.heads = nil, map[ast.Node]bool{}
	for _, imp := range f.Imports {
		path, _ := strconv.Unquote(imp.Path.Value)
		r.names = append(r.names, path)
	}
	var b strings.Builder
	b.Write(r.text[:r.at(f.Name.End())])
	last := f.Name.End()
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		b.Write(r.text[r.at(last):r.at(fn.Body.Pos())])
		b.WriteString(r.node(fn.Body))
		last = fn.Body.End()
	}
	b.Write(r.text[r.at(last):])
	return b.String()
}

func (r *rewriter) at(p token.Pos) int { return r.fset.Position(p).Offset }

func (r *rewriter) plain(n ast.Node) string { return string(r.text[r.at(n.Pos()):r.at(n.End())]) }

// add notes mutants of one place and gives the number of the first.
func (r *rewriter) add(n ast.Node, rule, from string, to ...string) int {
	first := len(r.list) + 1
	for _, t := range to {
		r.list = append(r.list, mutant{r.file, r.fset.Position(n.Pos()).Line, rule, from, t, first})
	}
	return first
}

// node is the text of a node with the mutants of what is in it.
func (r *rewriter) node(n ast.Node) string {
	if s, ok := r.mutated(n); ok {
		return s
	}
	return r.within(n)
}

// within is the text of a node that is no mutant itself, its children's taken
// from node.
func (r *rewriter) within(n ast.Node) string {
	var children []ast.Node
	ast.Inspect(n, func(c ast.Node) bool {
		if c == n || c == nil {
			return c == n
		}
		children = append(children, c)
		return false
	})
	slices.SortStableFunc(children, func(a, b ast.Node) int { return int(a.Pos() - b.Pos()) })
	var b strings.Builder
	last := n.Pos()
	for _, c := range children {
		if c.Pos() < last {
			continue
		}
		b.Write(r.text[r.at(last):r.at(c.Pos())])
		b.WriteString(r.node(c))
		last = c.End()
	}
	b.Write(r.text[r.at(last):r.at(n.End())])
	return b.String()
}

// mutated is the text of a node behind its switches; ok is false where it is
// no place for one.
func (r *rewriter) mutated(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.GenDecl:
		if n.Tok == token.CONST || n.Tok == token.TYPE {
			return r.plain(n), true
		}
	case *ast.ArrayType, *ast.StructType, *ast.FuncType:
		return r.plain(n), true
	case *ast.LabeledStmt: // a closure has no way to its label
		return r.plain(n), true
	case *ast.IfStmt:
		r.heads[n.Init] = true
	case *ast.SwitchStmt:
		r.heads[n.Init] = true
	case *ast.BasicLit:
		if n.Kind == token.INT || n.Kind == token.FLOAT {
			return r.number(n, n.Value, nil)
		}
	case *ast.Ident:
		if c, ok := r.info.Uses[n].(*types.Const); ok && c.Pkg() == r.pkg && c.Parent() == r.pkg.Scope() {
			return r.number(n, c.Val().String(), c)
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			first := r.add(n, "negation", r.plain(n), r.plain(n.X))
			return fmt.Sprintf("mutatedNot(%d, %s)", first, r.node(n.X)), true
		}
	case *ast.BinaryExpr:
		return r.binary(n)
	case *ast.AssignStmt:
		return r.assign(n)
	case *ast.ForStmt: // what comes after each round has to be simple
		s := r.within(&ast.BlockStmt{Lbrace: n.Body.Lbrace, List: n.Body.List, Rbrace: n.Body.Rbrace})
		head := string(r.text[r.at(n.Pos()):r.at(n.Body.Pos())])
		if n.Cond != nil {
			head = string(r.text[r.at(n.Pos()):r.at(n.Cond.Pos())]) + r.node(n.Cond) + string(r.text[r.at(n.Cond.End()):r.at(n.Body.Pos())])
		}
		return head + s, true
	case *ast.RangeStmt:
		if _, ok := r.info.Types[n.X].Type.Underlying().(*types.Slice); !ok {
			return "", false
		}
		first := r.add(n, "order", "range "+r.plain(n.X), "range slices.Backward("+r.plain(n.X)+")")
		return string(r.text[r.at(n.Pos()):r.at(n.X.Pos())]) + fmt.Sprintf("mutatedAll(%d, %s)", first, r.node(n.X)) + string(r.text[r.at(n.X.End()):r.at(n.Body.Pos())]) + r.node(n.Body), true
	}
	return "", false
}

// number is a number, written out or declared: value is what it is.
func (r *rewriter) number(n ast.Expr, value string, declared types.Object) (string, bool) {
	t, ok := r.typeName(n)
	basic, isBasic := r.info.Types[n].Type.Underlying().(*types.Basic)
	if !ok || !isBasic || basic.Info()&(types.IsInteger|types.IsFloat) == 0 || basic.Kind() == types.Uint || basic.Kind() == types.Uintptr || basic.Info()&types.IsUntyped != 0 {
		return r.plain(n), true
	}
	others := otherNumbers(value, basic.Info()&types.IsUnsigned == 0)
	if len(others) == 0 {
		return r.plain(n), true
	}
	first := r.named[declared]
	if first == 0 {
		first = r.add(n, "constant", r.plain(n), others...)
	}
	if declared != nil {
		r.named[declared] = first
	}
	return fmt.Sprintf("mutatedNumber[%s](%d, %d, %s, %s)", t, first, len(others), value, strings.Join(others, ", ")), true
}

// otherNumbers are what a number is changed to: a whole one to one more, one
// less and twice it, another to half and twice it.
func otherNumbers(value string, negative bool) []string {
	var others []string
	if x, err := strconv.ParseInt(value, 0, 64); err == nil {
		for _, y := range []int64{x + 1, x - 1, 2 * x} {
			if y != x && (y >= 0 || negative) {
				others = append(others, strconv.FormatInt(y, 10))
			}
		}
	} else if x, err := strconv.ParseFloat(value, 64); err == nil && x != 0 {
		for _, y := range []float64{x / 2, 2 * x} {
			others = append(others, strconv.FormatFloat(y, 'g', -1, 64))
		}
	}
	return others
}

// typeName writes the type of an expression as the file can.
func (r *rewriter) typeName(e ast.Expr) (string, bool) {
	ok := true
	name := types.TypeString(types.Default(r.info.Types[e].Type), func(p *types.Package) string {
		if p == r.pkg {
			return ""
		}
		ok = ok && slices.Contains(r.names, p.Path())
		return p.Name()
	})
	return name, ok && r.info.Types[e].Type != types.Typ[types.UntypedNil]
}

// binary is X op Y: both sides are worked out once, but for what && and || do
// not come to.
func (r *rewriter) binary(n *ast.BinaryExpr) (string, bool) {
	to := exchanges[n.Op]
	t, ok := r.typeName(n)
	if len(to) == 0 || !ok || r.info.Types[n].Value != nil || strings.Contains(t, "untyped") {
		if r.info.Types[n].Value != nil {
			return r.plain(n), true // a constant
		}
		return "", false
	}
	if basic, isBasic := r.info.Types[n].Type.Underlying().(*types.Basic); !isBasic || basic.Info()&types.IsString != 0 {
		return "", false
	}
	var words []string
	for _, op := range to {
		words = append(words, op.String())
	}
	first := r.add(n, "operator", r.plain(n), func() []string {
		var list []string
		for _, op := range words {
			list = append(list, r.plain(n.X)+" "+op+" "+r.plain(n.Y))
		}
		return list
	}()...)
	var b strings.Builder
	fmt.Fprintf(&b, "func() %s { ", t)
	x, y := "mutatedX", "mutatedY"
	if n.Op == token.LAND || n.Op == token.LOR {
		fmt.Fprintf(&b, "%s := %s; ", x, r.node(n.X))
		right := r.node(n.Y)
		fmt.Fprintf(&b, "if mutatedIs(%d, 1) > 0 { return bool(%s %s %s) }; return %s %s %s }()", first, x, to[0], r.plain(n.Y), x, n.Op, right)
		return b.String(), true
	}
	for _, side := range []struct {
		e    ast.Expr
		name *string
	}{{n.X, &x}, {n.Y, &y}} {
		name, ok := r.typeName(side.e)
		if !ok { // nil, or a type the file has no name for
			*side.name = r.plain(side.e)
			continue
		}
		fmt.Fprintf(&b, "var %s %s = %s; ", *side.name, name, r.node(side.e))
	}
	fmt.Fprintf(&b, "switch mutatedIs(%d, %d) { ", first, len(to))
	for i, op := range to {
		fmt.Fprintf(&b, "case %d: return %s %s %s; ", i+1, x, op, y)
	}
	fmt.Fprintf(&b, "}; return %s %s %s }()", x, n.Op, y)
	return b.String(), true
}

// assign is X += Y.
func (r *rewriter) assign(n *ast.AssignStmt) (string, bool) {
	to := exchanges[n.Tok]
	if len(to) == 0 || r.heads[n] {
		return "", false
	}
	if basic, ok := r.info.Types[n.Lhs[0]].Type.Underlying().(*types.Basic); !ok || basic.Info()&types.IsString != 0 {
		return "", false
	}
	first := r.add(n, "operator", r.plain(n), r.plain(n.Lhs[0])+" "+to[0].String()+" "+r.plain(n.Rhs[0]))
	left, right := r.plain(n.Lhs[0]), r.plain(n.Rhs[0])
	return fmt.Sprintf("if mutatedIs(%d, 1) > 0 { %s %s %s } else { %s %s %s }", first, left, to[0], right, left, n.Tok, r.node(n.Rhs[0])), true
}
