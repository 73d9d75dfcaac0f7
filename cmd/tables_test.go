package cmd

import (
	"fmt"
	"testing"

	"github.com/ctxkit/ctxkit/report"
	"github.com/ctxkit/ctxkit/report/golden"
	"github.com/ctxkit/ctxkit/report/parquet"
)

const tablesIntro = `<!-- Generated from the columns by go generate ./cmd; do not edit. -->

# Exported tables

` + "`ctxkit export INPUT... -o FOLDER`" + ` writes these tables as Parquet files. [fleet.md](fleet.md) shows queries.

- Every figure is exact and that of the JSON output: whole numbers are BIGINT, amounts DECIMAL to a billionth of a dollar.
  What JSON leaves out or gives as null is null. An amount of a billion dollars or more is null, and counted in a warning.
- Times are in UTC, to a microsecond. Texts are UTF-8; a byte that is not becomes U+FFFD.
- ` + "`file` and `agent`" + ` name a conversation, with ` + "`policy`" + ` a replay: ` + "`JOIN ... USING (file, agent, policy)`" + `.
- Rows have the order of the inputs, and the same inputs give the same bytes at any ` + "`--jobs`" + `. A row group ends at 32,768
  rows.
- All tables of a folder are of one run. Where it was killed while it replaced older ones, some are missing.
- No text of the transcript is in any column but ` + "`title`" + `, which ` + "`--no-text`" + ` leaves out. Paths, the names of
  repositories, and what a program that is a stage gives as its ` + "`reason`" + ` stay. To pass tables on, export sessions that
  ` + "`ctxkit anonymize`" + ` wrote.
- The ` + "`schema`" + ` in each file's metadata is ` + "`" + report.ExportSchema + "`" + `. Columns may be added to it; none is renamed or removed.
- Lists that replays have as JSON, such as the targets of an event, are not in the tables: ` + "`ctxkit replay -f json`" + ` prints them.
`

// TestReferenceTables compares docs/tables.md with the columns. With -update it writes it.
func TestReferenceTables(t *testing.T) {
	page := tablesIntro
	for _, table := range report.ExportTables() {
		page += fmt.Sprintf("\n## %s.parquet\n\n%s\n\n| column | type | null | what it says |\n|---|---|---|---|\n", table.Name, table.About)
		for _, c := range table.Columns {
			if c.About == "" {
				t.Errorf("%s.%s: nothing says what it is", table.Name, c.Name)
			}
			null := ""
			if c.Optional {
				null = "yes"
			}
			page += fmt.Sprintf("| `%s` | %s | %s | %s |\n", c.Name, sqlType(&c.Column), null, c.About)
		}
	}
	golden.Check(t, "../docs/tables.md", []byte(page))
}

// sqlType is the name of a column's type in SQL.
func sqlType(c *parquet.Column) string {
	if c.Kind == parquet.Decimal {
		return fmt.Sprintf("DECIMAL(%d,%d)", parquet.Precision, c.Places)
	}
	return [...]string{parquet.Int: "BIGINT", parquet.Double: "DOUBLE", parquet.Bool: "BOOLEAN", parquet.Text: "VARCHAR", parquet.Time: "TIMESTAMPTZ"}[c.Kind]
}
