package report

import (
	"fmt"
	"io"
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
		return pagePrinter(w, opt, func(p *page, r *lint.Problems) {
			total.add(r)
			lintPage(p, r)
		}, func(p *page) {
			p.note(none, phrase("%v: %v, %v, %v", count(total.Files, "file"),
				count(total.Errors, "error"), count(total.Warnings, "warning"), count(total.Notes, "note")))
		}), nil
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
	p.heading(r.File)
	aside := 0
	for _, n := range r.Lines.SetAside {
		aside += n
	}
	p.note(faint, phrase("%v read, %v used, %v set aside%v", count(r.Lines.Read, "line"), r.Lines.Used, aside,
		phraseIf(r.Lines.Fused > 0, ", %v fused", r.Lines.Fused)))
	t := newTable(titles("severity", "code", "places"), []column{{Title: "where, and what", Flex: true}})
	hidden := 0
	for _, f := range r.Findings {
		st := map[lint.Severity]style{lint.Error: red, lint.Warning: yellow}[f.Severity]
		shown := f.Places
		if !p.All {
			shown = shown[:min(len(shown), mostPlaces)]
		}
		hidden += len(f.Places) - len(shown)
		for i, place := range shown {
			text := either(place.Line > 0, fmt.Sprintf("line %d: ", place.Line), "") + place.Message
			if i == 0 {
				t.add(st, f.Severity, f.Code, f.Count, text)
			} else {
				t.last(st, text)
			}
		}
	}
	p.table(t)
	p.hidden(hidden, "place", "json contains them")
	if len(r.Findings) == 0 {
		p.note(none, "nothing found")
	}
}

// lintAnnotations prints workflow commands, which GitHub shows beside the lines.
func lintAnnotations(w io.Writer, r *lint.Problems, all bool) error {
	var b strings.Builder
	for _, f := range r.Findings {
		level := map[lint.Severity]string{lint.Error: "error", lint.Warning: "warning", lint.Note: "notice"}[f.Severity]
		for i, place := range f.Places {
			if i == mostPlaces && !all {
				githubCommand(&b, level, r.File, 0, 0, f.Code, githubText(count(len(f.Places)-i, "more place")))
				break
			}
			githubCommand(&b, level, r.File, place.Line, 0, f.Code, githubText(place.Message))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
