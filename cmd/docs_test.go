package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/report/golden"
)

// TestDocs runs every `$ ctxkit …` (or `$ go run . …`) in the Markdown files
// and compares what it prints with what stands there. An example may end in
// `| head -N`, `| tail -N` or `| grep TEXT`; a line that is only "…" stands
// for any lines. With -update the output is rewritten where it has no "…".
func TestDocs(t *testing.T) {
	t.Chdir("..")
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	docs = append(docs, "README.md", "CONTRIBUTING.md")
	examples := 0
	for _, name := range docs {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(text), "\n")
			var out []string
			for i := 0; i < len(lines); {
				line := lines[i]
				i++
				out = append(out, line)
				command, ok := example(line)
				if !ok {
					continue
				}
				var want []string
				for i < len(lines) && !strings.HasPrefix(lines[i], "```") && !strings.HasPrefix(lines[i], "$ ") {
					want = append(want, lines[i])
					i++
				}
				for len(want) > 0 && want[len(want)-1] == "" {
					want = want[:len(want)-1]
				}
				if len(want) == 0 && !golden.Update() {
					// Shown for its use, not for its output: it has to work.
					runExample(t, name, command)
					examples++
					continue
				}
				got := runExample(t, name, command)
				examples++
				if golden.Update() && !hasElision(want) && len(want) > 0 {
					want = got
				}
				if !sameLines(got, want) {
					t.Errorf("%s: $ %s (-want +got)\n%s", name, command, cmp.Diff(want, got))
				}
				out = append(out, want...)
				if i < len(lines) && strings.HasPrefix(lines[i], "$ ") {
					out = append(out, "")
				}
			}
			if golden.Update() && strings.Join(out, "\n") != string(text) {
				if err := os.WriteFile(name, []byte(strings.Join(out, "\n")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if examples == 0 {
		t.Error("no document has an example")
	}
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

// TestDocsNameWhatExists holds that every file a document names is there.
func TestDocsNameWhatExists(t *testing.T) {
	t.Chdir("..")
	names := regexp.MustCompile("`((?:cmd|jsonl|policy|replay|report|scripts|docs|testdata)/[A-Za-z0-9_./-]*)`")
	links := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, doc := range []string{"README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/dependencies.md", "docs/cli.md"} {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range names.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s names %s: %v", doc, m[1], err)
			}
		}
		for _, m := range links.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", doc, m[1], err)
			}
		}
	}
}
