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

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// methods are the methods of a type in a folder, by name, with their files.
func methods(t *testing.T, folder, of string) map[string]string {
	t.Helper()
	paths := must.Glob(t, 1, folder, "*.go")
	found := map[string]string{}
	for _, path := range paths {
		f := must.Get(parser.ParseFile(token.NewFileSet(), path, nil, 0))(t)
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
	f := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t)
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

// TestRequestPath holds that a request goes from the walk to its row by these steps, each in the file that its name says, and
// through at most ten files, those that docs/internals/architecture.md lists, in this order. It reads the calls in
// Engine.Request; what the steps call is not read, but for applyAll.
func TestRequestPath(t *testing.T) {
	const folder = "replay/internal/"
	path := []struct{ step, file string }{
		{"openRequest", "engine/request.go"},
		{"manualStages", "engine/stages.go"},
		{"recordedEdits", "engine/recorded.go"},
		{"estimateRequest", "engine/estimate.go"},
		{"requestStages", "engine/stages.go"},
		{"weighRequest", "engine/request.go"},
		{"account.MainRequest", "account/request.go"},
		{"refuse", "engine/refuse.go"},
		{"observe", "engine/observe.go"},
		{"checkRequest", "engine/check.go"},
		{"closeRequest", "engine/request.go"},
	}
	own, accounts := methods(t, ".", "Engine"), methods(t, "../account", "Account")
	fileOf := func(call string) string {
		if name, ok := strings.CutPrefix(call, "account."); ok {
			return "account/" + accounts[name]
		}
		return "engine/" + own[call]
	}
	steps := slices.DeleteFunc(callsOf(t, "request.go", "Request"), func(call string) bool { return call == "fail" })
	order := []string{folder + "record/walk.go", folder + "engine/request.go"} // by the first step in each
	pass := func(file string) {
		if !slices.Contains(order, folder+file) {
			order = append(order, folder+file)
		}
	}
	for i, p := range path {
		if i >= len(steps) || steps[i] != p.step {
			t.Fatalf("the steps of a request are %q, step %d of the table is %s", steps, i+1, p.step)
		}
		if file := fileOf(p.step); file != p.file {
			t.Errorf("the step %s is in %s, and should be in %s", p.step, file, p.file)
		}
		pass(p.file)
		if name, ok := strings.CutPrefix(p.file, "engine/"); ok && slices.Contains(callsOf(t, name, ""), "applyAll") {
			pass(fileOf("applyAll"))
		}
	}
	if len(steps) > len(path) {
		t.Errorf("these steps of a request are not in the table: %q", steps[len(path):])
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\d+\\. `(replay/internal/[^`]*)`").FindAllStringSubmatch(architecture(t), -1) {
		listed = append(listed, m[1])
	}
	if len(listed) > 10 {
		t.Errorf("%d files are listed", len(listed))
	}
	must.Equal(t, order, listed)
}

// architecture is the page.
func architecture(t *testing.T) string {
	t.Helper()
	page := must.Get(os.ReadFile("../../../docs/internals/architecture.md"))(t)
	return string(page)
}

// TestFilesNamed holds that the paragraph of each of the four packages in docs/internals/architecture.md names all its files,
// and that every file that the page names is there.
func TestFilesNamed(t *testing.T) {
	page := architecture(t)
	named := regexp.MustCompile("`([a-z_/]+\\.go)`")
	_, inside, _ := strings.Cut(page, "## Inside replay")
	inside, _, _ = strings.Cut(inside, "## ")
	must.Rows(t, `
replay  | ../..
record  | ../record
account | ../account
engine  | .
`, func(name, folder string) {
		_, text, _ := strings.Cut(inside, "\n- **"+name+"**")
		text, _, _ = strings.Cut(text, "\n- **")
		var listed, there []string
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			listed = append(listed, m[1])
		}
		paths, _ := filepath.Glob(filepath.Join(folder, "*.go"))
		for _, path := range paths {
			if file := filepath.Base(path); !strings.HasSuffix(file, "_test.go") {
				there = append(there, file)
			}
		}
		slices.Sort(listed)
		if listed = slices.Compact(listed); !slices.Equal(listed, there) {
			t.Errorf("the files of %s are %q, the page names %q", name, there, listed)
		}
	})
	rest := strings.Replace(page, inside, "", 1)
	for _, m := range named.FindAllStringSubmatch(rest, -1) {
		if !slices.ContainsFunc([]string{"../../..", ".."}, func(folder string) bool {
			_, err := os.Stat(filepath.Join(folder, m[1]))
			return err == nil
		}) {
			t.Errorf("the page names %s, which is not there", m[1])
		}
	}
}

// TestSizes holds that the engine has few fields, and the files of replay and its internal packages few lines.
func TestSizes(t *testing.T) {
	if n := reflect.TypeFor[Engine]().NumField(); n > 25 {
		t.Errorf("the engine has %d fields", n)
	}
	for _, pattern := range []string{"../../*.go", "../*/*.go"} {
		paths := must.Glob(t, 1, pattern)
		for _, path := range paths {
			text := must.Get(os.ReadFile(path))(t)
			if n := bytes.Count(text, []byte("\n")); n > 400 && !strings.HasSuffix(path, "_test.go") {
				t.Errorf("%s has %d lines", path, n)
			}
		}
	}
}
