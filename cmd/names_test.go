package cmd

import (
	"go/ast"
	"go/token"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

// word is a name as it is written in a string: with dots, dashes and underscores.
var word = regexp.MustCompile(`[A-Za-z0-9_.@-]+`)

// TestNoStageIsNamed holds that nothing outside a family's folder knows a stage, a family or a policy by name, in a
// string or by a type: what is known of a stage is asked of its definition. Policy files, tests and documentation
// (help texts too) may, and so may readers of transcripts, which own a product's format.
func TestNoStageIsNamed(t *testing.T) {
	reg := must.Get(stage.Registry())(t)
	names := append(preset.New(reg).Known(), reg.Names()...)
	for _, f := range reg.Families() {
		names = append(names, f.Name)
	}
	// Words of the field that happen to be a policy, a stage or a family: none is a value, recorded the engine's own
	// track, summarize a kind of edit, program what a policy may start.
	names = slices.DeleteFunc(names, func(n string) bool {
		return slices.Contains(strings.Fields("none recorded generic mask summarize decay program"), n)
	})
	fset, byDir := sources(t)
	for dir, files := range byDir {
		if dir == "scripts/genprices" || dir == "scripts/genlimits" || dir == "scripts/gencatalogue" || // names of providers and packages
			dir == "scripts/bench" || dir == "scripts/findings" || dir == "scripts/kills" || dir == "scripts/mcp" || dir == "scripts/upstream" || dir == "scripts/lab" || dir == "scripts/lab/mock" || // policies and clients that they measure, suggest or play
			dir == "jsonl" || strings.HasPrefix(dir, "jsonl/") || slices.Contains(strings.Fields("policy/stage policy/stage/measure policy/stage/summarize policy/stage/stagetest"), dir) {
			continue
		}
		own := map[string]bool{} // names of the family whose folder it is
		for _, f := range reg.Families() {
			if dir == "policy/stage/"+f.Name {
				own[f.Name] = true
				for _, d := range f.Stages {
					own[d.Name] = true
				}
				for _, name := range preset.New(registryOf(t, f)).Known() {
					own[name] = true
				}
			}
		}
		for _, f := range files {
			if dir == "replay/price" && ast.IsGenerated(f) {
				continue // the price table, with its sources
			}
			for _, imp := range f.Imports {
				path, _ := strconv.Unquote(imp.Path.Value)
				if strings.HasPrefix(path, module+"/policy/stage/") && !strings.HasSuffix(path, "/measure") && !strings.HasSuffix(path, "/summarize") {
					t.Errorf("%s: %s imports a family: ask the stage's definition", fset.Position(imp.Pos()), dir)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.KeyValueExpr:
					if k, ok := n.Key.(*ast.Ident); ok && dir == "cmd" && (k.Name == "Example" || k.Name == "Long") {
						return false
					}
				case *ast.ValueSpec: // texts of help have names of their own
					for _, name := range n.Names {
						if dir == "cmd" && (strings.HasPrefix(name.Name, "example") || strings.HasPrefix(name.Name, "long")) {
							return false
						}
					}
				case *ast.BasicLit:
					if n.Kind != token.STRING {
						return true
					}
					text, _ := strconv.Unquote(n.Value)
					for _, w := range word.FindAllString(text, -1) {
						owner, _, _ := strings.Cut(strings.TrimRight(w, "."), ".")
						product, _, _ := strings.Cut(owner, "@")
						for _, s := range []string{strings.TrimRight(w, "."), owner, product} {
							model := (s == "claude" || s == "anthropic") && (dir == "replay/price" || dir == "replay/tokens" || strings.HasPrefix(dir, "policy/stage/")) // a model's name
							if slices.Contains(names, s) && !model && !own[s] {
								t.Errorf("%s: %s names %s: ask the stage's definition or the family", fset.Position(n.Pos()), dir, s)
								break
							}
						}
					}
				}
				return true
			})
		}
	}
}

// flagName is a flag as a person writes it.
var flagName = regexp.MustCompile(`(?:^|[^-\w])--([a-z][a-z-]*)`)

// TestNoFlagIsNamed holds that nothing below cmd knows a flag of the command line, in a text or in a comment: who builds on
// the packages has none. What to do about an error, in those terms, is in hints.go.
func TestNoFlagIsNamed(t *testing.T) {
	flags := map[string]bool{"help": true}
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(newRoot(newSystem(strings.NewReader(""), io.Discard, io.Discard)))
	if len(flags) < 40 {
		t.Fatalf("only %d flags found", len(flags))
	}
	fset, byDir := sources(t)
	for dir, files := range byDir {
		if first, _, _ := strings.Cut(dir, "/"); !slices.Contains(pure, first) || dir == "report/golden" {
			continue
		}
		check := func(pos token.Pos, text string) {
			for _, m := range flagName.FindAllStringSubmatch(text, -1) {
				if flags[m[1]] {
					t.Errorf("%s: %s names the flag --%s: let cmd say it", fset.Position(pos), dir, m[1])
				}
			}
		}
		for _, f := range files {
			for _, group := range f.Comments {
				for _, c := range group.List {
					check(c.Pos(), c.Text)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					check(lit.Pos(), lit.Value)
				}
				return true
			})
		}
	}
}

// registryOf holds one family.
func registryOf(t *testing.T, f policy.Family) policy.Registry {
	t.Helper()
	reg := must.Get(policy.NewRegistry(f))(t)
	return reg
}
