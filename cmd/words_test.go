package cmd

import (
	"bytes"
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// commandLine is a flag (--policy), or this program with one of its commands (ctxkit diff), as a person types them.
func commandLine() *regexp.Regexp {
	root := newRoot(newSystem(strings.NewReader(""), nil, nil))
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	return regexp.MustCompile(`(?:^|[\s(` + "`" + `'"])--[a-z]|\bctxkit (?:` + strings.Join(names, "|") + `)\b`)
}

// noCommandLines are strings below cmd that look like a command line and are
// none.
var noCommandLines = map[string]string{
	"claude --resume":     "how another program is run",
	"ctxkit policy":       "title of a schema",
	"git log --oneline -": "what a simulated client runs",
}

// TestNoCommandLineBelowCmd holds that no string below cmd names a flag or a
// command of this program: warnings and errors carry codes, and cmd/hints.go
// says what to do about them.
func TestNoCommandLineBelowCmd(t *testing.T) {
	line := commandLine()
	if !line.MatchString("say --window") || !line.MatchString("run ctxkit diff x") || line.MatchString("a -- b, ctxkit 1.0") {
		t.Fatalf("%s finds the wrong texts", line)
	}
	fset, byDir := sources(t)
	for pkg, files := range byDir {
		if first, _, _ := strings.Cut(pkg, "/"); !slices.Contains(pure, first) {
			continue
		}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(lit.Value)
				if err == nil && line.MatchString(text) && noCommandLines[text] == "" {
					t.Errorf("%s: %s names a flag or a command: give a code, and add the hint to cmd/hints.go", fset.Position(lit.Pos()), lit.Value)
				}
				return true
			})
		}
	}
}

// avoided is an expression that pages avoid, with what to write.
type avoided struct{ banned, write string }

// plainWords lists terms that readers misread. The style is that of
// docs/glossary.md: one word for one thing.
var plainWords = []avoided{
	{`\bmiss(es)?\b`, `"cache miss", or "needed later" for content`},
	{`\b(prefix|cache) breaks?\b|\bbreaks? (of )?(the|its) (prompt )?cache\b|\bbreaks\b`, `"cache miss" with its cause, or "invalidates", "violates"`},
	{`\bown calls?\b`, `"summarization requests", or whose requests they are`},
	{`\bfronts?\b`, `"Pareto front"`},
	{`\bdear(er|est)?\b`, `"expensive"`},
	{`\bstand-ins?\b`, `"placeholder", or "substitute" in an anonymised session`},
	{`\bthe record\b`, `"the recorded session"`},
	{`\blifetimes?\b`, `"TTL"`},
	{`\btruths?\b|\bhypothes[ie]s\b`, `"evidence"`},
}

// plainPatterns are expressions that readers have to read twice.
var plainPatterns = []avoided{
	{`\bwhat is sent\b`, `"input tokens", "requests" or "payload"`},
	{`\btold\b`, `"shown", "distinguished", or who knows it`},
	{`\bso (many|much)\b`, "a number, or several"},
	{`\bbesides?\b`, `"next to" or "with"`},
	{`\b(is|are|was|were) of\b`, `"belongs to", "has" or "covers"`},
	{`\bwhat of\b|\bnobody\b`, "a noun"},
	{`\b(is|are) said\b|\bsays? so\b`, "who reports what"},
	{`\bheld against\b|\bholds? \S+( \S+)? against\b`, `"compared with"`},
	{`\bneither\b`, "a sentence that names both"},
	{`\b(go|goes) by\b`, `"uses" or "follows"`},
	{`\blooks? around\b`, `"browses"`},
}

// notBanned are the uses of these words that the field knows.
var notBanned = regexp.MustCompile("(?i)`[^`]*`|\\]\\([^)]*\\)|cache miss(es)?|Pareto front|in front of|break-even")

// TestDocsWords finds the expressions of plainWords and plainPatterns in the pages that people write, outside of code,
// links and generated parts.
func TestDocsWords(t *testing.T) {
	t.Chdir("..")
	for _, name := range append(pages(t), "CHANGELOG.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "docs/findings/") || isGenerated(text) {
			continue
		}
		for _, w := range slices.Concat(plainWords, plainPatterns) {
			expression := regexp.MustCompile("(?i)" + w.banned)
			for _, l := range prose(string(text)) {
				if found := expression.FindString(notBanned.ReplaceAllString(l.text, "")); found != "" {
					t.Errorf("%s:%d: %q: write %s", name, l.n, found, w.write)
				}
			}
		}
	}
}

// isGenerated says whether a page is written by a program.
func isGenerated(text []byte) bool {
	return bytes.HasPrefix(text, []byte("<!-- Generated")) || bytes.Contains(text, []byte("\nWritten by `"))
}

// proseLine is a line of a page outside of code.
type proseLine struct {
	n    int
	text string
}

// prose returns the lines of a page that are not in a fenced block, nor between two comments that frame a generated part.
func prose(page string) (lines []proseLine) {
	code, generated := false, false
	for i, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
		case strings.HasPrefix(line, "<!-- "):
			generated = !generated
		case !code && !generated:
			lines = append(lines, proseLine{i + 1, line})
		}
	}
	return lines
}
