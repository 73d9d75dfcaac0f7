package cmd

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/report/golden"
)

// TestAgentsTable holds the table of docs/agents.md against what the readers declare. -update rewrites it.
func TestAgentsTable(t *testing.T) {
	reg := must.Get(stage.Registry())(t)
	presets := preset.New(reg)
	var table strings.Builder
	table.WriteString("| agent | where | what is read | as recorded | estimated | policies |\n|---|---|---|---|---|---|\n")
	row := func(f *foreign.Form, where string) {
		policies := []string{}
		for _, r := range presets.Releases(f.Name) {
			policies = append(policies, "`"+r.Policy+"`")
		}
		if len(policies) > 3 {
			policies = append([]string{policies[0], "…"}, policies[len(policies)-1])
		}
		if f.Declared.Reads == "" || f.Declared.Exact == "" {
			t.Errorf("%s declares nothing", f.Name)
		}
		cell := func(s string) string {
			if s == "" {
				return "–"
			}
			return s
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s | %s |\n", f.Client, where, f.Declared.Reads, f.Declared.Exact, cell(f.Declared.Estimated), cell(strings.Join(policies, " ")))
	}
	row(&foreign.Form{Name: session.Product, Client: "Claude Code", Declared: foreign.Declared{
		Reads: "session files, with subagents and offloaded results", Exact: "tokens of each request, compactions; since 2.1.282 the requests themselves", Estimated: "see below",
	}}, "`~/.claude/projects`")
	for _, f := range session.Forms() {
		var places []string
		for _, below := range append([]string{f.Store.Folder}, f.Store.Databases...) {
			switch {
			case below == "" || len(f.Store.Databases) > 0 && strings.Contains(below, "storage"):
			case f.Store.Home == "":
				places = append(places, "`PROJECT/"+below+"`")
			default:
				places = append(places, "`~/"+f.Store.Home+"/"+below+"`")
			}
		}
		row(&f, strings.Join(places, ", "))
	}
	path := "../docs/agents.md"
	doc := must.Get(os.ReadFile(path))(t)
	const begin, end = "<!-- the readers' declarations: go test ./cmd -run TestAgentsTable -update -->\n", "<!-- end of the declarations -->\n"
	before, rest, ok := bytes.Cut(doc, []byte(begin))
	_, after, more := bytes.Cut(rest, []byte(end))
	if !ok || !more {
		t.Fatalf("%s has no place for the table", path)
	}
	golden.Check(t, path, []byte(string(before)+begin+table.String()+end+string(after)))
}
