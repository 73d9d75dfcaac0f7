package engine

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// methods are the methods of a type in a folder, by name, with their files.
func methods(t *testing.T, folder, of string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %d files, %v", folder, len(paths), err)
	}
	found := map[string]string{}
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				if star, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok && star.X.(*ast.Ident).Name == of {
					found[fn.Name.Name] = filepath.Base(path)
				}
			}
		}
	}
	return found
}

// callsOf are the methods of the engine, and those of its account as "account.NAME", that a function of a file calls, in
// order; of all its functions where none is named.
func callsOf(t *testing.T, file, function string) (calls []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || function != "" && fn.Name.Name != function {
			continue
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch x := s.X.(type) {
			case *ast.Ident:
				if x.Name == "e" {
					calls = append(calls, s.Sel.Name)
				}
			case *ast.SelectorExpr:
				if x.Sel.Name == "account" {
					calls = append(calls, "account."+s.Sel.Name)
				}
			}
			return true
		})
	}
	return calls
}

// TestRequestPath holds that a request goes from the walk to its row through at most ten files, those that
// docs/internals/architecture.md lists, in this order, and that each step is in the file that its name says.
func TestRequestPath(t *testing.T) {
	const engine, account = "replay/internal/engine/", "replay/internal/account/"
	own, accounts := methods(t, ".", "Engine"), methods(t, "../account", "Account")
	fileOf := func(call string) string {
		if name, ok := strings.CutPrefix(call, "account."); ok {
			return account + accounts[name]
		}
		return engine + own[call]
	}
	steps := slices.DeleteFunc(callsOf(t, "request.go", "Request"), func(call string) bool { return call == "fail" })
	if len(steps) < 9 || len(steps) > 12 {
		t.Errorf("a request has %d steps: %q", len(steps), steps)
	}
	passed := []string{"replay/internal/record/walk.go"}
	for _, step := range steps {
		file := fileOf(step)
		if stem := strings.TrimSuffix(filepath.Base(file), ".go"); !strings.Contains(strings.ToLower(step), stem) {
			t.Errorf("the step %s is in %s: its name says another file", step, file)
		}
		passed = append(passed, file)
		if strings.HasPrefix(file, engine) && slices.Contains(callsOf(t, filepath.Base(file), ""), "applyAll") {
			passed = append(passed, fileOf("applyAll"))
		}
	}
	var order []string // by the first step in each
	for _, file := range passed {
		if !slices.Contains(order, file) {
			order = append(order, file)
		}
	}
	page, err := os.ReadFile("../../../docs/internals/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\d+\\. `(replay/internal/[^`]*)`").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, m[1])
	}
	if len(listed) > 10 {
		t.Errorf("%d files are listed", len(listed))
	}
	if !slices.Equal(order, listed) {
		t.Errorf("a request passes %q, architecture.md lists %q", order, listed)
	}
}

// TestSizes holds that the engine has few fields, and the files of replay and its internal packages few lines.
func TestSizes(t *testing.T) {
	if n := reflect.TypeFor[Engine]().NumField(); n > 25 {
		t.Errorf("the engine has %d fields", n)
	}
	for _, pattern := range []string{"../../*.go", "../*/*.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(text, []byte("\n")); n > 400 && !strings.HasSuffix(path, "_test.go") {
				t.Errorf("%s has %d lines", path, n)
			}
		}
	}
}
