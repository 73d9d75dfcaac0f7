package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const stages = "policy/stage"

// sourceMutant is a stage's source with one thing changed.
type sourceMutant struct {
	file     string // in stages
	line     int
	from, to string // of the changed place
	rule     string
	start    int // bytes
	end      int
}

func (m sourceMutant) name() string {
	return fmt.Sprintf("%s:%d: %s: `%s` -> `%s`", m.file, m.line, m.rule, oneLine(m.from), oneLine(m.to))
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

// sourceMutants lists every mutation of the stages' code: operators exchanged,
// whole numbers one more, one less and doubled, negations taken away, loops
// over slices turned round. Which of them compile is found out by building.
func sourceMutants(root string) ([]sourceMutant, error) {
	dir := filepath.Join(root, filepath.FromSlash(stages))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []sourceMutant
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || name == "registry_gen.go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		found, err := mutationsOf(name, text)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

func mutationsOf(name string, text []byte) ([]sourceMutant, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var list []sourceMutant
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	add := func(start, end token.Pos, rule, to string) {
		list = append(list, sourceMutant{
			file: name, line: fset.Position(start).Line, rule: rule, start: at(start), end: at(end),
			from: string(text[at(start):at(end)]), to: to,
		})
	}
	operator := func(pos token.Pos, op token.Token) {
		for _, to := range exchanges[op] {
			add(pos, pos+token.Pos(len(op.String())), "operator", to.String())
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok == token.CONST || n.Tok == token.VAR
		case *ast.BinaryExpr:
			operator(n.OpPos, n.Op)
		case *ast.AssignStmt:
			operator(n.TokPos, n.Tok)
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				add(n.OpPos, n.OpPos+1, "negation", "")
			}
		case *ast.BasicLit:
			if x, err := strconv.ParseInt(n.Value, 0, 64); n.Kind == token.INT && err == nil {
				for _, y := range []int64{x + 1, x - 1, 2 * x} {
					if y != x {
						add(n.Pos(), n.End(), "constant", "("+strconv.FormatInt(y, 10)+")")
					}
				}
			}
		case *ast.RangeStmt:
			x := string(text[at(n.X.Pos()):at(n.X.End())])
			add(n.X.Pos(), n.X.End(), "order", "mutated.Backward("+x+")")
		}
		return true
	})
	return list, nil
}

// apply is the source with the mutation in it.
func (m sourceMutant) apply(text []byte) []byte {
	out := slices.Concat(text[:m.start], []byte(m.to), text[m.end:])
	if m.rule != "order" {
		return out
	}
	// The import stands on the package's line, so that no line moves.
	i := bytes.Index(out, []byte("\npackage stage\n")) + len("\npackage stage")
	if bytes.HasPrefix(out, []byte("package stage\n")) {
		i = len("package stage")
	}
	return slices.Concat(out[:i], []byte(`; import mutated "slices"`), out[i:])
}

// sample takes n of the mutants, the same ones in the same order each time: by
// a hash of what they change, so that the first of them are a sample as well.
func sample(list []sourceMutant, n int) []sourceMutant {
	rank := func(m sourceMutant) string {
		h := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %s %d", m.file, m.rule, m.from, m.to, m.start))
		return string(h[:])
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b sourceMutant) int { return strings.Compare(rank(a), rank(b)) })
	if n > 0 && n < len(list) {
		list = list[:n]
	}
	return list
}

var (
	errNoMutant = errors.New("it does not compile")
	errStopped  = errors.New("the replay stops")
)

// builder builds mutated programs in a folder of its own.
type builder struct {
	root, dir string
}

// probe builds the program with the mutation in it and has it print what every
// case comes to. errNoMutant: it does not compile; errStopped: it panics, says
// that its result contradicts itself, or does not end.
func (b *builder) probe(m sourceMutant) ([]byte, error) {
	path, err := filepath.Abs(filepath.Join(b.root, filepath.FromSlash(stages), m.file))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	mutated := filepath.Join(b.dir, "mutated.go")
	overlay := filepath.Join(b.dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.WriteFile(mutated, m.apply(text), 0o644), os.WriteFile(overlay, list, 0o644)); err != nil {
		return nil, err
	}
	exe := filepath.Join(b.dir, "probe")
	build := exec.Command("go", "build", "-overlay", overlay, "-ldflags", "-s -w", "-o", exe, "./scripts/mutate")
	build.Dir = b.root
	if out, err := build.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("policy/stage")) {
			return nil, errNoMutant
		}
		return nil, fmt.Errorf("building: %w: %s", err, out)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	run := exec.CommandContext(ctx, exe, "-probe")
	run.Dir = b.root
	run.Env = append(os.Environ(), "GOMEMLIMIT=1GiB")
	out, err := run.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errStopped, err)
	}
	return out, nil
}
