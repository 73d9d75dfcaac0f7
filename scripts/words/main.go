// Words finds the terms and forms that readers misread, in the pages that people write, in the texts of policy files, and in
// the strings and comments of Go code, and prints each with its file, line and what to write:
//
//	go run ./scripts/words [FOLDER]
//
// docs/glossary.md has the terms: one word for one thing. Tests and scripts are not searched.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	folder := "."
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	findings, err := search(os.DirFS(folder))
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(2)
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	if len(findings) > 0 {
		fmt.Fprintf(os.Stderr, "words: %d found\n", len(findings))
		os.Exit(1)
	}
}

// banned is an expression that is not to be used, with what to write, in the kinds of text that it is searched in.
type banned struct {
	expression *regexp.Regexp
	write      string
	in         string // letters of kinds: p page, s string, c comment, y policy file
}

func rule(in, expression, write string) banned {
	return banned{regexp.MustCompile("(?i)" + expression), write, in}
}

// rules lists terms that readers misread and forms that they have to read twice.
var rules = []banned{
	rule("psyc", `\bmiss(es)?\b`, `"cache miss", or "needed later" for content`),
	rule("psyc", `\b(prefix|cache) breaks?\b|\bbreaks? (of )?(the|its) (prompt )?cache\b|\bbreaks\b`, `"cache miss" with its cause, or "invalidates", "violates"`),
	rule("ps", `\ba bound\b`, `"a lower bound"`),
	rule("psyc", `\bown calls?\b`, `"summarization requests", or whose requests they are`),
	rule("psyc", `\bfronts?\b`, `"Pareto front"`),
	rule("psyc", `\bdear(er|est)?\b`, `"expensive"`),
	rule("psyc", `\bstand-ins?\b`, `"placeholder", or "substitute" in an anonymised session`),
	rule("psyc", `\bthe record\b`, `"the recorded session"`),
	rule("psyc", `\blifetimes?\b`, `"TTL"`),
	rule("psyc", `\btruths?\b|\bhypothes[ie]s\b`, `"evidence"`),
	rule("psyc", `\bwhat is sent\b`, `"input tokens", "requests" or "payload"`),
	rule("psyc", `\btold\b`, `"shown", "distinguished", or who knows it`),
	rule("psyc", `\bso (many|much)\b`, "a number, or several"),
	rule("psyc", `\bbesides?\b`, `"next to" or "with"`),
	rule("psyc", `\b(is|are|was|were) of\b`, `"belongs to", "has" or "covers"`),
	rule("psyc", `\bwhat of\b|\bnobody\b`, "a noun"),
	rule("psyc", `\b(is|are) said\b|\bsays? so\b`, "who reports what"),
	rule("psyc", `\bheld against\b|\bholds? \S+( \S+)? against\b`, `"compared with"`),
	rule("psyc", `\bneither\b`, "a sentence that names both"),
	rule("psyc", `\b(go|goes) by\b`, `"uses" or "follows"`),
	rule("psyc", `\blooks? around\b`, `"browses"`),
}

// notBanned are the uses of these words that the field knows, names in code type, names of fields in tags, and keys of
// policy files.
var notBanned = regexp.MustCompile("(?i)\\bof:\"[\\w.]+\"|`[^`\\n]*`|\\]\\([^)]*\\)|cache miss(es)?|Pareto front|in front of|break-even|line breaks|neither [^.;:]* nor |(?m:^truth:)|truth tables?")

// exceptions are parts of texts that contain a banned expression rightly, each with the reason; wholes are whole strings.
var (
	exceptions = map[string]string{
		`enum:"misses,refused`: "a value in configurations of users",
		"allow: [misses]":      "the same",
		`yaml:"truth"`:         "a key of policy files of users",
		`col:"truth"`:          "the same",
		`csv:"truth"`:          "a key of CSV",
		"misses.csv":           "a file of cache misses",
		"write_mape input_mape breaks right_kind": "keys of JSON",
		"need not be told of it":                  "a client's text, by whose length synthetic sessions are counted",
	}
	wholes = map[string]string{"own calls": "a name in JSON, which reports translate"}
)

// finding is a banned expression in a text.
type finding struct {
	file  string
	line  int
	found string
	write string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %q: write %s", f.file, f.line, f.found, f.write)
}

// check finds the banned expressions of a kind in a text that begins on a line.
func check(file string, line int, kind, text string) (findings []finding) {
	if wholes[text] != "" {
		return nil
	}
	for exception := range exceptions {
		text = strings.ReplaceAll(text, exception, "")
	}
	for i, l := range strings.Split(notBanned.ReplaceAllStringFunc(text, blank), "\n") {
		for _, r := range rules {
			if !strings.Contains(r.in, kind) {
				continue
			}
			for _, found := range r.expression.FindAllString(l, -1) {
				findings = append(findings, finding{file, line + i, found, r.write})
			}
		}
	}
	return findings
}

// blank keeps the line ends of a text.
func blank(text string) string { return strings.Repeat("\n", strings.Count(text, "\n")) }

// search reads all files below a folder.
func search(folder fs.FS) (findings []finding, err error) {
	err = fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "scripts" || name == "docs/findings") {
				return fs.SkipDir
			}
			return nil
		}
		var found []finding
		text, err := fs.ReadFile(folder, name)
		switch {
		case err != nil:
		case filepath.Ext(name) == ".md":
			found = page(name, text)
		case filepath.Ext(name) == ".yaml" && strings.HasPrefix(name, "policy/"):
			found = check(name, 1, "y", string(text))
		case filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go"):
			found, err = source(name, text)
		}
		findings = append(findings, found...)
		return err
	})
	return findings, err
}

// page finds expressions in a page, outside of code and of parts that a program writes.
func page(name string, text []byte) (findings []finding) {
	if bytes.HasPrefix(text, []byte("<!-- Generated")) || bytes.Contains(text, []byte("\nWritten by `")) {
		return nil
	}
	code, generated := false, false
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
		case strings.HasPrefix(line, "<!-- "):
			generated = !generated
		case !code && !generated:
			findings = append(findings, check(name, i+1, "p", line)...)
		}
	}
	return findings
}

// source finds expressions in the comments of a Go file and in its strings of several words.
func source(name string, text []byte) (findings []finding, err error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{} // of the file: a comment names them as they are
	ast.Inspect(f, func(n ast.Node) bool {
		if ident, ok := n.(*ast.Ident); ok {
			names[ident.Name] = true
		}
		return true
	})
	for _, group := range f.Comments {
		for i, c := range group.List {
			text := regexp.MustCompile(`\b[A-Z]\w*`).ReplaceAllStringFunc(c.Text, func(word string) string {
				if names[word] {
					return ""
				}
				return word
			})
			if first := regexp.MustCompile(`^// (\w+) `).FindStringSubmatch(text); i == 0 && first != nil && names[first[1]] {
				text = text[len(first[0]):]
			}
			findings = append(findings, check(name, set.Position(c.Pos()).Line, "c", text)...)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			value, err := strconv.Unquote(n.Value)
			if n.Kind == token.STRING && err == nil && strings.Contains(value, " ") {
				findings = append(findings, check(name, set.Position(n.Pos()).Line, "s", value)...)
			}
		}
		return true
	})
	return findings, nil
}
