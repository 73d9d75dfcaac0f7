package cmd

import (
	"bytes"
	"go/ast"
	"go/token"
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
