// Package lint finds what is wrong or odd in a session file: what loading it
// notices, and whatever else is a defect of a transcript. Each finding has a
// stable code and a place.
//
// It looks at the lines while the session is loaded, so that a file is read
// once, and at the links when all are known. Loading without it costs nothing
// more.
package lint

import (
	"cmp"
	"io"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Place is where a finding was made. A line of 0 is the whole file.
type Place struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// Finding is everything found of one kind, in the order of the lines.
type Finding struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Count    int      `json:"count"`
	Places   []Place  `json:"places"`
}

// Result is what was found in one file.
type Result struct {
	File     string             `json:"file"`
	Session  string             `json:"session,omitempty"` // id
	Agent    string             `json:"agent,omitempty"`   // "" for a main session
	Lines    session.Accounting `json:"lines"`
	Findings []Finding          `json:"findings"` // the worst first, then by code
}

// Count is how many places have a severity.
func (r *Result) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n += f.Count
		}
	}
	return n
}

// File looks through a session file: plain, gzip or zstd.
func File(path string, opt session.LoadOptions) (*Result, error) {
	l := newLinter(&opt)
	f, err := session.Load(path, opt)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return l.result(f), nil
}

// Reader looks through a session from a stream; name is for messages only.
func Reader(name string, r io.Reader, opt session.LoadOptions) (*Result, error) {
	l := newLinter(&opt)
	f, err := session.LoadReader(name, r, opt)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return l.result(f), nil
}

// result looks at the links and sorts what was found.
func (l *linter) result(f *session.File) *Result {
	l.loaded(f)
	if len(l.nodes) == 0 {
		l.add("no-session", 0, "no line of the file is part of a conversation")
	}
	l.links()
	l.pairs()
	l.compactions()
	l.sessions()
	r := &Result{File: f.Path, Session: f.Main.SessionID, Agent: f.Main.Agent, Lines: f.Main.Lines}
	for _, rule := range Rules() {
		places := l.found[rule.Code]
		if len(places) == 0 {
			continue
		}
		slices.SortStableFunc(places, func(a, b Place) int { return cmp.Compare(a.Line, b.Line) })
		r.Findings = append(r.Findings, Finding{Code: rule.Code, Severity: rule.Severity, Count: len(places), Places: places})
	}
	return r
}
