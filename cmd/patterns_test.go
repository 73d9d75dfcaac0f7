package cmd

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestPatterns compiles the regular expressions of the program, which it compiles itself where one is first used, and
// holds that no variable of a package is one that is compiled at the start.
func TestPatterns(t *testing.T) {
	fset, byDir := sources(t)
	found := 0
	for pkg, files := range byDir {
		if strings.HasPrefix(pkg, "scripts") {
			continue
		}
		constants := map[string]ast.Expr{}
		each := func(do func(s *ast.ValueSpec, tok token.Token)) {
			for _, f := range files {
				for _, d := range f.Decls {
					if d, ok := d.(*ast.GenDecl); ok && (d.Tok == token.CONST || d.Tok == token.VAR) {
						for _, s := range d.Specs {
							do(s.(*ast.ValueSpec), d.Tok)
						}
					}
				}
			}
		}
		each(func(s *ast.ValueSpec, tok token.Token) {
			for i, v := range s.Values {
				if tok == token.CONST {
					constants[s.Names[i].Name] = v
				}
			}
		})
		each(func(s *ast.ValueSpec, _ token.Token) {
			for _, v := range s.Values {
				call, ok := v.(*ast.CallExpr)
				switch {
				case !ok:
				case calls(call, "regexp", "MustCompile"):
					t.Errorf("%s: compiled at each start: use pattern.New", fset.Position(v.Pos()))
				case calls(call, "pattern", "New"):
					found++
					if expr, ok := constantText(call.Args[0], constants); !ok {
						t.Errorf("%s: no constant text", fset.Position(v.Pos()))
					} else if _, err := regexp.Compile(expr); err != nil {
						t.Errorf("%s: %v", fset.Position(v.Pos()), err)
					}
				}
			}
		})
	}
	if found < 40 {
		t.Errorf("only %d patterns found", found)
	}
}

func calls(call *ast.CallExpr, pkg, name string) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// constantText is the value of an expression of literals and of a package's constants.
func constantText(e ast.Expr, constants map[string]ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.Ident:
		return constantText(constants[e.Name], constants)
	case *ast.BinaryExpr:
		x, okX := constantText(e.X, constants)
		y, okY := constantText(e.Y, constants)
		return x + y, okX && okY
	}
	return "", false
}
