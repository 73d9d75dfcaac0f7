package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// page is what a report is made of, whatever it is printed as.
type page interface {
	heading(s string)
	fields(pairs [][2]string)       // name: value
	table(t *Table)                 // no table where it has no rows
	picture(lines []string)         // preformatted, may hold styles
	note(st style, text string)     // one remark
	items(st style, texts []string) // a list of remarks
	end() error
}

// textPage prints for terminals, at most lineWidth columns wide.
type textPage struct {
	w     io.Writer
	color bool
	hints Hints
	buf   bytes.Buffer
	err   error
}

func (p *textPage) line(s string) {
	p.buf.WriteString(strings.TrimRight(s, " "))
	p.buf.WriteByte('\n')
}

func (p *textPage) paint(st style, s string) string {
	if !p.color {
		return s
	}
	return st.paint(s)
}

func (p *textPage) heading(s string) {
	if p.buf.Len() > 0 {
		p.line("")
	}
	p.line(p.paint(bold, cut(Clean(s), lineWidth)))
}

func (p *textPage) fields(pairs [][2]string) {
	indent := 0
	for _, f := range pairs {
		indent = max(indent, width(f[0])+gap)
	}
	for _, f := range pairs {
		for i, l := range wrap(Clean(f[1]), lineWidth-indent) {
			name := ""
			if i == 0 {
				name = f[0]
			}
			pad := strings.Repeat(" ", indent-width(name))
			p.line(p.paint(faint, name) + pad + l)
		}
	}
}

func (p *textPage) table(t *Table) {
	if t.Len() > 0 && p.err == nil {
		p.err = t.Text(&p.buf, p.color)
	}
}

func (p *textPage) picture(lines []string) {
	for _, l := range lines {
		p.line(l)
	}
}

func (p *textPage) note(st style, text string) {
	for _, l := range wrap(Clean(text), lineWidth) {
		p.line(p.paint(st, l))
	}
}

func (p *textPage) items(st style, texts []string) {
	for _, t := range texts {
		for i, l := range wrap(Clean(t), lineWidth-2) {
			lead := "- "
			if i > 0 {
				lead = "  "
			}
			p.line(lead + p.paint(st, l))
		}
	}
}

func (p *textPage) end() error {
	if p.err == nil {
		_, p.err = p.w.Write(p.buf.Bytes())
	}
	p.buf.Reset()
	return p.err
}

// markdownPage prints Markdown.
type markdownPage struct {
	w   io.Writer
	buf bytes.Buffer
	err error
}

func (p *markdownPage) heading(s string) {
	fmt.Fprintf(&p.buf, "## %s\n\n", EscapeMarkdown(s))
}

func (p *markdownPage) fields(pairs [][2]string) {
	for _, f := range pairs {
		fmt.Fprintf(&p.buf, "- **%s**: %s\n", EscapeMarkdown(f[0]), EscapeMarkdown(f[1]))
	}
	p.buf.WriteByte('\n')
}

func (p *markdownPage) table(t *Table) {
	if t.Len() > 0 && p.err == nil {
		p.err = t.Markdown(&p.buf)
		p.buf.WriteByte('\n')
	}
}

func (p *markdownPage) picture(lines []string) {
	p.buf.WriteString("```text\n")
	for _, l := range lines {
		p.buf.WriteString(l)
		p.buf.WriteByte('\n')
	}
	p.buf.WriteString("```\n\n")
}

func (p *markdownPage) note(_ style, text string) {
	p.buf.WriteString(EscapeMarkdown(text))
	p.buf.WriteString("\n\n")
}

func (p *markdownPage) items(_ style, texts []string) {
	for _, t := range texts {
		fmt.Fprintf(&p.buf, "- %s\n", EscapeMarkdown(t))
	}
	p.buf.WriteByte('\n')
}

func (p *markdownPage) end() error {
	if p.err == nil {
		_, p.err = p.w.Write(bytes.TrimRight(p.buf.Bytes(), "\n"))
	}
	if p.err == nil {
		_, p.err = io.WriteString(p.w, "\n")
	}
	p.buf.Reset()
	return p.err
}
