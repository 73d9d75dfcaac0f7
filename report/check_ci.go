package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/ctxkit/ctxkit/replay/check"
)

// junitSuites follows the schema that Jenkins published (testdata/jenkins-junit.xsd): a testsuite per case, a
// testcase per session. It has no times.
type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suites []junitSuite `xml:"testsuite"`
}

type junitCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
}

func (c *junitCounts) add(more junitCounts) {
	c.Tests += more.Tests
	c.Failures += more.Failures
	c.Errors += more.Errors
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Skipped int         `xml:"skipped,attr"`
	Cases   []junitCase `xml:"testcase"`
	Out     string      `xml:"system-out,omitempty"` // of the whole case
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

// checkJUnit prints a check for systems that read JUnit files. A session that does not match the baseline is an
// error, any other that fails is a failure.
func checkJUnit(w io.Writer, r *check.Report, opt CheckLayout) error {
	out := junitSuites{Name: Clean(cmp.Or(opt.Suite, r.File))}
	for _, c := range r.Cases {
		suite := junitSuite{Name: Clean(c.Name), Out: Clean(strings.Join(c.Lines(), "; "))}
		for _, s := range c.Sessions {
			suite.add(junitSession(&c, &s, &opt.Hints))
		}
		if c.Fails && c.Failed == 0 {
			lines := c.TotalLines()
			for i, line := range lines {
				lines[i] = Clean(line)
			}
			message := joined("; ", c.Name+": "+string(c.Status), strings.Join(lines[:min(len(lines), 1)], ""))
			suite.add(junitCase{Name: "all sessions", Class: Clean(c.Name), Failure: &junitFault{Clean(message), string(c.Status), strings.Join(lines, "\n")}})
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

func junitSession(c *check.CaseReport, s *check.SessionReport, hints *Hints) junitCase {
	one := junitCase{Name: Clean(s.Session) + before("#", Clean(s.Agent)), Class: Clean(c.Name)}
	if s.Status == check.OK && s.ByTool == nil {
		return one
	}
	text := strings.Join(sessionLines(s, s.Lines(), hints), "\n")
	fault := &junitFault{Message: Clean(s.Short()), Type: string(s.Status), Text: text}
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
	s.junitCounts.add(junitCounts{Tests: 1, Failures: either(c.Failure != nil, 1, 0), Errors: either(c.Error != nil, 1, 0)})
}

func (s *junitSuites) add(suite junitSuite) {
	s.Suites = append(s.Suites, suite)
	s.junitCounts.add(suite.junitCounts)
}

// sessionLines are lines on a session, with the command that shows why.
func sessionLines(s *check.SessionReport, of []string, hints *Hints) []string {
	var lines []string
	for _, line := range of {
		lines = append(lines, Clean(line))
	}
	if len(s.Command) > 0 {
		lines = append(lines, Clean("to see why: "+hints.commandLine(s.Command)))
	}
	return lines
}

// maxAnnotated is how many changed sessions the annotation of a case describes.
const maxAnnotated = 3

// maxAnnotations is how many annotations of a level GitHub shows for one step.
const maxAnnotations = 10

// checkGitHub prints workflow commands: an annotation for each case that differs from the baseline, at the parameter
// that changed, and the summary.
func checkGitHub(w io.Writer, r *check.Report, opt CheckLayout) error {
	var b strings.Builder
	printed := map[string]int{}
	annotate := func(level string, at check.Place, title string, lines []string) {
		if printed[level]++; printed[level] > maxAnnotations {
			return
		}
		if opt.Root != nil {
			at.File = opt.Root(at.File)
		}
		data := make([]string, len(lines))
		for i, l := range lines {
			data[i] = githubText(l)
		}
		githubCommand(&b, level, at.File, at.Line, at.Column, title, strings.Join(data, "%0A"))
	}
	for i := range r.Cases {
		c := &r.Cases[i]
		lines := c.TotalLines()
		at := c.Place
		changed := 0
		failed := false
		assumed := false
		effect := c.EffectLine()
		if effect != "" {
			lines = append([]string{effect}, lines...)
			if len(c.Changes) > 0 {
				at = c.Changes[0].Place
			}
		}
		for k := range c.Sessions {
			s := &c.Sessions[k]
			if s.Status == check.OK && s.ByTool == nil {
				continue
			}
			assumed = assumed || s.ByTool != nil && len(s.ByTool.Assumed) > 0
			if changed++; changed == 1 && effect == "" || s.Failed && !failed {
				at = s.Place
				failed = s.Failed
			}
			if changed <= maxAnnotated {
				lines = append(lines, sessionLines(s, s.Facts(), &opt.Hints)...)
			}
		}
		switch {
		case changed == 0 && effect == "":
			continue
		case changed == 0:
			annotate("notice", at, c.Name+": policy", lines)
			continue
		}
		if more := changed - maxAnnotated; more > 0 {
			lines = append(lines, count(more, "more session")+" changed: the job summary and the json format have them")
		}
		level := either(c.Fails, "error", either(c.Status == check.Changed, "warning", "notice"))
		title := string(c.Status)
		if c.Status == check.OK && len(c.Changes) == 0 {
			title = either(assumed, "another assumption", "changed by no policy")
		}
		annotate(level, at, c.Name+": "+title, lines)
	}
	if n := len(r.Stale); n > 0 {
		lines := make([]string, min(n, maxAnnotations))
		for i := range lines {
			lines[i] = Clean(r.Stale[i])
		}
		if n > len(lines) {
			lines = append(lines, count(n-len(lines), "more line")+": the job summary and the json format have them")
		}
		annotate(either(r.Updated, "notice", "error"), check.Place{File: r.File, Line: 1, Column: 1}, "stale baseline", lines)
	}
	for _, level := range []string{"error", "warning", "notice"} {
		if n := printed[level] - maxAnnotations; n > 0 {
			fmt.Fprintf(&b, "%s not shown: the job summary and the json format have them\n", count(n, "more "+level))
		}
	}
	// Escaped: two colons at the start of a line would make it a command.
	fmt.Fprintln(&b, githubText(checkSummary(r)))
	_, err := io.WriteString(w, b.String())
	return err
}

// githubCommand prints a workflow command: an annotation of a file, or of none if file is "". A line or a column of 0
// is left out. data must be escaped.
func githubCommand(b *strings.Builder, level, file string, line, column int, title, data string) {
	var properties []string
	add := func(name, value string) { properties = append(properties, name+"="+githubProperty(value)) }
	if file != "" {
		add("file", file)
		if line > 0 {
			add("line", fmt.Sprint(line))
		}
		if column > 0 {
			add("col", fmt.Sprint(column))
		}
	}
	add("title", title)
	fmt.Fprintf(b, "::%s %s::%s\n", level, strings.Join(properties, ","), data)
}

// githubText escapes a text in the data of a workflow command: nothing in it ends the command or begins another.
func githubText(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(Clean(s))
}

// githubProperty escapes a text in a property of a workflow command.
func githubProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(githubText(s))
}
