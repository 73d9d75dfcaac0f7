package cmd

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestMoneyIsInteger holds that no floating-point number enters where costs are computed, compared or judged: their
// last digit depends on the processor. Decimal.Float is for pictures and narrow columns;
// the intervals of replay/interval are rounded to a tenth of a percent.
func TestMoneyIsInteger(t *testing.T) {
	_, byDir := sources(t)
	for _, dir := range strings.Fields("replay/price replay/cache replay/exact replay/compare replay/check") {
		if len(byDir[dir]) == 0 {
			t.Errorf("no package %s", dir)
		}
		for _, f := range byDir[dir] {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "Float" && dir == "replay/exact" {
					continue
				}
				ast.Inspect(d, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && slices.Contains(strings.Fields("float32 float64 ParseFloat"), id.Name) {
						t.Errorf("%s: %s in package %s", f.Name.Name, id.Name, dir)
					}
					if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Float" {
						t.Errorf("%s: a figure as a float in package %s", f.Name.Name, dir)
					}
					return true
				})
			}
		}
	}
}
