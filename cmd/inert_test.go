package cmd

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"golang.org/x/net/html"
)

// inert reports what in a text a terminal would act on or a reader would not see, or "".
func inert(text []byte) string {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		bad := r == utf8.RuneError && n == 1 || r != '\n' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029' ||
			unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' || unicode.Is(unicode.Co, r)
		if bad {
			return fmt.Sprintf("%U in %q", r, text[max(i-60, 0):min(i+20, len(text))])
		}
		i += n
	}
	return ""
}

// commandOfCI is what CI systems take for a command in a log: GitHub and GitLab at the start of a line, GitHub's older
// form, Azure's and TeamCity's anywhere in it.
var commandOfCI = regexp.MustCompile(`(?m)^\s*::.*|##\w*\[.*`)

// workflowCommand is a command that ctxkit writes on purpose, with its texts escaped.
var workflowCommand = regexp.MustCompile(`^::(error|warning|notice) (?:file=(?:[^%,:]|%25|%2C|%3A)+,)?(?:line=\d+,)?(?:col=\d+,)?title=(?:[^%,:]|%25|%2C|%3A)+::(?:[^%]|%25|%0A)+$`)

// judges says by format what is wrong with an output that is to be inert, each by a parser of its own; nil: nothing is.
var judges = map[string]func(out []byte) error{
	"table": func([]byte) error { return nil }, "text": func([]byte) error { return nil },
	"json": judgeJSON, "ndjson": judgeNDJSON, "rows": judgeNDJSON, "csv": judgeCSV, "markdown": judgeMarkdown, "github": judgeGitHub,
	"junit": judgeXML("testsuites", "testsuite", "testcase", "failure", "error", "system-out"),
	"svg":   judgeXML("svg", "title", "desc", "rect", "text", "line", "path", "circle", "polyline"),
	"html":  judgeHTML,
}

// judge is what is wrong with an output in a format; nil: nothing is.
func judge(format string, out []byte) error {
	if bad := inert(out); bad != "" {
		return errors.New(bad)
	}
	if line := commandOfCI.Find(out); line != nil && format != "github" {
		return fmt.Errorf("a CI system would act on %.80q", line)
	}
	if judges[format] == nil {
		return fmt.Errorf("nothing judges format %s", format)
	}
	return judges[format](out)
}

// judgeJSON holds that there is one value and nothing behind it, and no key twice in an object.
func judgeJSON(out []byte) error {
	d := json.NewDecoder(bytes.NewReader(out))
	if err := distinctKeys(d); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("behind the value at %d there is more: %w", d.InputOffset(), err)
	}
	return nil
}

// distinctKeys reads a value and holds that its objects have each key once.
func distinctKeys(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			if name := fmt.Sprint(key); seen[name] {
				return fmt.Errorf("the key %.40q is there twice", name)
			} else {
				seen[name] = true
			}
		}
		if err := distinctKeys(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func judgeNDJSON(out []byte) error {
	for line := range bytes.Lines(out) {
		if err := judgeJSON(line); err != nil || !bytes.HasSuffix(line, []byte("}\n")) {
			return fmt.Errorf("line %.80q: %w", line, err)
		}
	}
	return nil
}

// judgeCSV holds that records have the fields of the header, and that no field is a formula: a spreadsheet reads what
// begins with one of these signs as one, unless it is a number, some also behind spaces.
func judgeCSV(out []byte) error {
	records, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil {
		return err
	}
	for _, record := range records {
		for i, field := range record {
			begin, _ := utf8.DecodeRuneInString(strings.TrimSpace(field))
			if _, err := strconv.ParseFloat(field, 64); err != nil && len(field) > 1 && strings.ContainsRune("=+-@＝＋－＠", begin) {
				return fmt.Errorf("%s is the formula %.80q", records[0][i], field)
			}
			if strings.Contains(field, "\n") {
				return fmt.Errorf("%s has several lines: %.80q", records[0][i], field)
			}
		}
	}
	return nil
}

func judgeGitHub(out []byte) error {
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line := lines.Text()
		if commandOfCI.MatchString(line) && !workflowCommand.MatchString(line) {
			return fmt.Errorf("the command %.200q has text that is not escaped", line)
		}
		if _, data, _ := strings.Cut(strings.TrimPrefix(line, "::"), "::"); strings.Contains(data, "##[") {
			return fmt.Errorf("the text has a command: %.200q", line)
		}
	}
	return nil
}

// judgeXML holds that an output is well-formed XML of these elements, none of which acts or points anywhere.
func judgeXML(elements ...string) func(out []byte) error {
	return func(out []byte) error {
		for d := xml.NewDecoder(bytes.NewReader(out)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			switch x := token.(type) {
			case xml.StartElement:
				if !slices.Contains(elements, x.Name.Local) {
					return fmt.Errorf("an element %s", x.Name.Local)
				}
				for _, a := range x.Attr {
					if strings.HasPrefix(a.Name.Local, "on") || strings.HasSuffix(a.Name.Local, "href") || a.Name.Local == "style" {
						return fmt.Errorf("an attribute %s", a.Name.Local)
					}
				}
			case xml.Directive:
				return fmt.Errorf("a directive %.40q", x)
			case xml.ProcInst:
				if x.Target != "xml" {
					return fmt.Errorf("an instruction %s", x.Target)
				}
			}
		}
	}
}

// pageElements are the elements of a page before its script runs, pageAttributes all of their attributes.
var (
	pageElements   = strings.Fields("html head meta title style body a header div p h1 main noscript footer script")
	pageAttributes = strings.Fields("lang charset http-equiv content name class href id tabindex type data-first")
)

// judgeHTML holds that a page has only the elements and attributes of its frame, one script that its content security
// policy names by its hash, and no link but that within the page.
func judgeHTML(out []byte) error {
	doc, err := html.Parse(bytes.NewReader(out))
	if err != nil {
		return err
	}
	scripts, styles := 0, 0
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode {
			return fmt.Errorf("a comment %.40q", n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		if !slices.Contains(pageElements, n.Data) {
			return fmt.Errorf("an element %s", n.Data)
		}
		data := false
		for _, a := range n.Attr {
			data = data || a.Key == "type" && (a.Val == "application/json" || a.Val == "text/plain")
			if !slices.Contains(pageAttributes, a.Key) || a.Key == "href" && a.Val != "#main" {
				return fmt.Errorf("an attribute %s=%.40q of %s", a.Key, a.Val, n.Data)
			}
		}
		switch {
		case n.Data == "script" && !data:
			scripts++
		case n.Data == "style":
			styles++
		}
	}
	if scripts != 1 || styles != 1 {
		return fmt.Errorf("%d scripts and %d styles", scripts, styles)
	}
	return nil
}

// plainElements are those of Markdown that is text, in headings, lists, tables and fences.
var plainElements = strings.Fields("html head body h2 p ul li strong pre code table thead tbody tr th td")

// reference is what GitHub makes a link of in a text, and calls people by.
var reference = regexp.MustCompile(`@[A-Za-z0-9_]|#\d|\bGH-\d|(?i:\bhttps?://|\bwww\.)`)

// judgeMarkdown holds that a GitHub-flavoured parser finds text, and nothing that loads, links or calls anybody, and in
// each row of a table as many cells as in its head.
func judgeMarkdown(out []byte) error {
	var page bytes.Buffer
	// Raw HTML becomes a comment.
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert(out, &page); err != nil {
		return err
	}
	doc, err := html.Parse(&page)
	if err != nil {
		return err
	}
	for n := range doc.Descendants() {
		switch {
		case n.Type == html.CommentNode:
			return fmt.Errorf("HTML, or a comment %.40q", n.Data)
		case n.Type == html.ElementNode && !slices.Contains(plainElements, n.Data):
			return fmt.Errorf("an element %s", n.Data)
		case n.Type == html.TextNode && n.Parent.Data != "code" && reference.MatchString(n.Data):
			return fmt.Errorf("a link: %.80q", n.Data[reference.FindStringIndex(n.Data)[0]:])
		case n.Type == html.TextNode && strings.Contains(n.Data, "8203;"):
			return fmt.Errorf("a broken escape: %.80q", n.Data[strings.Index(n.Data, "8203;")-4:])
		}
	}
	cells := 0
	for line := range strings.Lines(string(out)) {
		here := strings.Count(strings.NewReplacer(`\\`, "", `\|`, "").Replace(line), "|")
		if !strings.HasPrefix(line, "|") {
			here = 0
		}
		if cells > 0 && here > 0 && here != cells {
			return fmt.Errorf("a row with %d borders instead of %d: %.80q", here, cells, line)
		}
		cells = here
	}
	return nil
}
