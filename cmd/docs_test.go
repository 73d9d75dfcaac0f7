package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/report/golden"
)

// TestDocs runs every `$ ctxkit …` (or `$ go run . …`) in the Markdown files and compares what it prints with what
// stands there. An example may end in `| head -N`, `| tail -N` or `| grep TEXT`; a line that is only "…" stands for
// any lines. With -update the output is rewritten where it has no "…".
//
// A fenced block with a file's name after its language is written to that file. The examples of a page that has one
// run in a folder of its own, with testdata/sessions in it.
func TestDocs(t *testing.T) {
	t.Chdir("..")
	t.Setenv(nowVariable, "2026-01-20T12:00:00Z")
	root := must.Get(os.Getwd())(t)
	examples := 0
	for _, name := range pages(t) {
		t.Run(name, func(t *testing.T) {
			text := must.Get(os.ReadFile(name))(t)
			p := &page{name: name, lines: strings.Split(string(text), "\n")}
			if p.writesFiles() {
				dir := t.TempDir()
				must.Do(t, os.CopyFS(filepath.Join(dir, "testdata", "sessions"), os.DirFS("testdata/sessions")))
				t.Chdir(dir)
				t.Setenv("CI", "")
			}
			got := p.run(t)
			examples += p.examples
			if golden.Update() && got != string(text) {
				writeFile(t, filepath.Join(root, name), got)
			}
		})
	}
	if examples == 0 {
		t.Error("no document has an example")
	}
}

// page is a Markdown file whose examples are run.
type page struct {
	name     string
	lines    []string
	examples int
}

// fileBlock is the file that a fence's block is to be written to.
var fileBlock = regexp.MustCompile("^```[a-z]+ ([A-Za-z0-9._/-]+)$")

// writing is an example that writes a file or a folder.
var writing = regexp.MustCompile(`^\$ ctxkit .* -o `)

func (p *page) writesFiles() bool {
	return slices.ContainsFunc(p.lines, fileBlock.MatchString) || slices.ContainsFunc(p.lines, writing.MatchString)
}

// run runs the page from top to bottom and gives its text with the output as
// it should stand there.
func (p *page) run(t *testing.T) string {
	var out []string
	for i := 0; i < len(p.lines); {
		line := p.lines[i]
		i++
		out = append(out, line)
		if m := fileBlock.FindStringSubmatch(line); m != nil {
			end := i + slices.Index(p.lines[i:], "```")
			writeBlock(t, m[1], p.lines[i:end])
		}
		command, ok := example(line)
		if !ok {
			continue
		}
		var want []string
		for i < len(p.lines) && !strings.HasPrefix(p.lines[i], "```") && !strings.HasPrefix(p.lines[i], "$ ") {
			want = append(want, p.lines[i])
			i++
		}
		for len(want) > 0 && want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		p.examples++
		got := runExample(t, p.name, command)
		if len(want) == 0 && !golden.Update() {
			continue // shown for its use, not for its output: it has to work
		}
		if golden.Update() && !hasElision(want) && len(want) > 0 {
			want = got
		}
		if !sameLines(got, want) {
			t.Errorf("%s: $ %s (-want +got)\n%s", p.name, command, cmp.Diff(want, got))
		}
		out = append(out, want...)
		if i < len(p.lines) && strings.HasPrefix(p.lines[i], "$ ") {
			out = append(out, "")
		}
	}
	return strings.Join(out, "\n")
}

// writeBlock writes a block of a page to the file it names.
func writeBlock(t *testing.T, name string, lines []string) {
	t.Helper()
	if !filepath.IsLocal(name) {
		t.Fatalf("%s leads out of the folder", name)
	}
	writeFile(t, name, strings.Join(lines, "\n")+"\n")
}

// example is the command of a line that shows one.
func example(line string) (string, bool) {
	for _, prompt := range []string{"$ ctxkit ", "$ go run . "} {
		if rest, ok := strings.CutPrefix(line, prompt); ok {
			return rest, true
		}
	}
	return "", false
}

const elision = "…"

func hasElision(lines []string) bool {
	for _, l := range lines {
		if strings.TrimSpace(l) == elision {
			return true
		}
	}
	return false
}

// sameLines compares output with what is wanted, where "…" is any lines.
func sameLines(got, want []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if strings.TrimSpace(want[0]) == elision {
		for i := 0; i <= len(got); i++ {
			if sameLines(got[i:], want[1:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && got[0] == want[0] && sameLines(got[1:], want[1:])
}

// runExample runs one command line and gives its output, errors included.
func runExample(t *testing.T, name, command string) []string {
	t.Helper()
	parts := strings.Split(command, " | ")
	var out bytes.Buffer
	code := Main(strings.Fields(parts[0]), strings.NewReader(""), &out, &out)
	if code != exitDone && !strings.Contains(out.String(), "ctxkit: ") {
		t.Errorf("%s: $ %s: exit %d: %s", name, command, code, out.String())
	}
	text := strings.TrimRight(out.String(), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for _, filter := range parts[1:] {
		var err error
		if lines, err = filterLines(lines, filter); err != nil {
			t.Fatalf("%s: $ %s: %v", name, command, err)
		}
	}
	return lines
}

func filterLines(lines []string, filter string) ([]string, error) {
	word, arg, _ := strings.Cut(strings.TrimSpace(filter), " ")
	n, err := strconv.Atoi(strings.TrimPrefix(arg, "-"))
	switch {
	case word == "head" && err == nil:
		return lines[:min(n, len(lines))], nil
	case word == "tail" && err == nil:
		return lines[max(0, len(lines)-n):], nil
	case word == "grep":
		var kept []string
		for _, l := range lines {
			if strings.Contains(l, strings.Trim(arg, `'"`)) {
				kept = append(kept, l)
			}
		}
		return kept, nil
	}
	return nil, fmt.Errorf("no filter %q here", filter)
}

// pages lists the Markdown files that are for people: README.md,
// CONTRIBUTING.md, and all below docs. The working folder is the repository's.
func pages(t *testing.T) []string {
	t.Helper()
	list := []string{"README.md", "CONTRIBUTING.md"}
	must.Do(t, filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			list = append(list, filepath.ToSlash(path))
		}
		return err
	}))
	return list
}

// TestDocsNameWhatExists fails on a path in backquotes or the target of a link
// that does not exist, and on a link to a heading that its page does not have.
func TestDocsNameWhatExists(t *testing.T) {
	t.Chdir("..")
	names := regexp.MustCompile("`((?:cmd|jsonl|policy|replay|report|scripts|docs|testdata)/[A-Za-z0-9_./-]*)`")
	links := regexp.MustCompile(`\]\(([^)#:]*)(#[^):]+)?\)`)
	for _, doc := range pages(t) {
		text := must.Get(os.ReadFile(doc))(t)
		for _, m := range names.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s names %s: %v", doc, m[1], err)
			}
		}
		for _, m := range links.FindAllStringSubmatch(string(text), -1) {
			target := doc
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(doc), m[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", doc, m[1], err)
			} else if m[2] != "" && !slices.Contains(anchors(t, target), m[2]) {
				t.Errorf("%s links to %s%s: %s has no such heading", doc, m[1], m[2], target)
			}
		}
	}
}

var headingLine = regexp.MustCompile("(?m)^#+ (.*)$")

// anchors lists the anchors that GitHub makes of a page's headings.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	text := must.Get(os.ReadFile(page))(t)
	var list []string
	for _, m := range headingLine.FindAllStringSubmatch(string(text), -1) {
		words := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		list = append(list, "#"+strings.ReplaceAll(words, " ", "-"))
	}
	return list
}

// TestDocsIndex fails on a page below docs that docs/README.md does not list.
func TestDocsIndex(t *testing.T) {
	t.Chdir("..")
	index := must.Get(os.ReadFile("docs/README.md"))(t)
	for _, page := range pages(t) {
		name, below := strings.CutPrefix(page, "docs/")
		if below && name != "README.md" && !bytes.Contains(index, []byte("]("+name+")")) {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}

// TestDocsGo fails on a block of Go in a page that is not, line by line, part
// of an example, which is compiled and run, and on a public package that
// docs/library.md leaves out.
func TestDocsGo(t *testing.T) {
	t.Chdir("..")
	var examples []byte
	for _, pkg := range public {
		text, err := os.ReadFile(path.Join(pkg, "example_test.go"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		examples = append(examples, text...)
	}
	library := must.Get(os.ReadFile("docs/library.md"))(t)
	for _, pkg := range public {
		if !bytes.Contains(library, []byte("`"+pkg+"`")) {
			t.Errorf("docs/library.md leaves out the public package %s", pkg)
		}
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```")
	for _, doc := range pages(t) {
		text := must.Get(os.ReadFile(doc))(t)
		for _, m := range blocks.FindAllSubmatch(text, -1) {
			if !bytes.Contains(examples, m[1]) {
				t.Errorf("%s: no example_test.go of a public package contains:\n%s", doc, m[1])
			}
		}
	}
}

// TestGlossaryTypes fails on a type that docs/glossary.md names and no package
// declares.
func TestGlossaryTypes(t *testing.T) {
	_, byDir := sources(t)
	declared := map[string]bool{}
	for dir, files := range byDir {
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok {
					declared[path.Base(dir)+"."+spec.Name.Name] = true
				}
				return true
			})
		}
	}
	text := must.Get(os.ReadFile("../docs/glossary.md"))(t)
	names := regexp.MustCompile("`([a-z]+\\.[A-Z][A-Za-z]+)`").FindAllSubmatch(text, -1)
	if len(names) < 10 {
		t.Fatalf("only %d types in the glossary", len(names))
	}
	for _, m := range names {
		if !declared[string(m[1])] {
			t.Errorf("docs/glossary.md names %s, which no package declares", m[1])
		}
	}
}

// TestDocsLength holds README.md and CHANGELOG.md to a number of words, examples included, and the pages for users and those
// for contributors to one in all, without examples and generated parts.
func TestDocsLength(t *testing.T) {
	t.Chdir("..")
	words := map[bool]int{} // by whether the page is for contributors
	for _, name := range append(pages(t), "CHANGELOG.md") {
		text := must.Get(os.ReadFile(name))(t)
		most, ok := map[string]int{"README.md": 900, "CHANGELOG.md": 1500}[name]
		if n := len(bytes.Fields(text)); ok && n > most {
			t.Errorf("%s has %d words, more than %d", name, n, most)
		}
		if !strings.HasPrefix(name, "docs/") || strings.HasPrefix(name, "docs/findings/") || name == "docs/releasing.md" || isGenerated(text) {
			continue
		}
		for _, l := range prose(string(text)) {
			words[strings.HasPrefix(name, "docs/internals/")] += len(regexp.MustCompile(`\S*\w\S*`).FindAllString(l.text, -1))
		}
	}
	for internal, n := range words {
		if n > 12_000 {
			t.Errorf("pages with internals=%v have %d words, more than 12,000", internal, n)
		}
	}
	t.Logf("words in the pages for users: %d, in docs/internals: %d", words[false], words[true])
}

// TestDocsNumbers fails on a number with a unit, in the paragraph right behind an example, that no example of the page
// prints. Rounded numbers are not compared: a page names figures as the output does.
func TestDocsNumbers(t *testing.T) {
	t.Chdir("..")
	number := regexp.MustCompile(`\d+(,\d{3})*(\.\d+)? (USD|tokens)|\d+\.\d+ %|\d+,\d{3}`)
	for _, name := range pages(t) {
		text := must.Get(os.ReadFile(name))(t)
		parts := strings.Split(string(text), "\n```")
		var examples strings.Builder
		for i, part := range parts {
			if strings.HasPrefix(part, "console\n") {
				examples.WriteString(part)
			}
			if i == 0 || !strings.HasPrefix(parts[i-1], "console\n") {
				continue
			}
			paragraph, _, _ := strings.Cut(strings.TrimLeft(part, "\n"), "\n\n")
			for _, n := range number.FindAllString(paragraph, -1) {
				n, _, _ = strings.Cut(n, " ")
				if !strings.Contains(examples.String(), n) {
					t.Errorf("%s: %s is in no example: %s", name, n, paragraph)
				}
			}
		}
	}
}
