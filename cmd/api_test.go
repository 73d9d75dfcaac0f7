package cmd

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/report/golden"
)

// public are the packages that others build on. What they export is in docs/api.txt, and docs/library.md says what of it
// changes when.
var public = strings.Fields("jsonl/session policy policy/preset policy/stage replay replay/price replay/wire")

// shown are packages whose types the public ones show. All others are details.
var shown = []string{"jsonl", "jsonl/database", "jsonl/foreign", "jsonl/memo", "policy/condition", "policy/strict", "policy/view",
	"replay/bill", "replay/cache", "replay/category", "replay/exact", "replay/regret", "replay/tokens", "replay/trace"}

// TestReferenceAPI compares what the public packages export with docs/api.txt, which -update rewrites: a change of it is
// a change for everybody who builds on them. Each function, method and type has its
// lines of at most 120 columns: a struct has its fields there, and the constants of a type are together.
func TestReferenceAPI(t *testing.T) {
	fset, byDir := sources(t)
	var lines []string
	for _, dir := range public {
		a := api{fset: fset, constants: map[string][]string{}, inside: map[string]map[string]string{}, needs: map[string]token.Position{}}
		a.files(byDir[dir])
		for _, inside := range slices.Sorted(maps.Keys(a.inside)) {
			a.only = a.inside[inside]
			a.files(byDir[inside])
		}
		if len(a.lines) == 0 {
			t.Errorf("%s is public and exports nothing", dir)
		}
		for other, at := range a.needs {
			if !slices.Contains(public, other) && !slices.Contains(shown, other) {
				t.Errorf("%s: %s exports a type of %s, which is a detail", at, dir, other)
			}
		}
		for kind, names := range a.constants {
			a.add("const %s", join(names, kind))
		}
		slices.Sort(a.lines)
		lines = append(append(lines, "package "+dir), a.lines...)
	}
	golden.Check(t, "../docs/api.txt", []byte(strings.Join(lines, "\n")+"\n"))
}

// api lists what a package exports.
type api struct {
	fset      *token.FileSet
	imports   map[string]string // of the file: by name, the packages of this module
	lines     []string
	constants map[string][]string       // by type
	needs     map[string]token.Position // packages whose types are exported

	inside map[string]map[string]string // by internal package: its types that the package has an alias of, and that
	only   map[string]string            // of an internal package: these types alone
}

// files lists what the files of a package export.
func (a *api) files(list []*ast.File) {
	for _, f := range list {
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
}

// name is the name that an exported type has for those outside; ok is false where it has none.
func (a *api) name(of string) (name string, ok bool) {
	if a.only == nil {
		return of, ast.IsExported(of)
	}
	name, ok = a.only[of]
	return name, ok
}

// internal are the names of internal packages before those of their types, which have aliases.
var internal = regexp.MustCompile(`\b(account|engine|record)\.`)

func (a *api) add(format string, args ...any) {
	a.lines = append(a.lines, wrapped(fmt.Sprintf(format, args...)))
}

// text is the Go code of a node on one line.
func (a *api) text(n ast.Node) string {
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && a.imports[x.Name] != "" && !strings.Contains(a.imports[x.Name], "/internal/") {
				a.needs[a.imports[x.Name]] = a.fset.Position(n.Pos())
			}
		}
		return true
	})
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		panic(err)
	}
	return internal.ReplaceAllString(strings.Join(strings.Fields(b.String()), " "), "")
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
				if name, ok := a.name(s.Name.Name); ok {
					a.typ(s, name)
				}
			case *ast.ValueSpec:
				if a.only != nil {
					continue
				}
				if s.Type != nil || len(s.Values) > 0 {
					kind = s.Type
				}
				of := ""
				if kind != nil {
					of = a.text(kind)
				}
				for _, name := range s.Names {
					if name.IsExported() && d.Tok == token.CONST {
						a.constants[of] = append(a.constants[of], name.Name)
					} else if name.IsExported() {
						a.add("var %s %s", name.Name, of)
					}
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
	if d.Recv == nil && a.only != nil {
		return
	}
	if d.Recv == nil {
		a.add("func %s%s", d.Name.Name, signature)
		return
	}
	of, pointer := strings.CutPrefix(a.text(d.Recv.List[0].Type), "*")
	if name, ok := a.name(of); ok {
		if pointer {
			name = "*" + name
		}
		a.add("method (%s) %s%s", name, d.Name.Name, signature)
	}
}

func (a *api) typ(s *ast.TypeSpec, public string) {
	name := public
	if s.TypeParams != nil {
		name += "[" + a.fields(s.TypeParams) + "]"
	}
	switch t := s.Type.(type) {
	case *ast.StructType:
		byType := map[string][]string{}
		var embedded []string
		for _, f := range t.Fields.List {
			of := a.text(f.Type)
			for _, n := range f.Names {
				if n.IsExported() {
					byType[of] = append(byType[of], n.Name)
				}
			}
			if len(f.Names) == 0 && ast.IsExported(of[strings.LastIndexAny(of, "*.")+1:]) {
				embedded = append(embedded, of)
			}
		}
		for _, of := range slices.Sorted(maps.Keys(byType)) {
			embedded = append(embedded, join(byType[of], of))
		}
		a.add("type %s struct { %s }", name, strings.Join(embedded, "; "))
	case *ast.InterfaceType:
		a.add("type %s interface", name)
		for _, f := range t.Methods.List {
			if len(f.Names) == 0 {
				a.add("method %s.%s", public, a.text(f.Type))
			}
			for _, n := range f.Names {
				a.add("method %s.%s%s", public, n.Name, strings.TrimPrefix(a.text(f.Type), "func"))
			}
		}
	default:
		if to, ok := t.(*ast.SelectorExpr); ok && s.Assign.IsValid() {
			if path := a.imports[to.X.(*ast.Ident).Name]; strings.Contains(path, "/internal/") {
				if a.inside[path] == nil {
					a.inside[path] = map[string]string{}
				}
				a.inside[path][to.Sel.Name] = public
				return
			}
		}
		is := " "
		if s.Assign.IsValid() {
			is = " = "
		}
		a.add("type %s%s%s", name, is, a.text(s.Type))
	}
}

// join lists names of one type, as Go does: "a, b int".
func join(names []string, of string) string {
	slices.Sort(names)
	return strings.TrimSpace(strings.Join(names, ", ") + " " + of)
}

// wrapped is a text on lines of 120 columns, all but the first indented.
func wrapped(text string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		if column += 1 + len(word); column > 120 {
			b.WriteString("\n   ")
			column = 4 + len(word)
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return b.String()
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
