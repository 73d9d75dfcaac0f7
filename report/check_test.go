package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/check"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/report/golden"
)

// decimalOf is a number as it is written; NaN is not known.
func decimalOf(x float64) exact.Decimal {
	d, _ := exact.Parse(strconv.FormatFloat(x, 'f', -1, 64))
	return d
}

// checkSample is a check with one of everything.
func checkSample() *check.Report { return sampled[*check.Report]("check") }

const hostileText = "\x1b[31m\n::error::INJECTED ]]> <b>&\"' \u202e | `code` ![x](y) %0A,:\x00\xff"

func checkHostile() *check.Report {
	r := checkSample()
	r.File, r.Baseline = hostileText, hostileText
	r.Stale, r.Notes = []string{hostileText}, []string{hostileText}
	for i := range r.Cases {
		c := &r.Cases[i]
		c.Name, c.Policy, c.Reworded, c.Idle = hostileText, hostileText, hostileText, []string{hostileText}
		for n := range c.Changes {
			c.Changes[n] = check.KeyChange{Key: hostileText, From: hostileText, To: hostileText, Place: check.Place{File: hostileText, Line: 1, Column: 1}}
		}
		for k := range c.Sessions {
			s := &c.Sessions[k]
			s.Session, s.Policy, s.Place.File = hostileText, hostileText, hostileText
			s.Reasons = append(s.Reasons, hostileText)
			s.Command = append(s.Command, hostileText)
			for n := range s.Changes {
				s.Changes[n] = check.KeyChange{Key: hostileText, From: hostileText, To: hostileText, Place: s.Place}
			}
			if s.Events.First != nil {
				s.Events.First = &check.Difference{Expected: &check.EventDigest{Stage: hostileText}, Got: &check.EventDigest{Stage: "s", Kind: hostileText}}
			}
		}
	}
	return r
}

func renderCheck(t *testing.T, r *check.Report, f Format) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, Check(&b, r, CheckLayout{Layout: Layout{Format: f}}))
	return b.Bytes()
}

func TestCheckGolden(t *testing.T) {
	for _, f := range CheckFormats {
		golden.Check(t, filepath.Join("testdata", "check."+string(f)), renderCheck(t, checkSample(), f))
	}
	must.Refuse(t, Check(io.Discard, checkSample(), CheckLayout{Layout: Layout{Format: "xml"}}), "xml")
}

func TestCheckJSONMatchesSchema(t *testing.T) {
	s := compileSchema(t, "check")
	must.Do(t, validate(s, renderCheck(t, checkSample(), FormatJSON)))
	must.Do(t, validate(s, renderCheck(t, checkHostile(), FormatJSON)))
	strict(t, s, string(renderCheck(t, checkSample(), FormatJSON)), `
"passed": false => "passed": 0
"status": "worse" => "status": "bad"
"counts" => "count"
`)
}

// TestCheckHostile holds that no name of a session, a case or a file acts on what reads the output.
func TestCheckHostile(t *testing.T) {
	for _, f := range CheckFormats {
		var b bytes.Buffer
		must.Do(t, Check(&b, checkHostile(), CheckLayout{Layout: Layout{Format: f, All: true}}))
		out := b.String()
		if i := strings.IndexFunc(out, func(r rune) bool {
			return r != '\n' && (r < ' ' || r == 0x7f || r == '\u202e' || r == '\ufffd') && f != FormatJSON
		}); i >= 0 {
			t.Errorf("%s: %q", f, out[max(0, i-30):min(len(out), i+30)])
		}
		if f != FormatJSON && strings.Contains(out, "\n::error::INJECTED") {
			t.Errorf("%s: a name began a line of its own", f)
		}
	}
	md := string(renderCheck(t, checkHostile(), FormatMarkdown))
	for _, line := range strings.Split(md, "\n") {
		if !strings.HasPrefix(line, "  ") && // in a fence
			(strings.Contains(line, "<b>") || strings.Contains(line, "![x](")) {
			t.Errorf("markdown holds %q", line)
		}
	}
	if xml := renderCheck(t, checkHostile(), FormatJUnit); checkJUnitCounts(xml) != nil {
		t.Errorf("%v\n%s", checkJUnitCounts(xml), xml)
	}
	line := regexp.MustCompile(`^::(error|warning|notice) file=[^,:]*,line=\d+,col=\d+,title=[^,:]*::[^\n]*$`)
	for _, l := range strings.Split(strings.TrimSuffix(string(renderCheck(t, checkHostile(), FormatGitHub)), "\n"), "\n") {
		if strings.HasPrefix(l, "::") && !line.MatchString(l) {
			t.Errorf("github: %q", l)
		}
	}
}

// TestCheckUpdated holds that an update does not say that it failed.
func TestCheckUpdated(t *testing.T) {
	r := checkSample()
	r.Updated, r.Passed = true, true
	for i := range r.Cases {
		r.Cases[i].Fails = false
		r.Cases[i].Failed = 0
		for k := range r.Cases[i].Sessions {
			r.Cases[i].Sessions[k].Failed = false
		}
	}
	for _, f := range CheckFormats {
		out := string(renderCheck(t, r, f))
		for _, bad := range []string{"FAILED", "of something else", "<error", "<failure", "::error"} {
			if strings.Contains(out, bad) && f != FormatJSON {
				t.Errorf("%s says %s:\n%s", f, bad, out)
			}
		}
	}
}

// TestGitHubAnnotations holds that there are no more than GitHub shows, that the rest is counted, and that files are
// named as the checkout has them.
func TestGitHubAnnotations(t *testing.T) {
	r := checkSample()
	for range 20 {
		r.Cases[0].Sessions = append(r.Cases[0].Sessions, r.Cases[0].Sessions[1])
		r.Cases = append(r.Cases, r.Cases[0])
	}
	var b bytes.Buffer
	must.Do(t, Check(&b, r, CheckLayout{Layout: Layout{Format: FormatGitHub}, Root: func(s string) string { return "sub/" + s }}))
	out := b.String()
	must.Equal(t, strings.Count("\n"+out, "\n::error "), maxAnnotations, out)
	for _, want := range []string{
		"\n12 more errors not shown: ", "%0A20 more sessions changed: ",
		"::error file=sub/mine.yaml,line=4,col=3,title=prune%3A broken::cost_usd 98.7000 -> 97.1000 (-1.6000, -1.62%25) in all: lower in 1 of 2 sessions, higher in 0%0A",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// checkJUnitCounts holds that a document is well-formed, and its counts against what it holds, which no schema can.
func checkJUnitCounts(doc []byte) error {
	d := xml.NewDecoder(bytes.NewReader(doc))
	type open struct {
		name string
		attr []xml.Attr
		has  map[string]int
	}
	var stack []*open
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch x := token.(type) {
		case xml.StartElement:
			count := map[string]string{"testcase": "tests", "failure": "failures", "error": "errors"}[x.Name.Local]
			for _, above := range stack {
				above.has[count]++
			}
			stack = append(stack, &open{x.Name.Local, x.Attr, map[string]int{"skipped": 0}})
		case xml.EndElement:
			o := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, a := range o.attr {
				if n, err := strconv.Atoi(a.Value); err == nil && strings.HasPrefix(o.name, "testsuite") && n != o.has[a.Name.Local] {
					return fmt.Errorf("%s says %s=%s, it has %d", o.name, a.Name.Local, a.Value, o.has[a.Name.Local])
				}
			}
		}
	}
	return nil
}

func TestJUnitCounts(t *testing.T) {
	doc := renderCheck(t, checkSample(), FormatJUnit)
	if err := checkJUnitCounts(doc); err != nil {
		t.Errorf("%v:\n%s", err, doc)
	}
	for _, change := range [][2]string{{`failures="2"`, `failures="3"`}, {`tests="`, `tests="1`}, {"<system-out>", "</system-out><x/><system-out>"}} {
		if changed := strings.Replace(string(doc), change[0], change[1], 1); checkJUnitCounts([]byte(changed)) == nil {
			t.Errorf("with %s in place of %s nothing is found", change[1], change[0])
		}
	}
}

// TestJUnitSchema validates what is written with the schema that Jenkins published (testdata/README.md).
func TestJUnitSchema(t *testing.T) {
	xmllint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("no xmllint, so nothing is validated: install libxml2-utils")
	}
	schema := "testdata/jenkins-junit.xsd"
	file := filepath.Join(t.TempDir(), "check.xml")
	validate := func(doc string) (string, error) {
		must.Do(t, os.WriteFile(file, []byte(doc), 0o644))
		out, err := exec.Command(xmllint, "--nonet", "--noout", "--schema", schema, file).CombinedOutput()
		return string(out), err
	}
	updated := checkSample()
	updated.Updated = true
	sample := ""
	for name, r := range map[string]*check.Report{"sample": checkSample(), "hostile": checkHostile(), "updated": updated, "nothing": {File: "ctxkit.yaml"}} {
		doc := string(renderCheck(t, r, FormatJUnit))
		if out, err := validate(doc); err != nil {
			t.Errorf("%s: %v: %s\n%s", name, err, out, doc)
		}
		if name == "sample" {
			sample = doc
		}
	}
	for _, change := range [][2]string{
		{"<failure ", "<failing "}, {` name="prune"`, ""}, {` type="worse"`, ` kind="worse"`}, {` tests="`, ` test="`}, {"</failure>", "</failure><error></error>"},
		{"<system-out>", "<system-out><b></b>"}, {"<testsuites ", "<suites "}, {"</testsuite>", "text</testsuite>"},
	} {
		changed := strings.Replace(sample, change[0], change[1], 1)
		if changed == sample {
			t.Fatalf("the document has no %s", change[0])
		}
		if change[0] == "<failure " {
			changed = strings.Replace(changed, "</failure>", "</failing>", 1)
		}
		if change[0] == "<testsuites " {
			changed = strings.Replace(changed, "</testsuites>", "</suites>", 1)
		}
		if _, err := validate(changed); err == nil {
			t.Errorf("with %s in place of %s it still validates", change[1], change[0])
		}
	}
}
