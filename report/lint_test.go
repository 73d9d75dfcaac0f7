package report

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/lint"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report/golden"
)

func lintSample() []*lint.Problems {
	places := func(n int, message string) (list []lint.Occurrence) {
		for i := range n {
			list = append(list, lint.Occurrence{Line: 10 * (i + 1), Message: message})
		}
		return list
	}
	return []*lint.Problems{
		{
			File: "a.jsonl", Session: "7d1f5a52-0c1e-4b53-9a35-0f4f6f0f5c11",
			Lines: session.Accounting{Read: 1212, Used: 1200, Fused: 2, SetAside: map[session.Reason]int{session.AsideMalformed: 2, "progress": 10}},
			Findings: []lint.Problem{
				{Code: "malformed-line", Severity: lint.Error, Count: 2, Places: places(2, "column 7: unexpected end: line set aside")},
				{Code: "lost-parent", Severity: lint.Warning, Count: 4, Places: places(4, `the parent "u9" is not in the file`)},
				{Code: "time-backwards", Severity: lint.Note, Count: 1503, Places: places(1503, "1.5s before the line above")},
			},
		},
		{File: "b.jsonl", Agent: "abc", Lines: session.Accounting{Read: 1, Used: 1, SetAside: map[session.Reason]int{}}},
		{File: "c.jsonl", Lines: session.Accounting{SetAside: map[session.Reason]int{}}, Findings: []lint.Problem{
			{Code: "no-session", Severity: lint.Error, Count: 1, Places: []lint.Occurrence{{Message: "no line of the file is part of a conversation"}}},
		}},
	}
}

// lintHostile holds what a transcript could try to do to a terminal, and to the reader of workflow commands.
func lintHostile() []*lint.Problems {
	const evil = "\x1b]0;title\a\x1b[31mred%0A\r\n::error file=x::fake\u202e,title=y:z\xff"
	return []*lint.Problems{{
		File: evil, Session: evil, Agent: evil, Lines: session.Accounting{Read: 1, SetAside: map[session.Reason]int{session.Reason(evil): 1}},
		Findings: []lint.Problem{{Code: "unknown-type", Severity: lint.Warning, Count: 1, Places: []lint.Occurrence{{Line: 1, Message: evil}}}},
	}}
}

func printLint(t *testing.T, opt Layout, list []*lint.Problems) []byte {
	t.Helper()
	var b bytes.Buffer
	p := must.Get(NewLints(&b, opt))(t)
	for _, r := range list {
		must.Do(t, p.Add(r))
	}
	must.Do(t, p.Close())
	return b.Bytes()
}

func TestLints(t *testing.T) {
	for name, opt := range map[string]Layout{
		"lint.txt": {}, "lint-verbose.txt": {Verbose: true}, "lint-color.txt": {Color: true, Verbose: true}, "lint.github": {Format: FormatGitHub},
	} {
		golden.Check(t, filepath.Join("testdata", name), printLint(t, opt, lintSample()))
	}
	golden.Check(t, "testdata/lint.json", printLint(t, Layout{Format: FormatJSON}, append(lintSample()[1:], lintHostile()...)))
	golden.Check(t, "testdata/lint-hostile.txt", printLint(t, Layout{}, lintHostile()))
	golden.Check(t, "testdata/lint-hostile.github", printLint(t, Layout{Format: FormatGitHub}, lintHostile()))
	if _, err := NewLints(nil, Layout{Format: FormatCSV}); err == nil {
		t.Error("no error for a format that is none")
	}
}

func TestLintSchema(t *testing.T) {
	s := compileSchema(t, "lint")
	for _, list := range [][]*lint.Problems{lintSample(), lintHostile(), nil} {
		must.Do(t, validate(s, printLint(t, Layout{Format: FormatJSON}, list)))
	}
	strict(t, s, string(printLint(t, Layout{Format: FormatJSON}, lintSample())), `
"files": [ => "file": [
"severity": "note" => "severity": "hint"
"count": 2, => "count": 0,
"code": "malformed-line" => "code": "Malformed"
"fused": 2 => "fused": -2
`)
}

// --all names every place; without it a table and annotations name the first of each code. Nothing a transcript holds
// ends a line or a command.
func TestLintPlaces(t *testing.T) {
	for _, format := range []Format{FormatTable, FormatGitHub} {
		some := strings.Count(string(printLint(t, Layout{Format: format}, lintSample()[:1])), "before the line above")
		all := strings.Count(string(printLint(t, Layout{Format: format, All: true}, lintSample()[:1])), "before the line above")
		if some != 3 || all != 1503 {
			t.Errorf("%s: %d places, with all %d; want 3 and 1,503", format, some, all)
		}
	}
	command := regexp.MustCompile(`^::(error|warning|notice) file=[^:,\r\n]*(,line=[0-9]+)?,title=[a-z-]+::[^\r\n\x1b]*$`)
	for _, list := range [][]*lint.Problems{lintSample(), lintHostile()} {
		for l := range strings.Lines(string(printLint(t, Layout{Format: FormatGitHub, All: true}, list))) {
			if l = strings.TrimSuffix(l, "\n"); !command.MatchString(l) {
				t.Errorf("no workflow command: %q", l)
			}
		}
	}
}
