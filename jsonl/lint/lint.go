// Package lint finds defects of a session file: those that loading reports, and others of the lines and their links.
// Each problem has a stable code and a line.
//
// It inspects the lines while the session is loaded, so that a file is read once, and the links afterwards.
package lint

import (
	"cmp"
	"io"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Occurrence is one line with a problem. A line of 0 is the whole file.
type Occurrence struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// Problem is a kind of problem with its lines in order.
type Problem struct {
	Code     string       `json:"code"`
	Severity Severity     `json:"severity"`
	Count    int          `json:"count"`
	Places   []Occurrence `json:"places"`             // the first ones, up to the limit of findings
	LeftOut  int          `json:"left_out,omitempty"` // further places, which are counted only
}

// Problems lists the problems of one file.
type Problems struct {
	File     string             `json:"file"`
	Session  string             `json:"session,omitempty"` // id
	Agent    string             `json:"agent,omitempty"`   // "" for a main session
	Lines    session.Accounting `json:"lines"`
	Findings []Problem          `json:"findings"` // the worst first, then by code
}

// Count is the number of places with a severity.
func (r *Problems) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n += f.Count
		}
	}
	return n
}

// File checks a session file: plain, gzip or zstd.
func File(path string, opt session.LoadOptions) (*Problems, error) {
	l := newLinter(&opt)
	return l.check(session.Load(path, opt))
}

// Reader checks a session from a stream; name is for messages only.
func Reader(name string, r io.Reader, opt session.LoadOptions) (*Problems, error) {
	l := newLinter(&opt)
	return l.check(session.LoadReader(name, r, opt))
}

// check checks the links of a loaded file and sorts all problems.
func (l *linter) check(f *session.File, err error) (*Problems, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l.loaded(f)
	if len(l.nodes) == 0 {
		l.add("no-session", 0, "no line of the file is part of a conversation")
	}
	l.links()
	l.pairs()
	l.compactions()
	l.otherSessions()
	if err := l.onRecord(f); err != nil {
		return nil, err
	}
	r := &Problems{File: f.Path, Session: f.Main.SessionID, Agent: f.Main.Agent, Lines: f.Main.Lines}
	for _, rule := range Rules() {
		found := l.found[rule.Code]
		if found == nil {
			continue
		}
		places := found.places
		slices.SortStableFunc(places, func(a, b Occurrence) int { return cmp.Compare(a.Line, b.Line) })
		r.Findings = append(r.Findings, Problem{Code: rule.Code, Severity: rule.Severity, Count: found.n, Places: places, LeftOut: found.n - len(places)})
	}
	return r, nil
}
