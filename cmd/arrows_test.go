package cmd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

const module = "github.com/ctxkit/ctxkit"

// arrows says what a package of this module may import of it: a package may import those below it and its own
// folder's. docs/internals/architecture.md draws them.
var arrows = listed(`
jsonl/scan:
jsonl: jsonl/scan
jsonl/names:
jsonl/database:
jsonl/foreign: jsonl jsonl/database jsonl/scan
jsonl/memo: jsonl
jsonl/requests: jsonl jsonl/scan
jsonl/pattern:
jsonl/internal/copilot: jsonl jsonl/foreign
jsonl/internal/gemini: jsonl jsonl/foreign jsonl/scan
jsonl/internal/pi: jsonl jsonl/foreign
jsonl/internal/cline: jsonl/foreign
jsonl/internal/codex: jsonl jsonl/foreign
jsonl/internal/kimi: jsonl jsonl/foreign
jsonl/internal/qwen: jsonl jsonl/foreign
jsonl/internal/tables: jsonl jsonl/database jsonl/foreign
jsonl/internal/opencode: jsonl jsonl/database jsonl/foreign jsonl/scan
jsonl/session: jsonl jsonl/database jsonl/foreign jsonl/scan jsonl/memo jsonl/internal/cline jsonl/internal/codex jsonl/internal/copilot jsonl/internal/gemini jsonl/internal/kimi jsonl/internal/opencode jsonl/pattern jsonl/internal/pi jsonl/internal/qwen jsonl/requests jsonl/internal/tables
jsonl/internal/outline: jsonl/must jsonl/session
jsonl/lint: jsonl jsonl/foreign jsonl/requests jsonl/session
jsonl/synth: jsonl jsonl/scan
jsonl/anonymize: jsonl jsonl/foreign jsonl/pattern jsonl/requests jsonl/scan
policy/strict: jsonl/pattern
policy/condition: jsonl/pattern policy/strict
policy: jsonl jsonl/session policy/condition policy/strict
policy/view: jsonl jsonl/session policy
policy/stage: policy policy/stage/...
policy/stage/stagetest: jsonl/must jsonl jsonl/pattern jsonl/session policy policy/stage/measure policy/view
policy/stage/...: jsonl jsonl/names jsonl/pattern jsonl/session policy policy/strict policy/stage/measure policy/stage/summarize
policy/preset: jsonl jsonl/session policy policy/strict
replay/internal/record: jsonl jsonl/session policy policy/stage policy/view replay/cache replay/exact replay/price replay/regret replay/tokens replay/wire
replay/bill: jsonl jsonl/session replay/cache replay/price
replay/internal/account: jsonl jsonl/session policy policy/view replay/bill replay/cache replay/price
replay/internal/engine: jsonl jsonl/session policy policy/condition policy/view replay/category replay/diff replay/internal/account replay/internal/record replay/price replay/tokens replay/trace replay/wire
replay: jsonl jsonl/session policy policy/preset policy/view replay/bill replay/cache replay/internal/account replay/internal/engine replay/internal/record replay/price replay/regret replay/tokens replay/trace replay/wire
replay/backtest: jsonl/session policy replay replay/bill replay/cache replay/price replay/tokens
replay/cache:
replay/category: jsonl jsonl/session policy policy/view
replay/check: policy policy/strict replay replay/compare replay/exact replay/interval replay/price
replay/compare: jsonl/session policy policy/preset replay replay/bill replay/exact replay/interval replay/price replay/regret
replay/diff: jsonl jsonl/session policy policy/view
replay/exact: jsonl/pattern
replay/interval: replay/exact
replay/payloads: jsonl jsonl/pattern jsonl/requests jsonl/scan jsonl/session policy policy/view replay replay/wire
replay/predict: policy replay replay/exact replay/interval
replay/price: jsonl/pattern policy/strict replay/cache replay/exact
replay/regret: jsonl jsonl/pattern jsonl/scan jsonl/session policy replay/exact replay/price
replay/spend: jsonl/session replay replay/backtest replay/bill replay/cache replay/price
replay/stats: jsonl jsonl/requests jsonl/session policy policy/view replay replay/bill replay/category replay/price replay/spend replay/tokens
replay/sweep: policy policy/strict replay replay/compare replay/exact
replay/tokens: jsonl jsonl/session policy replay/exact replay/tokens/bpe
replay/tokens/bpe:
replay/trace: jsonl jsonl/session policy policy/view replay/category replay/diff
replay/why: jsonl jsonl/requests policy policy/view replay replay/backtest replay/bill replay/cache replay/price replay/spend replay/stats
replay/wire: jsonl jsonl/pattern jsonl/session policy policy/view replay/price
report: jsonl jsonl/anonymize jsonl/lint jsonl/pattern jsonl/requests jsonl/session policy policy/view replay replay/... report/parquet
report/parquet:
report/golden: jsonl/must
jsonl/must:
docs:
cmd: ...
cmd/internal/explore: jsonl/session policy policy/view replay replay/category replay/diff replay/trace report
.: cmd
scripts/...: ...
`)

// listed are the words behind each name in text: a line is NAME: WORDS.
func listed(text string) map[string][]string {
	lists := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		name, words, _ := strings.Cut(strings.TrimSpace(line), ":")
		lists[name] = strings.Fields(words)
	}
	return lists
}

// sources are the parsed Go files of the repository that are no tests, by folder.
func sources(t *testing.T) (*token.FileSet, map[string][]*ast.File) {
	t.Helper()
	p := must.Get(parsed())(t)
	if len(p.byDir) < 8 {
		t.Fatalf("only %d packages found", len(p.byDir))
	}
	return p.fset, p.byDir
}

type parsedFiles struct {
	fset  *token.FileSet
	byDir map[string][]*ast.File
}

var repository, _ = filepath.Abs("..") // tests change the folder

var parsed = sync.OnceValues(func() (parsedFiles, error) {
	p := parsedFiles{token.NewFileSet(), map[string][]*ast.File{}}
	return p, filepath.WalkDir(repository, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if n := e.Name(); path != repository && (strings.HasPrefix(n, ".") || strings.HasPrefix(n, "_") || n == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(p.fset, path, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(repository, filepath.Dir(path))
		dir := filepath.ToSlash(rel)
		p.byDir[dir] = append(p.byDir[dir], f)
		return err
	})
})

func matches(pattern, pkg string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "..."); ok {
		return strings.HasPrefix(pkg, prefix)
	}
	return pattern == pkg
}

// ruleOf is the key in arrows that is for a package, or "".
func ruleOf(pkg string) string {
	if _, ok := arrows[pkg]; ok {
		return pkg
	}
	for pattern := range arrows {
		if matches(pattern, pkg) {
			return pattern
		}
	}
	return ""
}

// TestArrows holds that imports point down only, and that each one that is named is needed.
func TestArrows(t *testing.T) {
	fset, byDir := sources(t)
	needed := map[string][]string{} // what the packages of a rule import
	for pkg, files := range byDir {
		rule := ruleOf(pkg)
		if rule == "" {
			t.Errorf("package %s has no place in the arrows: give it one here and in docs/internals/architecture.md", pkg)
			continue
		}
		list := arrows[rule]
		needed[rule] = append(needed[rule], "")
		for _, f := range files {
			for _, imp := range f.Imports {
				path, _ := strconv.Unquote(imp.Path.Value)
				to, own := strings.CutPrefix(path, module+"/")
				needed[rule] = append(needed[rule], to)
				inside := strings.HasPrefix(to, "replay/internal/") && pkg != "replay" && !strings.HasPrefix(pkg, "replay/internal/")
				if own && (inside || !slices.ContainsFunc(list, func(p string) bool { return matches(p, to) })) {
					t.Errorf("%s: %s may not import %s", fset.Position(imp.Pos()), pkg, to)
				}
			}
		}
	}
	for rule, list := range arrows {
		if needed[rule] == nil {
			t.Errorf("there is no package %s", rule)
		}
		for _, to := range list {
			if !slices.ContainsFunc(needed[rule], func(p string) bool { return matches(to, p) }) {
				t.Errorf("%s does not import %s any more", rule, to)
			}
		}
	}
}

// pure are the folders below cmd: nothing in them prints, exits, reads the clock, the environment or an argument, or
// draws lots.
var pure = strings.Fields("jsonl policy replay report")

// impure are the names that do so, by package.
var impure = listed(`
time: Now Since Until Sleep After Tick NewTimer NewTicker AfterFunc Local
os: Exit Getenv LookupEnv Environ ExpandEnv Stdin Stdout Stderr Args Getwd Hostname UserHomeDir UserCacheDir UserConfigDir Create CreateTemp MkdirTemp WriteFile Remove RemoveAll Rename Mkdir MkdirAll Chdir Setenv Getpid
fmt: Print Printf Println Scan Scanf Scanln
`)

// impurePackages may not be imported at all.
var impurePackages = strings.Fields("log log/slog flag os/exec os/signal net net/http math/rand math/rand/v2 crypto/rand unsafe syscall")

// exceptions are uses that are meant, each with its reason.
const exceptions = `
jsonl/synth math/rand/v2: seeded: the same options give the same bytes
policy/stage/stagetest math/rand/v2: for tests, seeded
jsonl/must os.Getenv: for tests
jsonl/memo os.MkdirAll: the cache, in the folder that cmd names
jsonl/memo os.CreateTemp: the cache, in the folder that cmd names
jsonl/memo os.Rename: the cache, in the folder that cmd names
jsonl/memo os.Remove: the cache, in the folder that cmd names
report/golden flag: test helper: the -update flag
report/golden os.WriteFile: test helper: rewrites goldens
report/golden os.MkdirAll: test helper: rewrites goldens
`

func TestNothingBelowCmdActs(t *testing.T) {
	fset, byDir := sources(t)
	used := map[string]bool{}
	report := func(pos token.Pos, pkg, what string) {
		if key := pkg + " " + what; strings.Contains(exceptions, "\n"+key+": ") {
			used[key] = true
			return
		}
		t.Errorf("%s: %s uses %s: only cmd may", fset.Position(pos), pkg, what)
	}
	for pkg, files := range byDir {
		if first, _, _ := strings.Cut(pkg, "/"); !slices.Contains(pure, first) {
			continue
		}
		for _, f := range files {
			names := map[string]string{} // local name -> package
			for _, imp := range f.Imports {
				path, _ := strconv.Unquote(imp.Path.Value)
				if slices.Contains(impurePackages, path) {
					report(imp.Pos(), pkg, path)
				}
				local := path[strings.LastIndexByte(path, '/')+1:]
				if imp.Name != nil {
					local = imp.Name.Name
				}
				names[local] = path
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && slices.Contains(impure[names[x.Name]], n.Sel.Name) {
						report(n.Pos(), pkg, x.Name+"."+n.Sel.Name)
					}
				case *ast.CallExpr:
					if x, ok := n.Fun.(*ast.Ident); ok && (x.Name == "print" || x.Name == "println") {
						report(n.Pos(), pkg, x.Name)
					}
				case *ast.FuncDecl:
					if n.Name.Name == "init" && n.Recv == nil {
						report(n.Pos(), pkg, "init")
					}
				}
				return true
			})
		}
	}
	for line := range strings.Lines(strings.TrimSpace(exceptions)) {
		if key, _, _ := strings.Cut(line, ": "); !used[key] {
			t.Errorf("the exception %q is not needed any more", key)
		}
	}
}

// starters are the files of the program that may start another one.
var starters = map[string]string{
	"program.go": "the program stage of a policy, with --allow-programs",
	"pager.go":   "the user's pager, with --pager or a configuration, on a terminal",
}

// TestNothingStartsPrograms holds that no command starts a program, but for the starters.
func TestNothingStartsPrograms(t *testing.T) {
	fset, byDir := sources(t)
	used := 0
	for pkg, files := range byDir {
		for _, f := range files {
			name := filepath.Base(fset.Position(f.Pos()).Filename)
			for _, imp := range f.Imports {
				if imp.Path.Value != `"os/exec"` || strings.HasPrefix(pkg, "scripts") {
					continue
				}
				if used++; pkg != "cmd" || starters[name] == "" && !strings.HasPrefix(name, "program_") {
					t.Errorf("%s can start programs", fset.Position(imp.Pos()))
				}
			}
		}
	}
	if used < len(starters) {
		t.Errorf("%d files can start programs: strike one from starters", used)
	}
}

// network are the packages of the standard library that can open a connection, or hold what such packages share.
var network = strings.Fields("net net/http net/rpc net/smtp net/textproto crypto/tls golang.org/x/net vendor/golang.org/x/net/http/httpguts")

// networkThrough are the packages outside of this module that pull one in and cannot be had without: what of it they
// use is named.
var networkThrough = map[string]string{
	"github.com/spf13/pflag": "net: flags whose values are IP addresses; nothing dials",
	"github.com/spf13/cobra": "net, through pflag",
}

// TestNoNetwork holds that no package of this module, and no dependency that could be left out, brings code that
// opens connections.
func TestNoNetwork(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "..").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	imports := map[string][]string{}
	standard := func(pkg string) bool { first, _, _ := strings.Cut(pkg, "/"); return !strings.Contains(first, ".") }
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		imports[fields[0]] = fields[1:]
	}
	if len(imports) < 50 {
		t.Fatalf("go list names %d packages", len(imports))
	}
	for pkg, list := range imports {
		for _, to := range list {
			if !standard(pkg) && slices.Contains(network, to) && networkThrough[pkg] == "" {
				t.Errorf("%s imports %s", pkg, to)
			}
		}
	}
	if _, ok := imports["net/http"]; ok {
		t.Error("net/http is part of the program")
	}
}

// TestNoVersionsInReplay holds that the replay knows no version of any product: what a client of a version does belongs
// to its family (policy.Recorder).
func TestNoVersionsInReplay(t *testing.T) {
	fset, byDir := sources(t)
	version := regexp.MustCompile(`\b\d+\.\d+\.\d+\b`)
	looked := 0
	for pkg, files := range byDir {
		if pkg != "replay" && !strings.HasPrefix(pkg, "replay/") {
			continue
		}
		for _, f := range files {
			looked++
			if name := filepath.Base(fset.Position(f.Pos()).Filename); pkg == "replay/cache" && name == "cache.go" {
				continue // the sizes of cached heads by version
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && version.MatchString(lit.Value) {
					t.Errorf("%s: %s: ask the client's family", fset.Position(lit.Pos()), lit.Value)
				}
				return true
			})
		}
	}
	if looked < 20 {
		t.Errorf("only %d files found", looked)
	}
}
