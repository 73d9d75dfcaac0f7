package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// allHeads are the heads of the tables of all reports.
func allHeads() []TableHead {
	return slices.Concat(ReplayTables, CompareTables, CostTables, RegretTables, StatsTables, SweepTables, ThresholdTables, PriceTables, SessionTables,
		PolicyTables, FindingTables, ChangeTables, LintTables, CheckTables, BacktestTables, DiffTables, AnonymizeTables)
}

// TestColumnsExplained holds that every column that people read says what it holds.
func TestColumnsExplained(t *testing.T) {
	for _, head := range allHeads() {
		if len(head.Columns()) == 0 || head.Name == "" {
			t.Errorf("%q has no columns", head.Name)
		}
		for _, c := range head.Columns() {
			if c[1] == "" || strings.HasSuffix(c[1], ".") || strings.Contains(c[1], "\n") {
				t.Errorf("%s: %s: %q does not explain it in a line without a period", head.Name, c[0], c[1])
			}
		}
	}
}

// TestColumnsDeclared holds that columns with a title are declared in columns.go and nowhere else, and that help has
// every list of them: a variable that no head contains is found.
func TestColumnsDeclared(t *testing.T) {
	fset := token.NewFileSet()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	declared, used := map[string]bool{}, map[string]bool{}
	for _, entry := range files {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || name != "columns.go" {
				continue
			}
			for _, spec := range gen.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok {
					continue
				}
				for _, id := range v.Names {
					declared[id.Name] = declared[id.Name] || strings.HasSuffix(id.Name, "Columns")
					if strings.HasSuffix(id.Name, "Tables") {
						ast.Inspect(v, func(n ast.Node) bool {
							if id, ok := n.(*ast.Ident); ok {
								used[id.Name] = true
							}
							return true
						})
					}
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			kv, ok := n.(*ast.KeyValueExpr)
			if !ok || name == "columns.go" {
				return true
			}
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Drop" {
				t.Errorf("%s: a column is declared outside of columns.go", fset.Position(kv.Pos()))
			}
			return true
		})
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || name == "columns.go" {
				return true
			}
			id, one := lit.Type.(*ast.Ident)
			list, many := lit.Type.(*ast.ArrayType)
			if many {
				id, one = list.Elt.(*ast.Ident)
			}
			if one && id.Name == "column" && len(lit.Elts) > 0 {
				ast.Inspect(lit, func(n ast.Node) bool {
					if kv, ok := n.(*ast.KeyValueExpr); ok && kv.Key.(*ast.Ident).Name == "Title" {
						t.Errorf("%s: a column with a title is declared outside of columns.go", fset.Position(kv.Pos()))
					}
					return true
				})
			}
			return true
		})
	}
	for name, columns := range declared {
		if columns && !used[name] && name != "sourceColumns" { // a column of Markdown alone
			t.Errorf("%s: no head for help contains it", name)
		}
	}
	if len(declared) < 20 {
		t.Fatalf("only %d lists of columns", len(declared))
	}
}
