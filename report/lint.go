package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/lint"
)

// LintSchema is the version of the JSON form of the findings of lint.
const LintSchema = "ctxkit.lint/v1"

// NewLints returns the printer of what lint found in files.
func NewLints(w io.Writer, opt Layout) (Printer[*lint.Problems], error) {
	total := &lintTotals{}
	switch opt.Format {
	case FormatTable, "":
		return lintPages(w, opt), nil
	case FormatJSON:
		s := &jsonStream{w: w, head: object{{"schema", LintSchema}}, list: "files", tail: object{{"totals", total}}}
		return jsonPrinter(s, false, func(r *lint.Problems) any {
			total.add(r)
			r.Findings = notNil(r.Findings)
			return r
		}), nil
	case FormatGitHub:
		return eachPrinter(func(r *lint.Problems) error { return lintAnnotations(w, r, opt.All) }), nil
	}
	return Printer[*lint.Problems]{}, formatError(opt.Format)
}

// lintSums are the findings of several files, by code.
type lintSums struct {
	lintTotals
	clean int // files with no finding
	codes []lintSum
}

type lintSum struct {
	lint.Problem
	files int
	first string // where the first place is
}

func (s *lintSums) add(r *lint.Problems) {
	s.lintTotals.add(r)
	s.clean += either(len(r.Findings) == 0, 1, 0)
	for _, f := range r.Findings {
		at := slices.IndexFunc(s.codes, func(c lintSum) bool { return c.Code == f.Code && c.Severity == f.Severity })
		if at < 0 {
			at = len(s.codes)
			f.Places = f.Places[:min(len(f.Places), 1)]
			s.codes = append(s.codes, lintSum{Problem: lint.Problem{Code: f.Code, Severity: f.Severity, Places: f.Places}, first: r.File})
		}
		s.codes[at].Count += f.Count
		s.codes[at].files++
	}
}

func (s *lintSums) text() string {
	return phrase("%v: %v, %v, %v", count(s.Files, "file"), count(s.Errors, "error"), count(s.Warnings, "warning"), count(s.Notes, "note")) +
		phraseIf(s.clean > 0, "; %v without a finding", s.clean)
}

// print prints the findings by code, the worst first, each with its first place.
func (s *lintSums) print(p *page) {
	p.note(bold, s.text())
	order := []lint.Severity{lint.Error, lint.Warning, lint.Note}
	slices.SortStableFunc(s.codes, func(a, b lintSum) int {
		return cmp.Or(slices.Index(order, a.Severity)-slices.Index(order, b.Severity), cmp.Compare(a.Code, b.Code))
	})
	p.table(rowsOf(s.codes, func(c *lintSum, r *codeCells) style {
		*r = codeCells{Severity: c.Severity, Code: c.Code, Files: c.files, Places: c.Count}
		if len(c.Places) > 0 {
			r.TheFirstPlace = c.first + either(c.Places[0].Line > 0, fmt.Sprintf(":%d", c.Places[0].Line), "") + ": " + c.Places[0].Message
		}
		return severityStyle(c.Severity)
	}))
	p.note(faint, either(p.Verbose, "", p.Hints.Pages))
}

// lintPages returns a printer of the findings of one file, or by code of several; with Layout.Verbose of each file, and
// by code at the end.
func lintPages(w io.Writer, opt Layout) Printer[*lint.Problems] {
	sums := &lintSums{}
	return onePage(w, opt, sums.add, lintPage, sums.print)
}

func severityStyle(s lint.Severity) style {
	return map[lint.Severity]style{lint.Error: red, lint.Warning: yellow}[s]
}

// lintTotals counts places by severity.
type lintTotals struct {
	Files    int `json:"files"`
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

func (t *lintTotals) add(r *lint.Problems) {
	t.Files++
	t.Errors += r.Count(lint.Error)
	t.Warnings += r.Count(lint.Warning)
	t.Notes += r.Count(lint.Note)
}

// mostPlaces is how many places of one code a table and annotations show.
const mostPlaces = 3

// lintPage prints for people: each code with its first places.
func lintPage(p *page, r *lint.Problems) {
	p.fileHeading(r.File)
	aside := 0
	for _, n := range r.Lines.SetAside {
		aside += n
	}
	p.note(faint, phrase("%v read, %v used, %v set aside%v", count(r.Lines.Read, "line"), r.Lines.Used, aside,
		phraseIf(r.Lines.Fused > 0, ", %v fused", r.Lines.Fused)))
	t := tableOf[problemCells]()
	hidden := 0
	unkept := 0
	for _, f := range r.Findings {
		st := severityStyle(f.Severity)
		shown := f.Places
		if !p.All {
			shown = shown[:min(len(shown), mostPlaces)]
		}
		hidden += len(f.Places) - len(shown)
		unkept += f.LeftOut
		for i, place := range shown {
			text := either(place.Line > 0, fmt.Sprintf("line %d: ", place.Line), "") + place.Message
			if i == 0 {
				t.put(st, problemCells{f.Severity, f.Code, f.Count, text})
			} else {
				t.last(st, text)
			}
		}
	}
	p.table(t)
	p.hidden(hidden, "place", "json contains them")
	if unkept > 0 {
		p.note(faint, phrase("(%v counted only: %v)", count(unkept, "more place"), p.Hints.Findings))
	}
	if len(r.Findings) == 0 {
		p.note(none, "nothing found")
	}
}

// lintAnnotations prints workflow commands, which GitHub shows next to the lines.
func lintAnnotations(w io.Writer, r *lint.Problems, all bool) error {
	var b strings.Builder
	for _, f := range r.Findings {
		level := map[lint.Severity]string{lint.Error: "error", lint.Warning: "warning", lint.Note: "notice"}[f.Severity]
		shown := f.Places
		if !all {
			shown = shown[:min(len(shown), mostPlaces)]
		}
		for _, place := range shown {
			githubCommand(&b, level, r.File, place.Line, 0, f.Code, githubText(place.Message))
		}
		if more := f.Count - len(shown); more > 0 {
			githubCommand(&b, level, r.File, 0, 0, f.Code, githubText(count(more, "more place")))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
