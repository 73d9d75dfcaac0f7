package cmd

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/report/golden"
)

// public are the packages that others build on. What they export is in docs/api.txt, and docs/library.md says what of it
// changes when. All other packages are details.
var public = []string{
	"jsonl", "jsonl/foreign", "jsonl/lint", "jsonl/memo", "jsonl/session",
	"policy", "policy/condition", "policy/preset", "policy/stage", "policy/strict", "policy/view",
	"replay", "replay/cache", "replay/category", "replay/compare", "replay/exact", "replay/interval", "replay/price", "replay/regret", "replay/tokens",
	"replay/trace", "replay/wire",
}

// TestReferenceAPI compares what the public packages export with docs/api.txt, which -update rewrites: a change of it is
// a change for everybody who builds on them.
func TestReferenceAPI(t *testing.T) {
	fset, byDir := sources(t)
	var lines []string
	for _, dir := range public {
		a := api{fset: fset, pkg: dir}
		for _, f := range byDir[dir] {
			a.imports = map[string]string{}
			for _, imp := range f.Imports {
				path, _ := strconv.Unquote(imp.Path.Value)
				if own, ok := strings.CutPrefix(path, module+"/"); ok {
					name := own[strings.LastIndexByte(own, '/')+1:]
					if imp.Name != nil {
						name = imp.Name.Name
					}
					a.imports[name] = own
				}
			}
			for _, d := range f.Decls {
				a.declaration(d)
			}
		}
		if len(a.lines) == 0 {
			t.Errorf("%s is public and exports nothing", dir)
		}
		for other, at := range a.needs {
			if !slices.Contains(public, other) {
				t.Errorf("%s: %s exports a type of %s, which is no public package", at, dir, other)
			}
		}
		slices.Sort(a.lines)
		lines = append(lines, a.lines...)
	}
	golden.Check(t, filepath.Join("..", "docs", "api.txt"), []byte(strings.Join(lines, "\n")+"\n"))
}

// api lists what a package exports, one symbol a line.
type api struct {
	fset    *token.FileSet
	pkg     string
	imports map[string]string // of the file: by name, the packages of this module
	lines   []string
	needs   map[string]token.Position // packages whose types are exported
}

func (a *api) add(format string, args ...any) {
	a.lines = append(a.lines, a.pkg+": "+fmt.Sprintf(format, args...))
}

// text is the Go code of a node on one line.
func (a *api) text(n ast.Node) string {
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && a.imports[x.Name] != "" {
				if a.needs == nil {
					a.needs = map[string]token.Position{}
				}
				a.needs[a.imports[x.Name]] = a.fset.Position(n.Pos())
			}
		}
		return true
	})
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		panic(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func (a *api) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		a.function(d)
	case *ast.GenDecl:
		kind := ast.Expr(nil) // of a constant without its own
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					a.typ(s)
				}
			case *ast.ValueSpec:
				if s.Type != nil || len(s.Values) > 0 {
					kind = s.Type
				}
				for _, name := range s.Names {
					if !name.IsExported() {
						continue
					}
					what := d.Tok.String() + " " + name.Name
					if kind != nil {
						what += " " + a.text(kind)
					}
					a.add("%s", what)
				}
			}
		}
	}
}

func (a *api) function(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	signature := strings.TrimPrefix(a.text(d.Type), "func")
	if d.Recv == nil {
		a.add("func %s%s", d.Name.Name, signature)
		return
	}
	if of := d.Recv.List[0].Type; ast.IsExported(strings.TrimPrefix(a.text(of), "*")) {
		a.add("method (%s) %s%s", a.text(of), d.Name.Name, signature)
	}
}

func (a *api) typ(s *ast.TypeSpec) {
	name := s.Name.Name
	if s.TypeParams != nil {
		name += "[" + a.fields(s.TypeParams) + "]"
	}
	switch t := s.Type.(type) {
	case *ast.StructType:
		a.add("type %s struct", name)
		for _, f := range t.Fields.List {
			for _, n := range f.Names {
				if n.IsExported() {
					a.add("field %s.%s %s", s.Name.Name, n.Name, a.text(f.Type))
				}
			}
			if len(f.Names) == 0 {
				if of := a.text(f.Type); ast.IsExported(of[strings.LastIndexAny(of, "*.")+1:]) {
					a.add("field %s embeds %s", s.Name.Name, of)
				}
			}
		}
	case *ast.InterfaceType:
		a.add("type %s interface", name)
		for _, f := range t.Methods.List {
			if len(f.Names) == 0 {
				a.add("field %s embeds %s", s.Name.Name, a.text(f.Type))
			}
			for _, n := range f.Names {
				a.add("method %s.%s%s", s.Name.Name, n.Name, strings.TrimPrefix(a.text(f.Type), "func"))
			}
		}
	default:
		is := " "
		if s.Assign.IsValid() {
			is = " = "
		}
		a.add("type %s%s%s", name, is, a.text(s.Type))
	}
}

func (a *api) fields(l *ast.FieldList) string {
	var list []string
	for _, f := range l.List {
		for _, n := range f.Names {
			list = append(list, n.Name+" "+a.text(f.Type))
		}
	}
	return strings.Join(list, ", ")
}
