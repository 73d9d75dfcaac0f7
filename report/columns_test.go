package report

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
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

// TestColumnsDeclared holds that columns.go alone, but for exported tables, has row types with titles, and that help has every one of them.
func TestColumnsDeclared(t *testing.T) {
	files := must.Get(filepath.Glob("*.go"))(t)
	rows, help := 0, ""
	for _, name := range files {
		text := must.Get(os.ReadFile(name))(t)
		if name == "columns.go" {
			help, _, _ = strings.Cut(string(text), "\n)\n\n// replay")
			for _, row := range regexp.MustCompile(`(?m)^type (\w+Cells) struct`).FindAllStringSubmatch(string(text), -1) {
				rows++
				in := regexp.MustCompile(`\[` + row[1] + `\]|\n\t` + row[1] + `\n`) // a head, or a part of another row
				if row[1] != "sourcedCells" && !in.MatchString(help) && !in.Match(text) {
					t.Errorf("%s: no head for help contains it", row[1])
				}
			}
		} else if name != "export_columns.go" && !strings.HasSuffix(name, "_test.go") && regexp.MustCompile("`[^`]*\\bcol:\"|Title: *\"[^}]*Drop:").Match(text) {
			t.Errorf("%s: a column is declared outside of columns.go", name)
		}
	}
	if rows < 20 || help == "" {
		t.Fatalf("only %d row types", rows)
	}
}
