package report

import (
	"io"
	"strings"
)

// Markdown prints the table as a Markdown table. What cells hold is shown as
// it is: no cell makes a column, a link, an image or HTML of its own.
func (t *Table) Markdown(w io.Writer) error {
	var b strings.Builder
	row := func(cells []string) {
		b.WriteByte('|')
		for _, c := range cells {
			b.WriteByte(' ')
			b.WriteString(EscapeMarkdown(c))
			b.WriteString(" |")
		}
		b.WriteByte('\n')
	}
	titles := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = c.Title
	}
	row(titles)
	b.WriteByte('|')
	for _, c := range t.Columns {
		if c.Right {
			b.WriteString(" ---: |")
		} else {
			b.WriteString(" :--- |")
		}
	}
	b.WriteByte('\n')
	for _, r := range t.rows {
		row(r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// EscapeMarkdown cleans s and escapes what Markdown would act on.
func EscapeMarkdown(s string) string {
	s = Clean(s)
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch c {
		case '&':
			b.WriteString("&amp;")
			continue
		case '<':
			b.WriteString("&lt;")
			continue
		case '>':
			b.WriteString("&gt;")
			continue
		case '\\', '`', '*', '[', ']', '|', '~', '!':
			b.WriteByte('\\')
		case '_':
			// Inside a word an underscore is a letter.
			if i == 0 || i == len(s)-1 || !wordByte(s[i-1]) || !wordByte(s[i+1]) {
				b.WriteByte('\\')
			}
		case '#', '+', '-':
			// Before a space they make a heading or a list.
			if i == 0 && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == c) {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
