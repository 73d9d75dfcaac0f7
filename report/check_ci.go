package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/ctxkit/ctxkit/replay/check"
)

// The JUnit form follows the schema that Jenkins published
// (testdata/jenkins-junit.xsd): a testsuite a case, a testcase a session. There is no clock here, so no times.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string      `xml:"name,attr"`
	Class   string      `xml:"classname,attr"`
	Error   *junitFault `xml:"error"`
	Failure *junitFault `xml:"failure"`
	Out     string      `xml:"system-out,omitempty"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// checkJUnit prints a check for systems that read JUnit files. What the
// baseline does not hold as it is, is an error; all else that fails, a failure.
func checkJUnit(w io.Writer, r *check.Report, opt CheckOptions) error {
	out := junitSuites{Name: Clean(cmp.Or(opt.Suite, r.File))}
	for i := range r.Cases {
		c := &r.Cases[i]
		suite := junitSuite{Name: Clean(c.Name)}
		for k := range c.Sessions {
			suite.add(junitSession(c, &c.Sessions[k], opt.Hints))
		}
		out.add(suite)
	}
	if len(r.Stale) > 0 && !r.Updated {
		suite := junitSuite{Name: "baseline"}
		for _, text := range r.Stale {
			text = Clean(text)
			suite.add(junitCase{Name: text, Class: "baseline", Error: &junitFault{text, string(check.Stale), text}})
		}
		out.add(suite)
	}
	text, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

func junitSession(c *check.CaseReport, s *check.SessionReport, hints Hints) junitCase {
	one := junitCase{Name: Clean(s.Session), Class: Clean(c.Name)}
	if s.Agent != "" {
		one.Name += "#" + Clean(s.Agent)
	}
	if s.Status == check.OK {
		return one
	}
	text := strings.Join(sessionLines(s, hints), "\n")
	fault := &junitFault{Message: Clean(s.Message()), Type: string(s.Status), Text: text}
	switch {
	case s.Failed && s.Status == check.Stale:
		one.Error = fault
	case s.Failed:
		one.Failure = fault
	default:
		one.Out = text
	}
	return one
}

func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	if c.Error != nil {
		s.Errors++
	}
	if c.Failure != nil {
		s.Failures++
	}
}

func (s *junitSuites) add(suite junitSuite) {
	s.Suites = append(s.Suites, suite)
	s.Tests += suite.Tests
	s.Failures += suite.Failures
	s.Errors += suite.Errors
}

// sessionLines tell what became of a session, a thing a line.
func sessionLines(s *check.SessionReport, hints Hints) []string {
	lines := s.Lines()
	if len(s.Command) > 0 {
		lines = append(lines, "to see why: "+hints.commandLine(s.Command))
	}
	for i := range lines {
		lines[i] = Clean(lines[i])
	}
	return lines
}

// maxAnnotations is how many annotations of a level GitHub shows of one step.
const maxAnnotations = 10

// checkGitHub prints workflow commands: an annotation for each session that is
// not as in the baseline, at the parameter that changed, and the summary.
func checkGitHub(w io.Writer, r *check.Report, opt CheckOptions) error {
	var b strings.Builder
	left := map[string]int{}
	told := map[string]int{}
	tell := func(level string, at check.Place, title string, lines []string) {
		if told[level]++; told[level] >= maxAnnotations {
			left[level]++
			if left[level] > 1 {
				return
			}
		}
		if opt.Root != nil {
			at.File = opt.Root(at.File)
		}
		fmt.Fprintf(&b, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", level, githubProperty(at.File), at.Line, at.Column, githubProperty(title), githubLines(lines))
	}
	rest := func() {
		for _, level := range []string{"error", "warning", "notice"} {
			if n := left[level] - 1; n > 0 {
				fmt.Fprintf(&b, "%s more: the job summary and the json form have them\n", count(n, level))
			}
		}
	}
	for i := range r.Cases {
		c := &r.Cases[i]
		for k := range c.Sessions {
			s := &c.Sessions[k]
			level := "notice"
			switch {
			case s.Status == check.OK:
				continue
			case s.Failed:
				level = "error"
			case s.Status == check.Changed:
				level = "warning"
			}
			tell(level, s.Place, c.Name+": "+string(s.Status), sessionLines(s, opt.Hints))
		}
	}
	level := "error"
	if r.Updated {
		level = "notice"
	}
	for _, text := range r.Stale {
		tell(level, check.Place{File: r.File, Line: 1, Column: 1}, "stale baseline", []string{Clean(text)})
	}
	rest()
	// A line that is no command: two colons at its start would make it one.
	fmt.Fprintln(&b, githubText(checkSummary(r)))
	_, err := io.WriteString(w, b.String())
	return err
}

// githubLines are several lines in the data of a workflow command.
func githubLines(lines []string) string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = githubText(l)
	}
	return strings.Join(out, "%0A")
}
