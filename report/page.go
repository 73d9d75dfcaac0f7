package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
)

// style is a colour on terminals, by its SGR code. It shows nowhere else.
type style string

const (
	none    style = ""
	faint   style = "2"
	bold    style = "1"
	red     style = "31"
	green   style = "32"
	yellow  style = "33"
	cyan    style = "36"
	boldRed style = "1;31"
)

// paint puts the style around s if color is set.
func (st style) paint(s string, color bool) string {
	return either(!color || st == none || s == "", s, "\x1b["+string(st)+"m"+s+"\x1b[0m")
}

// page prints headings, fields, tables, pictures and notes, as text for a terminal, as Markdown or as an HTML page.
type page struct {
	Layout
	w    io.Writer
	buf  bytes.Buffer
	html *htmlPage // nil: text or Markdown
	err  error
}

// htmlColumns is the width of lines of an HTML page that are not broken by the browser.
const htmlColumns = 200

func newPage(w io.Writer, opt Layout) *page {
	opt.Color = opt.Color && opt.Format != FormatMarkdown && opt.Format != FormatHTML
	p := &page{Layout: opt, w: w}
	if opt.Format == FormatHTML {
		p.All = true
		p.Width = htmlColumns
		p.html = &htmlPage{Zone: opt.Zone}
	}
	return p
}

func (p *page) markdown() bool { return p.Format == FormatMarkdown }

// lineWidth is the width of the widest line of text.
func (p *page) lineWidth() int { return cmp.Or(p.Width, defaultWidth) }

// line prints a line of text as it is, without spaces at its end.
func (p *page) line(s string) {
	if s = strings.TrimRight(s, " "); p.html != nil {
		p.html.add(htmlBlock{Lines: []string{s}})
		return
	}
	p.buf.WriteString(s + "\n")
}

func (p *page) paint(st style, s string) string { return st.paint(s, p.Color) }

func (p *page) heading(s string) {
	if p.html != nil {
		p.html.begin(Clean(s))
		return
	}
	if p.markdown() {
		fmt.Fprintf(&p.buf, "## %s\n\n", escapeMarkdown(s))
		return
	}
	if p.buf.Len() > 0 {
		p.line("")
	}
	for _, l := range wrap(Clean(s), p.lineWidth()) {
		p.line(p.paint(bold, l))
	}
}

// mostTitles is how many lines a title may take: a tool's name or a path can have any length.
const mostTitles = 4

// title prints a line of parts with two spaces between them. Where it is too long, parts go on below; no id or name is
// broken that fits a line.
func (p *page) title(st style, indent, text string) {
	text = Clean(text)
	w := p.lineWidth() - len(indent)
	lines := []string{text}
	if width(text) > w {
		lines = titleParts(strings.Split(text, "  "), w-gap)
	}
	if len(lines) > mostTitles {
		lines = append(lines[:mostTitles-1], cut(strings.Join(lines[mostTitles-1:], "  "), w-gap))
	}
	for i, line := range lines {
		p.line(either(i == 0, indent, indent+strings.Repeat(" ", gap)) + p.paint(st, line))
	}
}

// titleParts puts parts on lines of a width.
func titleParts(parts []string, w int) (lines []string) {
	line := ""
	for _, part := range parts {
		if line != "" && width(line)+gap+width(part) <= w {
			line += strings.Repeat(" ", gap) + part
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		rest := wrap(part, w)
		lines = append(lines, rest[:len(rest)-1]...)
		line = rest[len(rest)-1]
	}
	return append(lines, line)
}

// fileHeading is a heading that names a file.
func (p *page) fileHeading(path string) {
	p.heading(either(p.markdown(), path, shortPath(path, p.lineWidth())))
}

// field is a name and a value.
type field = [2]string

// fields prints pairs of a name and a value, without those of no value.
func (p *page) fields(pairs ...[2]string) {
	pairs = slices.DeleteFunc(pairs, func(f [2]string) bool { return f[1] == "" })
	if len(pairs) == 0 {
		return
	}
	if p.html != nil {
		for i := range pairs {
			if pairs[i][1] = Clean(pairs[i][1]); pairs[i][0] == "title" {
				p.html.Title = pairs[i][1]
			}
		}
		p.html.add(htmlBlock{Fields: pairs})
		return
	}
	indent := 0
	for _, f := range pairs {
		indent = max(indent, width(f[0])+gap)
	}
	for _, f := range pairs {
		if p.markdown() {
			fmt.Fprintf(&p.buf, "- **%s**: %s\n", escapeMarkdown(f[0]), escapeMarkdown(f[1]))
			continue
		}
		name := f[0]
		for _, l := range wrap(Clean(f[1]), p.lineWidth()-indent) {
			p.line(p.paint(faint, name) + strings.Repeat(" ", indent-width(name)) + l)
			name = ""
		}
	}
	p.paragraph()
}

// paragraph ends a paragraph of Markdown.
func (p *page) paragraph() {
	if p.markdown() {
		p.buf.WriteByte('\n')
	}
}

// table prints a table; one without rows is left out.
func (p *page) table(t *table) {
	g := t.in(p.Zone).grid(p.lineWidth())
	switch {
	case len(g.rows) == 0 || p.err != nil:
		return
	case p.html != nil:
		p.html.add(htmlBlock{Table: newHTMLTable(g)})
	case p.markdown():
		g.markdown(&p.buf)
	default:
		var hidden []string
		if hidden, p.err = g.text(&p.buf, p.Color); len(hidden) > 0 {
			p.note(faint, phrase("hidden at %v columns: %v", g.width, `"`+strings.Join(hidden, `", "`)+`"`)+before("; ", p.Hints.Wider))
		}
	}
	p.paragraph()
}

// picture prints lines as they are, or nothing if there are none.
func (p *page) picture(lines []string) {
	if p.markdown() && len(lines) > 0 {
		lines = slices.Concat([]string{"```text"}, lines, []string{"```", ""})
	}
	for _, l := range lines {
		p.line(l)
	}
}

// shares draws parts of a whole as areas of an HTML page, elsewhere the picture.
func (p *page) shares(list []pageShareOf, picture []string) {
	if p.html != nil {
		p.html.add(htmlBlock{Shares: list})
		return
	}
	p.picture(picture)
}

// note prints a paragraph; an empty one is left out.
func (p *page) note(st style, text string) {
	if text != "" {
		p.wrapped(st, "", "", text)
		p.paragraph()
	}
}

func (p *page) notes(st style, texts []string) {
	for _, text := range texts {
		p.note(st, text)
	}
}

// commands prints command lines, each as the words of one. A line that is too long goes on below, as a shell reads it.
func (p *page) commands(commands ...[]string) {
	var lines []string
	for _, words := range commands {
		line := " "
		for i, word := range words {
			word = p.Hints.commandLine([]string{word})
			unit := word // a flag stays with its value
			if i+1 < len(words) && strings.HasPrefix(word, "-") && !strings.HasPrefix(words[i+1], "-") {
				unit += " " + p.Hints.commandLine(words[i+1:i+2])
			}
			if !p.markdown() && width(line) > 1 && width(line+" "+unit+` \`) > p.lineWidth() {
				lines = append(lines, line+` \`)
				line = "   "
			}
			line += " " + word
		}
		lines = append(lines, line)
	}
	p.picture(lines)
}

// items prints a list; an empty one is left out.
func (p *page) items(st style, texts []string) {
	if p.html != nil && len(texts) > 0 {
		p.html.add(htmlBlock{Items: cleaned(texts)})
		return
	}
	for _, t := range texts {
		p.wrapped(st, "- ", "  ", t)
	}
	if len(texts) > 0 {
		p.paragraph()
	}
}

// wrapped prints a text, first before its first line and other before the rest.
func (p *page) wrapped(st style, first, other, text string) {
	if p.html != nil && first == "" {
		p.html.add(htmlBlock{Text: Clean(text)})
		return
	}
	if p.markdown() {
		p.buf.WriteString(first + escapeMarkdown(text) + "\n")
		return
	}
	for _, l := range wrap(Clean(text), p.lineWidth()-len(first)) {
		p.line(first + p.paint(st, l))
		first = other
	}
}

// hidden prints that n things are left out, and which formats have them.
func (p *page) hidden(n int, noun, formats string) {
	if n > 0 {
		p.note(faint, p.Hints.hidden(n, noun, formats))
	}
}

// section prints a table below a heading, or below what was printed before. One without rows is left out with it.
func (p *page) section(heading string, t *table) {
	if heading != "" && len(t.rows) > 0 {
		p.heading(heading)
	}
	p.table(t)
}

// top is section of the first rows of a table, or with Layout.All of all of them. It says which formats have the others.
func (p *page) top(heading string, t *table, most int, noun, formats string) {
	n := len(t.rows)
	if !p.All {
		t.rows = t.rows[:min(most, n)]
	}
	p.section(heading, t)
	p.hidden(n-len(t.rows), noun, formats)
}

// end writes what was printed so far.
func (p *page) end() error {
	if p.html != nil {
		return p.html.write(p.w)
	}
	text := p.buf.Bytes()
	if p.markdown() {
		text = append(bytes.TrimRight(text, "\n"), '\n')
	}
	if bytes.Contains(text, []byte("::")) {
		text = commandSign().ReplaceAll(text, []byte(`$1\::`))
	}
	if p.err == nil {
		_, p.err = p.w.Write(text)
	}
	p.buf.Reset()
	return p.err
}

// commandSign begins a line that CI systems take for a command, wherever a text of a transcript is broken.
var commandSign = pattern.New(`(?m)^((?: |\x1b\[[\d;]*m)*)::`)

// What Markdown would interpret: the characters of markup, an underscore at the start or the end of a word, and a
// sign at the start that makes a heading, a list or a rule. Nothing escapes what GitHub makes a link of in a finished
// text, or calls people by; a space without width divides it.
var (
	markdownMarkup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "`", "\\`", "*", `\*`,
		"[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "!", `\!`)
	markdownUnderscore = pattern.New(`\b_|_\b`)
	markdownSign       = pattern.New(`^(#( |#|$)|\+( |\+|$)|-( |-|$))`)
	markdownNumber     = pattern.New(`^(\d+)([.)])( |$)`)
	markdownName       = pattern.New(`(^|\W)@(\w)`)                          // a person, a team
	markdownMail       = pattern.New(`@([\w.-]+\.[\w.-]*[A-Za-z])`)          // an address
	markdownLink       = pattern.New(`(?i)(#|\bGH)(-?\d)|(:)(//)|(www)(\.)`) // an issue, a page
)

// escapeMarkdown cleans s and escapes what Markdown would interpret.
func escapeMarkdown(s string) string {
	s = markdownUnderscore().ReplaceAllString(markdownMarkup.Replace(strings.TrimLeft(Clean(s), " ")), `\_`)
	s = markdownNumber().ReplaceAllString(markdownSign().ReplaceAllString(s, `\$0`), `$1\$2$3`)
	if strings.ContainsAny(s, "@#:-.") {
		s = markdownLink().ReplaceAllString(s, `$1$3$5&#8203;$2$4$6`) // first: the space itself has a number
		s = markdownMail().ReplaceAllString(markdownName().ReplaceAllString(s, `$1@&#8203;$2`), `@&#8203;$1`)
	}
	return s
}
