//go:build ci

package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"text/template/parse"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/interval"
	"github.com/ctxkit/ctxkit/replay/price"
)

// cited are the digits that a template may hold: names of publications and addresses.
var cited = regexp.MustCompile(`arXiv \d{4}\.\d{5}|https?://[^)\s]+`)

// TestNoDigitIsTyped holds that templates have no digits but those of citations: all others come from tables.
func TestNoDigitIsTyped(t *testing.T) {
	paths, err := filepath.Glob("articles/*.tmpl")
	if err != nil || len(paths) != len(makers)+2 {
		t.Fatalf("%d templates, error %v", len(paths), err)
	}
	if digits(cited.ReplaceAllString("(arXiv 2508.21433) 7", "")) != "7" {
		t.Fatal("a typed digit is not found")
	}
	for _, path := range paths {
		text := must.Get(os.ReadFile(path))(t)
		parsed := must.Get(template.New(path).Funcs((&article{}).functions()).Parse(string(text)))(t)
		for _, one := range parsed.Templates() {
			if one.Tree != nil {
				eachNode(one.Root, func(n parse.Node) {
					switch n := n.(type) {
					case *parse.TextNode:
						must.Equal(t, digits(cited.ReplaceAllString(string(n.Text), "")), "", path, n.Text)
					case *parse.NumberNode:
						t.Errorf("%s: the number %s is typed", path, n.Text)
					}
				})
			}
		}
	}
}

func digits(s string) string {
	return strings.Join(regexp.MustCompile(`\d+`).FindAllString(s, -1), " ")
}

// eachNode visits a template's nodes.
func eachNode(n parse.Node, visit func(n parse.Node)) {
	visit(n)
	list := func(l *parse.ListNode) {
		if l != nil {
			eachNode(l, visit)
		}
	}
	branch := func(b *parse.BranchNode) {
		eachNode(b.Pipe, visit)
		list(b.List)
		list(b.ElseList)
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, one := range n.Nodes {
			eachNode(one, visit)
		}
	case *parse.ActionNode:
		eachNode(n.Pipe, visit)
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			eachNode(c, visit)
		}
	case *parse.CommandNode:
		for _, arg := range n.Args {
			eachNode(arg, visit)
		}
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	}
}

// folders are a few sessions of testdata, and made-up results of The Complexity Trap.
func folders(t *testing.T) func(string) string {
	t.Helper()
	root := t.TempDir()
	env := map[string]string{}
	for i, name := range variables {
		env[name] = filepath.Join(root, fmt.Sprint(i))
		must.Do(t, os.Mkdir(env[name], 0o755))
	}
	for name, sessions := range map[string][]string{
		variables[0]: {"../../testdata/sessions/microcompact.jsonl", "../../testdata/sessions/compaction.jsonl"},
		variables[1]: {"../../testdata/sessions/preserved.jsonl", "../../testdata/sessions/rewind.jsonl"},
		variables[2]: {"../../jsonl/internal/codex/testdata/rollout.jsonl"},
	} {
		for _, from := range sessions {
			text, err := os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(filepath.Join(env[name], filepath.Base(from)), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	var swe, hands bytes.Buffer
	swe.WriteString("experiment,strategy,instance_id,cost,summary_cost,has_summary,summary_count,turn_count,mean_reasoning_tokens,mean_completion_tokens,mean_prompt_tokens,outcome\n")
	for m, model := range models {
		for s, strategy := range []string{rawAgent, masked, summary} {
			for task := range 9 {
				turns := 5 + 7*task + 3*s + m
				fmt.Fprintf(&swe, "%s-run,%s,task-%d,0.5,0,False,0,%d,0,40,%d,%d\n", model[0], strategy, task, turns, 2000+turns*(300-90*s), task%2)
			}
		}
	}
	hands.WriteString("experiment,instance_id,cost,summary_cost,has_summary,summary_count,turn_count,mean_reasoning_tokens,mean_completion_tokens,mean_prompt_tokens,outcome\n")
	for e, name := range strings.Fields("raw_agent-run_1 raw_agent-verified_50-run_1 llm_summary_N_21_M_10-summarizer_for_eval-run_1 llm_summary_N_21_M_10-verified_50-summarizer_for_eval-run_1") {
		for task := range 6 {
			fmt.Fprintf(&hands, "m-no-hint-%s,task-%d,0.5,0,False,0,%d,0,40,%d,0\n", name, task, 10+task*(e+1), 3000+100*task)
		}
	}
	for name, text := range map[string][]byte{"experiment_instance_costs_sweagent.csv": swe.Bytes(), "experiment_instance_costs_openhands.csv": hands.Bytes()} {
		must.Do(t, os.WriteFile(filepath.Join(env[variables[3]], name), text, 0o600))
	}
	return func(name string) string { return env[name] }
}

// TestGenerate writes all articles twice, to the same bytes. Each number in a text is a value of a table beside it, and
// nothing names the folders.
func TestGenerate(t *testing.T) {
	env := folders(t)
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		must.Do(t, run(dir, env))
	}
	written := filesOf(t, one)
	if again := filesOf(t, two); !maps.Equal(written, again) {
		for name := range written {
			must.Equal(t, written[name], again[name], name)
		}
	}
	for _, name := range append(names(), "README") {
		if _, ok := written[name+".md"]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	checkPages(t, written)
	for name, text := range written {
		if strings.Contains(text, filepath.Dir(env(variables[0]))) || strings.Contains(text, "/home/") {
			t.Errorf("%s names a folder", name)
		}
	}
}

func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		text := must.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		files[e.Name()] = string(text)
	}
	return files
}

// value is a number as it stands in a text.
var value = regexp.MustCompile(`\d+(,\d{3})*(\.\d+)?`)

// checkPages holds that each number outside tables and code is a value of a table of the page, of the settings of all
// intervals, or a citation.
func checkPages(t *testing.T, files map[string]string) {
	t.Helper()
	prices := price.Default()
	for name, page := range files {
		if filepath.Ext(name) != ".md" {
			continue
		}
		known := map[string]bool{}
		learn := func(s string) {
			for _, n := range value.FindAllString(s, -1) {
				known[n] = true
			}
		}
		learn(fmt.Sprintf("%d %d %s", interval.Percent, interval.Least, prices.AsOf))
		var prose []string
		code := false
		for _, line := range strings.Split(page, "\n") {
			switch {
			case strings.HasPrefix(line, "```"):
				code = !code
			case code:
			case strings.HasPrefix(line, "|"):
				learn(line)
			default:
				prose = append(prose, line)
			}
		}
		base := strings.TrimSuffix(name, ".md")
		for other, text := range files { // README has the answers of all pages: numbers as their tables show them
			if base == "README" && filepath.Ext(other) == ".md" {
				for _, row := range regexp.MustCompile(`(?m)^\|.*`).FindAllString(text, -1) {
					learn(row)
				}
			}
		}
		for other, text := range files { // counts are in files that no page shows whole
			if filepath.Ext(other) != ".csv" || !strings.HasPrefix(other, base) && base != "README" {
				continue
			}
			lines := must.Get(csv.NewReader(strings.NewReader(text)).ReadAll())(t)
			for _, cell := range slices.Concat(lines...) {
				learn(cell)
				if x, err := strconv.ParseFloat(cell, 64); err == nil {
					learn(grouped(cell))
					learn(share(x).shown)
					learn(percentOf(x).shown)
				}
			}
		}
		for _, line := range prose {
			for _, n := range value.FindAllString(links.ReplaceAllString(cited.ReplaceAllString(line, ""), "]"), -1) {
				if !known[n] {
					t.Errorf("%s: %s in %q is no value of a table", name, n, line)
				}
			}
		}
	}
}

var links = regexp.MustCompile(`\]\([^)]*\)`)

// TestWritten holds that docs/findings is whole, that each number in it is a value of a table, and that README.md and
// docs/README.md link to each article. With CTXKIT_LONG=1 and the folders it is what they generate.
func TestWritten(t *testing.T) {
	t.Chdir("../..")
	written := filesOf(t, folder)
	checkPages(t, written)
	for page, from := range map[string]string{"README.md": "docs/findings/", "docs/README.md": "findings/"} {
		text := must.Get(os.ReadFile(page))(t)
		for _, name := range names() {
			if !strings.Contains(string(text), "]("+from+name+".md)") {
				t.Errorf("%s does not list %s", page, name)
			}
		}
	}
	if os.Getenv("CTXKIT_LONG") == "" || slices.ContainsFunc(variables, func(name string) bool { return os.Getenv(name) == "" }) {
		t.Skip("CTXKIT_LONG, or a folder, is not set: nothing is generated")
	}
	dir := t.TempDir()
	must.Do(t, run(dir, os.Getenv))
	again := filesOf(t, dir)
	for name, text := range again {
		must.Equal(t, written[name], text, name)
	}
	for name := range written {
		if _, ok := again[name]; !ok && !strings.HasPrefix(name, "counterfactual") { // written by scripts/lab
			t.Errorf("%s is written no more", name)
		}
	}
}

// TestFolders names the variable that is missing.
func TestFolders(t *testing.T) {
	err := run(t.TempDir(), func(string) string { return "" })
	if err == nil || !strings.Contains(err.Error(), variables[3]) {
		t.Errorf("got %v", err)
	}
	must.Refuse(t, run(t.TempDir(), os.Getenv, "nonesuch"), "masking")
}

// TestVerdicts holds that nothing is concluded from an interval that covers 0, or from none.
func TestVerdicts(t *testing.T) {
	tab := newTable("t", column{"what", ""}, column{"change", ""}, column{"low", ""}, column{"high", ""})
	want := map[string]string{}
	must.Rows(t, `
# name | value | low | up | bounded | verdict | phrase
a | -0.2 | -0.3 | -0.1 | true  | lower   | costs less: −20.0 % (−30.0 to −10.0 %)
b | 0.2  | 0.1  | 0.3  | true  | higher  | costs more: +20.0 % (+10.0 to +30.0 %)
c | 0.2  | -0.1 | 0.3  | true  | unclear | so no difference can be told
d | 0.2  | 0    | 0.3  | true  | unclear | so no difference can be told
e | 0.2  | 0    | 0    | false | few     | too few projects
f | 0    | 0    | 0    | true  | same    | costs the same
`, func(name string, value, low, up float64, bounded bool, verdict, phrase string) {
		row := []cell{text(name), change(value), blank, blank}
		if bounded {
			row[2], row[3] = change(low), change(up)
		}
		tab.add(row...)
		want[name] = phrase
		must.Both(tab.verdict(name))(t, verdict, nil, name)
	})
	a := &article{tables: []*table{tab}}
	for name, phrase := range want {
		if got, err := a.costs("t", name); err != nil || !strings.Contains(got, phrase) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, phrase)
		}
	}
	if _, err := a.at("t", "z", "change"); err == nil {
		t.Error("a row that is not there has a value")
	}
}

// TestStraightLines compares the sums of the rules with the same turn by turn, by hand.
func TestStraightLines(t *testing.T) {
	g := lineOf(trial{turns: 13, prompt: 100 + 6*50, completion: 20}, 100)
	if g.start != 100 || g.wrote != 20 || g.observed != 30 {
		t.Fatalf("got %+v", g)
	}
	// 13 requests: 100 and 20 a turn, 30 of each of the newest 10 turns, and 10 of each turn before these, of which the last two requests have 1 and 2.
	if got, want := g.masks(13), 13*100.0+20*78+30*(55+10+10)+placeholder*3; got != want {
		t.Errorf("masked: %v, want %v", got, want)
	}
	// 33 requests: the 32nd is the first with a summary, of 21 turns, and the newest 10; the 33rd has 11.
	if got, want := g.summarizes(33), 33*100.0+50*(465+10+11)+2*summarySize; got != want {
		t.Errorf("summarised: %v, want %v", got, want)
	}
	must.Equal(t, commonStart([]trial{{turns: 3, prompt: 150}, {turns: 7, prompt: 250}, {turns: 9, prompt: 300}}), 100)
}

// TestRatio holds that a change is within its own bounds.
func TestRatio(t *testing.T) {
	var list []pair
	for i := range 20 {
		list = append(list, pair{trial{turns: 100}, trial{turns: float64(110 + i%3)}})
	}
	i := ratio(list, func(p *pair) (float64, float64) { return p.b.turns, p.a.turns })
	if v, l, u := i.Value.Float(), i.Lower.Float(), i.Upper.Float(); v < 0.1 || v > 0.12 || l < 0.1 || l > v || u < v || u > 0.12 {
		t.Errorf("%v from %v to %v", v, l, u)
	}
	if i := ratio(list[:1], func(p *pair) (float64, float64) { return p.b.turns, p.a.turns }); i.Value.Float() != 0.1 || i.Lower.Known {
		t.Errorf("one task: %+v", i)
	}
}

// TestWindows counts each file once, and as read again only where it was read before the window.
func TestWindows(t *testing.T) {
	list := []read{{1, "a"}, {2, "b"}, {5, "a"}, {5, "c"}, {6, "a"}, {7, "c"}, {9, "b"}}
	must.Equal(t, windowOf(list, 5, 8), window{3, 2, 1})
	must.Equal(t, windowOf(list, 8, 10), window{2, 1, 1})
	must.Equal(t, windowOf(list, 5, 4).requests, 0)
}
