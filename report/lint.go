package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/lint"
)

// LintSchema is the version of the JSON form of what lint finds.
const LintSchema = "ctxkit.lint/v1"

// FormatGitHub is workflow commands: annotations of a pull request.
const FormatGitHub Format = "github"

// LintFormats are the formats that what lint finds can be printed in.
var LintFormats = []Format{FormatTable, FormatJSON, FormatGitHub}

// Lints prints what was found in files, one after another.
type Lints interface {
	Add(r *lint.Result) error
	Close() error // ends the output; nothing may be added after it
}

// NewLints gives the printer of a format.
func NewLints(w io.Writer, opt Options) (Lints, error) {
	switch opt.Format {
	case FormatTable, "":
		return &lintPages{w: w, opt: opt}, nil
	case FormatJSON:
		return &lintJSON{w: w}, nil
	case FormatGitHub:
		return &lintGitHub{w: w, opt: opt}, nil
	}
	return nil, fmt.Errorf("format %q: want one of %v", opt.Format, LintFormats)
}

// lintTotals counts places by severity.
type lintTotals struct {
	Files    int `json:"files"`
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

func (t *lintTotals) add(r *lint.Result) {
	t.Files++
	t.Errors += r.Count(lint.Error)
	t.Warnings += r.Count(lint.Warning)
	t.Notes += r.Count(lint.Note)
}

func (t *lintTotals) String() string {
	return count(t.Errors, "error") + ", " + count(t.Warnings, "warning") + ", " + count(t.Notes, "note")
}

// mostPlaces is how many places of one code a table and annotations name.
const mostPlaces = 3

// lintPages prints for people: what was found of each kind, with the first
// places of it.
type lintPages struct {
	w     io.Writer
	opt   Options
	total lintTotals
}

func (l *lintPages) Add(r *lint.Result) error {
	if l.total.Files > 0 {
		if _, err := io.WriteString(l.w, "\n"); err != nil {
			return err
		}
	}
	l.total.add(r)
	p := &textPage{w: l.w, color: l.opt.Color}
	p.heading(r.File)
	aside := 0
	for _, n := range r.Lines.SetAside {
		aside += n
	}
	read := fmt.Sprintf("%s read, %s used, %s set aside", count(r.Lines.Read, "line"), thousands(r.Lines.Used), thousands(aside))
	if r.Lines.Fused > 0 {
		read += fmt.Sprintf(", %s fused", thousands(r.Lines.Fused))
	}
	p.note(faint, read)
	t := &Table{Columns: []Column{{Title: "severity"}, {Title: "code"}, {Title: "places", Right: true}, {Title: "where, and what", Flex: true}}}
	hidden := 0
	for _, f := range r.Findings {
		st := map[lint.Severity]style{lint.Error: red, lint.Warning: yellow}[f.Severity]
		for i, place := range f.Places {
			if i == mostPlaces && !l.opt.All {
				hidden += len(f.Places) - i
				break
			}
			head := []string{"", "", ""}
			if i == 0 {
				head = []string{string(f.Severity), f.Code, thousands(f.Count)}
			}
			text := place.Message
			if place.Line > 0 {
				text = fmt.Sprintf("line %d: %s", place.Line, text)
			}
			t.styled(st, append(head, text)...)
		}
	}
	p.table(t)
	if hidden > 0 {
		p.note(faint, l.opt.Hints.hidden(count(hidden, "more place"), "json holds them"))
	}
	if len(r.Findings) == 0 {
		p.note(none, "nothing found")
	}
	return p.end()
}

func (l *lintPages) Close() error {
	if l.total.Files < 2 {
		return nil
	}
	p := &textPage{w: l.w, color: l.opt.Color}
	p.line("")
	p.note(none, count(l.total.Files, "file")+": "+l.total.String())
	return p.end()
}

// lintFile is the JSON form of what was found in a file.
type lintFile struct {
	File    string `json:"file"`
	Session string `json:"session,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Lines   struct {
		Read     int            `json:"read"`
		Used     int            `json:"used"`
		Fused    int            `json:"fused"`
		SetAside map[string]int `json:"set_aside"`
	} `json:"lines"`
	Findings []lint.Finding `json:"findings"`
}

// lintJSON prints one object, file by file.
type lintJSON struct {
	w     io.Writer
	total lintTotals
}

func (l *lintJSON) Add(r *lint.Result) error {
	f := lintFile{File: r.File, Session: r.Session, Agent: r.Agent, Findings: r.Findings}
	f.Lines.Read, f.Lines.Used, f.Lines.Fused, f.Lines.SetAside = r.Lines.Read, r.Lines.Used, r.Lines.Fused, map[string]int{}
	for reason, n := range r.Lines.SetAside {
		f.Lines.SetAside[string(reason)] = n
	}
	if f.Findings == nil {
		f.Findings = []lint.Finding{}
	}
	lead := ",\n    "
	if l.total.Files == 0 {
		lead = l.begin()
	}
	l.total.add(r)
	if _, err := io.WriteString(l.w, lead); err != nil {
		return err
	}
	return writeJSON(l.w, "    ", f, "")
}

func (l *lintJSON) begin() string {
	return "{\n  \"schema\": \"" + LintSchema + "\",\n  \"files\": [\n    "
}

func (l *lintJSON) Close() error {
	end := "\n  ],\n  \"totals\": "
	if l.total.Files == 0 {
		end = strings.TrimRight(l.begin(), "\n ") + "],\n  \"totals\": "
	}
	if _, err := io.WriteString(l.w, end); err != nil {
		return err
	}
	return writeJSON(l.w, "  ", &l.total, "\n}\n")
}

// lintGitHub prints workflow commands, which GitHub shows beside the lines.
type lintGitHub struct {
	w   io.Writer
	opt Options
}

func (l *lintGitHub) Add(r *lint.Result) error {
	var b strings.Builder
	for _, f := range r.Findings {
		name := map[lint.Severity]string{lint.Error: "error", lint.Warning: "warning", lint.Note: "notice"}[f.Severity]
		for i, place := range f.Places {
			if i == mostPlaces && !l.opt.All {
				fmt.Fprintf(&b, "::%s file=%s,title=%s::%s\n", name, githubProperty(r.File), githubProperty(f.Code), githubText(count(len(f.Places)-i, "more place")))
				break
			}
			line := ""
			if place.Line > 0 {
				line = ",line=" + strconv.Itoa(place.Line)
			}
			fmt.Fprintf(&b, "::%s file=%s%s,title=%s::%s\n", name, githubProperty(r.File), line, githubProperty(f.Code), githubText(place.Message))
		}
	}
	_, err := io.WriteString(l.w, b.String())
	return err
}

func (l *lintGitHub) Close() error { return nil }

// githubText is a text in the data of a workflow command: nothing in it ends
// the command or begins another.
func githubText(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(Clean(s))
}

// githubProperty is a text in a property of a workflow command.
func githubProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(githubText(s))
}
